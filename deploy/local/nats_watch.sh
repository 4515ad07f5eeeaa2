#!/bin/sh
# Beside a nats-server, as its child and its user: ends one that hangs, so that its supervisor starts another, and tells
# it of keys that were replaced. For the shell of the container of the bus too, which is busybox.
#
#   nats_watch.sh watch PID PORT KEYS   until the server PID ends; KEYS is the link to its keys
#   nats_watch.sh answers PORT          does a server greet there, or say that it has all connections it may have?
#
# A server that reads leaves nothing in the queues of its sockets. Looking there costs it nothing and writes nothing into
# its log; only when something waited at three looks in a row is it asked, and killed when it does not answer.
set -eu

PERIOD=3 # seconds
LOOKS=3

answers() {
  if command -v bash >/dev/null; then
    # shellcheck disable=SC2016
    timeout -s KILL 3 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" && read -r -t 2 -u 3 line &&
      [[ $line == INFO* || $line == "-ERR '"'maximum connections"'"* ]]' "$1" 2>/dev/null
  else
    timeout -s KILL 3 nc 127.0.0.1 "$1" </dev/null 2>/dev/null | grep -q "^INFO\|^-ERR 'maximum connections"
  fi
}

# True when bytes, or connections, wait for the server. The field is tx_queue:rx_queue, in hex.
something_waits() {
  awk -v port="$(printf ':%04X' "$1")" 'substr($2, 9) == port && substr($5, 10) != "00000000" {found = 1}
    END {exit !found}' /proc/self/net/tcp
}

# A parent that ended is no longer ours. The third word after the name, which has no blanks, is the parent.
parent_lives() {
  read -r _ _ _ parent _ <"/proc/$$/stat" && [ "$parent" = "$1" ]
}

watch() {
  keys=$(readlink "$3" || true)
  waited=0
  while sleep "$PERIOD" && parent_lives "$1"; do
    if [ "$(readlink "$3" || true)" != "$keys" ]; then
      keys=$(readlink "$3" || true)
      echo "nats_watch: the keys were replaced; the server reads them" >&2
      kill -HUP "$1"
    fi
    something_waits "$2" || { waited=0 && continue; }
    waited=$((waited + 1))
    if [ "$waited" -ge "$LOOKS" ] && ! answers "$2" && parent_lives "$1"; then
      echo "nats_watch: nats-server hangs and is killed; its supervisor starts it again" >&2
      kill -KILL "$1"
      return
    fi
  done
}

case ${1:-} in
  watch) shift && watch "$@" ;;
  answers) shift && answers "$@" ;;
  *) echo 'usage: nats_watch.sh watch PID PORT KEYS | answers PORT' >&2 && exit 2 ;;
esac
