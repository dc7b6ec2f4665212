#!/bin/sh
# run_coverage.sh BIN CORPUS WORK SECONDS
# Coverage-guided fuzzing of every target for SECONDS each. Inputs that reach new code are kept in WORK/<target>/ and
# used again by the next run; what crashes is left in WORK/crash-<target>-*. Ends with 1 on a crash.
set -eu
bin=$1 corpus=$2 work=$3 seconds=$4
failed=0
for target in $("$bin/fuzz_inputs" --list); do
  mkdir -p "$work/$target"
  echo "== $target, $seconds s"
  BIOWARP_FUZZ_TARGET=$target "$bin/fuzz_coverage" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="$work/crash-$target-" "$work/$target" "$corpus/$target" ||
    failed=1
done
exit $failed
