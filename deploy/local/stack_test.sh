#!/usr/bin/env bash
# Tests the local stack on a real containerd: two stacks side by side, every process killed, one stack
# stopped while the other runs, nothing left behind. Needs root; BIN_DIR names the programs (of the release
# build, else of the dev build).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"
tree=$(absolute "$here/../..")
readonly tree

if [[ $EUID -ne 0 ]]; then
  note 'skipped: needs root'
  exit 77
fi
BIN_DIR=$(absolute "$(built_programs)")
export BIN_DIR
work=$(mktemp -d /tmp/splitlet-stack.XXXXXX)
readonly work
readonly OWN_RUNTIME=$work/own FIRST=$work/a SECOND=$work/deep/clone/splitlet/.run
step=start

cleanup() {
  local code=$? stack
  if ((code != 0)); then
    note "FAILED in step: $step"
    tail -n 5 "$work"/*.txt "$FIRST"/log/*/current >&2 2>/dev/null || true
  fi
  for stack in "$FIRST" "$SECOND"; do
    STATE_DIR=$stack "$here/stop.sh" >/dev/null 2>&1 || note "warning: stop.sh failed for $stack"
  done
  ! mountpoint -q "$SECOND" || umount "$SECOND" || note "warning: $SECOND is still mounted"
  [[ -z ${api:-} ]] || kill "$api" 2>/dev/null || true
  "$here/runtime.sh" stop "$OWN_RUNTIME" || note "warning: runtime.sh stop failed"
  rm -rf --one-file-system "$work"
  exit "$code"
}
trap cleanup EXIT

begin() {
  step=$1
  say "--- $step"
}

ctl() {
  local stack=$1
  shift
  timeout -s KILL 10 "$BIN_DIR/splitletctl" --state-dir "$stack" "$@"
}

run() { STATE_DIR=$1 NODE_NAME=$2 "$here/run.sh" >"$work/$2.txt" 2>&1 || { cat "$work/$2.txt" >&2 && return 1; }; }

# type_of_page VARIABLE=VALUE...: runs the commands of docs/cluster.md that make a node of an API server, in the folder
# of this test and with additional variables. The programs are already built. (tests/readme/run.sh runs all commands of
# the page.)
type_of_page() {
  local typed words
  typed=$(cd "$tree" && sed -n 's/^make \(run KUBECONFIG=.*\)$/\1/p' docs/cluster.md)
  read -ra words <<<"${typed//\/tmp\/api/$work/api}"
  [[ ${words[*]} == "run KUBECONFIG=$work/api/node.kubeconfig NODE_NAME=node-a "* ]] || die "docs/cluster.md says: $typed"
  make -C "$tree" --no-print-directory --old-file=build "${words[@]}" "$@" >"$work/node-a.txt" 2>&1 ||
    { cat "$work/node-a.txt" >&2 && return 1; }
}

# Container id and restart count of the demo's container, as the API shows them.
demo_container() {
  ctl "$1" get pods -o json | jq -er --arg name "demo-$2" '.items[] | select(.metadata.name == $name)
    | .status.containerStatuses[0] | "\(.containerID) \(.restartCount)"'
}

healthy() {
  ctl "$1" get processes -o json 2>/dev/null |
    jq -e 'length == 6 and all(.[]; .healthy)' >/dev/null 2>&1
}

seven_healthy() {
  ctl "$1" get processes -o json 2>/dev/null |
    jq -e 'length == 7 and all(.[]; .healthy)' >/dev/null 2>&1
}

pid_of() { cat "$1/sv/$2/supervise/pid" 2>/dev/null; }

has_new_pid() {
  local pid
  pid=$(pid_of "$1" "$2")
  [[ -n $pid && $pid != "$3" ]]
}

# kill_one STACK NODE SERVICE: the service comes back, all are healthy, and the pod is unchanged.
kill_one() {
  local before pid
  before=$(demo_container "$1" "$2")
  pid=$(pid_of "$1" "$3")
  kill -KILL "$pid"
  wait_until 20 has_new_pid "$1" "$3" "$pid" || die "$3 was not restarted"
  wait_until 45 healthy "$1" || die "not healthy after kill -9 of $3: $(ctl "$1" get processes 2>&1)"
  wait_until 20 same_container "$1" "$2" "$before" || die "kill -9 of $3 changed the pod: $before -> $(demo_container "$1" "$2")"
}

same_container() { [[ $(demo_container "$1" "$2" 2>/dev/null) == "$3" ]]; }

# Heartbeats arrive each second.
records() { [[ $(ctl "$1" events --since 3s --heartbeats 2>/dev/null) ]]; }

on_the_bus() {
  ctl "$1" get processes -o json 2>/dev/null | jq -e 'length == 6 and all(.[]; .busConnected)' >/dev/null 2>&1
}

# Possible leftovers of a stack on the machine, one line each.
leftovers() {
  local id network bridge
  network=splitlet-$(short_hash "$1/containerd")
  bridge=splt$(short_hash "$1/containerd")
  mounts_below "$1" | sed 's/^/mount: /'
  pids_with SPLITLET_STACK "$1" | sed 's/^/process: /'
  pids_with SPLITLET_RUNTIME "$1/containerd" | sed 's/^/process: /'
  ip -o link show "$bridge" 2>/dev/null | sed 's/^/bridge: /'
  iptables-save -t nat 2>/dev/null | grep -F "$network" | sed 's/^/rule: /' || true
  find /var/lib/cni/results -name "$network-*" 2>/dev/null | sed 's/^/network state: /' || true
  while read -r id; do
    find /sys/fs/cgroup -type d -name "*$id*" | sed 's/^/cgroup: /'
  done <"$2"
}

container_ids() { ls "$1/containerd/runc/k8s.io"; }

stop_and_look() {
  local found
  container_ids "$1" >"$work/ids"
  [[ $(wc -l <"$work/ids") -ge 2 ]] || die "no containers to look for: the check below would see nothing"
  STATE_DIR=$1 "$here/stop.sh"
  found=$(leftovers "$1" "$work/ids")
  [[ -z $found ]] || die "left behind by stop:"$'\n'"$found"
  [[ -s $1/log/pod-worker/current ]] || die "stop took the logs away"
}

begin 'bad settings are refused with a reason'
printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPodz: 3\n' >"$work/bad.yaml"
for settings in "STATE_DIR=/tmp/$(printf 'x%.0s' {1..90})" "BIN_DIR=$work/none" "RUNTIME_ENDPOINT=unix:///none.sock" "STATE_DIR=$work/a b" \
  "KUBELET_CONFIG=$work/none.yaml" "KUBELET_CONFIG=$work/bad.yaml"; do
  if env STATE_DIR="$work/refused" "$settings" "$here/run.sh" >"$work/refused.txt" 2>&1; then
    die "run.sh took $settings"
  fi
  grep -q '^error: ' "$work/refused.txt" || die "no reason given for $settings"
  [[ ! -e $work/refused ]] || die "something was begun with $settings"
done
grep -qF "$work/bad.yaml: maxPodz: unknown key (line 3)" "$work/refused.txt" || die 'the reason does not name file, key and line'

begin 'two stacks start side by side, one on a mount point'
mkdir -p "$SECOND"
mount --bind "$SECOND" "$SECOND"
run "$FIRST" node-a
run "$SECOND" node-b
[[ $(<"$FIRST/nats/port") != "$(<"$SECOND/nats/port")" ]] || die 'one port for both'
demo_container "$FIRST" node-a >/dev/null
demo_container "$SECOND" node-b >/dev/null
on_the_bus "$FIRST" || die "run.sh did not wait for the bus: $(ctl "$FIRST" get processes 2>&1)"
records "$FIRST" || die 'no flight recorder'
if grep -h 'Permissions Violation' "$FIRST"/log/*/current; then
  die 'a process wants more of the bus than its user may'
fi

begin 'run again changes nothing'
before=$(demo_container "$FIRST" node-a)
run "$FIRST" node-a
[[ $(demo_container "$FIRST" node-a) == "$before" ]] || die "run on a running stack changed the pod"

begin 'a fail point is set and cleared; one that the process does not have is refused'
set_point() { ctl "$FIRST" fault set pleg "$1" 'delay(1ms)' 2>&1; }
set_point cri.version.before >/dev/null || die 'a fail point cannot be set'
if refused=$(set_point cri.version.befor); then
  die "a fail point that is none was set: $refused"
fi
grep -q '^error: pleg has no fail point cri.version.befor ' <<<"$refused" || die "no reason: $refused"
grep -q 'cri.version.befor ' <<<"$(ctl "$FIRST" fault list pleg)" && die 'it is listed all the same'
ctl "$FIRST" fault clear pleg cri.version.before >/dev/null

for process in "${PROCESSES[@]}" nats containerd; do
  begin "kill -9 of $process"
  kill_one "$FIRST" node-a "$process"
done
wait_until 20 records "$FIRST" || die 'the flight recorder did not come back to the new nats-server'

begin 'a nats-server that hangs is replaced'
pid=$(pid_of "$FIRST" nats)
kill -STOP "$pid"
wait_until 60 has_new_pid "$FIRST" nats "$pid" || die 'nobody noticed it'
wait_until 20 on_the_bus "$FIRST" || die "not back on the bus: $(ctl "$FIRST" get processes 2>&1)"

begin 'the keys of the bus are replaced'
"$here/nats.sh" rotate "$FIRST/nats"
wait_until 20 ctl "$FIRST" doctor >/dev/null 2>&1 || die "the new keys are not taken: $(ctl "$FIRST" doctor 2>&1)"
kill -KILL "$(pid_of "$FIRST" nats)"
wait_until 20 on_the_bus "$FIRST" || die 'somebody does not trust the new keys'

begin 'stop of one leaves the other alone'
before=$(demo_container "$SECOND" node-b)
stop_and_look "$FIRST"
[[ $(demo_container "$SECOND" node-b) == "$before" ]] || die 'stop of one stack changed a pod of the other'
healthy "$SECOND" || die 'stop of one stack hurt the other'

begin 'stop with a dead containerd and stopped processes'
kill -STOP "$(pid_of "$SECOND" pod-worker)"
kill -KILL "$(pid_of "$SECOND" containerd)"
stop_and_look "$SECOND"
STATE_DIR=$SECOND "$here/stop.sh" >/dev/null || die 'stop of a stopped stack failed'
mountpoint -q "$SECOND" || die 'stop unmounted the state directory, which it had not mounted'

begin 'a stopped stack starts again'
run "$FIRST" node-a
demo_container "$FIRST" node-a >/dev/null
stop_and_look "$FIRST"

begin 'with a kubeconfig there is node-api; without it, nobody misses it'
if [[ -x $BIN_DIR/fake-api ]]; then
  "$BIN_DIR/fake-api" --dir "$work/api" --node node-a >"$work/api.txt" 2>&1 &
  api=$!
  wait_until 30 test -s "$work/api/admin.kubeconfig" || die "fake-api: $(cat "$work/api.txt")"
  port=$((21000 + $$ % 9000))
  printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' "port: $port" \
    'healthzPort: 0' 'failSwapOn: false' 'splitlet: {machineSetup: false}' >"$work/cluster.yaml"
  type_of_page STATE_DIR="$FIRST" KUBELET_CONFIG="$work/cluster.yaml" DEMO=1
  wait_until 30 seven_healthy "$FIRST" || die "not all are there: $(ctl "$FIRST" get processes 2>&1)"
  before=$(demo_container "$FIRST" node-a)
  kill -KILL "$(pid_of "$FIRST" node-api)"
  wait_until 30 seven_healthy "$FIRST" || die "node-api is not back: $(ctl "$FIRST" get processes 2>&1)"
  run "$FIRST" node-a
  wait_until 30 healthy "$FIRST" || die "somebody misses node-api: $(ctl "$FIRST" get processes 2>&1)"
  ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || die 'node-api runs on'
  [[ $(demo_container "$FIRST" node-a) == "$before" ]] || die "the pod changed: $before -> $(demo_container "$FIRST" node-a)"
  stop_and_look "$FIRST"
  kill "$api"
else
  note 'SKIPPED: no fake-api is built'
fi

begin 'with a runtime of somebody else, stop leaves the pods as they are'
RUNTIME_ENDPOINT=$("$here/runtime.sh" start "$OWN_RUNTIME")
export RUNTIME_ENDPOINT
run "$FIRST" node-a
before=$(demo_container "$FIRST" node-a)
STATE_DIR=$FIRST "$here/stop.sh"
[[ -z $(pids_with SPLITLET_STACK "$FIRST") ]] || die 'stop left processes of the agent'
[[ $(ctr --address "$OWN_RUNTIME/containerd.sock" -n k8s.io tasks list | grep -c RUNNING) -eq 2 ]] || die 'stop touched the pod'
run "$FIRST" node-a
[[ $(demo_container "$FIRST" node-a) == "$before" ]] || die "the pod was not taken over again: $before"
STATE_DIR=$FIRST "$here/stop.sh"
say 'all steps passed'
