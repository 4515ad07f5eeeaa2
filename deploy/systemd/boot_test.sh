#!/usr/bin/env bash
# Tests the package under a running systemd: PID 1 of private namespaces, on an overlay of this machine's root, so that
# the machine itself does not change. The units start in their sandboxes, and a pod runs on a private containerd. The
# pod must survive the kill of every process, the eviction of another pod, an added and removed kubeconfig, and the end
# of the agent.
#
# Needs root and a Debian with the package's dependencies, systemd and containerd; prints what is missing and skips the
# test. BIN_DIR names the programs (of the release build, else of the dev build).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/../local/lib.sh"

readonly PROCESSES_AND_BUS=("${PROCESSES[@]}" nats)
build=$(absolute "$(built_programs)/..")

skip() {
  say "skipped: $*"
  exit 77
}

need_or_skip() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || skip "no $program"
  done
}

# From here on in a private mount namespace; its mounts end with it.
inside() {
  work=$1
  root=$work/root
  trap leave EXIT
  make_root
  install_package
  "$here/../local/runtime.sh" start "$work/runtime" >/dev/null
  boot
  check_pod
  check_kills
  check_switches
  check_limits
  check_cluster
  check_stop
  check_reinstall
  say 'all steps passed'
}

leave() {
  local code=$? unit
  if ((code != 0 && code != 77)) && [[ -n ${systemd:-} ]]; then
    for unit in splitlet-setup splitlet-node-api "${PROCESSES_AND_BUS[@]/#/splitlet-}"; do
      in_system journalctl --no-pager -q -b -n 5 -u "$unit" >&2 || true
    done
  fi
  [[ -z ${systemd:-} ]] || kill -KILL "$systemd" 2>/dev/null || true
  "$here/../local/runtime.sh" stop "$work/runtime" >/dev/null 2>&1 || note 'warning: runtime.sh stop failed'
  exit "$code"
}

# The runtime runs outside but gets paths of pods, so /var must be the overlay for it, too.
make_root() {
  local device
  mkdir "$work"/{layers,root,socket}
  mount -t tmpfs tmpfs "$work/layers"
  mkdir "$work"/layers/{upper,work}
  mount -t overlay overlay -o "lowerdir=/,upperdir=$work/layers/upper,workdir=$work/layers/work" "$root" ||
    skip 'no overlay of the root file system'
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  for device in run tmp dev sys/fs/cgroup; do
    mount -t tmpfs tmpfs "$root/$device"
  done
  for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mkdir -p "$root/dev/shm" "$root/dev/pts" "$root/run/containerd" "$root/var/log/journal"
  mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
  ln -s pts/ptmx "$root/dev/ptmx"
  mount --bind "$work/socket" "$root/run/containerd"
  show_cgroups
  rm -rf "$root"/etc/systemd/system/*.wants "$root/var/lib/cni"
  rm -f "$root/usr/sbin/policy-rc.d"
  mount --bind "$root/var" /var
}

# The systemd inside has a version 2 hierarchy, and the runtime outside that of the machine. pod-worker queries the
# runtime for the hierarchy's features, so it must see the runtime's.
show_cgroups() {
  [[ ! -e /sys/fs/cgroup/cgroup.controllers ]] || return 0
  mkdir -p "$root/run/machine-cgroup" "$root/etc/systemd/system/splitlet-pod-worker.service.d"
  mount --rbind /sys/fs/cgroup "$root/run/machine-cgroup"
  printf '[Service]\nProtectControlGroups=no\nBindReadOnlyPaths=/run/machine-cgroup:/sys/fs/cgroup\n' \
    >"$root/etc/systemd/system/splitlet-pod-worker.service.d/cgroup.conf"
}

install_package() {
  local unit
  cp "$work"/package/splitlet_*.deb "$root/srv/splitlet.deb"
  chroot "$root" dpkg -i /srv/splitlet.deb >"$work/dpkg.txt" 2>&1 || {
    ! grep -q 'dependency problems' "$work/dpkg.txt" || skip "$(grep -m 1 'depends on' "$work/dpkg.txt")"
    cat "$work/dpkg.txt" >&2
    die 'dpkg -i'
  }
  cp "$here/../local/demo.yaml" "$root/etc/splitlet/manifests/"
  chmod 0644 "$root/etc/splitlet/manifests/demo.yaml"
}

boot() {
  env -i container=splitlet-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    unshare --pid --net --uts --ipc --fork --kill-child chroot "$root" /bin/sh -c 'mount -t proc proc /proc &&
      mount -t cgroup2 cgroup2 /sys/fs/cgroup && hostname booted && ip link set lo up && mount --make-rshared / &&
      exec /lib/systemd/systemd --unit=basic.target --log-target=journal' </dev/null >"$work/boot.txt" 2>&1 &
  wait_until 10 find_systemd $! || skip "systemd does not start here: $(tail -n 1 "$work/boot.txt")"
  wait_until 30 takes_commands || die "systemd does not come up: $(tail -n 1 "$work/boot.txt")"
  start_as_told
  wait_until 60 is_up || die "the target does not come: $(units)"
}

takes_commands() { in_system systemctl -q is-active basic.target 2>/dev/null; }

# The exact command of the README, so that a missing step in the README fails here.
start_as_told() {
  local told
  told=$(sed -nE 's/^(systemctl enable --now splitlet\.target).*/\1/p' "$here/../README.md")
  [[ -n $told ]] || die 'deploy/README.md does not say how to start it'
  # shellcheck disable=SC2086  # its words
  in_system $told >"$work/enable.txt" 2>&1 || die "$told: $(cat "$work/enable.txt")"
}

find_systemd() {
  systemd=$(ps -o pid= --ppid "$1" | tr -d ' ')
  [[ -n $systemd && $(cat "/proc/$systemd/comm") == systemd ]]
}

in_system() { nsenter -t "$systemd" --all -r -w -- "$@"; }
is_up() { in_system systemctl -q is-active splitlet.target 2>/dev/null; }
units() { in_system systemctl list-units --no-pager --no-legend --all 'splitlet*' 2>&1; }

container() {
  in_system splitletctl get pods -o json 2>/dev/null | jq -er '.items[] | select(.status.phase == "Running")
    | .status.containerStatuses[0] | "\(.containerID) \(.restartCount)"'
}
same_container() { [[ $(container) == "$before" ]]; }
all_live() { in_system splitletctl get processes -o json 2>/dev/null | jq -e 'length == 6 and all(.[]; .healthy)' >/dev/null; }

# Waits for the recorder, because no process does; it starts once the bus answers.
recorded() { in_system splitletctl events --since 1m >"$work/events.txt" 2>&1; }

check_pod() {
  wait_until 60 container >/dev/null || die "no pod runs: $(in_system splitletctl get pods 2>&1)"
  wait_until 30 all_live || die "$(in_system splitletctl get processes 2>&1)"
  in_system splitletctl get processes
  wait_until 20 recorded || die "no flight recorder: $(cat "$work/events.txt")"
  ! in_system journalctl --no-pager -q -b -g 'Permissions Violation|refused a connection' || die 'a process wants more than it may'
}

has_restarted() { [[ $(in_system systemctl show -P NRestarts "splitlet-$1") -ge 1 ]]; }

check_kills() {
  local unit
  before=$(container)
  for unit in "${PROCESSES_AND_BUS[@]}"; do
    in_system splitletctl process kill "$unit" >/dev/null || die "splitletctl process kill $unit"
    wait_until 20 has_restarted "$unit" || die "$unit was not started again"
    wait_until 40 all_live || die "after $unit: $(in_system splitletctl get processes 2>&1)"
    wait_until 20 same_container || die "the pod changed with $unit: $before -> $(container)"
  done
  say 'every process was killed and came back; the pod stayed'
}

# The other subcommands of `splitletctl process`, tried on pleg.
check_switches() {
  local action
  for action in stop cont restart down; do
    in_system splitletctl process "$action" pleg 2>/dev/null || die "splitletctl process $action pleg"
  done
  [[ $(in_system systemctl is-active splitlet-pleg || true) == inactive ]] || die 'pleg is not down'
  in_system splitletctl process up pleg || die 'splitletctl process up pleg'
  wait_until 40 all_live || die "after all that: $(in_system splitletctl get processes 2>&1)"
  wait_until 20 same_container || die "the pod changed: $before -> $(container)"
}

pod_named() { in_system splitletctl get pods -o json 2>/dev/null | jq -e --arg name "$1" '.items[] | select(.metadata.name | startswith($name))'; }
is_evicted() { pod_named fills | jq -e '.status | .phase == "Failed" and .reason == "Evicted" and (.message | contains("\"d\" exceeds the limit \"2Mi\""))' >/dev/null; }
is_gone() { ! pod_named fills >/dev/null; }

# gc measures pods' volumes from the sandbox of its unit: a pod beyond the limit of its volume is evicted, the other
# stays.
check_limits() {
  sed -i 's/^splitlet:$/&\n  evictStaticPods: true/' "$root/etc/splitlet/kubelet.yaml"
  in_system systemctl restart splitlet-gc || die 'restart gc'
  cat >"$work/fills.yaml" <<'POD'
apiVersion: v1
kind: Pod
metadata: {name: fills}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: writer
    image: splitlet.local/busybox:1
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "head -c 8000000 /dev/zero > /d/file; exec sleep 3600"]
    volumeMounts: [{name: d, mountPath: /d}]
  volumes:
  - {name: d, emptyDir: {sizeLimit: 2Mi}}
POD
  install -m 0644 "$work/fills.yaml" "$root/etc/splitlet/manifests/fills.yaml"
  wait_until 60 is_evicted || die "nobody counts what pods write: $(pod_named fills; in_system journalctl --no-pager -q -b -n 5 -u splitlet-gc)"
  rm "$root/etc/splitlet/manifests/fills.yaml"
  sed -i '/^  evictStaticPods: true$/d' "$root/etc/splitlet/kubelet.yaml"
  in_system systemctl restart splitlet-gc || die 'restart gc'
  wait_until 60 is_gone || die "the evicted pod stays: $(pod_named fills)"
  wait_until 40 all_live || die "after the eviction: $(in_system splitletctl get processes 2>&1)"
  wait_until 20 same_container || die "the pod changed: $before -> $(container)"
  say 'a pod that wrote past the limit of its volume was evicted; the other stayed'
}

# A client without credentials gets a refusal; a closed port gives no answer.
refuses_strangers() {
  [[ $(in_system python3 -c 'import ssl, urllib.error, urllib.request
try:
    urllib.request.urlopen("https://127.0.0.1:10250/pods", timeout=5, context=ssl._create_unverified_context())
except urllib.error.HTTPError as error:
    print(error.code)' 2>/dev/null) == 401 ]]
}
node_api_runs() {
  in_system splitletctl get processes -o json 2>/dev/null |
    jq -e 'length == 7 and any(.[]; .name == "node-api" and .busConnected)' >/dev/null
}

# A kubeconfig makes a node of an API server, which is absent here: node-api starts, with a certificate that status
# made. Without the kubeconfig node-api stops, and every process is healthy. The pod survives both.
check_cluster() {
  ! in_system systemctl -q is-active splitlet-node-api || die 'node-api runs without an API server'
  # The machine's sysctls and swap must not change.
  sed -i 's/^splitlet:$/failSwapOn: false\n&\n  machineSetup: false/' "$root/etc/splitlet/kubelet.yaml"
  cat >"$root/etc/splitlet/kubeconfig" <<'KUBECONFIG'
apiVersion: v1
kind: Config
current-context: away
clusters: [{name: away, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}]
users: [{name: node, user: {token: none}}]
contexts: [{name: away, context: {cluster: away, user: node}}]
KUBECONFIG
  chmod 0600 "$root/etc/splitlet/kubeconfig"
  in_system systemctl restart splitlet.target || die 'restart with a kubeconfig'
  wait_until 60 node_api_runs || die "node-api does not come: $(in_system splitletctl get processes 2>&1; units)"
  wait_until 60 refuses_strangers || die "node-api does not refuse: $(in_system splitletctl get processes 2>&1)"
  in_system setpriv --reuid=splitlet-node-api --regid=splitlet --init-groups \
    sh -c 'cat /var/log/pods/*/*/*.log /etc/splitlet/kubeconfig /var/lib/splitlet/pki/*' >/dev/null ||
    die "node-api may not read: $(in_system ls -lR /var/log/pods /etc/splitlet /var/lib/splitlet/pki)"
  ! in_system setpriv --reuid=splitlet-sync-loop --regid=splitlet --init-groups cat /etc/splitlet/kubeconfig 2>/dev/null ||
    die 'sync-loop reads the kubeconfig'
  in_system splitletctl process kill node-api >/dev/null || die 'splitletctl process kill node-api'
  wait_until 20 has_restarted node-api || die 'node-api was not started again'
  wait_until 40 refuses_strangers || die 'node-api does not serve after a kill'
  ! in_system journalctl --no-pager -q -b -g 'Permissions Violation|refused a connection' || die 'a process wants more than it may'
  wait_until 20 same_container || die "the pod changed: $before -> $(container)"
  rm "$root/etc/splitlet/kubeconfig"
  in_system systemctl restart splitlet.target || die 'restart without the kubeconfig'
  wait_until 60 all_live || die "after the kubeconfig is gone: $(in_system splitletctl get processes 2>&1; units)"
  ! in_system systemctl -q is-active splitlet-node-api || die 'node-api runs on'
  wait_until 20 same_container || die "the pod changed: $before -> $(container)"
  say 'a kubeconfig came and went; the pod stayed'
}

check_stop() {
  local id=${before%% *}
  timeout 60 nsenter -t "$systemd" --all -r -w -- systemctl stop splitlet.target || die 'stop'
  wait_until 20 none_active || die "still active: $(units)"
  ctr --address "$work/socket/containerd.sock" -n k8s.io tasks list >"$work/tasks"
  grep -q "${id#containerd://} .*RUNNING" "$work/tasks" || die "the pod ended with the agent: $(cat "$work/tasks")"
}

# Purges the package and installs it again in the same boot: only files of the administrator remain, and the agent
# starts from nothing.
check_reinstall() {
  local left
  in_system dpkg --purge splitlet >"$work/purge.txt" 2>&1 || die "purge: $(cat "$work/purge.txt")"
  left=$(find "$root"/etc "$root"/run "$root"/var/lib -xdev \( -path '*/dpkg/*' -o -path '*/pod-worker/pods/*' -o -path '*/var/lib/cni' \) -prune \
    -o -name '*splitlet*' ! -path '*/splitlet-pod-worker.service.d' ! -path "$root/var/lib/splitlet" -print)
  [[ -z $left ]] || die "left after the purge: $left"
  [[ -z $(units) ]] || die "units after the purge: $(units)"
  grep -q 'directories of pods are left' "$work/purge.txt" || die 'the pod runs, and the purge says nothing of its directory'
  in_system dpkg -i /srv/splitlet.deb >"$work/again.txt" 2>&1 || die "dpkg -i: $(cat "$work/again.txt")"
  cp "$here/../local/demo.yaml" "$root/etc/splitlet/manifests/"
  chmod 0644 "$root/etc/splitlet/manifests/demo.yaml"
  start_as_told
  wait_until 60 all_live || die "not all live after the second installation: $(in_system splitletctl get processes 2>&1; units)"
  in_system systemctl stop splitlet.target || die 'the second stop'
}
none_active() { ! units | awk '/splitlet-[a-z-]+\.service/ && !/splitlet-setup/ && / active / {found = 1} END {exit !found}'; }

main() {
  [[ $EUID -eq 0 ]] || skip 'needs root'
  [[ -x /lib/systemd/systemd ]] || skip 'no systemd'
  need_or_skip nats-server cpack jq nsenter containerd
  unshare -m --propagation private true 2>/dev/null || skip 'may not make a mount namespace here'
  work=$(mktemp -d /tmp/splitlet-boot.XXXXXX)
  trap 'rm -rf --one-file-system "$work"' EXIT
  cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/package" >"$work/cpack.txt" 2>&1 || { cat "$work/cpack.txt" && exit 1; }
  export RUNTIME_SOCKET=$work/socket/containerd.sock
  unshare -m --propagation private "${BASH_SOURCE[0]}" --inside "$work"
}

if [[ ${1:-} == --inside ]]; then
  inside "$2"
else
  main
fi
