#!/usr/bin/env bash
# Hands a node with running pods from a kubelet to splitlet, or back, without restarting a container. docs/takeover.md
# explains the checks. Installed as /usr/lib/splitlet/takeover.
#
#   takeover.sh check splitlet|kubelet   prints the obstacles; changes nothing
#   takeover.sh pin                      writes the UIDs of running static pods into their manifests, so that both agents agree
#   takeover.sh to splitlet|kubelet      checks, stops one agent, starts the other, compares; reverts on a failure
#   takeover.sh list                     running containers: pod UID, container, attempt, id, process, start (ticks after boot)
#
# Variables and their defaults:
#   CONFIG            /var/lib/kubelet/config.yaml: the KubeletConfiguration of both
#   ROOT_DIR          /var/lib/kubelet: the root directory of both
#   MANIFESTS         staticPodPath of CONFIG
#   RUNTIME_ENDPOINT  containerRuntimeEndpoint of CONFIG, else unix:///run/containerd/containerd.sock
#   NODE_NAME         this host, in lower case
#   NODE_KUBECONFIG   none: no API server is asked
#   LIMIT, SETTLE     120, 30: seconds until the new agent has all pods, and seconds to watch them after that
#   FORCE             none: names of checks that count as warnings, as in "volumes managers"
#   {START,STOP,RUNS,READY}_{KUBELET,SPLITLET}: commands, see below
# crictl asks the runtime where crictl is installed; otherwise ctr asks containerd.
set -euo pipefail

CONFIG=${CONFIG:-/var/lib/kubelet/config.yaml}
ROOT_DIR=${ROOT_DIR:-/var/lib/kubelet}
NODE_NAME=${NODE_NAME:-$(uname -n)}
NODE_NAME=${NODE_NAME,,}
NODE_KUBECONFIG=${NODE_KUBECONFIG:-}
LIMIT=${LIMIT:-120}
SETTLE=${SETTLE:-30}
FORCE=${FORCE:-}
SPLITLET=${SPLITLET:-splitlet-config-source}
SPLITLETCTL=${SPLITLETCTL:-splitletctl}
START_KUBELET=${START_KUBELET:-systemctl start kubelet.service}
STOP_KUBELET=${STOP_KUBELET:-systemctl stop kubelet.service}
RUNS_KUBELET=${RUNS_KUBELET:-pgrep -x kubelet}
READY_KUBELET=${READY_KUBELET:-curl -fsS -m 5 http://127.0.0.1:10248/healthz}
START_SPLITLET=${START_SPLITLET:-systemctl start splitlet.target}
STOP_SPLITLET=${STOP_SPLITLET:-systemctl stop splitlet.target splitlet-*.service}
RUNS_SPLITLET=${RUNS_SPLITLET:-pgrep ^splitlet-}
READY_SPLITLET=${READY_SPLITLET:-splitlet_has_all}
# Kinds of volumes that splitlet sets up and tears down (docs/behaviour/volumes.md); host paths have no
# directory.
readonly KNOWN_VOLUMES='empty-dir configmap secret downward-api projected host-path local-volume'

work=$(mktemp -d /tmp/takeover.XXXXXX)
readonly work
trap 'rm -rf "$work"' EXIT
failed=0

say() { printf '%s\n' "$*"; }
note() { printf '%s\n' "$*" >&2; }
die() {
  note "error: $*"
  exit 1
}
usage() {
  sed -n '5,8s/^# \{0,3\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

# fault CHECK TEXT: reports an obstacle.
fault() {
  if [[ " $FORCE " == *" $1 "* ]]; then
    note "warning: $1: $2"
  else
    note "error: $1: $2"
    failed=1
  fi
}

# wait_until SECONDS COMMAND...
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.5
  done
}

# run NAME: runs the command in the variable NAME.
run() { bash -c "${!1}" >"$work/$1.txt" 2>&1; }
runs() { run "RUNS_${1^^}"; }
stopped() { ! runs "$1"; }
other() { if [[ $1 == kubelet ]]; then say splitlet; else say kubelet; fi; }

# A scalar at the top of CONFIG, YAML or JSON; empty without the field.
setting() {
  if [[ $(tr -d '[:space:]' <"$CONFIG" | head -c 1) == '{' ]]; then
    jq -r --arg key "$1" '.[$key] // ""' "$CONFIG"
  else
    sed -nE "s/^$1:[[:space:]]*[\"']?([^\"'#]*[^\"'#[:space:]])[\"']?[[:space:]]*(#.*)?\$/\\1/p" "$CONFIG" | tail -n 1
  fi
}

# --- running containers, as JSON: {id, uid, namespace, pod, name, attempt, pid, source, sandbox}; a sandbox has an
# empty name

by_crictl() {
  local crictl=(timeout 60 crictl --runtime-endpoint "$RUNTIME_ENDPOINT") id
  "${crictl[@]}" pods --state ready -o json | jq -c '.items[] | {id, uid: .metadata.uid, namespace: .metadata.namespace,
    pod: .metadata.name, name: "", attempt: (.metadata.attempt // 0), source: (.annotations["kubernetes.io/config.source"] // "api")}' >"$work/pods"
  "${crictl[@]}" ps --state running -o json | jq -c '.containers[] | {id, uid: .labels["io.kubernetes.pod.uid"],
    namespace: .labels["io.kubernetes.pod.namespace"], pod: .labels["io.kubernetes.pod.name"], name: .metadata.name,
    attempt: (.metadata.attempt // 0), source: ""}' >"$work/containers"
  for id in $(jq -r .id "$work/pods"); do
    "${crictl[@]}" inspectp -o json "$id" | jq -c --arg id "$id" '{id: $id, pid: .info.pid}'
  done >"$work/pids"
  for id in $(jq -r .id "$work/containers"); do
    "${crictl[@]}" inspect -o json "$id" | jq -c --arg id "$id" '{id: $id, pid: .info.pid}'
  done >>"$work/pids"
  cat "$work/pods" "$work/containers" "$work/pids" | jq -sc 'group_by(.id)[] | add | select(.uid != null)'
}

# The CRI plugin keeps its data about a container in the extensions.
by_ctr() {
  local ctr=(timeout 60 ctr --address "${RUNTIME_ENDPOINT#unix://}" --namespace k8s.io) id pid status
  "${ctr[@]}" tasks list >"$work/tasks"
  while read -r id pid status; do
    [[ $status == RUNNING ]] || continue
    "${ctr[@]}" containers info "$id" | jq -c --arg id "$id" --argjson pid "$pid" '
      ([.Extensions[]? | .value // .Value | @base64d | fromjson? | .Metadata.Config][0] // {}) as $config |
      select(.Labels["io.kubernetes.pod.uid"] != null) | {id: $id, uid: .Labels["io.kubernetes.pod.uid"],
        namespace: .Labels["io.kubernetes.pod.namespace"], pod: .Labels["io.kubernetes.pod.name"],
        name: (.Labels["io.kubernetes.container.name"] // ""), attempt: ($config.metadata.attempt // 0), pid: $pid,
        source: ($config.annotations["kubernetes.io/config.source"] // "api")}'
  done < <(tail -n +2 "$work/tasks")
}

what_runs() {
  if command -v crictl >/dev/null; then by_crictl; else by_ctr; fi
}

# One line for each: a restarted container has another id, a replaced process another start time.
list() {
  local uid name attempt id pid start
  what_runs >"$work/running" || die "the runtime does not answer at $RUNTIME_ENDPOINT"
  while IFS=$'\t' read -r uid name attempt id pid; do
    start=$(sed -E 's/^.*\) //' "/proc/$pid/stat" 2>/dev/null | cut -d ' ' -f 20) || start=gone
    say "$uid $name $attempt $id $pid ${start:-gone}"
  done < <(jq -r '[.uid, (if .name == "" then "-" else .name end), .attempt, .id, .pid] | @tsv' "$work/running") | sort
}

# sandboxes FILTER: of the last list, "UID NAMESPACE POD PID" of each sandbox that the jq filter
# matches.
sandboxes() { jq -r "select(.name == \"\") | select($1) | [.uid, .namespace, .pod, .pid] | @tsv" "$work/running"; }

# Each container is in the status of a pod.
splitlet_has_all() {
  local name id
  timeout 20 "$SPLITLETCTL" get pods -A -o json >"$work/adopted" 2>&1 || return 1
  while read -r _ name _ id _; do
    [[ $name == - ]] || grep -q -- "/$id\"" "$work/adopted" || return 1
  done <"$work/before"
}

# --- manifests of static pods

# yaml_metadata KEY FILE: reads the first document, in block style; fails for other styles.
yaml_metadata() {
  awk -v key="$1" '
    /^---/ {if (seen) exit; next}
    /^[^ \t#]/ {seen = 1; inside = 0}
    /^metadata:[ \t]*(#.*)?$/ {inside = 1; found = 1; depth = 0; next}
    inside && /^[ \t]*(#.*)?$/ {next}
    inside {
      match($0, /^ */)
      if (depth == 0) depth = RLENGTH
      if (RLENGTH != depth || index(substr($0, depth + 1), key ":") != 1) next
      value = substr($0, depth + length(key) + 2)
      sub(/[ \t]+#.*$/, "", value)
      gsub(/^[ \t"\047]+|[ \t"\047]+$/, "", value)
      print value
      exit
    }
    END {exit !found}' "$2"
}

is_json() { [[ $(tr -d '[:space:]' <"$1" | head -c 1) == '{' ]]; }

metadata() {
  if is_json "$2"; then jq -er --arg key "$1" '.metadata[$key] // ""' "$2"; else yaml_metadata "$1" "$2"; fi
}

# manifest_of NAMESPACE POD: the pod's file in MANIFESTS; the last match counts, as for both agents.
manifest_of() {
  local file name namespace found=
  for file in "$MANIFESTS"/*; do
    [[ -f $file ]] || continue
    name=$(metadata name "$file" 2>/dev/null) || continue
    namespace=$(metadata namespace "$file" 2>/dev/null) || namespace=
    [[ $name-$NODE_NAME == "$2" && ${namespace:-default} == "$1" ]] && found=$file
  done
  [[ -n $found ]] && say "$found"
}

# By rename, from a file name that both agents ignore.
write_uid() {
  local file=$1 uid=$2 new
  new=$(dirname "$file")/.takeover.$(basename "$file")
  cp -p "$file" "$new"
  if is_json "$file"; then
    jq --arg uid "$uid" '.metadata.uid = $uid' "$file" >"$new"
  else
    awk -v uid="$uid" '
      {print_after = ""}
      !done && /^metadata:[ \t]*(#.*)?$/ {print; waiting = 1; next}
      waiting && !/^[ \t]*(#.*)?$/ {match($0, /^ */); printf "%*suid: \"%s\"\n", RLENGTH, "", uid; waiting = 0; done = 1}
      {print}' "$file" >"$new"
  fi
  mv "$new" "$file"
}

pin() {
  local uid namespace pod pid file old
  list >/dev/null
  while read -r uid namespace pod pid; do
    if ! file=$(manifest_of "$namespace" "$pod"); then
      fault pin "$namespace/$pod: no manifest of it in $MANIFESTS that this script can read: write uid: \"$uid\" into its metadata by hand"
      continue
    fi
    old=$(metadata uid "$file")
    if [[ -z $old ]]; then
      write_uid "$file" "$uid"
      say "$file: uid: $uid"
    elif [[ $old != "$uid" ]]; then
      fault pin "$file: its uid is $old, but the running pod has $uid"
    fi
  done < <(sandboxes '.source == "file"')
  ((failed == 0)) || exit 1
}

# --- checks

check_config() {
  local to=$1 endpoint driver
  [[ -r $CONFIG ]] || die "$CONFIG cannot be read"
  endpoint=$(setting containerRuntimeEndpoint)
  [[ -z $endpoint || $endpoint == "$RUNTIME_ENDPOINT" ]] ||
    fault config "$CONFIG has containerRuntimeEndpoint: $endpoint, but RUNTIME_ENDPOINT is $RUNTIME_ENDPOINT"
  driver=$(setting cgroupDriver)
  if [[ $to == splitlet ]]; then
    "$SPLITLET" --config "$CONFIG" --root-dir "$ROOT_DIR" --node-name "$NODE_NAME" --check-config >"$work/config" 2>&1 ||
      fault config "splitlet does not take $CONFIG: $(tail -n 1 "$work/config")"
    # With an API server this gate counts as set, as in a kubelet.
    [[ $(setting cgroupsPerQOS) == true || (-n $NODE_KUBECONFIG && -z $(setting cgroupsPerQOS)) ]] ||
      fault cgroups "$CONFIG lacks cgroupsPerQOS: true, the default of a kubelet but not of splitlet without NODE_KUBECONFIG"
  fi
  check_cgroups "${driver:-cgroupfs}"
}

# A kubelet stops a running pod whose cgroup is missing; splitlet would create the next container outside of it.
check_cgroups() {
  local uid namespace pod pid name top
  top=$(find /sys/fs/cgroup -maxdepth 1 -name cpu)
  while read -r uid namespace pod pid; do
    if [[ $1 == systemd ]]; then name="*-pod${uid//-/_}.slice"; else name="pod$uid"; fi
    [[ -n $(find "${top:-/sys/fs/cgroup}"/ -type d -name "$name" -print -quit 2>/dev/null) ]] ||
      fault cgroups "$namespace/$pod: no cgroup $name, the name of driver $1"
  done < <(sandboxes true)
}

check_agents() {
  local to=$1
  ! runs "$to" || fault agents "$to is already running"
  runs "$(other "$to")" || fault agents "$(other "$to") does not run: there is nothing to take over from"
}

check_node() {
  local uid namespace pod pid
  while read -r uid namespace pod pid; do
    [[ $pod == *"-$NODE_NAME" ]] || fault node "$namespace/$pod is a static pod of another node than $NODE_NAME: set NODE_NAME"
  done < <(sandboxes '.source == "file" or .source == "http"')
}

check_pods() {
  local to=$1 uid namespace pod pid kind dir file
  while read -r uid namespace pod pid; do
    dir=$ROOT_DIR/pods/$uid
    [[ -d $dir ]] || fault root "$namespace/$pod has no directory $dir: is ROOT_DIR right?"
    [[ $(readlink "/proc/$pid/ns/user") == "$(readlink /proc/self/ns/user)" ]] ||
      fault users "$namespace/$pod has a user namespace, whose ids the other agent does not know"
    [[ $to == splitlet && -d $dir/volumes ]] || continue
    for kind in "$dir"/volumes/*; do
      [[ -e $kind && " $KNOWN_VOLUMES " != *" ${kind##*~} "* ]] || continue
      fault volumes "$namespace/$pod has a volume of kind ${kind##*/}, which splitlet does not know"
    done
  done < <(sandboxes true)
  while read -r uid namespace pod pid; do
    file=$(manifest_of "$namespace" "$pod") || file=
    [[ -n $file && $(metadata uid "$file") == "$uid" ]] ||
      fault uids "$namespace/$pod: no manifest in $MANIFESTS has uid: $uid, and the agents compute different UIDs: run takeover.sh pin"
  done < <(sandboxes '.source == "file"')
  while read -r uid namespace pod pid; do
    fault uids "$namespace/$pod is from a URL: make sure that its metadata there says uid: $uid, then FORCE=uids"
  done < <(sandboxes '.source == "http"')
}

# Features that a kubelet alone gives to pods, and that splitlet would not find.
check_managers() {
  local policy checkpoint devices
  [[ $1 == splitlet ]] || return 0
  for policy in cpu_manager_state memory_manager_state; do
    [[ -s $ROOT_DIR/$policy ]] || continue
    [[ $(jq -r '.policyName | ascii_downcase' "$ROOT_DIR/$policy") == none ]] ||
      fault managers "$ROOT_DIR/$policy: pods have processors or memory of their own, which splitlet would not keep for them"
  done
  checkpoint=$ROOT_DIR/device-plugins/kubelet_internal_checkpoint
  [[ -s $checkpoint ]] || return 0
  jq -e '.Data.PodDeviceEntries // [] | length == 0' "$checkpoint" >/dev/null ||
    fault managers "pods have devices of plugins, which splitlet would not keep for them"
  devices=$(jq -r '.Data.RegisteredDevices // {} | keys | join(", ")' "$checkpoint")
  [[ -z $devices ]] || note "warning: the Node will show 0 of $devices, and new pods that ask for them are refused: splitlet has no device plugins"
}

check_api() {
  local key file
  [[ -n $NODE_KUBECONFIG ]] || return 0
  if [[ ! -r $NODE_KUBECONFIG ]]; then
    fault certificates "$NODE_KUBECONFIG cannot be read"
    return 0
  fi
  while read -r key file; do
    if [[ ! -r $file ]]; then
      fault certificates "$file, which $NODE_KUBECONFIG names, cannot be read"
    elif [[ $key == client-certificate ]]; then
      openssl x509 -in "$file" -noout -checkend 600 >/dev/null 2>&1 ||
        fault certificates "$file expires within ten minutes or is not a certificate"
    fi
  done < <(sed -nE 's/^ *(client-certificate|client-key|certificate-authority|tokenFile): *"?([^"]*)"? *$/\1 \2/p' "$NODE_KUBECONFIG")
  if ! command -v kubectl >/dev/null; then
    note 'warning: without kubectl the API server is not asked for pods that are ending'
    return 0
  fi
  if ! timeout 30 kubectl --kubeconfig "$NODE_KUBECONFIG" get pods -A --field-selector "spec.nodeName=$NODE_NAME" -o json >"$work/api" 2>"$work/api-error"; then
    fault api "the API server does not answer: $(tail -n 1 "$work/api-error")"
    return 0
  fi
  check_api_pods "$1"
}

check_api_pods() {
  local pod
  for pod in $(jq -r '.items[] | select(.metadata.deletionTimestamp != null) | "\(.metadata.namespace)/\(.metadata.name)"' "$work/api"); do
    fault ending "$pod is being deleted: the next agent would begin its grace period and its hooks again"
  done
  [[ $1 == kubelet ]] || return 0
  for pod in $(jq -r '.items[] | select(any(.spec.containers[], .spec.initContainers[]?; any(.resizePolicy[]?; .restartPolicy == "RestartContainer")))
      | "\(.metadata.namespace)/\(.metadata.name)"' "$work/api"); do
    fault resize "$pod has a resizePolicy of RestartContainer: a kubelet without its checkpoint restarts such a container"
  done
}

check_all() {
  local to=$1
  list >"$work/before"
  check_agents "$to"
  check_config "$to"
  check_node
  check_pods "$to"
  check_managers "$to"
  check_api "$to"
  ((failed == 0)) || die "the node is not ready for $to (FORCE=\"NAME...\" turns a check into a warning)"
  say "$(wc -l <"$work/before") sandboxes and containers run, and nothing stands in the way of $to"
}

# --- the swap

# Containers that ran before and no longer run; an empty output is a success.
lost() {
  list >"$work/now"
  comm -23 "$work/before" "$work/now" | tee "$work/lost"
}

start() {
  run "START_${1^^}" || note "the start of $1 says: $(tail -n 3 "$work/START_${1^^}.txt")"
}
stop() {
  run "STOP_${1^^}" || note "the stop of $1 says: $(tail -n 3 "$work/STOP_${1^^}.txt")"
  wait_until "$LIMIT" stopped "$1"
}

go_back() {
  local to=$1 from
  from=$(other "$to")
  trap - INT TERM
  note "error: $2"
  sed 's/^/  gone: /' "$work/lost" >&2
  note "going back to $from"
  stop "$to" || die "$to does not stop; $from was not started, because two agents would fight over the pods"
  list >"$work/before"
  start "$from"
  wait_until "$LIMIT" ready "$from" || die "$from was started and is not ready after $LIMIT s"
  die "the node is back with $from"
}

ready() {
  local command=READY_${1^^}
  if [[ ${!command} == splitlet_has_all ]]; then splitlet_has_all; else run "$command"; fi
}

swap() {
  local to=$1 from end
  from=$(other "$to")
  check_all "$to"
  : >"$work/lost"
  trap 'go_back "$to" "interrupted"' INT TERM
  say "stopping $from"
  stop "$from" || {
    start "$from"
    die "$from did not stop within $LIMIT s and was started again"
  }
  [[ -z $(lost) ]] || go_back "$to" "these ended when $from was stopped"
  say "starting $to"
  start "$to"
  wait_until "$LIMIT" ready "$to" || go_back "$to" "$to does not have all pods after $LIMIT s"
  end=$((SECONDS + SETTLE))
  while ((SECONDS < end)); do
    [[ -z $(lost) ]] || go_back "$to" "these ended after the start of $to"
    sleep 1
  done
  [[ -z $(lost) ]] || go_back "$to" "these ended after the start of $to"
  trap - INT TERM
  say "the node is with $to; all $(wc -l <"$work/before") sandboxes and containers run on"
}

agent() { [[ ${1:-} == kubelet || ${1:-} == splitlet ]] || usage; }

[[ $# -ge 1 ]] || usage
command -v jq >/dev/null || die 'jq is not installed'
command -v crictl >/dev/null || command -v ctr >/dev/null || die 'neither crictl nor ctr is installed'
[[ $EUID -eq 0 ]] || die 'this needs root'
if [[ -r $CONFIG ]]; then
  RUNTIME_ENDPOINT=${RUNTIME_ENDPOINT:-$(setting containerRuntimeEndpoint)}
  MANIFESTS=${MANIFESTS:-$(setting staticPodPath)}
fi
RUNTIME_ENDPOINT=${RUNTIME_ENDPOINT:-unix:///run/containerd/containerd.sock}
MANIFESTS=${MANIFESTS:-/etc/kubernetes/manifests}
case $1 in
  check) agent "${2:-}" && check_all "$2" ;;
  pin) pin ;;
  to) agent "${2:-}" && swap "$2" ;;
  list) list ;;
  *) usage ;;
esac
