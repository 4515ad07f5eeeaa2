#!/usr/bin/env bash
# Tests the runner of cases with cases made here and a node without pods: bad cases must fail with the
# reason.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(realpath "$here/../..")
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/cases-test-XXXX")
trap 'jobs -p | xargs -r kill; rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/node/manifests"
cat >"$work/bin/splitletctl" <<'CTL'
#!/usr/bin/env bash
[[ "$*" != *'get node'* ]] || { echo '{"metadata": {"name": "node"}}' && exit; }
[[ ! -e ${0%/*}/away ]] || { echo 'error: nobody answers' >&2 && exit 1; }
[[ "$*" != *'get pods'* ]] || echo '{"items": []}'
[[ "$*" != *'get sources'* ]] || echo '[]'
CTL
chmod +x "$work/bin/splitletctl"
export BIN_DIR=$work/bin STATE_DIR=$work/node CASES=$work/cases

# new_case NAME [FILE TEXT]...: a case that passes, with these files replaced; an empty text removes the
# file.
new_case() {
  local folder=$CASES/$1
  mkdir -p "$folder"
  say "What somebody reported of $1." >"$folder/README"
  say 'echo hello => hello' >"$folder/expect"
  shift
  while [[ $# -gt 0 ]]; do
    if [[ -n $2 ]]; then say "$2" >"$folder/$1"; else rm "$folder/$1"; fi
    shift 2
  done
}

# passes NAME...: the run succeeds. fails TEXT NAME...: the run fails and prints TEXT.
passes() { LIMIT=20 "$here/run.sh" "$@" >"$work/printed" 2>&1 || die "$* failed: $(cat "$work/printed")"; }
fails() {
  local text=$1
  shift
  ! LIMIT=0 "$here/run.sh" "$@" >"$work/printed" 2>&1 || die "$* passed: $(cat "$work/printed")"
  prints "$text"
}
prints() { grep -qF -- "$1" "$work/printed" || die "the run does not print: $1"$'\n'"$(cat "$work/printed")"; }
never_prints() { ! grep -qF -- "$1" "$work/printed" || die "the run prints: $1"$'\n'"$(cat "$work/printed")"; }

new_case true
passes true
prints 'ok      true ('
prints 'What somebody reported of true.'
prints '1 of 1 cases hold'

# False expectations of each kind, in `expect` and between steps.
new_case text expect 'echo hello => bye'
fails 'expected: echo hello => bye' text
prints 'seen:     hello'
prints 'run: tests/cases/run.sh text'
prints '1 of 1 cases failed: text'
new_case more-text expect 'echo hello world => hello'
fails 'expected: echo hello world => hello' more-text
new_case matches expect 'echo hello =~ ^b'
fails 'expected: echo hello =~ ^b' matches
new_case matches-not expect 'echo hello !~ l+'
fails 'expected: echo hello !~ l+' matches-not
new_case silence expect 'true => hello'
fails '(no output)' silence
new_case exits expect 'echo hello; exit 3 => hello'
fails 'exit code 3' exits
new_case second expect $'echo hello => hello\necho hello => bye'
fails 'expected: echo hello => bye' second
new_case between steps "wait_for 'echo hello => bye'"
fails 'expected: echo hello => bye' between

# When the node does not answer, neither "no such pod" nor "no problems" holds.
for line in 'phase away => no such pod' 'problems => none' 'left_of away => nothing' 'events away !~ Killing'; do
  new_case away expect "$line"
  touch "$BIN_DIR/away"
  fails "expected: $line" away
  prints 'exit code 1'
  rm "$BIN_DIR/away"
done
new_case nobody expect $'phase nobody => no such pod\nproblems => none'
passes nobody

# An expectation may become true later, and may state an exit code.
new_case later expect $'say x >>"$STATE_DIR/later"; wc -l <"$STATE_DIR/later" => 2\n(exit 3) => exit code 3'
passes later

# shellcheck disable=SC2016  # of the case
new_case expanded steps 'a=1' expect 'say "$a \$a (b) $NODE" => $a \$a (b) $(say node)'
passes expanded

# Folders that are not valid cases.
new_case none expect ''
fails 'there is no expect' none
new_case only-comments expect $'# hello\n\n'
fails 'expect has no expectation' only-comments
new_case no-operator expect 'echo hello'
fails 'this is no expectation' no-operator
new_case no-report README ''
fails 'there is no README' no-report
new_case marked README $'A report.\nmarks: alon'
fails 'marks are alone and slow' marked
new_case named pod.yaml $'metadata:\n  name: other'
fails 'the name of the pod begins with named' named
fails 'there is no case nothing' nothing

# Steps that fail or hang; nothing of the case runs afterwards.
new_case broken steps $'true\n(exit 4)'
fails 'failed: steps line 2: ( exit 4 ) (exit code 4)' broken
new_case hangs steps $'sleep 1000 &\nwait'
CASE_LIMIT=1 fails 'ended from outside, or after its time, in: wait' hangs
new_case leaves steps $'put pod.yaml\nsetsid sleep 1000 &\nsay $! >"$STATE_DIR/left"' pod.yaml 'kind: Pod'
passes leaves
! kill -0 "$(<"$STATE_DIR/left")" 2>/dev/null || die 'a process goes on after its case'
[[ -z $(ls -A "$STATE_DIR/manifests") ]] || die 'a manifest stays after its case'

# The stack of a killed run is stopped, but a stack that was already running is left alone.
if [[ $EUID -eq 0 ]]; then
  mkdir -p "$work/killed/stack"
  true &
  dead=$!
  wait
  SPLITLET_STACK=$work/killed/stack sleep 1000 &
  "$here/run.sh" --after "$dead" "$work/killed"
  ! kill -0 $! 2>/dev/null || die 'the stack of a killed run goes on'
  [[ ! -e $work/killed && -e $STATE_DIR ]] || die "of a killed run stays, or goes with it: $(ls "$work")"
fi

# Cases marked `alone` have the stack to themselves; slow cases run only on request.
rm -r "$CASES"
# shellcheck disable=SC2016  # of the case
readonly ALONE='mkdir "$STATE_DIR/alone"; sleep 0.2; rmdir "$STATE_DIR/alone"'
new_case a-alone README $'A.\nmarks: alone' steps "$ALONE"
new_case b-alone README $'B.\nmarks: slow alone' steps "$ALONE"
# shellcheck disable=SC2016
new_case c-shared steps '[[ ! -e $STATE_DIR/alone ]]; sleep 0.2; [[ ! -e $STATE_DIR/alone ]]'
passes
never_prints b-alone
prints '2 of 2 cases hold'
passes --all
prints '3 of 3 cases hold'
new_case d-false expect 'echo hello => bye'
fails '1 of 4 cases failed: d-false' --all
prints 'ok      c-shared'
say 'all checks passed'
