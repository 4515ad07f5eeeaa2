#!/usr/bin/env bash
# What must be there before the first process starts and cannot come with a package: passwords and keys of the bus, the
# identity of the node, and whether it has an API server. Installed as /usr/lib/splitlet/setup; keeps what is there. ROOT is
# for tests.
set -euo pipefail
umask 077

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly STATE=${ROOT:-}/var/lib/splitlet PASSWORDS=${ROOT:-}/etc/splitlet/bus
readonly CONFIG=${ROOT:-}/etc/splitlet RUN=${ROOT:-}/run/splitlet

# The processes read theirs as a credential of their unit, so that all files belong to root.
bus() {
  local name
  mkdir -p "$STATE" "$PASSWORDS"
  NATS_PORT=10270 "$here/nats.sh" config "$STATE/nats"
  for name in "$STATE"/nats/creds/*; do
    install -m 0600 "$name" "$PASSWORDS/$(basename "$name").creds"
  done
  for name in nats.conf port tls/current/server.key; do
    chown root:splitlet-nats "$STATE/nats/$name"
    chmod 0640 "$STATE/nats/$name"
  done
}

# Sandboxes carry this id, so three processes must know the same one.
identity() {
  local process
  [[ -s $STATE/id ]] || cp /proc/sys/kernel/random/uuid "$STATE/id"
  for process in sync-loop pod-worker gc; do
    mkdir -p "$STATE/$process"
    [[ -L $STATE/$process/state-id ]] || ln -s "$(<"$STATE/id")" "$STATE/$process/state-id"
  done
}

# given FLAG: in /etc/default/splitlet, which wins.
given() { [[ " ${SPLITLET_OPTIONS:-} " == *" $1"[=\ ]* ]]; }

# hand_over FILE GROUP: the target of a link is somebody else's.
hand_over() {
  [[ -f $CONFIG/$1 && ! -L $CONFIG/$1 ]] || return 0
  chown "root:$2" "$CONFIG/$1"
  chmod 0640 "$CONFIG/$1"
}

# Units of all processes read what is written here, and node-api is started where it is. Without an API server nothing is
# left of node-api, so that nobody misses it.
cluster() {
  local options=()
  rm -f "$RUN/cluster.env"
  if given --kubeconfig; then
    :
  elif [[ -e $CONFIG/kubeconfig ]]; then
    options+=(--kubeconfig=/etc/splitlet/kubeconfig)
  elif [[ -e $CONFIG/bootstrap-kubeconfig ]]; then
    options+=(--kubeconfig=/var/lib/splitlet/pki/kubeconfig --bootstrap-kubeconfig=/etc/splitlet/bootstrap-kubeconfig)
  else
    rm -rf --one-file-system "$RUN/node-api"
    return
  fi
  given --cert-dir || options+=(--cert-dir=/var/lib/splitlet/pki)
  hand_over kubeconfig splitlet-api # the processes that ask the API server
  # Who holds it may join as any node: status alone asks with it.
  hand_over bootstrap-kubeconfig splitlet-status
  printf 'SPLITLET_CLUSTER="%s"\n' "${options[*]}" >"$RUN/cluster.env"
}

bus
identity
cluster
