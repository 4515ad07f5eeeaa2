#!/usr/bin/env bash
# What each user of the bus may do, asked of a real nats-server with the configuration of nats.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
server=
failures=0

cleanup() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap cleanup EXIT

# talk USER COMMANDS: sends NATS protocol lines as that user, prints the answers up to the server's pong.
talk() {
  local file=$work/bus/creds/$1 line password port
  password=$(sed -n 2p "$file")
  port=$(<"$work/bus/port")
  exec {connection}<>"/dev/tcp/127.0.0.1/$port"
  printf 'CONNECT {"user":"%s","pass":"%s","verbose":false}\r\n%bPING\r\n' "$1" "$password" "$2" >&"$connection"
  while IFS= read -r -t 5 -u "$connection" line; do
    [[ $line != PONG* ]] || break
    [[ $line == INFO* ]] || printf '%s\n' "$line"
  done
  exec {connection}>&-
}

# request USER SUBJECT JSON WORD: the answer must come, and hold the word.
request() {
  local answer inbox=_INBOX.$1.1 line port password
  password=$(sed -n 2p "$work/bus/creds/$1")
  port=$(<"$work/bus/port")
  exec {connection}<>"/dev/tcp/127.0.0.1/$port"
  printf 'CONNECT {"user":"%s","pass":"%s","verbose":false}\r\nSUB %s 1\r\nPUB %s %s %d\r\n%s\r\n' \
    "$1" "$password" "$inbox" "$2" "$inbox" "${#3}" "$3" >&"$connection"
  answer='no answer'
  while IFS= read -r -t 5 -u "$connection" line; do
    case $line in
      *'Permissions Violation'*) answer=$line && break ;;
      MSG*) IFS= read -r -t 5 -u "$connection" answer && break ;;
    esac
  done
  exec {connection}>&-
  [[ $answer == *"$4"* ]] || complain "$1 asks $2: wanted $4, got: $answer"
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
  for mode in creds/pleg nats.conf; do
    [[ $(stat -c %a "$work/bus/$mode") == 600 ]] || complain "$mode is readable by others"
  done
  "$here/nats.sh" serve "$work/bus" >"$work/log" 2>&1 &
  server=$!
  "$here/nats.sh" ready "$work/bus"
}

check_tables() {
  local process table views other
  while read -r process table views; do
    expect yes "$process" publish "splitlet.n1.$table"
    expect yes "$process" publish "splitlet.n1.$process.look"
    expect yes "$process" subscribe "_INBOX.$process.7"
    expect no "$process" subscribe "_INBOX.ctl.7"
    expect no "$process" subscribe 'splitlet.>'
    expect no "$process" publish "\$JS.API.STREAM.DELETE.flight-recorder"
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
pod-worker workers desired
pleg runtime -
status podstatus desired,admission,workers,runtime,pressure
gc pressure desired,workers,runtime
TABLE
}

check_signals() {
  expect yes sync-loop subscribe 'splitlet.n1.pleg.pod-changed'
  expect yes pod-worker subscribe 'splitlet.n1.pleg.pod-changed'
  expect no config-source subscribe 'splitlet.n1.pleg.pod-changed'
  expect no gc publish 'splitlet.n1.pleg.pod-changed'
}

check_recorder() {
  local stream='{"name":"flight-recorder","subjects":["splitlet.>"],"storage":"file","max_bytes":16777216,"discard":"old","retention":"limits","max_consumers":-1,"max_msgs":-1,"num_replicas":1}'
  local consumer='{"stream_name":"flight-recorder","config":{"deliver_subject":"_INBOX.ctl.2","deliver_policy":"all","ack_policy":"none"}}'
  request recorder "\$JS.API.STREAM.CREATE.flight-recorder" "$stream" '"created"'
  expect yes pleg publish splitlet.n1.runtime
  request ctl "\$JS.API.STREAM.INFO.flight-recorder" '' '"messages":'
  request ctl "\$JS.API.CONSUMER.CREATE.flight-recorder" "$consumer" '"delivered"'
  expect yes ctl subscribe 'splitlet.>'
  expect no ctl publish splitlet.n1.runtime
  request ctl "\$JS.API.STREAM.DELETE.flight-recorder" '' 'Permissions Violation'
  request recorder "\$JS.API.STREAM.CREATE.other" "${stream/flight-recorder/other}" 'Permissions Violation'
}

start
check_tables
check_signals
check_recorder
if ((failures > 0)); then
  printf '%d failures\n' "$failures"
  exit 1
fi
printf 'all users of the bus may do what they should, and no more\n'
