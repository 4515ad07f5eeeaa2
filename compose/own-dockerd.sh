#!/usr/bin/env bash
# A private docker daemon for the test, independent of any other: data, socket, network and mounts are below DIR.
# Needs root.
#
#   own-dockerd.sh start DIR    prints DOCKER_HOST
#   own-dockerd.sh restart DIR  as when the machine starts again: what it had is there
#   own-dockerd.sh stop DIR     and removes DIR
set -euo pipefail

[[ $# -eq 2 ]] || { echo 'usage: own-dockerd.sh start|restart|stop DIR' >&2 && exit 1; }
dir=$(realpath -m "$2")

answers() { docker -H "unix://$dir/docker.sock" version >/dev/null 2>&1; }

# A /24 for the bridge and a /20 for networks, derived from the directory, so that two daemons do not collide. The
# mount namespace is private and shared within, because containers that propagate mounts need a shared root, and not
# every machine has one.
start() {
  local number
  mkdir -p "$dir"
  number=$((16#$(sha256sum <<<"$dir" | cut -c1-6) % 7 * 32))
  setsid unshare -m --propagation shared dockerd --data-root "$dir/data" --exec-root "$dir/exec" \
    --pidfile "$dir/dockerd.pid" -H "unix://$dir/docker.sock" --bip "172.31.$((number + 1)).1/24" \
    --default-address-pool "base=172.31.$((number + 16)).0/20,size=24" </dev/null >"$dir/log" 2>&1 &
  for _ in {1..100}; do
    answers && break
    sleep 0.3
  done
  answers || { tail -n 5 "$dir/log" >&2 && exit 1; }
  echo "unix://$dir/docker.sock"
}

end() {
  local pid
  pid=$(cat "$dir/dockerd.pid" 2>/dev/null || true)
  [[ -z $pid ]] || kill "$pid" 2>/dev/null || true
  for _ in {1..100}; do
    [[ -z $pid || ! -d /proc/$pid ]] && break
    sleep 0.3
  done
}

case $1 in
  start) start ;;
  restart) end && start ;;
  stop) end && rm -rf --one-file-system "$dir" ;;
  *) echo "unknown action: $1" >&2 && exit 1 ;;
esac
