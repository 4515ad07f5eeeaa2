#!/usr/bin/env bash
# A runit service: makes the flight recorder (a JetStream stream of 16 MB on disk over splitlet.>) after
# each start of nats-server, then waits for that server's end, so that the next start begins anew.
#
#   recorder.sh STATE_DIR SPLITLETCTL
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state_dir=$1
tool=$2

"$here/nats.sh" ready "$state_dir/nats"
server=$(<"$state_dir/sv/nats/supervise/pid")
timeout -s KILL 30 "$tool" --state-dir "$state_dir" recorder ensure
printf '%s\n' "$server" >"$state_dir/nats/recorder.ready"
exec tail -s 0.5 --pid="$server" -f /dev/null
