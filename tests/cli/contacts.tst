# biowarp contacts

case: table of pairs on standard output
file: one.fa
    >a protein
    MKTAYIAKQRQ
run: biowarp contacts one.fa -o - --model random:8M --min-prob 0 --min-sep 9
exit: 0
out: \Aid\ti\tj\tprobability\na\t1\t10\t0\.\d{6}\na\t1\t11\t0\.\d{6}\na\t2\t11\t0\.\d{6}\n\Z
err: 1 records, 11 residues: 1 contact maps, 0 skipped

case: from standard input into npz
file: one.fa
    >a
    MKTAYIAKQRQ
run: biowarp contacts - -o maps.npz --model random:8M < one.fa
exit: 0
exists: maps.npz
absent: maps.npz.partial

case: S42 refused without a contact head
file: one.fa
    >a
    MKTAYIAKQRQ
run: biowarp contacts one.fa -o maps.npz --model {source}/models/biowarp-esm2-8m
exit: 3
err: error: model \S+ has no trained contact head
absent: maps.npz

case: a skipped record gives exit code 5
file: two.fa
    >good
    MKTAYIAKQRQ
    >bad
    MK:TA
run: biowarp contacts two.fa -o maps.tsv --model random:8M
exit: 5
err: skipped record 2 'bad' \(two.fa, line 3\): .*':'
exists: maps.tsv

case: a skipped record with keep-going
file: two.fa
    >good
    MKTAYIAKQRQ
    >bad
    MK:TA
run: biowarp contacts two.fa -o maps.tsv --model random:8M --keep-going
exit: 0
err: 1 skipped

case: an output of unknown kind
file: one.fa
    >a
    MKTAYIAKQRQ
run: biowarp contacts one.fa -o maps.png --model random:8M
exit: 2
err: ends in \.npz or \.tsv

case: an input that does not exist
run: biowarp contacts missing.fa -o maps.tsv --model random:8M
exit: 3
err: missing\.fa
absent: maps.tsv

case: probability out of range
run: biowarp contacts x.fa -o maps.tsv --min-prob 2
exit: 2
err: --min-prob

case: a folder that does not exist
file: one.fa
    >a
    MKTAYIAKQRQ
run: biowarp contacts one.fa -o nowhere/maps.tsv --model random:8M
exit: 3
err: nowhere/maps\.tsv
