#!/usr/bin/env bash
# Runs the compose stack from a fresh copy of the tree. The demo pod runs; every container is killed and comes back
# without a restart of the pod. `up` from other shells, and new containers for nats and the network, leave all processes
# connected to the bus. Each container has the privileges that README.md lists, and `down` leaves nothing behind.
#
# Needs a docker daemon, or START_DOCKERD=1 (root) for a private one. BIN_DIR names programs that are built already (the
# release build, else the dev build); SOURCE=1 compiles them in the image instead, which takes long. BASE_IMAGE as in
# README.md; the default is debian:bookworm-slim, or the image of base-image.sh where no registry answers. KEEP=1 leaves
# the stack running.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(dirname "$here")
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"

work=$(mktemp -d /var/tmp/splitlet-compose.XXXXXX)
readonly work NODE=compose-test CLONE=$work/clone
bin=$(absolute "$(built_programs)")
readonly bin
export COMPOSE_PROJECT_NAME=splitlet-test-$$ TAG=test-$$ NODE_NAME=$NODE
export PROMETHEUS_PORT=$((21000 + $$ % 9000))
step=start
own_daemon=0
host='' # directory of the host's runtime, while it runs

cleanup() {
  local code=$?
  ((code == 0 || code == 77)) || note "FAILED in step: $step"
  if [[ ${KEEP:-0} == 1 ]]; then
    note "left in $CLONE/compose, DOCKER_HOST=${DOCKER_HOST:-}, COMPOSE_PROJECT_NAME=$COMPOSE_PROJECT_NAME TAG=$TAG"
    exit "$code"
  fi
  if [[ -d $CLONE ]]; then
    ((code == 0 || code == 77)) || compose logs --tail=8 >&2 2>/dev/null || true
    compose --profile cluster down -v --remove-orphans >/dev/null 2>&1 || true
    docker image rm splitlet.local/{node,processes,nats,runtime,prometheus}:"$TAG" >/dev/null 2>&1 || true
  fi
  [[ -z $host ]] || stop_host_runtime
  ((!own_daemon)) || "$here/own-dockerd.sh" stop "$work/docker"
  rm -rf --one-file-system "$work"
  exit "$code"
}
trap cleanup EXIT

begin() {
  step=$1
  say "--- $step"
}

skip() {
  say "SKIPPED: $*"
  exit 77
}

compose() {
  if docker compose version >/dev/null 2>&1; then
    (cd "$CLONE/compose" && docker compose "$@")
  else
    (cd "$CLONE/compose" && docker-compose "$@")
  fi
}

find_docker() {
  [[ $EUID -eq 0 ]] || skip 'needs root (sockets of the stack belong to its users)'
  command -v docker >/dev/null || skip 'no docker'
  docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || skip 'no docker compose'
  docker version >/dev/null 2>&1 && return
  [[ ${START_DOCKERD:-0} == 1 ]] || skip 'no docker daemon answers (START_DOCKERD=1 starts one)'
  DOCKER_HOST=$("$here/own-dockerd.sh" start "$work/docker")
  export DOCKER_HOST
  own_daemon=1
}

find_base() {
  [[ -z ${BASE_IMAGE:-} ]] || return 0
  export BASE_IMAGE=debian:bookworm-slim
  docker image inspect "$BASE_IMAGE" >/dev/null 2>&1 && return
  timeout 120 docker pull -q "$BASE_IMAGE" >/dev/null 2>&1 && return
  ! docker image inspect splitlet.local/base:bookworm >/dev/null 2>&1 || { BASE_IMAGE=splitlet.local/base:bookworm && return; }
  command -v debootstrap >/dev/null || skip 'no registry answers, and no debootstrap is there'
  "$CLONE/compose/base-image.sh" >"$work/base.txt" 2>&1 || skip "no registry and no mirror answers: $(tail -n 1 "$work/base.txt")"
  BASE_IMAGE=splitlet.local/base:bookworm
}

copy_tree() {
  mkdir -p "$CLONE"
  (cd "$tree" && git ls-files -z | tar --null -T - -c --ignore-failed-read) | tar -x -C "$CLONE"
  git -C "$tree" show HEAD:compose/.env >"$CLONE/compose/.env" # without what was chosen for this tree
  if [[ ${SOURCE:-0} != 1 ]]; then
    export PROGRAMS=prebuilt
    "$CLONE/compose/prebuilt.sh" "$bin" >/dev/null
  fi
}

# As for a user who followed README.md: the scripts have written .env.
keep_choices() { "$CLONE/compose/keep.sh" "BASE_IMAGE=$BASE_IMAGE" "PROGRAMS=${PROGRAMS:-}"; }

ctl() { timeout -s KILL 20 "$bin/splitletctl" --state-dir "$CLONE/compose/.run" "$@"; }
container() { docker ps -aq --no-trunc --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
  --filter "label=com.docker.compose.service=$1" --filter label=com.docker.compose.oneoff=False; }
inspect() { docker inspect -f "$2" "$(container "$1")"; }
is_healthy() { [[ $(inspect "$1" '{{.State.Running}} {{.State.Health.Status}}' 2>/dev/null) == 'true healthy' ]]; }

# Container id and restart count of the pod's container, as the API shows them.
pod=demo-$NODE
demo() {
  ctl get pods -o json 2>/dev/null | jq -er --arg name "$pod" '.items[] | select(.metadata.name == $name
    and .status.phase == "Running") | .status.containerStatuses[0] | "\(.containerID) \(.restartCount)"'
}
same_demo() { [[ $(demo) == "$before" ]]; }
# Queries the runtime directly, for when a process is down. Through a file, because a pipe to `grep -q` fails when grep
# ends first.
demo_runs() {
  docker exec "$(container runtime)" ctr --address /run/splitlet/containerd/containerd.sock -n k8s.io tasks list \
    >"$work/tasks" 2>&1 && runs_in "$work/tasks"
}
runs_in() {
  local id=${before%% *}
  grep -q "${id#containerd://} .*RUNNING" "$1"
}
on_the_bus() { ctl get processes -o json 2>/dev/null | jq -e 'length == 6 and all(.[]; .busConnected)' >/dev/null; }
all_live() { ctl get processes -o json 2>/dev/null | jq -e 'length == 6 and all(.[]; .healthy)' >/dev/null; }

# back SERVICE: waits until the service is healthy, all processes see each other, and the pod is
# unchanged.
back() {
  wait_until 60 is_healthy "$1" || die "$1 is not healthy again: $(inspect "$1" '{{json .State}}')"
  wait_until 60 all_live || die "not all are live after $1: $(ctl get processes 2>&1)"
  wait_until 30 same_demo || die "the pod changed with $1: $before -> $(demo)"
}

containers() { docker ps -q --no-trunc --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" | sort; }

# stays WHAT COMMAND...: after the command all processes are on the bus within 30 s, and no pod has
# ended.
stays() {
  begin "$1"
  shift
  "$@" >"$work/again.txt" 2>&1 || { cat "$work/again.txt" >&2 && die "$*"; }
  wait_until 30 on_the_bus || die "not all are on the bus: $(ctl get processes 2>&1)"
  wait_until 30 same_demo || die "the pod changed: $before -> $(demo)"
}
# up_without FLAG...: `up` from another shell, which has none of the variables of the first one.
up_without() { (unset BASE_IMAGE PROGRAMS && compose up -d); }
up_with_others() { BASE_IMAGE=other:1 PROGRAMS=source JOBS=1 compose up -d; }
is_unhealthy() { [[ $(inspect "$1" '{{.State.Health.Status}}') == unhealthy ]]; }

# Every process, docker and doctor see the problem; pods and the bus keep running.
network_is_gone() {
  local gone='the network of this process is gone: it has no interface eth0'
  [[ $(ctl get processes -o json | jq --arg reason "$gone" 'map(select(.reason == $reason and (.healthy | not))) | length') == 6 ]] ||
    die "not all say so: $(ctl get processes 2>&1)"
  ctl doctor >"$work/gone.txt" 2>&1 && die "doctor finds nothing: $(cat "$work/gone.txt")"
  grep -q -- '--force-recreate' "$work/gone.txt" || die "doctor does not say what to do: $(cat "$work/gone.txt")"
  for service in nats recorder runtime "${PROCESSES[@]}" prometheus; do
    wait_until 120 is_unhealthy "$service" || die "$service has no network and is: $(inspect "$service" '{{json .State.Health}}')"
  done
}

kill_container() {
  docker kill "$(container "$1")" >/dev/null
  demo_runs || die "the pod ended with the container of $1"
  docker start "$(container "$1")" >/dev/null
  back "$1"
}

# Docker does not restart a container that `docker kill` ended, but restarts one whose process dies.
kill_process() {
  local started
  started=$(inspect "$1" '{{.State.StartedAt}}')
  ctl process kill "$1" >/dev/null || die "splitletctl process kill $1"
  wait_until 30 restarted "$1" "$started" || die "$1 was not started again"
  demo_runs || die "the pod ended with $1"
  back "$1"
}
# Kills the process itself; the first process of the container is docker-init.
main_pid() { ps -o pid= --ppid "$(inspect "$1" '{{.State.Pid}}')" | awk 'NR == 1 {print $1}'; }
restarted() { [[ $(inspect "$1" '{{.State.StartedAt}}') != "$2" ]]; }
state_is() { [[ $(ps -o stat= -p "$(main_pid "$1")") == "$2"* ]]; }

# Runs every subcommand of `splitletctl process` from the host; a paused process is restarted, too.
switch_process() {
  local started
  ctl process stop "$1" 2>/dev/null || die "process stop $1"
  state_is "$1" T || die "$1 is not stopped: $(ps -o stat= -p "$(main_pid "$1")")"
  ctl process cont "$1" || die "process cont $1"
  state_is "$1" S || die "$1 does not run after process cont"
  ctl process stop "$1" >/dev/null 2>&1
  started=$(inspect "$1" '{{.State.StartedAt}}')
  ctl process restart "$1" || die "process restart $1"
  restarted "$1" "$started" || die "$1 was not started again"
  back "$1"
  ctl process down "$1" || die "process down $1"
  [[ $(inspect "$1" '{{.State.Status}} {{.State.ExitCode}}') == 'exited 0' ]] || die "$1: $(inspect "$1" '{{json .State}}')"
  ctl process up "$1" || die "process up $1"
  back "$1"
}

# expect_privileges SERVICE USER CAPABILITIES (effective, hexadecimal)
expect_privileges() {
  local pid found
  pid=$(main_pid "$1")
  found=$(awk '/^Uid:/ {uid = $2} /^CapEff:/ {eff = $2} /^NoNewPrivs:/ {new = $2} END {print uid, eff, new}' "/proc/$pid/status")
  [[ $found == "$2 $(printf '%016x' "$3") 1" ]] || die "$1 runs as: $found (user, capabilities, no new privileges)"
  [[ $(inspect "$1" '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.Privileged}}') == 'true false' ]] || die "$1: root file system"
}

# Puts a host runtime into the mount namespace of docker's daemon, where docker sees one. On this machine itself
# only one directory is made, as a mount point.
start_host_runtime() {
  host=$work/host
  mkdir -p "$host"/{run,pods,kubelet,logs,lock} /var/lib/splitlet/pods
  in_daemon mount --bind "$host/pods" /var/lib/splitlet/pods
  RUNTIME_SOCKET=$host/run/containerd.sock in_daemon "$tree/deploy/local/runtime.sh" start "$host/containerd" >/dev/null
  export RUNTIME_DIR=$host/run RUNTIME_ROOT=$host/containerd/root ROOT_DIR=$host/kubelet LOGS_DIR=$host/logs LOCK_DIR=$host/lock
}
stop_host_runtime() {
  RUNTIME_SOCKET=$host/run/containerd.sock in_daemon "$tree/deploy/local/runtime.sh" stop "$host/containerd"
  in_daemon umount /var/lib/splitlet/pods
  rmdir --ignore-fail-on-non-empty -p /var/lib/splitlet/pods 2>/dev/null || true
}
in_daemon() { nsenter -t "$(<"$work/docker/dockerd.pid")" -m -- "$@"; }
on_host() { compose --env-file host-runtime.env "$@" >"$work/host.txt" 2>&1 || { cat "$work/host.txt" >&2 && die "docker compose $*"; }; }

leftovers() {
  docker ps -aq --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" | sed 's/^/container: /'
  docker volume ls -q --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" | sed 's/^/volume: /'
  docker network ls -q --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" | sed 's/^/network: /'
  mounts_below "$CLONE" | sed 's/^/mount: /'
  grep -l "$pod_cgroup" /proc/[0-9]*/cgroup 2>/dev/null | sed 's/^/process: /' || true
}

find_docker
begin 'a fresh copy of the tree is built and started'
copy_tree
find_base
keep_choices
compose up -d --build >"$work/up.txt" 2>&1 || { tail -n 30 "$work/up.txt" >&2 && die 'up failed'; }
wait_until 120 demo >/dev/null || die "the demo pod does not run: $(ctl get pods 2>&1; ctl get processes 2>&1; compose ps)"
for service in node nats recorder runtime "${PROCESSES[@]}" prometheus; do
  wait_until 60 is_healthy "$service" || die "$service is not healthy: $(inspect "$service" '{{json .State.Health}}')"
done
wait_until 30 all_live || die "from the host: $(ctl get processes 2>&1)"
ctl get processes
[[ $(compose run -T --rm ctl get processes -o json 2>/dev/null | jq length) == 6 ]] || die 'splitletctl in a container'

ctl doctor >"$work/doctor.txt" 2>&1 || die "$(cat "$work/doctor.txt")"
ctl events --since 5m >"$work/events.txt" 2>&1 || die "events: $(tail -n 3 "$work/events.txt")"
[[ -s $work/events.txt ]] || die 'nothing was recorded'

before=$(demo)
begin 'from the host and from a container: logs, exec, process ids; chaos says that it is for local stacks'
in_container() { compose run -T --rm --no-deps ctl "$@" 2>"$work/ctl.txt" </dev/null; }
for way in ctl in_container; do
  [[ -n $($way logs "demo-$NODE" --tail 1) ]] || die "$way logs: $(cat "$work/ctl.txt" 2>/dev/null)"
  [[ $($way exec "demo-$NODE" -- echo heard) == heard ]] || die "$way exec: $(cat "$work/ctl.txt" 2>/dev/null)"
done
for service in "${PROCESSES[@]}"; do
  [[ $(ctl get processes -o json | jq --arg name "$service" '.[] | select(.name == $name) | .pid') == "$(main_pid "$service")" ]] ||
    die "the pid of $service: $(ctl get processes 2>&1)"
done
if [[ -x $bin/splitlet-chaos ]]; then
  ! ctl chaos run "$tree/tests/chaos/partition.yaml" 2>"$work/chaos.txt" || die 'chaos ran on containers'
  grep -q 'docker compose' "$work/chaos.txt" || die "no reason: $(cat "$work/chaos.txt")"
  [[ ! -e $CLONE/compose/.run/chaos.lock ]] || die 'chaos left its lock'
fi

running=$(containers)
stays 'up again in a shell without the variables' up_without
[[ $(containers) == "$running" ]] || die "containers were replaced: $(cat "$work/again.txt")"
mv "$CLONE/compose/.env" "$work/env"
holder=$(container node)
stays 'up again with nothing kept and other values' up_with_others
PROMETHEUS_PORT=$((PROMETHEUS_PORT + 1)) stays 'up again with another port for Prometheus' up_without
stays 'up again as at first' compose up -d
mv "$work/env" "$CLONE/compose/.env"
[[ $(container node) == "$holder" ]] || die "the holder of the network was replaced"
stays 'nats in a new container' compose up -d --no-deps --force-recreate nats
compose rm -sf nats >"$work/again.txt" 2>&1 || { cat "$work/again.txt" >&2 && die 'rm of nats'; }
stays 'nats removed, and up again' up_without
for service in node nats recorder runtime "${PROCESSES[@]}" prometheus prometheus-port; do
  wait_until 60 is_healthy "$service" || die "$service is not healthy: $(inspect "$service" '{{json .State.Health}}')"
done

begin 'privileges'
expect_privileges config-source 7002 0
expect_privileges sync-loop 7003 0
expect_privileges pleg 7004 0
expect_privileges status 7005 0
expect_privileges pod-worker 0 0x20001b
expect_privileges gc 0 0xa
expect_privileges nats 7010 0
expect_privileges recorder 7011 0
expect_privileges prometheus 7012 0
expect_privileges node 65534 0
expect_privileges prometheus-port 65534 0

begin 'sizes'
size=$(docker image inspect -f '{{.Size}}' "splitlet.local/processes:$TAG")
say "the image of the processes: $((size / 1000000)) MB"
((size < 120000000)) || die 'that is more than 120 MB'

for service in "${PROCESSES[@]}" nats; do
  begin "kill of $service"
  kill_container "$service"
  kill_process "$service"
done

begin 'kill and restart of containerd: its containers go on'
for action in kill restart; do
  ctl process "$action" containerd || die "process $action containerd"
  wait_until 30 demo_runs || die 'the pod ended with containerd'
  back runtime
done
! ctl process down containerd 2>"$work/refused.txt" || die 'the container of the runtime was taken down'
grep -q 'all pods would end' "$work/refused.txt" || die "no reason: $(cat "$work/refused.txt")"

begin 'stop, cont, restart, down and up of pleg from the host'
switch_process pleg

begin 'Prometheus sees all of them'
query() {
  python3 -c 'import json, sys, urllib.parse, urllib.request
url = f"http://127.0.0.1:{sys.argv[1]}/api/v1/query?query=" + urllib.parse.quote(sys.argv[2])
print(json.load(urllib.request.urlopen(url, timeout=5))["data"]["result"][0]["value"][1])' "$PROMETHEUS_PORT" "$1" 2>&1
}
all_scraped() { [[ $(query 'count(group by (process) (up{job="kubelet"} == 1))') == 6 ]]; }
wait_until 30 all_scraped || die "processes that answer: $(query 'count(group by (process) (up == 1))')"
[[ $(query kubelet_running_pods) == 1 ]] || die "kubelet_running_pods is $(query kubelet_running_pods)"

begin 'no pod reaches Prometheus'
in_demo() {
  local id=${before%% *}
  docker exec "$(container runtime)" ctr --address /run/splitlet/containerd/containerd.sock -n k8s.io \
    task exec --exec-id "try-$RANDOM" "${id#containerd://}" "$@"
}
address=$(docker exec "$(container runtime)" ip -4 -o address show dev eth0 | awk '{sub("/.*", "", $4); print $4; exit}')
docker exec "$(container prometheus)" bash -c "exec 3<>/dev/tcp/$address/9090" || die "Prometheus does not listen on $address"
in_demo ping -c 1 -w 5 "$address" >/dev/null || die "the pod does not reach $address at all, which would show nothing"
! in_demo wget -T 5 -q -O /dev/null "http://$address:9090/-/ready" 2>"$work/wget.txt" || die 'a pod reads from Prometheus'

begin 'a node of an API server: node-api with the others; away again, and nobody misses it'
# The API server is absent. node-api serves with a certificate that status made, and refuses anonymous
# requests.
cat >"$work/kubeconfig" <<'KUBECONFIG'
apiVersion: v1
kind: Config
current-context: away
clusters: [{name: away, cluster: {server: "https://192.0.2.1:1", insecure-skip-tls-verify: true}}]
users: [{name: node, user: {token: none}}]
contexts: [{name: away, context: {cluster: away, user: node}}]
KUBECONFIG
chmod 0600 "$work/kubeconfig"
KUBECONFIG_FILE=$work/kubeconfig compose --profile cluster up -d >"$work/cluster.txt" 2>&1 ||
  { cat "$work/cluster.txt" >&2 && die 'up with the profile cluster'; }
seven_run() {
  ctl get processes -o json 2>/dev/null |
    jq -e 'length == 7 and any(.[]; .name == "node-api" and .busConnected)' >/dev/null
}
wait_until 60 seven_run || die "node-api is not among them: $(ctl get processes 2>&1)"
wait_until 60 is_healthy node-api || die "node-api is not healthy: $(inspect node-api '{{json .State.Health}}')"
refuses_strangers() {
  local answer
  answer=$(printf 'GET /pods HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n' |
    docker exec -i "$(container runtime)" timeout 5 openssl s_client -quiet -connect 127.0.0.1:10250 2>/dev/null) || true
  [[ $answer == 'HTTP/1.1 401 '* ]]
}
wait_until 60 refuses_strangers || die "no 401 on 10250: $(ctl get processes 2>&1)"
expect_privileges node-api 7006 0
[[ -z $(find "$CLONE/compose/.run/logs/pods" -name '*.log' ! \( -gid 7014 -perm 0640 \)) ]] ||
  die "logs are not for their group: $(ls -lR "$CLONE/compose/.run/logs/pods")"
[[ $(stat -c '%u:%g %a' "$CLONE/compose/.run/cluster/kubeconfig") == '0:7013 640' ]] || die 'rights of the kubeconfig'
[[ -z $(find "$CLONE/compose/.run/pki" -type f -perm /007 -name '*.key') ]] || die 'keys of the node are open'
# The same file as KUBECONFIG_FILE replaces the bootstrap kubeconfig, and node-api keeps running.
BOOTSTRAP_KUBECONFIG_FILE=$work/kubeconfig compose --profile cluster up -d >"$work/bootstrap.txt" 2>&1 ||
  { cat "$work/bootstrap.txt" >&2 && die 'up with a bootstrap kubeconfig'; }
wait_until 60 seven_run || die "node-api is not among them: $(ctl get processes 2>&1)"
# The bootstrap kubeconfig can admit any node, so status alone reads it.
[[ -z $(ls -A "$CLONE/compose/.run/cluster") &&
  $(stat -c '%u %a' "$CLONE"/compose/.run/bootstrap{,/bootstrap-kubeconfig} | xargs) == '7005 500 7005 640' ]] ||
  die "files of the cluster: $(ls -al "$CLONE"/compose/.run/{cluster,bootstrap})"
wait_until 60 same_demo || die "the pod changed: $before -> $(demo)"
compose --profile cluster rm -sf node-api >"$work/leave.txt" 2>&1 || { cat "$work/leave.txt" >&2 && die 'rm of node-api'; }
compose up -d >>"$work/leave.txt" 2>&1 || { cat "$work/leave.txt" >&2 && die 'up without the profile'; }
wait_until 60 all_live || die "after the API server is gone: $(ctl get processes 2>&1)"
wait_until 60 same_demo || die "the pod changed: $before -> $(demo)"

begin 'pods of one'"'"'s own'
mkdir "$work/pods"
sed 's/name: demo$/name: mine/' "$CLONE/deploy/local/demo.yaml" >"$work/pods/mine.yaml"
MANIFESTS=$work/pods compose up -d >"$work/own.txt" 2>&1 || { cat "$work/own.txt" >&2 && die 'up with MANIFESTS'; }
own_runs() { ctl get pods -o json 2>/dev/null | jq -e '[.items[] | select(.status.phase == "Running") | .metadata.name] == ["mine-'"$NODE"'"]' >/dev/null; }
wait_until 90 own_runs || die "not only the own pod runs: $(ctl get pods 2>&1)"

pod=mine-$NODE
before=$(demo)
export MANIFESTS=$work/pods
stays 'the holder of the network in a new container' compose up -d --no-deps --force-recreate node
network_is_gone
stays 'the holder of the network and nats in new containers' compose up -d --no-deps --force-recreate node nats
begin 'all containers anew: healthy again'
compose up -d --force-recreate >"$work/again.txt" 2>&1 || { cat "$work/again.txt" >&2 && die 'up --force-recreate'; }
wait_until 90 own_runs || die "the pod does not run: $(ctl get pods 2>&1)"
wait_until 60 all_live || die "not all are live: $(ctl get processes 2>&1)"

if ((own_daemon)); then
  begin 'docker starts again, as after a reboot: what it did not start by itself, up does'
  "$here/own-dockerd.sh" restart "$work/docker" >"$work/again.txt"
  up_without >"$work/again.txt" 2>&1 || { cat "$work/again.txt" >&2 && die 'up after docker has started again'; }
  wait_until 90 own_runs || die "the pod does not run: $(ctl get pods 2>&1; compose ps)"
  wait_until 60 all_live || die "not all are live: $(ctl get processes 2>&1)"
fi

begin 'down leaves nothing behind'
pod_cgroup=$(container runtime)
compose down -v >"$work/down.txt" 2>&1 || { cat "$work/down.txt" >&2 && die 'down failed'; }
found=$(leftovers)
[[ -z $found ]] || die "left behind: $found"

if ((own_daemon)); then
  begin 'on the runtime of the host'
  unset MANIFESTS
  pod=demo-$NODE
  start_host_runtime
  on_host up -d
  wait_until 60 demo >/dev/null || die "the demo pod does not run: $(ctl get pods 2>&1; ctl get processes 2>&1)"
  before=$(demo)
  pid=$(main_pid runtime)
  [[ $(awk '/^Cap(Eff|Bnd):/ {printf "%s ", $2}' "/proc/$pid/status") == '0000000000000000 0000000000000000 ' ]] ||
    die "the container that only looks has capabilities: $(grep ^Cap "/proc/$pid/status")"
  on_host down -v
  ctr --address "$host/run/containerd.sock" -n k8s.io tasks list >"$work/tasks"
  runs_in "$work/tasks" || die "the pod ended with the agent: $(cat "$work/tasks")"
else
  note 'SKIPPED: on the runtime of the host (START_DOCKERD=1 does that)'
fi
say 'all steps passed'
