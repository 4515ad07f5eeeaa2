#!/usr/bin/env bash
# Runs chaos scenarios on a local stack of its own, started here and ended again, on a file system of its own
# for the state so that it can be filled.
#
#   run.sh [NAME...]     these scenarios of this folder; without: a short fixed set
#
# Variables: BIN_DIR (build/$PRESET/bin), PRESET (dev), MINUTES (rounds of each until then), REPEAT (1), SEED, REPORT
# (a folder), KEEP=1 leaves the stack running. Exit code 77 without root: skipped. Killed, also by SIGKILL, it leaves
# nothing behind: a process of its own looks after that.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(realpath "$here/../..")
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"

BIN_DIR=$(absolute "${BIN_DIR:-$tree/build/${PRESET:-dev}/bin}")
export BIN_DIR
readonly BIN_DIR FIXED=(smoke grace-is-kept reboot)

[[ $EUID -eq 0 ]] || { note "skipped: running containers needs root" && exit 77; }
if [[ ${1:-} == --after ]]; then
  dir=$3
else
  dir=$(mktemp -d /tmp/chaos-XXXX)
fi
readonly dir
child=

# The run removes its pods and ends its faults first.
end_run() {
  [[ -n $child ]] || return 0
  kill -TERM "$child" 2>/dev/null || true
  wait_until 30 dead "$child" || kill -KILL "$child" 2>/dev/null || true
}

dead() { ! kill -0 "$1" 2>/dev/null; }

end() {
  end_run
  [[ ${KEEP:-0} == 0 ]] || { note "the stack is left running: STATE_DIR=$dir" && return; }
  STATE_DIR=$dir "$tree/deploy/local/stop.sh" >/dev/null || note "warning: the stack in $dir did not stop cleanly"
  unmount_below "$dir"
  rm -rf "$dir"
}

# Ends the stack when the process with this id is gone and has not done so.
end_after() {
  while ! dead "$1" && [[ -d $dir ]]; do sleep 1; done
  [[ ! -d $dir ]] || end
}

# The facts' file system: small, and on a file where loop devices can be had.
mount_state() {
  mkdir -p "$dir/state"
  truncate -s 256M "$dir/state.img"
  if ! { mkfs.ext4 -q -N 250000 "$dir/state.img" && mount -o loop "$dir/state.img" "$dir/state"; } 2>/dev/null; then
    mount -t tmpfs -o size=256m,nr_inodes=250000 none "$dir/state"
  fi
  chmod 0700 "$dir/state"
}

run_one() {
  local options=(--repeat "${REPEAT:-1}")
  [[ -z ${MINUTES:-} ]] || options=(--minutes "$MINUTES")
  [[ -z ${SEED:-} ]] || options+=(--seed "$SEED")
  [[ -z ${REPORT:-} ]] || options+=(--report "$(absolute "$REPORT")/$1")
  options+=(--label "$(git -C "$tree" rev-parse --short HEAD 2>/dev/null || say unknown)")
  "$BIN_DIR/splitletctl" --state-dir "$dir" chaos run "$here/$1.yaml" "${options[@]}" &
  child=$!
  local result=0
  wait "$child" || result=$?
  child=
  return "$result"
}

main() {
  local name failed=()
  trap end EXIT
  trap 'exit 143' INT TERM HUP
  [[ ${KEEP:-0} != 0 ]] || setsid --fork "$here/run.sh" --after $$ "$dir" </dev/null >/dev/null 2>&1
  mount_state
  STATE_DIR=$dir DEMO=0 "$tree/deploy/local/run.sh" >"$dir/start.log" || { cat "$dir/start.log" && exit 1; }
  [[ $# -gt 0 ]] || set -- "${FIXED[@]}"
  for name in "$@"; do
    run_one "$name" || failed+=("$name")
  done
  [[ ${#failed[@]} -eq 0 ]] || die "violations in: ${failed[*]}"
}

if [[ ${1:-} == --after ]]; then
  end_after "$2"
else
  main "$@"
fi
