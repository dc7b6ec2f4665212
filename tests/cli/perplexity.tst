# biowarp perplexity

case: the demonstration model says what it is and the number its definition
file: a.fa
    >sp:a
    MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVV
run: biowarp perplexity a.fa
exit: 0
out: ^masked-LM perplexity \d+\.\d+, loss \d+\.\d+ nats, \d+ positions$
out: ^definition: exp of the mean of -ln p\(residue\) over all selected residues; 15 % of the residues selected \(seed 0\), 80 % shown as <mask>, 10 % as a random amino acid, 10 % unchanged; softmax over the 33 tokens; records cropped to their first 1022 residues$
err: demonstration model .* not Meta's ESM-2
err: 1 records, 70 residues: 1 scored, 0 skipped

case: json
file: a.fa
    >sp:a
    MKTAYIAKQRQISFVKSHFSRQLEERLG
    >tr:b
    LIEVQAPILSRVGDGTQDNLSGAEKAVQ
run: biowarp perplexity a.fa --model random:8M --json --group-by prefix --mask-rate 0.5
exit: 0
out: \A\{"model": "random:8M.*", "model_hash": "[0-9a-f]+", "precision": "f32", "definition": ".*"groups": \{"sp": \{"perplexity".*"tr": \{.*\}\}\n\Z

case: identical masks, batches and threads give the same number
file: a.fa
    >a
    MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVV
    >b
    LIEVQAPILSRVGDGTQDNLSGAEKAVQ
run: biowarp perplexity a.fa --model random:8M --seed 4 --dump-masks m.tsv --threads 1 --tokens 10 -o r1.tsv
run: biowarp perplexity a.fa --model random:8M --masks m.tsv --threads 2 --tokens 9000 -o r2.tsv
run: cmp r1.tsv r2.tsv && head -1 m.tsv
exit: 0
out: ^record\tposition\tinput\ttarget$
content: r1.tsv ^1\tb\t28\t\d+\t

case: masks that do not belong to the input
file: a.fa
    >a
    MKTAYIAK
file: m.tsv
    record\tposition\tinput\ttarget
    0\t2\t<mask>\tW
run: biowarp perplexity a.fa --model random:8M --masks m.tsv
exit: 3
err: m\.tsv, line 2: record 0 has K at position 2, the table says W

case: masks from a file leave nothing to draw
run: biowarp perplexity a.fa --masks m.tsv --seed 3
exit: 2
err: --seed excludes --masks

case: unknown scheme
run: biowarp perplexity a.fa --scheme 70/20/10
exit: 2
err: 80/10/10 or mask, got '70/20/10'

case: mask rate out of range
file: a.fa
    >a
    MKTAYIAK
run: biowarp perplexity a.fa --mask-rate 0 --model random:8M
exit: 2
err: expected a mask rate above 0 and up to 1, got 0

case: S57 S58 pseudo-perplexity has distinct names and covers every residue
file: a.fa
    >a
    MK
    >b
    MKTL
run: biowarp perplexity a.fa --pseudo --model random:8M -o -
exit: 0
out: \Arecord\tid\tresidues\tpll_sum\tpll_mean\tpppl\n0\ta\t2\t-\d+\.\d+\t-\d+\.\d+\t\d+\.\d+\n1\tb\t4\t
err: ^pll_sum -\d+\.\d+$
err: ^pll_mean -\d+\.\d+$
err: ^pppl \d+\.\d+$
err: ^definition: every residue scored with only itself shown as <mask>

case: pseudo-perplexity has no masks to choose
run: biowarp perplexity a.fa --pseudo --scheme mask
exit: 2
err: --scheme has no meaning with --pseudo

case: a skipped record gives exit code 5 and the others their number
file: two.fa
    >good
    MKTAYIAKQRQ
    >bad
    MK:TA
run: biowarp perplexity two.fa --model random:8M --mask-rate 0.9
exit: 5
out: ^masked-LM perplexity
err: skipped record 2 'bad'

case: a selection without residues has no number
file: a.fa
    >a
run: biowarp perplexity a.fa --model random:8M
exit: 0
out: ^masked-LM no residue was selected

case: long records are cropped and counted
run: (echo '>a'; printf 'MKTLA%.0s' $(seq 300)) > long.fa; biowarp perplexity long.fa --model random:8M --max-length 100
exit: 0
err: 1 records, 100 residues: 1 scored, 0 skipped
err: 1 records cropped
