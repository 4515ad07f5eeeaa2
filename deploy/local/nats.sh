#!/usr/bin/env bash
# The bus of a stack: one nats-server on loopback, over TLS, with a user for each process.
#
#   nats.sh config DIR   write configuration, port, passwords and keys (kept when they are there)
#   nats.sh serve DIR    run it in the foreground (for a supervisor), after config; nats_watch.sh ends it when it hangs
#   nats.sh ready DIR    wait until it takes connections
#   nats.sh url DIR      print its URL
#   nats.sh keys DIR     make the keys alone, if there are none
#   nats.sh rotate DIR   replace keys and CA in one step; the server takes them within seconds, and clients when they
#                        connect again
#
# The server's certificate has the name splitlet-bus and is signed by a CA of this directory, whose key is deleted;
# clients trust DIR/tls/current/ca.pem only. Both are valid from 1970 to 9999, so that a wrong clock does not break the
# bus.
#
# A user may publish only the table and the signals of its process, and subscribe only to the tables
# that its process views, with their owners' signals (docs/design.md, "How state is shared").
# NATS_PORT chooses the port; without it a free one is taken.
set -euo pipefail
umask 077

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"

readonly SERVER_NAME=splitlet-bus VALID_FROM=19700101000000Z VALID_UNTIL=99991231235959Z

# process, its table (-: none), the tables it views, a signal of another process that it receives in
# addition
readonly TABLES='
config-source desired   workers
sync-loop     admission desired,runtime,workers,pressure,podstatus
pod-worker    workers   desired,podstatus pleg.pod-changed
pleg          runtime   -
status        podstatus desired,admission,workers,runtime,pressure
gc            pressure  desired,workers,runtime
node-api      -         desired,runtime,podstatus
'

owner_of() { awk -v table="$1" '$2 == table {print $1}' <<<"$TABLES"; }

# The password is the second line of the process's password file.
password_of() {
  local file=$dir/creds/$1
  [[ -s $file ]] || printf '%s\n%s\n' "$1" "$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')" >"$file"
  sed -n 2p "$file"
}

quoted() { printf '"%s",' "$@" | sed 's/,$//'; }

# user NAME PUBLISH SUBSCRIBE, both as quoted lists; its own inboxes are added. An empty list would allow all.
user() {
  local publish='{deny: ">"}' subscribe
  [[ -z $2 ]] || publish="[$2]"
  subscribe=${3:+$3,}$(quoted "_INBOX.$1.>")
  printf '    {user: "%s", password: "%s", permissions: {publish: %s, subscribe: [%s]}}\n' \
    "$1" "$(password_of "$1")" "$publish" "$subscribe"
}

process_user() {
  local process=$1 table=$2 views=$3 signals=$4 view subscribe=() publish=("splitlet.*.$1.>")
  [[ $table == - ]] || publish+=("splitlet.*.$table")
  if [[ $views != - ]]; then
    for view in ${views//,/ }; do
      subscribe+=("splitlet.*.$view" "splitlet.*.$(owner_of "$view").>")
    done
  fi
  [[ -z $signals ]] || subscribe+=("splitlet.*.$signals")
  user "$process" "$(quoted "${publish[@]}")" \
    "${subscribe[*]:+$(quoted "${subscribe[@]}")}"
}

users() {
  local process table views signals
  while read -r process table views signals; do
    [[ -z $process ]] || process_user "$process" "$table" "$views" "$signals"
  done <<<"$TABLES"
  user recorder "" '"splitlet.>"'
  user ctl "" '"splitlet.>"'
}

authority_config() {
  cat <<CONF
[ca]
default_ca = bus
[bus]
database = $1/index
new_certs_dir = $1
rand_serial = yes
unique_subject = no
default_md = sha256
policy = named
[named]
commonName = supplied
[req]
distinguished_name = none
[none]
[authority]
basicConstraints = critical,CA:true,pathlen:0
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical,CA:false
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:$SERVER_NAME
CONF
}

new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256; }

# The key of the CA is in this shell's memory only.
sign_in() {
  local work=$1 authority
  authority=$(new_key)
  new_key >"$work/server.key"
  authority_config "$work" >"$work/conf"
  : >"$work/index"
  openssl req -new -config "$work/conf" -key <(printf '%s\n' "$authority") -subj "/CN=$SERVER_NAME CA" -out "$work/ca.csr"
  openssl req -new -config "$work/conf" -key "$work/server.key" -subj "/CN=$SERVER_NAME" -out "$work/server.csr"
  set -- -batch -notext -config "$work/conf" -startdate "$VALID_FROM" -enddate "$VALID_UNTIL"
  openssl ca "$@" -selfsign -keyfile <(printf '%s\n' "$authority") -in "$work/ca.csr" -extensions authority -out "$work/ca.pem"
  openssl ca "$@" -cert "$work/ca.pem" -keyfile <(printf '%s\n' "$authority") -in "$work/server.csr" -extensions server \
    -out "$work/server.pem"
}

# The new key gets the owner and mode of the old one.
like_before() {
  local old=$dir/tls/current
  chmod 0755 "$1"
  chmod 0644 "$1/ca.pem" "$1/server.pem"
  [[ ! -e $old/server.key ]] || { chown --reference="$old/server.key" "$1/server.key" && chmod --reference="$old/server.key" "$1/server.key"; }
}

# All files are complete before the rename of the link, which replaces them in one step.
replace_keys() {
  local made old
  need_commands openssl
  mkdir -p "$dir/tls"
  chmod 0711 "$dir"
  chmod 0755 "$dir/tls"
  made=$(mktemp -d "$dir/tls/keys.XXXXXXXX")
  sign_in "$made" >"$made/log" 2>&1 || die "openssl cannot make the keys of the bus: $(tail -n 3 "$made/log")"
  find "$made" -type f ! -name ca.pem ! -name server.pem ! -name server.key -delete
  like_before "$made"
  ln -sfn "$(basename "$made")" "$dir/tls/next"
  mv -T "$dir/tls/next" "$dir/tls/current"
  for old in "$dir"/tls/keys.*; do
    [[ $old == "$made" ]] || rm -rf "$old"
  done
}

make_keys() {
  local file
  for file in ca.pem server.pem server.key; do
    [[ -s $dir/tls/current/$file ]] || { replace_keys && return; }
  done
}

port_is_free() { [[ -z $(ss -ltnH "sport = :$1") ]]; }

# Below the range that the kernel gives to outgoing connections, so that the port is still free after
# a restart.
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
  mkdir -p "$dir/creds"
  rm -rf --one-file-system "$dir/store" # of a flight recorder that was once in the server
  choose_port
  make_keys
  cat >"$dir/nats.conf" <<CONF
server_name: splitlet
listen: "127.0.0.1:$(<"$dir/port")"
max_payload: 1MB
max_connections: 256
max_pending: 8MB
no_system_account: true
write_deadline: "2s"
tls {
  cert_file: "$dir/tls/current/server.pem"
  key_file: "$dir/tls/current/server.key"
  timeout: 2
}
authorization {
  timeout: 3
  users: [
$(users)
  ]
}
CONF
}

answers() { "$here/nats_watch.sh" answers "$(<"$dir/port")"; }

# Checked here, because nats-server reports an unreadable key only as "error parsing X509
# certificate/key pair".
check_readable() {
  local field file reason
  while read -r field file; do
    file=$dir/$file
    reason=$(head -c 1 "$file" 2>&1 >/dev/null) || die "$dir/nats.conf: $field: $file: ${reason##*: }"
  done <<'FILES'
tls.cert_file tls/current/server.pem
tls.key_file tls/current/server.key
FILES
}

# The memory limit keeps the server near 20 MB; without it the garbage collector lets it grow to three times
# that. With one thread for Go code no other thread wakes to search for work at each message.
serve() {
  need_commands nats-server
  check_readable
  "$here/nats_watch.sh" watch "$$" "$(<"$dir/port")" "$dir/tls/current" &
  exec env GOMEMLIMIT="${GOMEMLIMIT:-20MiB}" GOMAXPROCS="${GOMAXPROCS:-1}" nats-server --config "$dir/nats.conf"
}

main() {
  [[ $# -eq 2 ]] || die "usage: nats.sh config|serve|ready|url|keys|rotate DIR"
  local action=$1
  dir=$(absolute "$2")
  readonly dir
  case $action in
    config) mkdir -p "$dir" && write_config ;;
    keys) mkdir -p "$dir" && make_keys ;;
    rotate) [[ -d $dir ]] || die "$dir does not exist" && replace_keys ;;
    serve) serve ;;
    ready) wait_until 15 answers || die "nats-server does not answer on port $(<"$dir/port"); see its log" ;;
    url) say "nats://127.0.0.1:$(<"$dir/port")" ;;
    *) die "unknown action: $action" ;;
  esac
}

main "$@"
