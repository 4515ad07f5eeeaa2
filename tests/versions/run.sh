#!/usr/bin/env bash
# Tests two versions on one node: a pod starts, is edited and ends, with one process of the other version at a time
# among those of this one, and the reverse.
#
#   tests/versions/run.sh BIN_DIR      BIN_DIR: the programs of the other version, such as other-tree/build/release/bin
#
# Needs root and a release build of both (make build). Prints a line for each mix; exit code 1 if one of them failed.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"
need_root
[[ $# -eq 1 && -x $1/splitlet-gc ]] || die "usage: $0 BIN_DIR, with the programs of the other version in it"
OWN=$(absolute "$(built_programs)")
OTHER=$(absolute "$1")
readonly OWN OTHER LIMIT=60 NODE=node-1
work=$(mktemp -d /tmp/versions.XXXXXX)
readonly work STACK=$work/s

cleanup() {
  STATE_DIR=$STACK "$tree/deploy/local/stop.sh" >/dev/null 2>&1 || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

ctl() { timeout -s KILL 10 "$OWN/splitletctl" --state-dir "$STACK" "$@"; }

# mix MOST ONE PROCESS: runs the programs of MOST, except PROCESS from ONE.
mix() {
  rm -rf "${work:?}/bin"
  mkdir "$work/bin"
  local program
  for program in "${PROCESSES[@]/#/splitlet-}" splitletctl; do
    ln -s "$1/$program" "$work/bin/$program"
  done
  ln -sf "$2/splitlet-$3" "$work/bin/splitlet-$3"
}

# manifest WORD: a pod with a fixed UID, so that another WORD is an edit; its container prints the word.
manifest() {
  cat >"$STACK/manifests/.mixed" <<MANIFEST
apiVersion: v1
kind: Pod
metadata: {name: mixed, uid: 5b8f6c9e-0d6b-4b1e-9a53-8f3f7a1c2d40}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: app
    image: splitlet.local/busybox:1
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "trap 'exit 0' TERM; echo $1; sleep 100000 & wait"]
MANIFEST
  mv "$STACK/manifests/.mixed" "$STACK/manifests/mixed.yaml"
}

# A static pod has the name of its node at the end of its own.
says() { [[ $(ctl logs "mixed-$NODE" 2>/dev/null) == *"$1"* ]]; }
# False also while the pods cannot be listed.
is_gone() { ctl get pods -o json 2>/dev/null | jq -e '.items == []' >/dev/null; }

# The steps that a mix must pass; prints the one that failed.
passes() {
  STATE_DIR=$STACK BIN_DIR=$work/bin DEMO=0 NODE_NAME=$NODE "$tree/deploy/local/run.sh" >"$work/run.txt" 2>&1 ||
    { say "the stack does not start: $(tail -n 1 "$work/run.txt")" && return 1; }
  manifest first
  wait_until "$LIMIT" says first || { say "the pod does not start" && return 1; }
  manifest second
  wait_until "$LIMIT" says second || { say "the edited pod does not start" && return 1; }
  rm "$STACK/manifests/mixed.yaml"
  wait_until "$LIMIT" is_gone || { say "the pod does not end" && return 1; }
}

passed=0 failed=0
try() {
  local reason
  mkdir -p "$STACK/manifests"
  if reason=$(passes); then
    say "passed: $1"
    passed=$((passed + 1))
  else
    say "FAILED: $1: $reason"
    tail -n 3 "$STACK"/log/*/current >&2 2>/dev/null || true
    failed=$((failed + 1))
  fi
  STATE_DIR=$STACK "$tree/deploy/local/stop.sh" >/dev/null || die "the stack does not stop"
  rm -rf --one-file-system "$STACK"
}

for process in "${PROCESSES[@]}"; do
  mix "$OWN" "$OTHER" "$process"
  try "$process of the other version among this one's"
  mix "$OTHER" "$OWN" "$process"
  try "$process of this version among the other's"
done
say "$passed passed, $failed failed"
((failed == 0))
