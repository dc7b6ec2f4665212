# biowarp extract: fair-esm's esm-extract.

case: files by label
file: in.fa
    >P1 human kinase
    MKTAYIAKQR
    >sp/P2/X
    MK
run: biowarp extract {source}/models/biowarp-esm2-8m in.fa out --repr_layers 0 6 --include mean per_tok bos --toks_per_batch 4096 --truncation_seq_length 1022 --nogpu
run: ls out
exit: 0
out: \AP1 human kinase\.pt\nindex\.tsv\nsp_P2_X\.pt$

case: something must be included
file: in.fa
    >a
    MK
run: biowarp extract 8M in.fa out
exit: 2
err: --include

case: unknown kind
file: in.fa
    >a
    MK
run: biowarp extract 8M in.fa out --include all
exit: 2
err: per_tok

case: contacts need a head
file: in.fa
    >a
    MK
run: biowarp extract {source}/models/biowarp-esm2-8m in.fa out --include contacts
exit: 3
err: contact head

case: a header of 400 characters
file: make.py
    print(">" + "h" * 400, "MK", sep="\\n")
run: python3 make.py > in.fa
run: biowarp extract random:8M in.fa out --include mean contacts
run: ls out
exit: 0
out: ^h{200}~[0-9a-f]{8}\.pt$

case: a record that cannot be read
file: in.fa
    >a
    M:K
    >b
    MK
run: biowarp extract random:8M in.fa out --include bos
exit: 5
content: out/index.tsv skipped
exists: out/b.pt
absent: out/a.pt
