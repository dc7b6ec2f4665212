# biowarp embed: formats, policies, exit codes, summary.

case: matrix with index and summary
file: in.fa
    >a first protein
    MKTAYIAKQR
    >b
    mk*
run: biowarp embed in.fa -o out.npy
exit: 0
out: \A\Z
err: demonstration model
err: embedded +2 of 2 proteins, 12 residues
err: letters +.*upper-cased 2
exists: out.npy
absent: out.npy.partial
absent: out.npy.journal.partial
content: out.npy.index.tsv ^row\tkey\tid\tdescription\tlength\tstatus\tchanges\treason\thash$
content: out.npy.index.tsv ^0\ta\ta\tfirst protein\t10\tok\t\t\t[0-9a-f]{32}$

case: no word about a demonstration when a model was named
file: in.fa
    >a
    MKTAYIAKQR
run: biowarp embed in.fa -o out.npy --model {source}/models/biowarp-esm2-8m
exit: 0
no-err: demonstration

case: a record that cannot be read
file: in.fa
    >a
    MK:L
    >b
    MK
run: biowarp embed in.fa -o out.npy
exit: 5
err: skipped +1 protein without
content: out.npy.index.tsv ^\t\ta\t.*skipped.*:.*$
content: out.npy.index.tsv ^0\tb\tb\t

case: a record that cannot be read, going on
file: in.fa
    >a
    MK:L
    >b
    MK
run: biowarp embed in.fa -o out.npy --keep-going
exit: 0

case: empty record
file: in.fa
    >a
    >b
    MK
run: biowarp embed in.fa -o out.npy
exit: 5
content: out.npy.index.tsv no residues

case: standard input to standard output
file: in.fa
    >a
    MKTAYIAKQR
run: cat in.fa | biowarp embed - -o - | cut -f 1-3
exit: 0
out: \Aid\tlength\te0\na\t10\t-?\d

case: matrix on standard output
file: in.fa
    >a
    MKTAYIAKQR
run: biowarp embed in.fa -o - --format npy | head -c 6 | tail -c 5
exit: 0
out: \ANUMPY\Z

case: standard output cannot be h5
file: in.fa
    >a
    MK
run: biowarp embed in.fa -o - --format h5
exit: 2
err: standard output

case: several layers, comma or blank
file: in.fa
    >a
    MK
run: biowarp embed in.fa --layers 0 -1 -o out.csv
run: biowarp embed --layers 0,6 in.fa -o two.csv
run: cmp out.csv two.csv && head -n 1 out.csv
exit: 0
out: ^id,length,l0_e0,.*,l6_e319$

case: layer that does not exist
file: in.fa
    >a
    MK
run: biowarp embed in.fa -o out.npy --layers 7
exit: 2
err: layer from 0 to 6
absent: out.npy

case: matrices hold no residues
file: in.fa
    >a
    MK
run: biowarp embed in.fa -o out.npy --per-residue
exit: 2
err: \.npz, \.h5 or \.safetensors

case: unknown suffix
file: in.fa
    >a
    MK
run: biowarp embed in.fa -o out.dat
exit: 2
err: --format

case: long records, one warning
file: make.py
    print(">a", "MK" * 600, ">b", "MK" * 600, sep="\\n")
run: python3 make.py > in.fa
run: biowarp embed in.fa -o out.npy
exit: 0
err: \A(?=[\s\S]*1200 residues)(?![\s\S]*1200 residues[\s\S]*1200 residues)
err: long +2 proteins

case: long records refused
file: in.fa
    >a
    MKTAYIAKQR
    >b
    MK
run: biowarp embed in.fa -o out.npy --long error --max-length 5
exit: 5
content: out.npy.index.tsv 10 residues, and --long error allows 5

case: long records truncated
file: in.fa
    >a
    MKTAYIAKQR
run: biowarp embed in.fa -o out.npy --long truncate --max-length 5
exit: 0
err: truncated +1 protein$
content: out.npy.index.tsv truncated from 10 to 5 residues

case: unknown policy
file: in.fa
    >a
    MK
run: biowarp embed in.fa -o out.npy --long cut
exit: 2
err: full, truncate, window or error

case: an input that is not there leaves the old output alone
file: out.npy
    old
run: biowarp embed not-there.fa -o out.npy
exit: 3
err: not-there\.fa
content: out.npy \Aold

case: repeated ids refused on demand
file: in.fa
    >a
    MK
    >a
    ML
run: biowarp embed in.fa -o out.npy --unique-ids
exit: 3
err: 'a' stands in in\.fa:1 and in in\.fa:3

case: metrics
file: in.fa
    >a
    MKTAYIAKQR
run: biowarp embed in.fa -o out.npy --metrics m.json --json | python3 -c "import json,sys; print(json.load(sys.stdin)['residues'])"
exit: 0
out: \A10$
content: m.json "share_of_peak": 0\.
content: m.json "ms_per_sequence"

case: resumed after the end
file: in.fa
    >a
    MK
run: biowarp embed in.fa -o out.npy
run: biowarp embed in.fa -o out.npy --resume
exit: 0
err: resumed +1 of them

case: resume cannot read standard input twice
run: echo | biowarp embed - -o out.npy --resume
exit: 2
err: standard input
