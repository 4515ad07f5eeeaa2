#!/usr/bin/env bash
# Starts a local stack and a Prometheus as compose/prometheus/local.sh does, and evaluates every
# expression of every dashboard and rule. BIN_DIR has the programs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$here/../..

command -v prometheus >/dev/null || { printf 'prometheus is not installed: skipped\n' && exit 77; }
state=$(mktemp -d /tmp/splitlet-live-XXXXXX)
prometheus_pid=
clean() {
  [[ -z $prometheus_pid ]] || kill "$prometheus_pid" 2>/dev/null || true
  [[ -z $prometheus_pid ]] || wait "$prometheus_pid" 2>/dev/null || true
  STATE_DIR=$state "$tree/deploy/local/stop.sh" >/dev/null 2>&1 || true
  rm -rf "$state"
}
trap clean EXIT

STATE_DIR=$state "$tree/deploy/local/run.sh" </dev/null
# A free port.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
STATE_DIR=$state LISTEN=127.0.0.1:$port "$tree/compose/prometheus/local.sh" &
prometheus_pid=$!
# A container that ends and restarts, so that panels have data.
sed -i 's/hello/bonjour/' "$state/manifests/demo.yaml"
"$here/live.py" "http://127.0.0.1:$port" 120
