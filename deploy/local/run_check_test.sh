#!/usr/bin/env bash
# Refusals of run.sh before it starts anything, and its message for a stopped stack. All programs are stubs except the
# one that checks names. Needs root, as run.sh does.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"

if [[ $EUID -ne 0 ]] || ! { command -v runsvdir && command -v nats-server && command -v jq; } >/dev/null; then
  note 'skipped: needs root and the commands of the stack'
  exit 77
fi
work=$(mktemp -d /tmp/splitlet-check.XXXXXX)
trap 'rm -rf "$work"' EXIT

mkdir "$work/bin"
for program in "${PROCESSES[@]/#/splitlet-}" splitletctl; do
  ln -s stand-in "$work/bin/$program"
done
cat >"$work/bin/stand-in" <<'PROGRAM'
#!/usr/bin/env bash
[[ " $* " != *' --node-name bad name '* ]] || { echo 'splitlet-sync-loop: flags: --node-name: no name' >&2 && exit 1; }
PROGRAM
chmod +x "$work/bin/stand-in"

# refused WANT VARIABLE=VALUE...: run.sh fails with WANT in its error, and has started nothing.
refused() {
  local want=$1 printed
  shift
  ! printed=$(env BIN_DIR="$work/bin" STATE_DIR="$work/s" "$@" "$here/run.sh" 2>&1) || die "not refused: $*"
  [[ $printed == "error: $want"* ]] || die "$*: want \"$want\", got: $printed"
  [[ ! -e $work/s ]] || die "$*: something was started"
}

refused 'NODE_NAME and NODE_IP: flags: --node-name: no name' NODE_NAME='Bad Name'
refused 'NODE_IP: no interface of this machine has 192.0.2.123' NODE_IP=192.0.2.123
refused 'STATE_DIR is 72 characters long' STATE_DIR="/tmp/$(printf 'x%.0s' {1..67})"
refused 'KUBELET_CONFIG: cannot read' KUBELET_CONFIG="$work/none"

tree=$(absolute "$here/../..")
# shellcheck disable=SC2034  # read by stop_command
STATE_DIR=$tree/.run
[[ $(stop_command) == 'make stop' ]] || die "of the default stack: $(stop_command)"
STATE_DIR=$work/s
[[ $(stop_command) == "make stop STATE_DIR=$work/s" ]] || die "of another stack: $(stop_command)"
say 'run.sh refuses what cannot be'
