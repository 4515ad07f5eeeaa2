#!/usr/bin/env bash
# Stops the stack that run.sh started in STATE_DIR (.run): the processes, nats-server, and the private
# containerd with all containers, mounts, network namespaces, bridge and firewall rules. Logs, manifests and
# permanent records of the agent stay. With an external runtime (RUNTIME_ENDPOINT of run.sh) only the agent
# stops; its pods keep running, and its records of them stay. No effect on a stopped stack.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"

STATE_DIR=$(absolute "${STATE_DIR:-$here/../../.run}")
readonly STATE_DIR
readonly PRIVATE_RUNTIME=$STATE_DIR/containerd

is_private() {
  [[ ! -s $STATE_DIR/endpoint || $(<"$STATE_DIR/endpoint") == unix://$PRIVATE_RUNTIME/* ]]
}

# The supervisor ends first, without its services, so that it restarts nothing.
end_supervisor() {
  local pid
  for pid in $(supervisor_pid); do
    kill -TERM "$pid" 2>/dev/null || true
  done
}

# end_services SECONDS NAME...: TERM, and KILL after that time.
end_services() {
  local patience=$1 name homes=()
  shift
  for name in "$@"; do
    [[ ! -p $STATE_DIR/sv/$name/supervise/ok ]] || homes+=("$STATE_DIR/sv/$name")
  done
  [[ ${#homes[@]} -gt 0 ]] || return 0
  timeout -s KILL 60 sv -w "$patience" force-shutdown "${homes[@]}" >/dev/null 2>&1 || true
}

# runit no longer restarts it when runtime.sh ends it.
let_containerd_end() {
  [[ ! -p $STATE_DIR/sv/containerd/supervise/ok ]] ||
    timeout -s KILL 10 sv once "$STATE_DIR/sv/containerd" >/dev/null 2>&1 || true
}

main() {
  [[ -d $STATE_DIR ]] || { say "no process runs in $STATE_DIR" && return; }
  need_root
  need_commands sv runsv flock
  lock_stack
  end_supervisor
  end_services 10 "${PROCESSES[@]}" "${CLUSTER_PROCESSES[@]}" recorder
  if is_private; then
    let_containerd_end
    "$here/runtime.sh" stop "$PRIVATE_RUNTIME"
  fi
  end_services 5 containerd nats
  end_all_with SPLITLET_STACK "$STATE_DIR"
  if is_private; then
    unmount_below "$STATE_DIR"
    rm -rf --one-file-system "${STATE_DIR:?}/run"
  fi
  rm -rf --one-file-system "${STATE_DIR:?}/sv"
  rm -f "$STATE_DIR/endpoint"
  say "splitlet in $STATE_DIR is stopped; logs are in $STATE_DIR/log"
}

main "$@"
