#!/usr/bin/env bash
# Runs every fuzz target in turn, MINUTES (10) in all, and prints the number of inputs of each. Each run has another
# seed. Stops at the first target that breaks or hangs; build/fuzz has its input, NAME.input, and its log.
#
# PRESET (asan) is the build; SEED repeats the same inputs.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${PRESET:-asan}
minutes=${MINUTES:-10}
seed=${SEED:-$RANDOM$RANDOM}
kept=$tree/build/fuzz

cd "$tree"
scripts/build.sh "$preset" fuzzers
mkdir -p "$kept"
targets=(build/"$preset"/tests/fuzz_*_test)
seconds=$((minutes * 60 / ${#targets[@]}))
((seconds > 0)) || seconds=1
printf 'seed %s, %s targets, %s s each\n' "$seed" "${#targets[@]}" "$seconds"

for target in "${targets[@]}"; do
  name=$(basename "$target" _test)
  name=${name#fuzz_}
  input=$kept/$name.input log=$kept/$name.log
  if ! FUZZ_INPUT=$input FUZZ_SECONDS=$seconds FUZZ_SEED=$seed timeout $((seconds + 60)) "$target" >"$log" 2>&1; then
    tail -n 20 "$log"
    printf '%s: broken with seed %s; try it again: FUZZ_REPLAY=%s %s\n' "$name" "$seed" "$input" "$target"
    exit 1
  fi
  printf '%-24s %s\n' "$name" "$(grep '^[0-9]* inputs, ' "$log")"
  rm -f "$input"
done
