#!/usr/bin/env bash
# The container `runtime`; RUNTIME selects what it runs:
#
#   private   a containerd of the stack's own. It is a child of this script and is started again when
#             it dies, so that its containers, which are not its children, keep running; TERM ends them all.
#   host      only checks that the host's runtime answers, and loads the demo's image into a containerd.
#
# runtime.sh setup runs setup.sh instead, runtime.sh healthy checks that the runtime can create pods.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly TOOLS=$here/deploy/local
# shellcheck source=deploy/local/lib.sh
source "$TOOLS/lib.sh"
readonly DIR=/var/lib/splitlet-runtime READY=/run/splitlet-runtime.ready
socket=${RUNTIME_ENDPOINT:-unix:///run/splitlet/containerd/containerd.sock}
socket=${socket#unix://}
export RUNTIME_SOCKET=$socket

# Docker mounts these read-only unless the container is privileged. Pods need their own cgroups, and their network
# needs forwarding.
make_writable() {
  local point
  for point in /proc/sys $(awk '$5 ~ "^/sys/fs/cgroup" {print $5}' /proc/self/mountinfo); do
    mount -o remount,rw,bind "$point"
  done
}

# A version 2 cgroup with children that have controllers may hold no processes, so those of this container move one
# level down.
nest_cgroups() {
  local group=/sys/fs/cgroup
  [[ -f $group/cgroup.controllers && -w $group/cgroup.procs ]] || return 0
  mkdir -p "$group/init"
  while read -r pid; do
    printf '%s' "$pid" >"$group/init/cgroup.procs" 2>/dev/null || true # it may be gone
  done <"$group/cgroup.procs"
  sed -E 's/([^ ]+)/+\1/g' "$group/cgroup.controllers" >"$group/cgroup.subtree_control"
}

# Prometheus listens on the pods' gateway address, so that docker can publish its port; firewall rules keep
# pods from it.
keep_pods_out() {
  local rule=(INPUT -i "splt$(short_hash "$DIR")" -p tcp --dport 9090 -j REJECT)
  iptables -w 10 -C "${rule[@]}" 2>/dev/null || iptables -w 10 -I "${rule[@]}"
}

# Removes state of an earlier container that was valid only while it ran. Mounts of pods stay private to this
# container, or they would outlive it in docker's mount namespace.
forget_last_life() {
  mount --make-rprivate "$DIR"
  unmount_below "$DIR/state"
  rm -rf "$DIR/state" "$DIR/runc" "$READY"
  rm -f "$socket" "$socket.ttrpc"
}

end() {
  trap '' TERM INT
  rm -f "$READY"
  "$TOOLS/runtime.sh" stop "$DIR"
  exit 0
}

serve_private() {
  local server
  [[ -z ${NODE_NAME:-} ]] || hostname "$NODE_NAME" # for pods with hostNetwork
  make_writable
  nest_cgroups
  keep_pods_out
  mkdir -p "$DIR"
  forget_last_life
  "$TOOLS/runtime.sh" config "$DIR"
  trap end TERM INT
  while true; do
    "$TOOLS/runtime.sh" serve "$DIR" &
    server=$!
    "$TOOLS/runtime.sh" ready "$DIR"
    touch "$READY"
    echo "containerd answers on $socket"
    wait "$server" || echo "containerd ended with code $?, starting it again" >&2
    rm -f "$READY"
    sleep 0.2
  done
}

# A user with root's id but without capabilities: only its files make it root.
watch_host() {
  trap 'exit 0' TERM INT
  until [[ -S $socket ]]; do
    echo "waiting for $socket"
    sleep 2 &
    wait $!
  done
  "$TOOLS/images.sh" load "$socket" overlayfs ||
    echo "note: could not import splitlet.local/busybox:1, which the demo pod needs" >&2
  touch "$READY"
  echo "the runtime of the host answers on $socket"
  sleep infinity &
  wait $!
}

healthy() {
  [[ -e $READY && -S $socket ]] || return 1
  grep -q eth0: /proc/net/dev || return 1 # the network's holder was replaced
  [[ ${RUNTIME:-private} == host ]] || timeout 5 ctr --address "$socket" version >/dev/null
}

case ${1:-${RUNTIME:-private}} in
  setup) exec "$here/setup.sh" ;;
  healthy) healthy ;;
  private) serve_private ;;
  host) exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$here/runtime.sh" watch ;;
  watch) watch_host ;;
  *) echo "RUNTIME is private or host, not ${1:-$RUNTIME}" >&2 && exit 1 ;;
esac
