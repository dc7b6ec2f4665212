# The program itself: help, versions, commands that do not exist, usage errors.

case: no command prints the help on stderr
run: biowarp
exit: 2
out: \A\Z
err: ^Usage: biowarp COMMAND

case: help goes to stdout
run: biowarp --help
exit: 0
out: ^  perplexity +\S
out: ^Sequences to results:$
out: ^Exit codes: 0 .* 5
err: \A\Z

case: version
run: biowarp --version
exit: 0
out: \Abiowarp \d+\.\d+\.\d+$

case: near miss of a command
run: biowarp contact x.fa
exit: 2
err: did you mean 'contacts'

case: typing mistake in a command
run: biowarp perplexty x.fa
exit: 2
err: did you mean 'perplexity'

case: a word that is no command
run: biowarp frobnicate
exit: 2
err: 'frobnicate' is not a command
no-err: did you mean

case: option before the command
run: biowarp --threads 2 bench
exit: 2
err: expected a command before '--threads'

case: help of a command has its examples
run: biowarp contacts --help
exit: 0
out: ^Usage: biowarp contacts
out: ^Examples:$
out: ^  biowarp contacts proteins.fasta -o contacts.npz

case: help as a command
run: biowarp help perplexity
exit: 0
out: --mask-rate P
out: --dtype TYPE

case: help of an unknown command
run: biowarp help nothing
exit: 2
err: 'nothing' is not a command

case: unknown option
run: biowarp perplexity x.fa --frob
exit: 2
err: --frob.*biowarp perplexity --help

case: missing input
run: biowarp perplexity
exit: 2
err: IN is required

case: option without its value
run: biowarp contacts x.fa -o
exit: 2
err: biowarp: error: .*--output

case: completion in bash completes commands and options
run: source <(biowarp completion bash) && COMP_WORDS=(biowarp perp) COMP_CWORD=1 && _biowarp && echo "${COMPREPLY[@]}" && COMP_WORDS=(biowarp perplexity --mask-r) COMP_CWORD=2 && _biowarp && echo "${COMPREPLY[@]}"
exit: 0
out: \Aperplexity\n--mask-rate$

case: completion of another shell
run: biowarp completion fish
exit: 2
err: fish

case: a closed pipe ends the program without a message
run: biowarp --help | true; for i in 1 2 3; do (biowarp completion bash; echo "code $?" >&2) | head -c 0; done
exit: 0
no-err: error

case: full standard output is an error
run: biowarp --help > /dev/full
exit: 3
err: cannot write to standard output
