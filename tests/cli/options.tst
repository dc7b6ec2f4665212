# Options that every command shares; the exit code of each kind of error.

case: a GPU is refused in words
run: biowarp bench --device cuda
exit: 4
err: --device cuda: this build of biowarp computes on the CPU only

case: unknown device
run: biowarp bench --device tpu
exit: 2
err: expected --device auto or cpu, got 'tpu'

case: unknown precision
run: biowarp bench --dtype fp4
exit: 2
err: expected a precision to be one of f32, bf16, int8, got 'fp4'

case: bf16 is refused in words where the processor has none
run: BIOWARP_MAX_ISA=avx512 biowarp bench --dtype bf16 --model random:8M
exit: 4
err: bf16

case: S67 a model that is nowhere
run: HF_HOME=$PWD/none biowarp perplexity x.fa --model no/such-model
exit: 2
err: no/such-model

case: a random model of unknown size
run: biowarp bench --model random:7M
exit: 2
err: 7M

case: negative number of threads
run: biowarp bench --threads -1
exit: 2
err: --threads

case: negative token budget
run: biowarp bench --tokens -5
exit: 2
err: --tokens

case: a folder that holds no model
run: mkdir empty; biowarp perplexity x.fa --model ./empty
exit: 3
err: empty

case: CSV columns by name
file: t.csv
    name,letters
    p1,MKTAYIAKQRQ
run: biowarp perplexity t.csv --seq-col letters --id-col name --pseudo -o - --model random:8M --max-length 2
exit: 0
out: ^0\tp1\t2\t
