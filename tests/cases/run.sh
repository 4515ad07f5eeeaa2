#!/usr/bin/env bash
# Runs cases of public bug reports on one local stack with a private containerd. Needs root.
#
#   run.sh           all cases but those with the mark `slow`
#   run.sh --all     all cases (make test-cases)
#   run.sh NAME...   these cases
#
# A case is a folder here; tests/README.md says how to add one. Cases run JOBS at a time (4). Cases with the mark
# `alone` run after the others, one at a time. Each case prints one line; lines below a failed case show the
# expectation and the actual result.
#
# Variables: BIN_DIR (the release build, else the dev build), JOBS, LIMIT (seconds for one expectation, 120),
# CASE_LIMIT (seconds for one case, 400), CASES (the folder with the cases). STATE_DIR names a running stack, such as
# that of `make run`: the cases run there, and the stack stays up.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(realpath "$here/../..")
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"

readonly JOBS=${JOBS:-4} CASE_LIMIT=${CASE_LIMIT:-400}
CASES=$(absolute "${CASES:-$here}")
BIN_DIR=$(absolute "$(built_programs)")
export CASES BIN_DIR LIMIT=${LIMIT:-120}
own_stack=1
if [[ ${1:-} == --after ]]; then
  dir=$3
else
  [[ -z ${STATE_DIR:-} ]] || own_stack=0
  ((own_stack == 0)) || [[ $EUID -eq 0 ]] || { note 'skipped: running containers needs root' && exit 77; }
  dir=$(mktemp -d "${TMPDIR:-/tmp}/cases-XXXX")
fi
((own_stack == 0)) || STATE_DIR=$dir/stack
STATE_DIR=$(absolute "$STATE_DIR")
export STATE_DIR
readonly CASES BIN_DIR LIMIT STATE_DIR dir own_stack

# Also ends processes of a killed case, which all carry SPLITLET_CASES. A stack that does not stop keeps its folder,
# because without the folder it could not be stopped later.
end() {
  end_all_with SPLITLET_CASES "$dir"
  ((own_stack == 0)) || "$tree/deploy/local/stop.sh" >"$dir/stop.log" 2>&1 || die "$STATE_DIR does not stop: $(<"$dir/stop.log")"
  rm -rf --one-file-system "$dir"
}

# Stops the stack if the process with this id was killed before it could do so.
end_after() {
  while kill -0 "$1" 2>/dev/null; do sleep 1; done
  [[ ! -d $dir ]] || end
}

# run.sh of the stack gives up after two minutes. On a busy machine a second attempt continues where the first stopped.
start_stack() {
  local try
  for try in 1 2; do
    NODE_NAME=node DEMO=0 KUBELET_CONFIG='' NODE_KUBECONFIG='' RUNTIME_ENDPOINT='' MANIFESTS='' \
      "$tree/deploy/local/run.sh" >"$dir/start.log" 2>&1 && return
  done
  cat "$dir/start.log"
  die "the stack did not start in $try tries"
}

has_mark() { grep -qE "^marks:.* $2( |\$)" "$CASES/$1/README" 2>/dev/null; }

report_of() { sed -n '1p' "$CASES/$1/README" 2>/dev/null || true; }

all_cases() {
  local folder
  for folder in "$CASES"/*/; do basename "$folder"; done
}

# run_case NAME: prints one line and, after a failure, the output of the case.
run_case() {
  local began=$SECONDS result=ok
  SPLITLET_CASES=$dir CASE=$1 timeout -k 15 "$CASE_LIMIT" "$here/case.sh" </dev/null >"$dir/$1.out" 2>&1 || result=FAILED
  if [[ $result == ok ]]; then
    say "ok      $1 ($((SECONDS - began)) s): $(report_of "$1")"
    return
  fi
  touch "$dir/$1.failed"
  say "FAILED  $1 ($((SECONDS - began)) s): $(report_of "$1")"$'\n'"$(sed 's/^/  /' "$dir/$1.out")"$'\n'"  run: tests/cases/run.sh $1"
}

run_together() {
  local name
  for name in "$@"; do
    while (($(jobs -rp | wc -l) >= JOBS)); do wait -n || true; done
    run_case "$name" &
  done
  wait
}

run_all() {
  local name shared=() alone=() failed=()
  for name in "$@"; do
    if has_mark "$name" alone; then alone+=("$name"); else shared+=("$name"); fi
  done
  run_together "${shared[@]}"
  for name in "${alone[@]}"; do
    run_case "$name" &
    wait
  done
  for name in "$@"; do
    [[ ! -e $dir/$name.failed ]] || failed+=("$name")
  done
  [[ ${#failed[@]} -eq 0 ]] || { say "${#failed[@]} of $# cases failed: ${failed[*]}" && return 1; }
  say "$# of $# cases hold"
}

choose() {
  local name
  case ${1:-} in
    --all) all_cases ;;
    '') for name in $(all_cases); do has_mark "$name" slow || say "$name"; done ;;
    *)
      for name in "$@"; do
        [[ -d $CASES/$name ]] || die "there is no case $name; there are: $(all_cases | xargs)"
        say "$name"
      done
      ;;
  esac
}

main() {
  local names
  trap end EXIT
  trap 'exit 143' INT TERM HUP
  names=$(choose "$@")
  [[ -n $names ]] || die "there is no case in $CASES"
  if ((own_stack)); then
    setsid --fork "$here/run.sh" --after $$ "$dir" </dev/null >/dev/null 2>&1
    start_stack
  fi
  # shellcheck disable=SC2086  # one word for each case
  run_all $names
}

if [[ ${1:-} == --after ]]; then
  end_after "$2"
else
  main "$@"
fi
