#!/usr/bin/env bash
# What must be there before the first process starts and cannot come with a package: passwords and keys of the bus, and
# the identity of the node. Installed as /usr/lib/splitlet/setup; keeps what is there. ROOT is for tests.
set -euo pipefail
umask 077

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly STATE=${ROOT:-}/var/lib/splitlet PASSWORDS=${ROOT:-}/etc/splitlet/bus

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

bus
identity
