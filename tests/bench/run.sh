#!/usr/bin/env bash
# Builds the release preset, runs the benchmarks, writes build/bench.json and prints a table.
# The node's needs root; give ROUNDS and PODS to change its size. Exit code 1 when a target is missed.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly BUILD=$tree/build/release
readonly LINES=$tree/build/bench.lines
benches=(codec_bench bus_bench)

if [[ $EUID -eq 0 ]]; then
  benches+=(node_bench)
else
  printf 'node benchmarks SKIPPED: they run containers, which needs root\n' >&2
fi

"$tree/scripts/build.sh" release
: >"$LINES"
for bench in "${benches[@]}"; do
  printf '=== %s\n' "$bench" >&2
  arguments=()
  [[ $bench != node_bench ]] || arguments=(--rounds "${ROUNDS:-20}" --pods "${PODS:-100}")
  "$BUILD/tests/$bench" "${arguments[@]}" | tee -a "$LINES" >&2
done
jq --slurp . "$LINES" >"$tree/build/bench.json"
jq --raw-output '(["what", "unit", "p50", "p99", "floor", "ratio", "target", "met"], (.[] |
  [.name, .unit, .p50, .p99, .floorP50, .ratio, .target, .pass])) | @tsv' "$tree/build/bench.json" |
  column --table --separator $'\t'
printf 'written to build/bench.json; %s\n' "$(uptime)"
jq --exit-status 'all(.pass)' "$tree/build/bench.json" >/dev/null
