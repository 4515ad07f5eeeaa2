#!/usr/bin/env bash
# Refusals of run.sh before it creates a folder or starts a stack. Needs root, as run.sh does.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/../../deploy/local/lib.sh"

[[ $EUID -eq 0 ]] || { note 'skipped: needs root' && exit 77; }
work=$(mktemp -d /tmp/splitlet-words.XXXXXX)
trap 'rm -rf "$work"' EXIT

# refused WANT VARIABLE=VALUE... [SCENARIO]: run.sh fails with WANT in its error.
refused() {
  local want=$1 printed
  shift
  ! printed=$(env TMPDIR="$work" BIN_DIR="$work" "$@" 2>&1) || die "not refused: $*"
  [[ $printed == "error: $want"* ]] || die "$*: want \"$want\", got: $printed"
  [[ -z $(ls "$work") ]] || die "$*: something was made: $(ls "$work")"
}

refused 'there is no scenario nope: want one of ' "$here/run.sh" smoke nope
refused 'MINUTES: "abc" is no number' MINUTES=abc "$here/run.sh" smoke
refused 'REPEAT: "0" is no number' REPEAT=0 "$here/run.sh"
refused 'SEED: "-1" is no number' SEED=-1 "$here/run.sh" smoke
say 'run.sh refuses what cannot be'
