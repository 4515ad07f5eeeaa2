#!/usr/bin/env bash
# Starts the local stack in the background: nats-server, a private containerd and the processes under runit,
# and a demo pod. Returns 0 once the demo pod runs and, with NODE_KUBECONFIG, the API server shows the node
# Ready; else non-zero with a reason within 120 seconds. On a running stack it starts missing processes and
# restarts those with a changed configuration.
#
# Variables: STATE_DIR (.run), MANIFESTS ($STATE_DIR/manifests), RUNTIME_ENDPOINT (a private containerd),
# KUBELET_CONFIG (none), NODE_NAME (this host), NODE_KUBECONFIG (none: no API server; not KUBECONFIG, which
# many users set for kubectl), NODE_IP (detected), DEMO (1; 0 for no demo pod), PRESET (release), BIN_DIR
# (build/$PRESET/bin). SPLITLET_FAILPOINTS is passed on to the processes.
set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"

tree=$(absolute "$here/../..")
readonly LIMIT=110 # seconds; the rest of the 120 is for saying why
STATE_DIR=$(absolute "${STATE_DIR:-$tree/.run}")
readonly STATE_DIR
MANIFESTS=$(absolute "${MANIFESTS:-$STATE_DIR/manifests}")
BIN_DIR=$(absolute "${BIN_DIR:-$tree/build/${PRESET:-release}/bin}")
NODE_NAME=${NODE_NAME:-$(uname -n)}
NODE_NAME=${NODE_NAME,,}
readonly MANIFESTS BIN_DIR NODE_NAME DEMO=${DEMO:-1}
readonly PRIVATE_RUNTIME=$STATE_DIR/containerd
private=1
endpoint=unix://$PRIVATE_RUNTIME/containerd.sock
if [[ -n ${RUNTIME_ENDPOINT:-} && $RUNTIME_ENDPOINT != "$endpoint" ]]; then
  private=0
  endpoint=$RUNTIME_ENDPOINT
fi
readonly private endpoint
processes=("${PROCESSES[@]}")
[[ -z ${NODE_KUBECONFIG:-} ]] || processes+=("${CLUSTER_PROCESSES[@]}")
readonly processes

ctl() { timeout -s KILL 10 "$BIN_DIR/splitletctl" --state-dir "$STATE_DIR" "$@"; }

check() {
  local process
  need_root
  need_commands runsvdir runsv sv svlogd nats-server jq flock timeout
  # Overlay mounts, TOML and /proc/mounts each give some characters a meaning.
  [[ $STATE_DIR =~ ^[A-Za-z0-9._/@%+=-]+$ ]] || die "STATE_DIR: letters, digits and ._/@%+=- only: $STATE_DIR"
  ((${#STATE_DIR} <= MAX_STATE_DIR)) || die "STATE_DIR is ${#STATE_DIR} characters long, unix sockets below it" \
    "allow $MAX_STATE_DIR: choose a shorter one, as in: make run STATE_DIR=/tmp/splitlet"
  for process in "${processes[@]/#/splitlet-}" splitletctl; do
    [[ -x $BIN_DIR/$process ]] || die "$BIN_DIR/$process is missing: make build"
  done
  check_node
  check_config
  [[ -z ${NODE_KUBECONFIG:-} || -r $NODE_KUBECONFIG ]] || die "KUBECONFIG: cannot read $NODE_KUBECONFIG"
  ((private)) || [[ -S ${endpoint#unix://} ]] || die "RUNTIME_ENDPOINT: $endpoint is not a unix socket"
}

# Checked before the start; otherwise each process would report the error in a loop.
check_node() {
  local reason ip ips flags=(--node-name "$NODE_NAME")
  [[ -z ${NODE_IP:-} ]] || flags+=(--node-ip "$NODE_IP")
  reason=$("$BIN_DIR/splitlet-sync-loop" --check-config "${flags[@]}" 2>&1) ||
    die "NODE_NAME and NODE_IP: ${reason#splitlet-sync-loop: }"
  IFS=, read -ra ips <<<"${NODE_IP:-}"
  for ip in "${ips[@]}"; do
    [[ $ip == 0.0.0.0 || $ip == :: ]] || is_ours "$ip" || die "NODE_IP: no interface of this machine has $ip"
  done
}

# Without the command `ip` the processes detect the address.
is_ours() { ! command -v ip >/dev/null || [[ -n $(ip -o addr show to "$1" 2>/dev/null) ]]; }

check_config() {
  local reason
  [[ -n ${KUBELET_CONFIG:-} ]] || return 0
  [[ -r $KUBELET_CONFIG ]] || die "KUBELET_CONFIG: cannot read $KUBELET_CONFIG"
  reason=$("$BIN_DIR/splitlet-sync-loop" --check-config --config "$(absolute "$KUBELET_CONFIG")" 2>&1) ||
    die "KUBELET_CONFIG: ${reason#splitlet-sync-loop: configuration: }"
}

# A changed runtime would leave the pods of the other one without an agent.
check_same_runtime() {
  local before
  [[ -n $(supervisor_pid) && -s $STATE_DIR/endpoint ]] || return 0
  before=$(<"$STATE_DIR/endpoint")
  [[ $before == "$endpoint" ]] || die "the stack runs with the runtime $before; $(stop_command) first"
}

# write_service NAME COMMAND...: a runit service with its log. True if it is new or differs.
write_service() {
  local name=$1 home=$STATE_DIR/sv/$1
  shift
  mkdir -p "$home/log" "$STATE_DIR/log/$name"
  printf 's1000000\nn5\n' >"$STATE_DIR/log/$name/config"
  printf '#!/usr/bin/env bash\nexec svlogd %q\n' "$STATE_DIR/log/$name" >"$home/log/run"
  {
    printf '#!/usr/bin/env bash\nexec 2>&1\nexec'
    printf ' %q' "$@"
    printf '\n'
  } >"$home/run.new"
  chmod +x "$home/log/run" "$home/run.new"
  if cmp -s "$home/run" "$home/run.new"; then
    rm "$home/run.new"
    return 1
  fi
  mv "$home/run.new" "$home/run"
}

# Waits for the runtime and its images, because a failed first attempt costs a back-off.
write_processes() {
  local process flags
  for process in "${processes[@]}"; do
    flags=(--run-dir "$STATE_DIR/run" --state-dir "$STATE_DIR/state" --root-dir "$STATE_DIR/kubelet"
      --log-dir "$STATE_DIR/log/pods" --cert-dir "$STATE_DIR/pki"
      --runtime-endpoint "$endpoint" --node-name "$NODE_NAME" --manifests "$MANIFESTS"
      --nats-url "$("$here/nats.sh" url "$STATE_DIR/nats")" --nats-creds "$STATE_DIR/nats/creds/$process"
      --nats-ca "$STATE_DIR/nats/tls/current/ca.pem"
      --http-address 127.0.0.1:0 --log-format text)
    [[ -z ${KUBELET_CONFIG:-} ]] || flags+=(--config "$(absolute "$KUBELET_CONFIG")")
    [[ -z ${NODE_KUBECONFIG:-} ]] || flags+=(--kubeconfig "$(absolute "$NODE_KUBECONFIG")")
    [[ -z ${NODE_IP:-} ]] || flags+=(--node-ip "$NODE_IP")
    if [[ ! -e $STATE_DIR/sv/$process/run ]]; then
      mkdir -p "$STATE_DIR/sv/$process"
      touch "$STATE_DIR/sv/$process/down"
    fi
    if write_service "$process" "$BIN_DIR/splitlet-$process" "${flags[@]}" &&
      [[ ! -e $STATE_DIR/sv/$process/down ]]; then
      changed+=("$process")
    fi
  done
}

# Services of a stack that no longer has an API server. runsvdir ends their runsv when the folder is gone.
forget_cluster() {
  local process
  [[ -z ${NODE_KUBECONFIG:-} ]] || return 0
  for process in "${CLUSTER_PROCESSES[@]}"; do
    [[ ! -p $STATE_DIR/sv/$process/supervise/ok ]] ||
      sv -w 15 force-stop "$STATE_DIR/sv/$process" >/dev/null || note "warning: $process did not end in time"
    rm -rf --one-file-system "${STATE_DIR:?}/sv/$process" "${STATE_DIR:?}/run/$process"
  done
}

write_stack() {
  mkdir -p "$STATE_DIR"/{sv,log/pods,run,state,kubelet,nats} "$MANIFESTS"
  chmod 0700 "$STATE_DIR/state"
  chmod 0750 "$STATE_DIR/kubelet"
  say "$endpoint" >"$STATE_DIR/endpoint"
  "$here/nats.sh" config "$STATE_DIR/nats"
  write_service nats "$here/nats.sh" serve "$STATE_DIR/nats" || true
  write_service recorder "$BIN_DIR/splitletctl" --state-dir "$STATE_DIR" recorder run || true
  if ((private)); then
    "$here/runtime.sh" config "$PRIVATE_RUNTIME"
    write_service containerd "$here/runtime.sh" serve "$PRIVATE_RUNTIME" || true
  fi
  write_processes
}

supervised() { [[ -p $STATE_DIR/sv/$1/supervise/ok ]] && sv status "$STATE_DIR/sv/$1" >/dev/null 2>&1; }

start_supervisor() {
  local service
  if [[ -z $(supervisor_pid) ]]; then
    SPLITLET_STACK=$STATE_DIR setsid runsvdir -P "$STATE_DIR/sv" \
      </dev/null >>"$STATE_DIR/log/runsvdir" 2>&1 {stack_lock}>&- &
  fi
  for service in "$STATE_DIR"/sv/*; do
    wait_until 15 supervised "$(basename "$service")" || die "runit does not supervise $service; see $STATE_DIR/log/runsvdir"
  done
}

# Images of the demo. An external runtime gets them only if it is a containerd that accepts our user.
load_images() {
  if ((private)); then
    "$here/runtime.sh" ready "$PRIVATE_RUNTIME" || die "containerd did not start: $(last_lines containerd)"
  elif [[ $DEMO != 0 ]]; then
    "$here/images.sh" load "${endpoint#unix://}" overlayfs >/dev/null 2>&1 ||
      note "note: could not import splitlet.local/busybox:1 into $endpoint; the demo pod needs it (docs/runtimes.md)"
  fi
}

start_processes() {
  local process
  for process in "${processes[@]}"; do
    rm -f "$STATE_DIR/sv/$process/down"
    sv up "$STATE_DIR/sv/$process" >/dev/null
  done
  for process in "${changed[@]}"; do
    sv -w 15 restart "$STATE_DIR/sv/$process" >/dev/null || note "warning: $process did not restart in time"
  done
}

# By rename, so that no reader sees half of the file. An edited demo stays unchanged.
place_demo() {
  local target=$MANIFESTS/demo.yaml
  if [[ $DEMO == 0 ]]; then
    ! cmp -s "$here/demo.yaml" "$target" || rm -f "$target"
    return
  fi
  [[ ! -e $target ]] || return 0
  cp "$here/demo.yaml" "$MANIFESTS/.demo.yaml.$$"
  mv "$MANIFESTS/.demo.yaml.$$" "$target"
}

last_lines() { tail -n "${2:-2}" "$STATE_DIR/log/$1/current" 2>/dev/null || true; }

# Also waits for the bus: a pod may run before the last process is connected. A person may have to sign the
# certificate of node-api, and a node is Ready without it.
processes_healthy() {
  ctl get processes -o json 2>/dev/null | jq -e --argjson want "${#processes[@]}" \
    'length == $want and all(.[]; .busConnected and (.healthy or .name == "node-api"))' >/dev/null 2>&1
}

demo_running() {
  ctl get pods -o json 2>/dev/null | jq -e --arg name "demo-$NODE_NAME" \
    '[.items[]? | select(.metadata.name == $name and .status.phase == "Running")] | length > 0' >/dev/null 2>&1
}

# Prints the first process that is down or younger than a second.
young_process() {
  local process state
  for process in "${processes[@]}"; do
    state=$(sv status "$STATE_DIR/sv/$process" 2>/dev/null || true)
    if [[ ! $state =~ ^run:.*\)\ ([0-9]+)s ]] || ((BASH_REMATCH[1] <= 1)); then
      say "$process"
      return
    fi
  done
}

fail_with_reasons() {
  local process
  note "error: $1"
  note "$(ctl get pods 2>&1 || true)"
  note "$(ctl get processes 2>&1 || true)"
  for process in "${processes[@]}"; do
    note "--- $process (the end of $STATE_DIR/log/$process/current)"
    note "$(last_lines "$process" 3)"
  done
  note "the stack is left running to be looked at; $(stop_command) ends it"
  exit 1
}

# The node's Ready condition at the API server.
node_ready() {
  ctl get node --kubeconfig "$(absolute "$NODE_KUBECONFIG")" "$NODE_NAME" -o json 2>/dev/null |
    jq -e 'any(.status.conditions[]?; .type == "Ready" and .status == "True")' >/dev/null 2>&1
}

wait_for_stack() {
  wait_for processes_healthy
  [[ -z ${NODE_KUBECONFIG:-} ]] || wait_for node_ready
  [[ $DEMO == 0 ]] || wait_for demo_running
}

wait_for() {
  local what=$1 young dying=0
  until "$what"; do
    ((SECONDS < LIMIT)) || fail_with_reasons "not ready after $LIMIT seconds (waiting for: ${what/_/ })"
    young=$(young_process)
    dying=$((${#young} > 0 ? dying + 1 : 0))
    ((dying < 20)) || fail_with_reasons "$young does not stay up: $(last_lines "$young" 1)"
    sleep 0.5
  done
}

wait_for_recorder() {
  wait_until 10 records || note "warning: no flight recorder: $(last_lines recorder 1)"
}
records() { [[ $(ctl events --since 10s --heartbeats 2>/dev/null) ]]; }

report() {
  local process address tool=$BIN_DIR/splitletctl
  [[ $tool != "$PWD"/* ]] || tool=${tool#"$PWD"/}
  printf 'splitlet runs in %s\n\n' "$STATE_DIR"
  ctl get pods
  printf '\n%s\n' "logs       $STATE_DIR/log/<process>/current, of pods: $STATE_DIR/log/pods"
  printf '%s\n' "manifests  $MANIFESTS" metrics
  for process in "${processes[@]}"; do
    address=$(cat "$STATE_DIR/run/$process/http.addr" 2>/dev/null || say unknown)
    printf '           %-14s http://%s/metrics\n' "$process" "$address"
  done
  printf '\n%s\n' 'Things to try:'
  printf '  %s\n' "kill -9 \$(cat $STATE_DIR/sv/pleg/supervise/pid)" \
    "$tool --state-dir $STATE_DIR get processes       (one restart more; no pod noticed)"
  [[ $DEMO == 0 ]] || printf '  %s\n' "sed -i s/hello/bonjour/ $MANIFESTS/demo.yaml" \
    "$tool --state-dir $STATE_DIR get pods -w         (the container is replaced)" \
    "$tool --state-dir $STATE_DIR trace pod demo-$NODE_NAME    (its way through the processes, in milliseconds)"
  say "End it with: $(stop_command)"
}

main() {
  changed=()
  check
  mkdir -p "$STATE_DIR"
  lock_stack
  check_same_runtime
  forget_cluster
  write_stack
  start_supervisor
  load_images
  "$here/nats.sh" ready "$STATE_DIR/nats" || die "nats-server did not start: $(last_lines nats)"
  place_demo
  start_processes
  wait_for_stack
  wait_for_recorder
  report
}

main "$@"
