#!/usr/bin/env bash
# The bus of the local stack: one nats-server on loopback with a user for each process.
#
#   nats.sh config DIR   write configuration, port and passwords (kept when they are there)
#   nats.sh serve DIR    run it in the foreground (for a supervisor), after config
#   nats.sh ready DIR    wait until it takes connections
#   nats.sh url DIR      print its URL
#
# A user may publish only the table and the signals of its process, and subscribe only to the tables
# that its process views, with their owners' signals (DESIGN: "How state is shared").
# NATS_PORT chooses the port; without it a free one is taken.
set -euo pipefail
umask 077

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"

readonly STREAM=flight-recorder

# process, its table, the tables it views, a signal of another process that it hears besides
readonly TABLES='
config-source desired   workers
sync-loop     admission desired,runtime,workers,pressure,podstatus
pod-worker    workers   desired   pleg.pod-changed
pleg          runtime   -
status        podstatus desired,admission,workers,runtime,pressure
gc            pressure  desired,workers,runtime
'

owner_of() { awk -v table="$1" '$2 == table {print $1}' <<<"$TABLES"; }

# The password is the second line of the file that the process is given.
password_of() {
  local file=$dir/creds/$1
  [[ -s $file ]] || printf '%s\n%s\n' "$1" "$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')" >"$file"
  sed -n 2p "$file"
}

quoted() { printf '"%s",' "$@" | sed 's/,$//'; }

# user NAME PUBLISH SUBSCRIBE, both as quoted lists; its own inboxes are added.
user() {
  local subscribe
  subscribe=${3:+$3,}$(quoted "_INBOX.$1.>")
  printf '    {user: "%s", password: "%s", permissions: {publish: [%s], subscribe: [%s]}}\n' \
    "$1" "$(password_of "$1")" "$2" "$subscribe"
}

process_user() {
  local process=$1 table=$2 views=$3 signals=$4 view subscribe=()
  if [[ $views != - ]]; then
    for view in ${views//,/ }; do
      subscribe+=("splitlet.*.$view" "splitlet.*.$(owner_of "$view").>")
    done
  fi
  [[ -z $signals ]] || subscribe+=("splitlet.*.$signals")
  user "$process" "$(quoted "splitlet.*.$table" "splitlet.*.$process.>")" \
    "${subscribe[*]:+$(quoted "${subscribe[@]}")}"
}

users() {
  local process table views signals api="\$JS.API"
  while read -r process table views signals; do
    [[ -z $process ]] || process_user "$process" "$table" "$views" "$signals"
  done <<<"$TABLES"
  user recorder "$(quoted "$api.INFO" "$api.STREAM.INFO.$STREAM" "$api.STREAM.CREATE.$STREAM" \
    "$api.STREAM.UPDATE.$STREAM" "$api.STREAM.DELETE.$STREAM")" ""
  user ctl "$(quoted "$api.INFO" "$api.STREAM.NAMES" "$api.STREAM.LIST" "$api.STREAM.INFO.$STREAM" \
    "$api.STREAM.MSG.GET.$STREAM" "$api.DIRECT.GET.$STREAM" "$api.DIRECT.GET.$STREAM.>" \
    "$api.CONSUMER.*.$STREAM" "$api.CONSUMER.*.$STREAM.>" "$api.CONSUMER.*.*.$STREAM.>" \
    "$api.CONSUMER.MSG.NEXT.$STREAM.>" "\$JS.ACK.$STREAM.>" "\$JS.FC.$STREAM.>")" '"splitlet.>"'
}

port_is_free() { [[ -z $(ss -ltnH "sport = :$1") ]]; }

# Below the range the kernel gives to outgoing connections, so that it is still ours after a restart.
choose_port() {
  local port try
  if [[ -n ${NATS_PORT:-} ]]; then
    printf '%s\n' "$NATS_PORT" >"$dir/port"
    return
  fi
  need_commands ss
  if [[ -s $dir/port ]] && { port_is_free "$(<"$dir/port")" || answers; }; then
    return
  fi
  port=$((20000 + 16#$(short_hash "$dir") % 10000))
  for ((try = 0; try < 1000; try++)); do
    if port_is_free "$port"; then
      printf '%s\n' "$port" >"$dir/port"
      return
    fi
    port=$((port + 1))
  done
  die "no free port for nats-server between 20000 and 31000"
}

write_config() {
  mkdir -p "$dir/creds" "$dir/store"
  choose_port
  cat >"$dir/nats.conf" <<CONF
server_name: splitlet
listen: "127.0.0.1:$(<"$dir/port")"
max_payload: 1MB
max_connections: 64
max_pending: 8MB
write_deadline: "2s"
jetstream {
  store_dir: "$dir/store"
  max_memory_store: 1MB
  max_file_store: 32MB
}
authorization {
  users: [
$(users)
  ]
}
CONF
}

answers() {
  local port
  port=$(<"$dir/port") || return 1
  (exec {fd}<>"/dev/tcp/127.0.0.1/$port" && read -r -t 2 -u "$fd" line && [[ $line == INFO* ]]) 2>/dev/null
}

# The limit keeps the server near 20 MB; its garbage collector would let it grow to three times that.
serve() {
  need_commands nats-server
  exec env GOMEMLIMIT="${GOMEMLIMIT:-20MiB}" nats-server --config "$dir/nats.conf"
}

main() {
  [[ $# -eq 2 ]] || die "usage: nats.sh config|serve|ready|url DIR"
  local action=$1
  dir=$(absolute "$2")
  readonly dir
  case $action in
    config) mkdir -p "$dir" && write_config ;;
    serve) serve ;;
    ready) wait_until 15 answers || die "nats-server does not answer on port $(<"$dir/port"); see its log" ;;
    url) say "nats://127.0.0.1:$(<"$dir/port")" ;;
    *) die "unknown action: $action" ;;
  esac
}

main "$@"
