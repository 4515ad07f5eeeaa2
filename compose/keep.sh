#!/usr/bin/env bash
# Saves variables of the stack in the file .env, which docker compose reads by itself, so that the next `up` of any
# shell starts the same stack. A variable of the shell wins over the file.
#
#   keep.sh NAME=VALUE...    NAME= (nothing) forgets one
#   keep.sh FILE             all variables of a file such as host-runtime.env
#   keep.sh                  what is kept
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly ENV_FILE=$here/.env
# Variables of README.md and of host-runtime.env.
readonly NAMES='APT_SOURCES BASE_IMAGE BOOTSTRAP_KUBECONFIG_FILE BUILD_NETWORK COMPOSE_PROFILES COMPOSE_PROJECT_NAME DEMO
GRAFANA_IMAGE GRAFANA_PORT JOBS KUBECONFIG_FILE KUBELET_CONFIG LOCK_DIR LOGS_DIR LOG_FORMAT MANIFESTS NODE_IP NODE_NAME
OTEL_EXPORTER_OTLP_ENDPOINT PODS_DIR PROGRAMS PROMETHEUS_PORT PROPAGATION RESOLV_CONF ROOT_DIR RUNTIME RUNTIME_DIR
RUNTIME_GID RUNTIME_PRIVILEGED RUNTIME_ROOT RUNTIME_SOCKET SPLITLET_FAILPOINTS TAG'

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

is_known() { [[ " ${NAMES//$'\n'/ } " == *" $1 "* ]]; }

# Quoted for both versions of compose; single quotes keep a dollar sign unchanged.
line_of() {
  if [[ $2 =~ ^[A-Za-z0-9_.,:/@=+-]*$ ]]; then
    printf '%s=%s\n' "$1" "$2"
  else
    printf "%s='%s'\n" "$1" "$2"
  fi
}

# Lines of .env without this variable, whose value may have several lines.
others() {
  [[ -f $ENV_FILE ]] || return 0
  awk -v name="$1" -v quote="'" '
    !inside && index($0, name "=") == 1 {
      inside = substr($0, length(name) + 2, 1) == quote && gsub(quote, quote) < 2
      next
    }
    inside { if (index($0, quote)) inside = 0; next }
    { print }' "$ENV_FILE"
}

keep() {
  local name=$1 value=$2
  is_known "$name" || die "$name is not a variable of the stack; README.md lists them"
  [[ $value != *\'* ]] || die "$name: a value with a single quote cannot be kept"
  {
    others "$name"
    [[ -z $value ]] || line_of "$name" "$value"
  } >"$ENV_FILE.new"
  mv "$ENV_FILE.new" "$ENV_FILE"
}

keep_word() {
  local line value
  if [[ $1 =~ ^[A-Z_]+= ]]; then
    keep "${1%%=*}" "${1#*=}"
    return
  fi
  [[ -f $1 ]] || die "$1 is neither NAME=VALUE nor a file"
  while IFS= read -r line || [[ -n $line ]]; do
    [[ $line =~ ^[A-Z_]+= ]] || continue
    value=${line#*=}
    [[ ! $value =~ ^\'(.*)\'$ ]] || value=${BASH_REMATCH[1]}
    keep "${line%%=*}" "$value"
  done <"$1"
}

case ${1-} in
  names) printf '%s\n' "$NAMES" | tr ' ' '\n' ;;
  '') if [[ -f $ENV_FILE ]]; then cat "$ENV_FILE"; fi ;;
  *)
    for word in "$@"; do
      keep_word "$word"
    done
    ;;
esac
