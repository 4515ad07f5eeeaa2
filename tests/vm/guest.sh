#!/usr/bin/env bash
# Runs inside the virtual machine of run.sh: one phase for each boot, reported on the console in lines that begin
# with "VM: ". The last line of a boot announces the next step: reboot, cut (the power), done, or failed.
set -euo pipefail

readonly SRV=/srv/vm PHASE=/var/lib/vm-phase MANIFESTS=/etc/splitlet/manifests

say() { printf 'VM: %s\n' "$*" >/dev/console; }

fail() {
  splitletctl get pods >/dev/console 2>&1 || true
  splitletctl get processes >/dev/console 2>&1 || true
  journalctl --no-pager -q -b -n 1000 | grep -E ' [WE][0-9]{4} ' | tail -n 25 >/dev/console 2>&1 || true
  # Called last: the machine ends with this word.
  say "failed: $*"
  exit 1
}

# wait_until SECONDS COMMAND...
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 1
  done
}

pods() { splitletctl get pods -o json 2>/dev/null || printf '{"items": []}'; }

# Each pod that does not behave as its sample describes.
astray() {
  local want
  want=$(find "$MANIFESTS" -name '*.yaml' -printf '%f\n' | sed 's/\.yaml$//' | jq -R . | jq -sc .)
  pods | jq -r --argjson want "$want" '
    (.items | map({key: (.metadata.name | sub("-guest$"; "")), value: .status}) | from_entries) as $seen
    | $want[] | . as $name | $seen[$name] as $pod
    | if $pod == null then "\($name) is not there"
      elif ["batch", "restart-rules"] | index($name) then
        select($pod.phase != "Succeeded") | "\($name) is \($pod.phase)"
      elif $name == "crashing" then
        select(([$pod.containerStatuses[]?.restartCount] | add // 0) < 1) | "\($name) was not restarted"
      else select([$pod.conditions[]? | select(.type == "Ready" and .status == "True")] == [])
        | "\($name) is \($pod.phase) and not ready" end'
}
all_well() { [[ -z $(astray) ]]; }
await_all() { wait_until "$1" all_well || fail "$2: $(astray | paste -sd,)"; }

# Running containers and their restart counts, without the one that crashes by itself.
running() {
  pods | jq -cS '[.items[] | select(.metadata.name | startswith("crashing") | not) | .status.containerStatuses[]?
    | select(.state.running) | [.containerID, .restartCount]] | sort'
}

ran_once() {
  local runs
  runs=$(find /var/log/pods -path '*_batch-*' -name '*.log' | wc -l)
  [[ $runs == 1 ]] || fail "the job has run $runs times"
}

# The commands of deploy/README.md that prepare Debian's containerd, with the images of the tree.
runtime_as_told() {
  awk '/^mkdir -p \/etc\/cni/ {on = 1} /^deploy\/local/ {exit} on' "$SRV"/package-page |
    sed 's|registry.k8s.io/pause:3.9|splitlet.local/pause:1|' >/run/as-told.sh
  grep -q bridge /run/as-told.sh || fail 'deploy/README.md has no block for containerd'
  bash -e /run/as-told.sh
  cat >>/etc/containerd/config.toml <<'EOF'
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
EOF
  systemctl restart containerd
  for image in "$SRV"/*.tar; do ctr -n k8s.io images import "$image" >/dev/null; done
}

install_package() {
  local sample name
  [[ $(stat -fc %T /sys/fs/cgroup) == cgroup2fs ]] || fail 'no cgroup version 2'
  [[ $(cat /sys/module/apparmor/parameters/enabled) == Y ]] || fail 'no AppArmor'
  systemctl is-active -q systemd-logind || fail 'no logind'
  apt-get install -y "$SRV"/splitlet.deb >/run/apt.txt 2>&1 || fail "apt-get install: $(tail -n 2 /run/apt.txt)"
  runtime_as_told
  systemctl disable -q --now nats-server
  install_objects
  printf '%s\n' 'shutdownGracePeriod: 60s' 'shutdownGracePeriodCriticalPods: 10s' 'cgroupsPerQOS: true' \
    'cgroupDriver: systemd' 'podPidsLimit: 300' >>/etc/splitlet/kubelet.yaml
  systemctl enable -q --now splitlet.target
  for sample in "$SRV"/examples/*.yaml "$SRV"/examples/with-objects/shop.yaml "$SRV"/examples/with-objects/kept.yaml; do
    name=$(basename "$sample")
    patient <"$sample" >"$MANIFESTS/$name"
  done
  slow_goodbye >"$MANIFESTS/slow-goodbye.yaml"
  limited >"$MANIFESTS/limited.yaml"
  await_all 600 'after the installation'
  systemd-inhibit --list | grep -q '^kubelet .*delay' || fail "no lock of logind: $(systemd-inhibit --list | paste -sd,)"
  splitletctl doctor >/dev/console 2>&1 || fail 'doctor'
  limits_are_set
  killed_for_memory
  say "AppArmor: $(confined)"
  [[ $(confined) == *enforce* ]] || fail 'containers are not confined'
}

# A container that takes its time to end, and writes when it has.
slow_goodbye() {
  cat <<'EOF'
apiVersion: v1
kind: Pod
metadata: {name: slow-goodbye}
spec:
  terminationGracePeriodSeconds: 40
  volumes: [{name: out, hostPath: {path: /var/lib/vm-goodbye, type: DirectoryOrCreate}}]
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [sleep, '100000']
    volumeMounts: [{name: out, mountPath: /out}]
    lifecycle: {preStop: {exec: {command: [sh, -c, 'sleep 8; echo bye >>/out/said; sync']}}}
EOF
}

limited() {
  cat <<'EOF'
apiVersion: v1
kind: Pod
metadata: {name: limited}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [sleep, '100000']
    resources: {limits: {cpu: 200m, memory: 64Mi}}
EOF
}

# For version 2 of cgroups, with a kubelet's values. has DIRECTORY FILE VALUE
has() { [[ $(cat "$1/$2" 2>&1) == "$3" ]] || fail "$2 of $1: $(cat "$1/$2" 2>&1), wanted $3"; }
soon_has() { wait_until 120 is "$@" || has "$@"; }
is() { [[ $(cat "$1/$2" 2>&1) == "$3" ]]; }

# of NAME FILTER: a value of a pod, by jq.
of() { pods | jq -r --arg name "$1-guest" ".items[] | select(.metadata.name == \$name) | $2"; }
container_of() { of "$1" '.status.containerStatuses[0].containerID' | sed 's|.*://||'; }

# pod_is_limited POD CONTAINER: checks the directories of the pod `limited`, which has 200m of CPU and 64Mi, and no
# swap.
pod_is_limited() {
  local directory
  [[ -d $2 ]] || fail "the container is not below $1: $(find "$1" -mindepth 1 -type d | paste -sd,)"
  for directory in "$@"; do
    has "$directory" memory.max 67108864
    has "$directory" cpu.max '20000 100000'
    has "$directory" cpu.weight 8
  done
  has "$1" pids.max 300
  has "$2" memory.oom.group 1
  [[ ! -e $2/memory.swap.max ]] || has "$2" memory.swap.max 0
}

# classes_are_limited KUBEPODS BURSTABLE BESTEFFORT: checks their directories. $4: the weight of the Burstable pods'
# requests.
classes_are_limited() {
  local kilobytes
  kilobytes=$(awk '/^MemTotal:/ {print $2}' /proc/meminfo)
  has "$1" memory.max $((kilobytes * 1024))
  has "$1" cpu.weight $((1 + ($(nproc) * 1024 - 2) * 9999 / 262142))
  [[ $(cat "$1/pids.max") =~ ^[0-9]+$ ]] || fail "pids.max of $1: $(cat "$1/pids.max" 2>&1)"
  soon_has "$2" cpu.weight "$4"
  has "$2" memory.max max
  has "$3" cpu.weight 1
  has "$3" memory.max max
}

# With the names of the systemd driver. Among the samples only `burstable` requests CPU, 50m: 51 shares.
limits_are_set() {
  local uid all=/sys/fs/cgroup/kubepods.slice slice
  uid=$(of limited .metadata.uid)
  slice=$all/kubepods-pod${uid//-/_}.slice
  pod_is_limited "$slice" "$slice/cri-containerd-$(container_of limited).scope"
  [[ $(find "$slice" -mindepth 1 -name '*.scope' | wc -l) == 2 ]] || fail "sandbox and container are not below $slice"
  classes_are_limited "$all" "$all/kubepods-burstable.slice" "$all/kubepods-besteffort.slice" 2
  uid=$(of burstable .metadata.uid)
  has "$all/kubepods-burstable.slice/kubepods-burstable-pod${uid//-/_}.slice" cpu.weight 2
  has "$all/kubepods-burstable.slice/kubepods-burstable-pod${uid//-/_}.slice" memory.max 67108864
  say "limits: of $(basename "$slice"), its container, and the classes"
}

# The sample `memory-hungry` exceeds its limit at its first start. On version 2 containerd 1.6 reads the kernel's count
# from the container's cgroup, which may be gone by then; the reason is then Error.
killed_for_memory() {
  wait_until 120 hungry_ended || fail "memory-hungry: $(end_of_hungry)"
  say "a container was killed for memory: $(end_of_hungry)"
}

hungry_ended() { [[ $(end_of_hungry) =~ ^1\ (OOMKilled|Error)\ 137$ ]]; }
end_of_hungry() {
  of memory-hungry '.status.containerStatuses[0] | "\(.restartCount) \(.lastState.terminated.reason) \(.lastState.terminated.exitCode)"'
}

# The other driver, cgroupfs, when no pod runs any more.
cgroupfs_too() {
  local uid all=/sys/fs/cgroup/kubepods
  sed -i 's/SystemdCgroup = true/SystemdCgroup = false/' /etc/containerd/config.toml
  sed -i 's/^cgroupDriver: .*/cgroupDriver: cgroupfs/' /etc/splitlet/kubelet.yaml
  systemctl restart containerd
  systemctl restart splitlet.target
  limited >"$MANIFESTS/limited.yaml"
  await_all 300 'with the driver cgroupfs'
  uid=$(of limited .metadata.uid)
  pod_is_limited "$all/pod$uid" "$all/pod$uid/$(container_of limited)"
  classes_are_limited "$all" "$all/burstable" "$all/besteffort" 1
  rm "$MANIFESTS/limited.yaml"
  wait_until 180 none_left || fail 'with the driver cgroupfs: the pod is left'
  wait_until 60 no_pods_below "$all" || fail "cgroups are left: $(find $all -name 'pod*' | paste -sd,)"
  say 'the same with the driver cgroupfs'
}
no_pods_below() { [[ -z $(find "$1" -mindepth 1 -name 'pod*') ]]; }

# Pods had their time before the machine shut down, and the machine waited no longer than necessary.
said_goodbye() {
  local state=/var/lib/kubelet/graceful_node_shutdown_state took
  [[ $(cat /var/lib/vm-goodbye/said) == bye ]] || fail "the slow pod said: $(cat /var/lib/vm-goodbye/said 2>&1)"
  took=$(($(date -d "$(jq -r .endTime $state)" +%s) - $(date -d "$(jq -r .startTime $state)" +%s)))
  ((took >= 8 && took <= 60)) || fail "pods took $took s to end: $(cat $state)"
  say "pods ended with the machine in $took s"
}

# On an emulated CPU a command takes longer than the default probe timeout of one second.
patient() { sed -E 's/^( *)periodSeconds:/\1timeoutSeconds: 20\n&/'; }

install_objects() {
  install -d -m 0700 /etc/splitlet/objects
  cp "$SRV"/examples/with-objects/objects/*.yaml /etc/splitlet/objects/
  sed -i 's|^splitlet:|splitlet:\n  objectsPath: /etc/splitlet/objects|' /etc/splitlet/kubelet.yaml
  grep -q objectsPath /etc/splitlet/kubelet.yaml || printf 'splitlet: {objectsPath: /etc/splitlet/objects}\n' >>/etc/splitlet/kubelet.yaml
}

# The profile of the first container that is not a sandbox.
confined() {
  local pid
  pid=$(ctr -n k8s.io tasks list | awk '/RUNNING/ {print $2}' | while read -r each; do
    [[ $(cat "/proc/$each/comm") == pause ]] || printf '%s\n' "$each"
  done | head -n 1)
  tr -d '\0' <"/proc/$pid/attr/current"
}

# The power fails while they are being created.
add_more() {
  local i
  for i in 1 2 3 4 5; do
    sed "s/^  name: probed/  name: more-$i/" "$SRV/examples/probed.yaml" | patient >"$MANIFESTS/more-$i.yaml"
  done
  sync "$MANIFESTS"/more-*.yaml "$MANIFESTS"
  sleep 1
}

clock_steps() {
  local before step look
  wait_until 120 all_well || fail "before the clock: $(astray | paste -sd,)"
  before=$(running)
  for step in '+3 hours' '-5 hours'; do
    date -s "$step" >/dev/null
    for look in $(seq 30); do
      [[ $(running) == "$before" ]] || fail "look $look after the clock went $step: $before is now $(running)"
      all_well || fail "look $look after the clock went $step: $(astray | paste -sd,)"
      sleep 1
    done
    say "the clock went $step, and nobody minded"
  done
}

end_all() {
  rm "$MANIFESTS"/*.yaml
  wait_until 600 none_left || fail 'pods are left'
  wait_until 60 no_slices || fail "slices are left: $(find /sys/fs/cgroup/kubepods.slice -name '*-pod*.slice' | paste -sd,)"
}
# Cgroups of pods; those of the classes stay.
no_slices() { [[ -z $(find /sys/fs/cgroup/kubepods.slice -name '*-pod*.slice') ]]; }
none_left() { [[ $(pods | jq '.items | length') == 0 && -z $(ctr -n k8s.io tasks list -q) ]]; }

main() {
  local phase next
  phase=$(cat "$PHASE" 2>/dev/null || printf 1)
  say "boot $phase, $(uname -r)"
  case $phase in
    1)
      install_package
      next=reboot
      ;;
    2)
      said_goodbye
      await_all 600 'after the reboot'
      ran_once
      add_more
      next='cut'
      ;;
    3)
      await_all 600 'after the cut'
      ran_once
      clock_steps
      next='cut'
      ;;
    4)
      await_all 600 'after the second cut'
      ran_once
      end_all
      cgroupfs_too
      next='done'
      ;;
  esac
  printf '%d' $((phase + 1)) >"$PHASE"
  sync "$PHASE" "$(dirname "$PHASE")"
  say "next: $next"
  case $next in
    reboot) systemctl reboot ;;
    done) systemctl poweroff ;;
  esac
}

trap 'say "failed: line $LINENO"' ERR
main
