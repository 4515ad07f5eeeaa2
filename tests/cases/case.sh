#!/usr/bin/env bash
# Runs the case CASE of the folder CASES on the stack in STATE_DIR. run.sh calls it; SPLITLET_CASES is the folder of
# that run. Prints nothing if every expectation holds, otherwise the reason of the failure. At the end it removes the
# case's manifests.
#
# The case's `steps` is sourced here. Without `steps` every *.yaml of the case is put. Then each line of `expect` has to
# become true within LIMIT seconds:
#
#   COMMAND => TEXT      the output of COMMAND is TEXT
#   COMMAND =~ REGEX     the output matches the extended regular expression
#   COMMAND !~ REGEX     the output does not match, and COMMAND succeeded
#
# COMMAND is bash and may use the helpers below. Its output is what it writes to both streams, and a last line
# `exit code N` unless N is 0. TEXT and REGEX are expanded as in a here-document: $NODE, \$literal.
set -Eeuo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$(realpath "$here/../..")/deploy/local/lib.sh"

# SCRATCH: a folder of this case only, for steps and as a hostPath. NODE: the name of the node.
SCRATCH=$SPLITLET_CASES/$CASE.scratch
mkdir "$SCRATCH"
readonly FOLDER=$CASES/$CASE MANIFESTS=$STATE_DIR/manifests SCRATCH
doing='nothing yet'
checked=0
reason=

# --- Helpers for steps and expectations. Pod names are those of the manifests, without the node's name.

# sctl ARGUMENTS: splitletctl on this stack.
sctl() { timeout -s KILL 40 "$BIN_DIR/splitletctl" --state-dir "$STATE_DIR" "$@"; }

# put FILE [AS [SED]]: installs the manifest FILE of the case on the node as `manifest AS`, changed by sed; replaces an
# earlier one.
put() {
  check_name "$FOLDER/$1"
  sed "${3:-}" "$FOLDER/$1" | write "${2:-$1}"
}

# write AS: like put, with the manifest on stdin. By rename, so that no reader sees half of it.
write() {
  cat >"$MANIFESTS/.$CASE.new"
  mv "$MANIFESTS/.$CASE.new" "$(manifest "$1")"
}

# edit AS SED: changes the manifest by sed.
edit() { sed "$2" "$(manifest "$1")" | write "$1"; }

# remove AS...: removes manifests.
remove() {
  local name
  for name in "$@"; do rm -f "$(manifest "$name")"; done
}

# manifest AS: the path of this case's manifest on the node. File names begin with the case's name, so that cases do
# not collide.
manifest() { printf '%s/%s.%s' "$MANIFESTS" "$CASE" "$1"; }

# pod NAME [JQ]: the result of jq on the pod's object, or: no such pod.
pod() {
  local found
  found=$(sctl get pods -o json | jq -r --arg name "$1-$NODE" ".items[] | select(.metadata.name == \$name) | ${2:-.}") || return
  say "${found:-no such pod}"
}
phase() { pod "$1" '.status.phase // "none"'; }

# container NAME [JQ]: the result of jq on the status of the pod's first container.
container() { pod "$1" ".status.containerStatuses[0]${2:-}"; }

# events NAME: the pod's events, one line each: reason, message.
events() { sctl get events --for "pod/$1-$NODE" -o json | jq -r '.items[] | .reason + " " + .message'; }

logs() { sctl logs "$1-$NODE" "${@:2}"; }

# run_in NAME [FLAG...] -- COMMAND...: runs the command in the pod's container.
run_in() {
  local flags=() name=$1
  shift
  while [[ $1 != -- ]]; do flags+=("$1") && shift; done
  sctl exec "${flags[@]}" "$name-$NODE" "$@"
}

# problems: the problems that the node reports for this case's manifests.
problems() {
  local found
  found=$(sctl get sources -o json | jq -r --arg path "/$CASE." '.[].problems[] | select(.where | contains($path)) | .where + ": " + .reason') || return
  say "${found:-none}"
}

# kill_process NAME: kill -9 of a process of the node; returns when its successor is healthy.
kill_process() {
  local before
  before=$(process "$1" .pid)
  kill -KILL "$before"
  wait_for "process $1 '.pid != $before and .healthy' => true"
}
# process NAME [JQ]: the result of jq on the process's report.
process() { sctl get processes -o json | jq -r --arg name "$1" ".[] | select(.name == \$name) | ${2:-.}"; }

# left_of UID: what is left of a pod below the state directory and in the runtime, or: nothing.
left_of() {
  local found
  found=$(cd "$STATE_DIR" && find kubelet/pods log/pods state/pods -mindepth 1 -maxdepth 1 -name "*$1*" &&
    call_ctr containers list "labels.\"io.kubernetes.pod.uid\"==$1" -q) || return
  say "${found:-nothing}"
}
call_ctr() { timeout -s KILL 40 ctr --address "$STATE_DIR/containerd/containerd.sock" -n k8s.io "$@"; }

# free_port: prints an unused TCP port.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# wait_for 'COMMAND => TEXT': like a line of `expect`, for use in steps.
wait_for() {
  local deadline=$((SECONDS + LIMIT)) command text how wanted saw
  [[ $1 =~ ^(.*[^\ ])\ +(=\>|=~|!~)(\ +(.*))?$ ]] || fail "this is no expectation (COMMAND => TEXT): $1"
  command=${BASH_REMATCH[1]} how=${BASH_REMATCH[2]} text=${BASH_REMATCH[4]}
  while true; do
    wanted=$(expand "$text")
    saw=$(look "$command")
    ! holds "$saw" "$how" "$wanted" || return 0
    ((SECONDS < deadline)) || fail "expected: $1"$'\n'"wanted:   $wanted"$'\n'"seen:     ${saw:-(no output)}"$'\n'"after:    $LIMIT s"
    sleep 0.5
  done
}

# --- Functions of the helpers.

expand() { eval "cat <<EXPAND"$'\n'"$1"$'\nEXPAND'; }

look() {
  local said code=0
  # shellcheck disable=SC2294  # the command is text
  said=$(eval "$1" 2>&1) || code=$?
  ((code == 0)) || said+="${said:+$'\n'}exit code $code"
  say "$said"
}

holds() {
  case $2 in
    '=>') [[ $1 == "$3" ]] ;;
    '=~') [[ $1 =~ $3 ]] ;;
    '!~') [[ ! $1 =~ $3 && ! $1 =~ (^|$'\n')exit\ code\ [0-9]+$ ]] ;;
  esac
}

fail() {
  reason=$1
  exit 1
}

# A manifest that is not YAML has no name to find, and passes.
check_name() {
  local name
  name=$(sed -n '/^metadata:/,$ s/^  name: *//p' "$1" | head -n 1)
  [[ -z $name || $name == "$CASE" || $name == "$CASE"-* ]] || fail "$1: the name of the pod begins with $CASE, so that cases do not meet"
}

check_marks() {
  local marks
  marks=$(sed -n 's/^marks://p' "$FOLDER/README")
  [[ $marks =~ ^(\ (alone|slow))*$ ]] || fail "README: marks are alone and slow, not:$marks"
}

own_pods() { sctl get pods -o json | jq -r --arg name "$CASE-" '.items[] | select(.metadata.name | startswith($name)) | .metadata.name'; }

finish() {
  local code=$?
  trap - EXIT ERR
  trap '' TERM INT
  set +e
  ((code == 0)) || say "${reason:-failed: $doing (exit code $code)}"
  jobs -p | xargs -r kill 2>/dev/null
  rm -rf "$SCRATCH" "$MANIFESTS"/{,.}"$CASE".*
  # The next case has the stack to itself only when this one's pods are gone.
  ! grep -q '^marks:.* alone' "$FOLDER/README" || wait_until "$LIMIT" no_own_pods || { say 'its pods do not go' && code=1; }
  exit "$code"
}
no_own_pods() { [[ $(look own_pods) == '' ]]; }

put_all() {
  local file
  for file in "$FOLDER"/*.yaml; do
    [[ ! -e $file ]] || put "$(basename "$file")"
  done
}

check_all() {
  local line
  while IFS= read -r line; do
    [[ -n $line && $line != '#'* ]] || continue
    checked=$((checked + 1))
    wait_for "$line"
  done <"$FOLDER/expect"
  ((checked > 0)) || fail 'expect has no expectation: such a case could not fail'
}

trap finish EXIT
trap 'fail "ended from outside, or after its time, in: $BASH_COMMAND"' TERM INT
trap 'doing="$(basename "${BASH_SOURCE[0]}") line $LINENO: $BASH_COMMAND"' ERR
[[ -s $FOLDER/README ]] || fail 'there is no README that says what was reported'
check_marks
[[ -s $FOLDER/expect ]] || fail 'there is no expect: a case without an expectation could not fail'
NODE=$(sctl get node -o json | jq -r '(.items[0] // .).metadata.name')
readonly NODE
if [[ -e $FOLDER/steps ]]; then
  # shellcheck source=/dev/null
  source "$FOLDER/steps"
else
  put_all
fi
check_all
