#!/usr/bin/env bash
# Builds the release preset, runs the benchmarks, writes build/bench.json and prints a table. The node benchmark needs
# root; ROUNDS, PODS and MINUTES (of the API server's outage) change its size. A missed target is reported but is no
# error, because results depend on the machine and its load.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly BUILD=$tree/build/release
readonly LINES=$tree/build/bench.lines
benches=(codec_bench bus_bench path_bench scale_bench probe_bench volume_bench cgroup_bench cluster_bench)

if [[ $EUID -eq 0 ]]; then
  benches+=(node_bench)
else
  printf 'node benchmarks SKIPPED: they run containers, which needs root\n' >&2
fi

"$tree/scripts/build.sh" release splitlet-{config-source,sync-loop,pod-worker,pleg,status,gc,node-api} fake-api fake-cri \
  "${benches[@]}"
: >"$LINES"
for bench in "${benches[@]}"; do
  printf '=== %s\n' "$bench" >&2
  arguments=()
  [[ $bench != node_bench && $bench != cluster_bench ]] || arguments=(--rounds "${ROUNDS:-20}" --pods "${PODS:-100}")
  [[ $bench != cluster_bench ]] || arguments+=(--minutes "${MINUTES:-10}")
  "$BUILD/tests/$bench" "${arguments[@]}" >>"$LINES"
done
jq --slurp . "$LINES" >"$tree/build/bench.json"
jq --raw-output '(["what", "unit", "p50", "p99", "raw p50", "ratio", "target", "met"], (.[] |
  [.name, .unit, .p50, .p99, .floorP50, .ratio, .target,
   if .target == "" then "" elif .pass then "yes" else "NO" end])) | @tsv' "$tree/build/bench.json" |
  column --table --separator $'\t'
jq --raw-output 'map(select(.target != "")) |
  "\(map(select(.pass)) | length) of \(length) targets met; written to build/bench.json"' "$tree/build/bench.json"
uptime
