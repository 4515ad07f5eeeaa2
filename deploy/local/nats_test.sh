#!/usr/bin/env bash
# Tests against a real nats-server as nats.sh runs it: the rights of each user, its keys, and a hanging server.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"
work=$(mktemp -d)
server=
failures=0

cleanup() {
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap cleanup EXIT

# talk USER COMMANDS: sends NATS protocol lines as that user, prints the answers up to the server's pong.
talk() {
  python3 - "$work/bus" "$1" "$2" <<'CLIENT'
import json, socket, ssl, sys
home, user, commands = sys.argv[1:]
password = open(f'{home}/creds/{user}').read().split('\n')[1]
raw = socket.create_connection(('127.0.0.1', int(open(f'{home}/port').read())), 5)
greeting = b''
while not greeting.endswith(b'\n'):
    greeting += raw.recv(1)
assert json.loads(greeting[5:])['tls_required'], greeting
trust = ssl.create_default_context(cafile=f'{home}/tls/current/ca.pem')
bus = trust.wrap_socket(raw, server_hostname='splitlet-bus')
login = json.dumps({'user': user, 'pass': password, 'verbose': False, 'tls_required': True})
bus.sendall(f'CONNECT {login}\r\n'.encode() + commands.encode().decode('unicode_escape').encode() + b'PING\r\n')
for line in bus.makefile('r', newline='\r\n'):
    if line.startswith('PONG'):
        break
    if not line.startswith('INFO'):
        print(line.strip())
CLIENT
}

complain() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

# expect yes|no USER publish|subscribe SUBJECT
expect() {
  local answers command
  case $3 in
    publish) command="PUB $4 2\r\nhi\r\n" ;;
    subscribe) command="SUB $4 1\r\n" ;;
  esac
  answers=$(talk "$2" "$command")
  if [[ $1 == yes && -n $answers ]]; then
    complain "$2 may $3 $4, but: $answers"
  elif [[ $1 == no && $answers != *'Permissions Violation'* ]]; then
    complain "$2 may not $3 $4, but nothing was refused"
  fi
}

start() {
  local mode
  "$here/nats.sh" config "$work/bus"
  for mode in creds/pleg nats.conf tls/current/server.key; do
    [[ $(stat -c %a "$work/bus/$mode") == 600 ]] || complain "$mode is readable by others"
  done
  "$here/nats.sh" serve "$work/bus" >"$work/log" 2>&1 &
  server=$!
  "$here/nats.sh" ready "$work/bus"
}

check_tables() {
  local process table views other
  while read -r process table views; do
    [[ $table == - ]] || expect yes "$process" publish "splitlet.n1.$table"
    expect yes "$process" publish "splitlet.n1.$process.look"
    expect yes "$process" subscribe "_INBOX.$process.7"
    expect no "$process" subscribe "_INBOX.ctl.7"
    expect no "$process" subscribe 'splitlet.>'
    expect no "$process" publish '_INBOX.ctl.7'
    for other in desired admission workers runtime podstatus pressure; do
      [[ $other == "$table" ]] || expect no "$process" publish "splitlet.n1.$other"
      case ,$views, in
        *",$other,"*) expect yes "$process" subscribe "splitlet.n1.$other" ;;
        *) expect no "$process" subscribe "splitlet.n1.$other" ;;
      esac
    done
  done <<'TABLE'
config-source desired workers
sync-loop admission desired,runtime,workers,pressure,podstatus
pod-worker workers desired,podstatus
pleg runtime -
status podstatus desired,admission,workers,runtime,pressure
gc pressure desired,workers,runtime
node-api - desired,runtime,podstatus
TABLE
}

check_signals() {
  expect yes sync-loop subscribe 'splitlet.n1.pleg.pod-changed'
  expect yes pod-worker subscribe 'splitlet.n1.pleg.pod-changed'
  expect no config-source subscribe 'splitlet.n1.pleg.pod-changed'
  expect no gc publish 'splitlet.n1.pleg.pod-changed'
}

check_readers() {
  local reader
  for reader in recorder ctl; do
    expect yes "$reader" subscribe 'splitlet.>'
    expect no "$reader" publish splitlet.n1.runtime
    expect no "$reader" subscribe '>'
  done
}

# No state on disk, so that a hanging disk cannot stop the server.
check_nothing_is_stored() {
  ! grep -i jetstream "$work/log" || complain 'the server of the bus has JetStream'
}

# The certificate must verify with the clock of any year, for one name, under its own CA.
check_keys() {
  local keys=$work/bus/tls/current other=$work/other at
  for at in 0 4102444800 253402300798; do
    openssl verify -CAfile "$keys/ca.pem" -verify_hostname splitlet-bus -attime "$at" "$keys/server.pem" >/dev/null 2>"$work/openssl.txt" ||
      complain "the certificate is not good at $at: $(cat "$work/openssl.txt")"
  done
  "$here/nats.sh" keys "$other"
  ! openssl verify -CAfile "$other/tls/current/ca.pem" "$keys/server.pem" >/dev/null 2>&1 || complain 'two installations trust each other'
  ! openssl verify -CAfile "$keys/ca.pem" -verify_hostname localhost "$keys/server.pem" >/dev/null 2>&1 || complain 'any name will do'
  [[ $(find -L "$keys" -type f -exec grep -l 'PRIVATE KEY' {} +) == "$keys/server.key" ]] || complain 'more keys than the server needs'
  [[ $("$here/nats.sh" keys "$work/bus" && readlink "$keys") == "$(readlink "$keys")" ]] || complain 'keys are not kept'
}

check_unreadable_keys() {
  local copy=$work/copy said
  cp -a "$work/bus" "$copy"
  rm "$copy/tls/current/server.key"
  if said=$("$here/nats.sh" serve "$copy" 2>&1); then
    complain 'a server without a key was started'
  fi
  [[ $said == "error: $copy/nats.conf: tls.key_file: $copy/tls/current/server.key: No such file or directory" ]] || complain "$said"
}

serial() { openssl x509 -noout -serial -in "$work/bus/tls/current/ca.pem"; }
has_read_new_keys() { [[ $(grep -c 'Reloaded server configuration' "$work/log") -ge 1 ]]; }

check_replacement() {
  local before
  before=$(serial)
  "$here/nats.sh" rotate "$work/bus"
  [[ $(serial) != "$before" ]] || complain 'the CA is the same'
  wait_until 20 has_read_new_keys || complain 'the server did not take the new keys'
  expect yes pleg publish splitlet.n1.runtime
  [[ $(find "$work/bus/tls" -mindepth 1 -maxdepth 1 | wc -l) == 2 ]] || complain 'old keys are left'
}

# says LINE: a server that greets clients with LINE, on the port in $work/greeter.
says() {
  rm -f "$work/greeter"
  python3 - "$1" "$work/greeter" <<'SERVER' &
import os, socket, sys
server = socket.create_server(('127.0.0.1', 0))
with open(sys.argv[2] + '.new', 'w') as port:
    print(server.getsockname()[1], file=port)
os.rename(sys.argv[2] + '.new', sys.argv[2])
server.settimeout(20)
peer, _ = server.accept()
peer.sendall(sys.argv[1].encode() + b'\r\n')
peer.recv(1)
SERVER
  wait_until 10 test -s "$work/greeter" || complain 'no server that greets'
}

# A server that turns clients away still reads their bytes.
check_answers() {
  says "-ERR 'maximum connections exceeded'"
  "$here/nats_watch.sh" answers "$(<"$work/greeter")" || complain 'a server that is full counts as one that hangs'
  says "-ERR 'something else'"
  ! "$here/nats_watch.sh" answers "$(<"$work/greeter")" || complain 'any error counts as an answer'
}

has_ended() { ! kill -0 "$server" 2>/dev/null || [[ $(ps -o stat= -p "$server") == Z* ]]; }

stands() { [[ $(ps -L -o stat= -p "$server" | grep -vc '^T') == 0 ]]; }

# Only a client that waits for an answer reveals the hang.
check_hang() {
  kill -STOP "$server"
  wait_until 20 stands || complain 'SIGSTOP does not stop it'
  exec {waits}<>"/dev/tcp/127.0.0.1/$(<"$work/bus/port")"
  wait_until 60 has_ended || complain 'a server that hangs is left alone'
  exec {waits}>&-
}

start
check_tables
check_signals
check_readers
check_nothing_is_stored
check_keys
check_unreadable_keys
check_replacement
check_answers
check_hang
if ((failures > 0)); then
  printf '%d failures\n' "$failures"
  exit 1
fi
printf 'users, keys and watch of the bus are as they should be\n'
