#!/usr/bin/env bash
# A private containerd: its root, state, socket, runc state and pod network live below one directory,
# so several run side by side and next to the machine's own.
#
#   runtime.sh start DIR    start it with the demo images, print its CRI endpoint (again: no effect)
#   runtime.sh stop DIR     end its containers, shims, network and mounts, then itself; images stay
#   runtime.sh config DIR   write its configuration only
#   runtime.sh serve DIR    run it in the foreground (for a supervisor), after config
#   runtime.sh ready DIR    wait until it answers, then load the demo images
#   runtime.sh endpoint DIR print its CRI endpoint
#
# RUNTIME_SOCKET (DIR/containerd.sock) and RUNTIME_SOCKET_GID (0) say where its socket is and which group may use it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"

readonly CNI_BIN_DIR=${CNI_BIN_DIR:-/usr/lib/cni}
readonly SANDBOX_IMAGE=splitlet.local/pause:1
readonly NAMESPACE=k8s.io

socket() { printf '%s' "${RUNTIME_SOCKET:-$dir/containerd.sock}"; }
network() { printf 'splitlet-%s' "$(short_hash "$dir")"; }
bridge() { printf 'splt%s' "$(short_hash "$dir")"; }
call_ctr() { timeout -s KILL 60 ctr --address "$(socket)" --namespace "$NAMESPACE" "$@"; }
call_runc() { timeout -s KILL 60 runc --root "$dir/runc/$NAMESPACE" "$@"; }

# The kernel refuses overlay on overlay (a state directory inside a container).
snapshotter() {
  case $(stat -f -c %T "$dir") in
    overlayfs) printf native ;;
    *) printf overlayfs ;;
  esac
}

subnet_is_free() {
  [[ -z $(ip -4 -o addr show to "$1" 2>/dev/null) && -z $(ip -4 route show table all root "$1" 2>/dev/null) ]]
}

# A /24 in 10.128.0.0/9 by the hash of the directory; the next free one if it is taken. Kept in a
# file, because pods of an earlier start still have its addresses.
choose_subnet() {
  local number try candidate
  if [[ -s $dir/cni/subnet ]]; then
    cat "$dir/cni/subnet"
    return
  fi
  number=$((16#$(short_hash "$dir") % 32768))
  for ((try = 0; try < 256; try++)); do
    candidate=10.$((128 + number / 256)).$((number % 256)).0/24
    if subnet_is_free "$candidate"; then
      say "$candidate" | tee "$dir/cni/subnet"
      return
    fi
    number=$(((number + 1) % 32768))
  done
  die "no free /24 in 10.128.0.0/9 for the pod network"
}

# By rename, because a running containerd watches the folder.
write_network_config() {
  local file=$dir/cni/net.d/10-bridge.conflist
  mkdir -p "$dir/cni/net.d"
  jq -n --arg name "$(network)" --arg bridge "$(bridge)" --arg data "$dir/cni/ipam" \
    --arg subnet "$(choose_subnet)" '{
      cniVersion: "0.4.0", name: $name,
      plugins: [
        {type: "bridge", bridge: $bridge, isGateway: true, ipMasq: true, hairpinMode: true,
         ipam: {type: "host-local", dataDir: $data, ranges: [[{subnet: $subnet}]],
                routes: [{dst: "0.0.0.0/0"}]}},
        {type: "portmap", capabilities: {portMappings: true}}]}' >"$file.new"
  mv "$file.new" "$file"
}

# restrict_oom_score_adj: without CAP_SYS_RESOURCE (in a container or a small virtual machine) the
# sandbox's negative score would make every container fail.
write_containerd_config() {
  cat >"$dir/config.toml" <<TOML
version = 2
root = "$dir/root"
state = "$dir/state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
  address = "$(socket)"
  gid = ${RUNTIME_SOCKET_GID:-0}

[plugins."io.containerd.internal.v1.opt"]
  path = "$dir/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$SANDBOX_IMAGE"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$CNI_BIN_DIR"
    conf_dir = "$dir/cni/net.d"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "$(snapshotter)"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "$dir/runc"
TOML
}

write_config() {
  need_commands containerd ctr runc jq ip iptables
  [[ -x $CNI_BIN_DIR/bridge ]] || die "no CNI plugins in $CNI_BIN_DIR (make setup, or set CNI_BIN_DIR)"
  mkdir -p "$dir/root" "$dir/state" "$dir/opt"
  chmod 0700 "$dir"
  write_network_config
  write_containerd_config
}

serve() { exec env SPLITLET_RUNTIME="$dir" containerd --config "$dir/config.toml" --log-level warn; }

answers() { [[ -S $(socket) ]] && call_ctr version >/dev/null 2>&1; }

wait_and_load() {
  wait_until 30 answers || die "containerd does not answer on $(socket); see its log"
  "$here/images.sh" load "$(socket)" "$(snapshotter)"
}

start() {
  write_config
  if ! answers; then
    setsid "${BASH_SOURCE[0]}" serve "$dir" </dev/null >>"$dir/containerd.log" 2>&1 &
  fi
  wait_and_load >&2
  say "unix://$(socket)"
}

# Kills and deletes every container that runc knows, with its cgroups; works without containerd.
end_containers() {
  [[ -d $dir/runc/$NAMESPACE ]] || return 0
  # shellcheck disable=SC2016  # $1 and $0 belong to the inner shell
  find "$dir/runc/$NAMESPACE" -mindepth 1 -maxdepth 1 -type d -printf '%f\0' |
    xargs -0 -r -n 1 -P 4 sh -c 'timeout -s KILL 60 runc --root "$0" delete --force "$1" 2>/dev/null || true' \
      "$dir/runc/$NAMESPACE"
}

# Otherwise the next start would find records of removed containers.
forget_containers() {
  local names
  answers || return 0
  mapfile -t names < <(call_ctr containers list --quiet)
  [[ ${#names[@]} -gt 0 ]] || return 0
  call_ctr tasks delete --force "${names[@]}" >/dev/null 2>&1 || true
  call_ctr containers delete "${names[@]}" >/dev/null 2>&1 ||
    note "warning: containerd kept records of stopped containers; the agent will remove them"
}

# The sockets of shims are in a directory of the machine, named by a hash.
remove_shim_sockets() {
  local file address
  for file in "$dir"/state/io.containerd.runtime.v2.task/"$NAMESPACE"/*/address; do
    [[ -f $file ]] || continue
    address=$(<"$file")
    [[ $address != unix:///run/containerd/s/* ]] || rm -f -- "${address#unix://}"
  done
}

network_rules() { iptables-save -t nat 2>/dev/null | grep -F -- "name: \\\"$(network)\\\"" || true; }

# The plugins name the network in the comment of each rule and give each container chains of its own.
# The shared chains of the port mapping plugin (CNI-HOSTPORT-*) stay.
end_rules() {
  local rules chains
  mapfile -t rules < <(network_rules)
  [[ ${#rules[@]} -gt 0 ]] || return 0
  mapfile -t chains < <(printf '%s\n' "${rules[@]}" | sed -nE 's/.* -j (CNI-[A-Za-z0-9-]+)$/\1/p' | sort -u)
  {
    say '*nat'
    printf '%s\n' "${rules[@]/#-A /-D }"
    [[ ${#chains[@]} -eq 0 ]] || printf '%s\n' "${chains[@]/#/-F }" "${chains[@]/#/-X }"
    say COMMIT
  } | iptables-restore -w 10 --noflush || note "warning: iptables rules of the pod network could not be removed"
}

# libcni keeps its records in a directory of the machine, one file per sandbox and network.
forget_results() {
  local file sandbox
  for file in /var/lib/cni/results/"$(network)"-*-eth0; do
    [[ -f $file ]] || continue
    sandbox=${file##*/"$(network)"-}
    rm -f -- "$file" "/var/lib/cni/results/cni-loopback-${sandbox%-eth0}-lo"
  done
}

end_network() {
  end_rules
  ip link delete "$(bridge)" 2>/dev/null || true
  rm -rf "$dir/cni/ipam"
  forget_results
}

stop() {
  need_root
  end_containers
  forget_containers
  remove_shim_sockets
  end_all_with SPLITLET_RUNTIME "$dir"
  end_containers # what was being created while containerd still ran
  unmount_below "$dir"
  end_network
  rm -rf "$dir/state" "$dir/runc" "$(socket)" "$(socket).ttrpc"
}

main() {
  [[ $# -eq 2 ]] || die "usage: runtime.sh start|stop|config|serve|ready|endpoint DIR"
  local action=$1
  dir=$(absolute "$2")
  readonly dir
  ((${#dir} <= MAX_STATE_DIR + 11)) || die "$dir: path too long for a unix socket below it"
  case $action in
    config) need_root && mkdir -p "$dir" && write_config ;;
    start) need_root && mkdir -p "$dir" && start ;;
    serve) serve ;;
    ready) wait_and_load ;;
    endpoint) say "unix://$(socket)" ;;
    stop) [[ ! -d $dir ]] || stop ;;
    *) die "unknown action: $action" ;;
  esac
}

main "$@"
