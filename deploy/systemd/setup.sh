#!/usr/bin/env bash
# State that must exist before the first process starts and that a package cannot contain: passwords and keys of the
# bus, the identity of the node, and whether it has an API server. Installed as /usr/lib/splitlet/setup; keeps existing
# files. ROOT is for tests.
set -euo pipefail
umask 077

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly STATE=${ROOT:-}/var/lib/splitlet PASSWORDS=${ROOT:-}/etc/splitlet/bus
readonly CONFIG=${ROOT:-}/etc/splitlet RUN=${ROOT:-}/run/splitlet

# systemd passes the passwords as credentials of the units, so all files belong to root.
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

# Sandboxes carry this id, so three processes must share it.
identity() {
  local process
  [[ -s $STATE/id ]] || cp /proc/sys/kernel/random/uuid "$STATE/id"
  for process in sync-loop pod-worker gc; do
    mkdir -p "$STATE/$process"
    [[ -L $STATE/$process/state-id ]] || ln -s "$(<"$STATE/id")" "$STATE/$process/state-id"
  done
}

# given FLAG: true if /etc/default/splitlet sets the flag, which wins.
given() { [[ " ${SPLITLET_OPTIONS:-} " == *" $1"[=\ ]* ]]; }

# hand_over FILE GROUP: changes no link, because its target belongs to another program.
hand_over() {
  [[ -f $CONFIG/$1 && ! -L $CONFIG/$1 ]] || return 0
  chown "root:$2" "$CONFIG/$1"
  chmod 0640 "$CONFIG/$1"
}

# Units of all processes read this file, and node-api starts only if it exists. Without an API server all of node-api's
# files are removed, so that no process waits for node-api.
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
  # The bootstrap kubeconfig can admit any node, so only status may read it.
  hand_over bootstrap-kubeconfig splitlet-status
  printf 'SPLITLET_CLUSTER="%s"\n' "${options[*]}" >"$RUN/cluster.env"
}

bus
identity
cluster
