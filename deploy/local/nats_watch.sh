#!/bin/sh
# Watches a nats-server, as its child and its user: kills a hanging server, so that its supervisor restarts it, and
# signals it when keys were replaced. Also runs in busybox, the shell of the bus's container.
#
#   nats_watch.sh watch PID PORT KEYS   watches until the server PID ends; KEYS is the link to its keys
#   nats_watch.sh answers PORT          does the server on PORT greet, or report its connection limit?
#
# A healthy server empties the queues of its sockets. Reading the queues costs the server nothing and adds nothing to
# its log. If bytes wait in three checks in a row, the watcher connects, and kills a server that does not answer.
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

# When the parent has ended, its pid may belong to another process. The third word after the name, which has no blanks, is the
# parent.
parent_lives() {
  read -r _ _ _ parent _ <"/proc/$$/stat" && [ "$parent" = "$1" ]
}

watch() {
  keys=$(readlink "$3" || true)
  waited=0
  while sleep "$PERIOD" && parent_lives "$1"; do
    if [ "$(readlink "$3" || true)" != "$keys" ]; then
      keys=$(readlink "$3" || true)
      echo "nats_watch: the keys were replaced, the server reloads them" >&2
      kill -HUP "$1"
    fi
    something_waits "$2" || { waited=0 && continue; }
    waited=$((waited + 1))
    if [ "$waited" -ge "$LOOKS" ] && ! answers "$2" && parent_lives "$1"; then
      echo "nats_watch: nats-server hangs, killing it; its supervisor starts it again" >&2
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
