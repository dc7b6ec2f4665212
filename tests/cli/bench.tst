# biowarp bench

case: text report on the built-in mix
run: biowarp bench --model random:8M --limit 2 --repeat 1 --threads 1
exit: 0
out: ^model       random:8M.* \(6 layers, width 320, 20 heads\), f32$
out: ^machine     \S+ \(.*\), 1 threads on \d+ processors$
out: ^throughput  \d+ tokens/s \(median of 1 rounds
out: ^latency     \d+\.\d+ ms for one sequence of 102 tokens$
out: ^memory      peak \d+ MiB
out: ^op +thread-sec +share
out: ^waiting

case: json on a file
file: a.fa
    >a
    MKTAYIAKQRQISFVKSHFSRQLEERLG
    >b
    MKTAYI
    >c
    MKT
run: biowarp bench a.fa --limit 2 --repeat 2 --model random:8M --json --commit abc123
exit: 0
out: \A\{"tool": "biowarp", "version": "[^"]+", "commit": "abc123", "machine": .*"sequences": 2, "tokens": 38, "longest": 30, .*"ops": \[\{"op": 

case: nothing to run
file: a.fa
    
run: biowarp bench a.fa --model random:8M
exit: 3
err: a\.fa: no records
