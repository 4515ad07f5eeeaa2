#!/usr/bin/env bash
# Runs once before all other containers. It creates the directories with their owners, the bus's configuration
# with a password for each user and keys, the identity of the node, and the demo pod. A second run changes nothing
# that exists.
set -euo pipefail
umask 022

readonly STACK=/stack GROUP=7000 RUNTIME_GROUP=7001 API_GROUP=7013 LOG_GROUP=7014
# Kubeconfigs of the host: the second replaces the first; an absent one is an empty file.
readonly KUBECONFIG=/kubeconfig BOOTSTRAP_KUBECONFIG=/bootstrap-kubeconfig
# Processes and their users; the two that create and remove files of pods are root with few capabilities.
readonly USERS='
config-source 7002
sync-loop     7003
pod-worker    0
pleg          7004
status        7005
gc            0
node-api      7006
'

# own MODE USER[:GROUP] DIRECTORY...
own() {
  local mode=$1 owner=$2
  shift 2
  mkdir -p "$@"
  chmod "$mode" "$@"
  chown "$owner" "$@"
}

# Each password has a single reader.
give_password() {
  local name=$1 user=$2 home=$STACK/creds/$1
  own 0500 "$user" "$home"
  install -m 0400 -o "$user" "$STACK/nats/creds/$name" "$home/$name.creds"
}

bus() {
  NATS_PORT=10270 /opt/splitlet/deploy/local/nats.sh config "$STACK/nats"
  chown 0:7010 "$STACK/nats/nats.conf"
  chmod 0640 "$STACK/nats/nats.conf"
  chmod 0644 "$STACK/nats/port"
  chown 7010:7010 "$STACK/nats/tls/current/server.key"
  chmod 0400 "$STACK/nats/tls/current/server.key"
  own 0750 "7011:$GROUP" "$STACK/recorder"
  give_password recorder 7011
  give_password ctl 0
}

# Sandboxes carry this id, so three processes must share it.
identity() {
  local id home=$STACK/state/$1
  [[ -s $STACK/state/id ]] || cp /proc/sys/kernel/random/uuid "$STACK/state/id"
  id=$(<"$STACK/state/id")
  [[ -L $home/state-id ]] || ln -s "$id" "$home/state-id"
}

processes() {
  local process user
  while read -r process user; do
    [[ -n $process ]] || continue
    own 0750 "$user:$GROUP" "$STACK/run/$process"
    own 0700 "$user:$GROUP" "$STACK/state/$process"
    give_password "$process" "$user"
  done <<<"$USERS"
  for process in sync-loop pod-worker gc; do
    identity "$process"
  done
}

in_cluster() { [[ -s $KUBECONFIG || -s $BOOTSTRAP_KUBECONFIG ]]; }

# hand_over FILE DIRECTORY USER GROUP: gives a copy to the readers of the directory. When the host no longer provides
# the file, the copy is removed.
hand_over() {
  local name=${1#/}
  if [[ -s $1 ]]; then
    install -m 0640 -o "$3" -g "$4" "$1" "$STACK/$2/.$name"
    mv "$STACK/$2/.$name" "$STACK/$2/$name"
  else
    rm -f "$STACK/$2/$name"
  fi
}

# Kubeconfigs: one for all processes that query the API server, and the bootstrap one for status alone. status also
# creates the node's certificates, and the kubeconfig that replaces a bootstrap one. Without a kubeconfig, setup removes
# node-api's directories, so that no process waits for node-api.
cluster() {
  own 0750 "0:$API_GROUP" "$STACK/cluster"
  own 2750 "7005:$API_GROUP" "$STACK/pki"
  own 0500 7005 "$STACK/bootstrap"
  rm -f "$STACK/cluster$BOOTSTRAP_KUBECONFIG" # where it was for all, before
  hand_over "$KUBECONFIG" cluster 0 "$API_GROUP"
  hand_over "$BOOTSTRAP_KUBECONFIG" bootstrap 7005 0
  in_cluster || find "$STACK/run/node-api" -mindepth 1 -delete
}

# For splitletctl doctor on the host, which runs in this directory.
endpoint() { printf '%s\n' "$RUNTIME_ENDPOINT" >"$STACK/endpoint"; }

# Docker would create an empty folder for a wrong path, and all pods would end. Relative paths count from /compose. Only
# check.sh can check a path outside of it, or a link that may lead outside.
check_manifests() {
  [[ -n ${MANIFESTS:-} && $MANIFESTS != /* && $MANIFESTS != *..* && ! -L /compose/$MANIFESTS && ! -d /compose/$MANIFESTS ]] || return 0
  echo "error: MANIFESTS: the folder $MANIFESTS does not exist. Create it first: an empty one would end all pods" >&2
  exit 1
}

# Only into the stack's own directory; setup never writes into a directory given with MANIFESTS.
demo() {
  local target=$STACK/manifests/demo.yaml
  [[ ${DEMO:-1} != 0 && ! -e $target ]] || return 0
  cp /opt/splitlet/demo.yaml "$STACK/manifests/.demo.yaml"
  mv "$STACK/manifests/.demo.yaml" "$target"
}

# Targets for Prometheus, labelled with the name of the node.
targets() {
  local process port=10270
  while read -r process _; do
    [[ -n $process ]] || continue
    port=$((port + 1))
    [[ $process != node-api ]] || in_cluster || continue
    jq -n --arg target "127.0.0.1:$port" --arg node "$NODE_NAME" --arg process "$process" \
      '{targets: [$target], labels: {instance: $node, metrics_path: "/metrics", process: $process}}'
  done <<<"$USERS" | jq -s . >"$STACK/prometheus/.targets"
  mv "$STACK/prometheus/.targets" "$STACK/prometheus/targets.json"
}

# Gives Grafana's user `admin` a random password.
grafana() {
  local home=$STACK/creds/grafana
  own 0500 472 "$home"
  [[ -s $home/password ]] || (umask 077 && head -c 18 /dev/urandom | base64 >"$home/.password" && mv "$home/.password" "$home/password")
  chown 472 "$home/password"
  chmod 0400 "$home/password"
}

check_manifests
own 0755 0:0 "$STACK"/{run,pods,lock,host,manifests,prometheus}
# New files below belong to the group, which can read them.
own 2755 "0:$LOG_GROUP" "$STACK/logs"
own 0711 0:0 "$STACK"/{state,creds}
own 0750 0:0 "$STACK/kubelet"
own 0750 "0:$RUNTIME_GROUP" "$STACK/run/containerd"
bus
processes
cluster
endpoint
targets
grafana
demo
printf 'set up: %s\n' "$(find "$STACK" -maxdepth 1 -mindepth 1 -printf '%f ')"
