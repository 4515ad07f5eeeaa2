#!/usr/bin/env bash
# Runs Prometheus for the local stack of STATE_DIR (.run), in the foreground, until TERM. Its data are in
# $STATE_DIR/prometheus. It serves on LISTEN (127.0.0.1:9090).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/../../deploy/local/lib.sh"

STATE_DIR=$(absolute "${STATE_DIR:-$here/../../.run}")
readonly STATE_DIR LISTEN=${LISTEN:-127.0.0.1:9090} HOME_DIR=$STATE_DIR/prometheus

# Current addresses; the file is replaced only when an address has changed.
write_targets() {
  local process address
  for process in "${PROCESSES[@]}" "${CLUSTER_PROCESSES[@]}"; do
    address=$(cat "$STATE_DIR/run/$process/http.addr" 2>/dev/null) || continue
    jq -n --arg address "$address" --arg process "$process" --arg node "$(uname -n)" \
      '{targets: [$address], labels: {instance: $node, metrics_path: "/metrics", process: $process}}'
  done | jq -s . >"$HOME_DIR/targets.json.new"
  if cmp -s "$HOME_DIR/targets.json" "$HOME_DIR/targets.json.new"; then
    rm "$HOME_DIR/targets.json.new"
  else
    mv "$HOME_DIR/targets.json.new" "$HOME_DIR/targets.json"
  fi
}

main() {
  need_commands prometheus jq
  [[ -d $STATE_DIR/run ]] || die "no stack runs in $STATE_DIR (make run)"
  mkdir -p "$HOME_DIR/rules"
  cp "$here/local.yml" "$HOME_DIR/prometheus.yml"
  cp "$here"/rules/*.yml "$HOME_DIR/rules/"
  write_targets
  prometheus --config.file="$HOME_DIR/prometheus.yml" --storage.tsdb.path="$HOME_DIR/data" \
    --storage.tsdb.retention.time=1d --web.listen-address="$LISTEN" --log.level=warn &
  server=$!
  trap 'kill "$server" 2>/dev/null || true' EXIT
  trap 'exit 0' INT TERM
  say "Prometheus serves on http://$LISTEN"
  # A restarted process has another port.
  while kill -0 "$server" 2>/dev/null; do
    sleep 2 &
    wait $!
    write_targets
  done
  wait "$server"
}

main "$@"
