#!/usr/bin/env bash
# The command blocks of README.md as they stand there, typed one line after the other into one shell, in a copy of the
# tree, with programs that are built already. Real containerd; needs root. BIN_DIR names the programs (of the release
# build, else of the dev build).
#
#   run.sh [GROUP...]    local: what runs in a minute or two; long: what takes longer (make test-readme runs both)
#
# A line that ends in -f or -w would go on for ever: it is ended after a few seconds, and has to have printed something.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"

if [[ $EUID -ne 0 ]]; then
  note 'skipped: needs root'
  exit 77
fi
[[ $# -gt 0 ]] || set -- local
bin=$(absolute "$(built_programs)")
work=$(mktemp -d /tmp/splitlet-readme.XXXXXX)
line='nothing yet'

cleanup() {
  local code=$?
  if ((code != 0)); then
    note "FAILED at: $line"
    tail -n 20 "$work/printed" >&2 2>/dev/null || true
  fi
  STATE_DIR=$work/tree/.run "$tree/deploy/local/stop.sh" >/dev/null 2>&1 || note "warning: stop.sh failed for $work/tree/.run"
  rm -rf --one-file-system "$work"
  exit "$code"
}
trap cleanup EXIT

copy_tree() {
  mkdir -p "$work/tree/build"
  (cd "$tree" && git ls-files -z | tar --null -T - -c --ignore-failed-read) | tar -x -C "$work/tree"
  ln -s "$(dirname "$bin")" "$work/tree/build/release"
}

# The Makefile's own recipes, without building.
make() { command make --no-print-directory --old-file=build --old-file=setup "$@"; }

# What follows something is ended, and is no failure for that.
follow() {
  local code=0
  timeout -s INT 5 bash -c "$(alias); shopt -s expand_aliases"$'\n'"$1" >"$work/printed" 2>&1 || code=$?
  [[ $code == 0 || $code == 124 || $code == 130 ]] && [[ -s $work/printed ]]
}

type_line() {
  line=$1
  say "\$ $line"
  if [[ ${line%%#*} =~ \ -[fw]\ *$ ]]; then
    follow "$line" || die "exit code or nothing printed: $line"
  else
    eval "$line" >"$work/printed" 2>&1 || die "exit code $?: $line"
  fi
}

all_healthy() { "$bin/splitletctl" --state-dir .run get processes -o json 2>/dev/null | jq -e 'all(.[]; .healthy)' >/dev/null; }

# A page that promises what its commands do not show is no better: at the end the demo is what it was.
look_at_demo() {
  "$bin/splitletctl" --state-dir .run get pods -o json >"$work/pods"
  jq -e '.items[] | select(.metadata.name | startswith("demo-")) | select(.status.phase == "Running")
    | .status.containerStatuses[0].restartCount == 0' "$work/pods" >/dev/null || die "the demo is not what it was: $(cat "$work/pods")"
}

copy_tree
cd "$work/tree"
shopt -s expand_aliases
for group in "$@"; do
  mapfile -t lines < <(python3 "$here/blocks.py" list "$group" README.md)
  [[ ${#lines[@]} -gt 0 && -n ${lines[0]} ]] || die "README.md has no block of the group $group"
  for next in "${lines[@]}"; do
    [[ $next != 'make stop'* ]] || look_at_demo
    type_line "$next"
    # Whoever types by hand gives a killed process the moment that it takes.
    [[ $next != 'kill '* ]] || wait_until 30 all_healthy || die "not all processes are healthy after: $next"
  done
done
say 'every line of README.md did what it should'
