#!/usr/bin/env bash
# Checks, before `docker compose up`, everything that would make it fail halfway, and prints a line with advice for each
# problem. Starts nothing. Without a problem it saves the variables of this shell in .env (keep.sh), so that the next
# `up` starts the same stack.
#
#   check.sh [ENV_FILE]    with the variables of README.md; ENV_FILE as for docker compose --env-file, in place of .env
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
problems=0

# problem WHAT HINT
problem() {
  printf 'error: %s\n  -> %s\n' "$1" "$2" >&2
  problems=$((problems + 1))
}

finish() {
  ((problems == 0)) || exit 1
  keep_choices
  printf 'all is there: %s\n' "$(compose_command) up --build${PROGRAMS:+   (PROGRAMS=$PROGRAMS)}"
  exit 0
}

# Variables that the shell has set; docker compose reads those of .env itself.
keep_choices() {
  local choice kept=()
  for choice in "${choices[@]}"; do
    "$here/keep.sh" "$choice"
    kept+=("${choice%%=*}")
  done
  [[ ${#kept[@]} -eq 0 ]] || printf 'kept in .env: %s\n' "${kept[*]}"
}

# The installed compose: version 2 is a plugin of docker, 1.29 a program of its own.
compose_command() { if docker compose version >/dev/null 2>&1; then echo 'docker compose'; else echo 'docker-compose'; fi; }

# older VERSION THAN
older() { [[ $1 != "$2" && $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

check_compose() {
  local version
  if ! command -v docker >/dev/null; then
    problem 'docker is not installed' 'apt install docker.io docker-compose, or https://docs.docker.com/engine/install'
    finish
  fi
  version=$(docker compose version --short 2>/dev/null || docker-compose version --short 2>/dev/null || true)
  if [[ -z $version ]]; then
    problem 'docker has no compose' 'apt install docker-compose, or docker-compose-plugin of docker.com'
  elif older "${version#v}" 1.29; then
    problem "docker-compose is $version" 'install 1.29 or later: older ones cannot wait for the container setup'
  fi
}

check_daemon() {
  local version options
  if ! version=$(docker version --format '{{.Server.Version}}' 2>&1); then
    case $version in
      *'permission denied'*) problem "no permission for docker's socket" 'use sudo' ;;
      *) problem "no docker daemon answers (${DOCKER_HOST:-/var/run/docker.sock})" 'systemctl start docker, or set DOCKER_HOST' ;;
    esac
    finish
  fi
  ! older "$version" 20.10 || problem "docker is $version" 'install 20.10 or later'
  options=$(docker info --format '{{.SecurityOptions}}' 2>/dev/null || true)
  [[ $options != *name=userns* && $options != *name=rootless* ]] ||
    problem 'docker has user namespaces or is rootless' 'the container runtime needs a docker that is root and without userns-remap'
}

runs_already() {
  [[ -n $(docker ps -q --filter label=com.docker.compose.service=node \
    --filter "label=com.docker.compose.project.working_dir=$here" 2>/dev/null) ]]
}

# Two checkouts share a project name: `up` in the second would replace the containers of the first.
check_project() {
  local project=${COMPOSE_PROJECT_NAME:-$(basename "$here")} where
  where=$(docker ps -a --filter label=com.docker.compose.service=node --filter "label=com.docker.compose.project=$project" \
    --format '{{.Label "com.docker.compose.project.working_dir"}}' 2>/dev/null | head -n 1)
  [[ -z $where || $where == "$here" ]] || problem "a project $project of $where already exists" \
    "COMPOSE_PROJECT_NAME=another $(compose_command) up, or end that one"
}

# Sources of the images: a base image, present or downloadable, and compiled programs unless the image compiles
# them.
check_images() {
  local base=${BASE_IMAGE:-debian:bookworm-slim}
  if ! docker image inspect "$base" >/dev/null 2>&1 && ! timeout 60 docker pull -q "$base" >/dev/null 2>&1; then
    problem "BASE_IMAGE: $base is neither local nor in a registry" './base-image.sh makes one from Debian packages'
  fi
  [[ ,${COMPOSE_PROFILES:-}, != *,grafana,* ]] || check_grafana "${GRAFANA_IMAGE:-grafana/grafana-oss:10.4.14}"
  case ${PROGRAMS:-source} in
    source) ;;
    prebuilt) [[ -d $here/.prebuilt/root ]] || problem 'PROGRAMS=prebuilt, and there is no .prebuilt' './prebuilt.sh, after make build' ;;
    *) problem "PROGRAMS is source or prebuilt, not $PROGRAMS" 'leave it out to compile in the image' ;;
  esac
}

# Only checks that the image exists; `up` pulls it.
check_grafana() {
  docker image inspect "$1" >/dev/null 2>&1 || timeout 60 docker manifest inspect "$1" >/dev/null 2>&1 ||
    problem "GRAFANA_IMAGE: $1 is neither local nor in a registry" 'docker load one and name it, or leave the profile grafana out'
}

# check_port VARIABLE NUMBER
check_port() {
  ! (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null ||
    problem "port $2 is in use" "set another: $1=$(($2 + 10000)) $(compose_command) up"
}

# Reads a path as a container would, as any user. False when nothing is there.
check_path() {
  local path=$2
  [[ $path == /* ]] || path=$here/$path
  if [[ ! -e $path ]]; then
    problem "$1: $path does not exist" 'relative paths count from the folder compose; make it first: docker would make an empty one'
    return 1
  elif (((8#$(stat -Lc %a "$path") & 4) == 0)); then
    problem "$1: $path is not readable by all" "chmod -R a+rX $path"
  fi
}

check_runtime() {
  local socket=${RUNTIME_DIR:-/run/containerd}/${RUNTIME_SOCKET:-containerd.sock}
  [[ ${RUNTIME:-private} != host || -S $socket ]] || problem "no runtime of the host listens on $socket" \
    'start containerd or CRI-O, or leave RUNTIME out for one of the stack'
}

# The docker daemon, in whose mount namespace paths count; the first process if no daemon is visible.
daemon_pid() {
  local pid
  for pid in $(ss -xlpH "src $1" 2>/dev/null | grep -o 'pid=[0-9]*' | cut -d= -f2) 1; do
    [[ $pid == 1 || $(cat "/proc/$pid/comm" 2>/dev/null) == dockerd ]] && printf '%s\n' "$pid" && return
  done
}

check_propagation() {
  local host=${DOCKER_HOST:-unix:///var/run/docker.sock}
  [[ ${PROPAGATION:-rshared} == rshared && $host == unix://* ]] || return 0 # mounts of another machine are not seen
  awk '$5 == "/" && / shared:/ {found = 1} END {exit !found}' "/proc/$(daemon_pid "${host#unix://}")/mountinfo" 2>/dev/null ||
    problem 'the root of this machine is not a shared mount' 'mount --make-rshared /, or ./keep.sh PROPAGATION=rprivate'
}

# The user of a container must be able to read each manifest.
check_manifests() {
  local file
  while IFS= read -r file; do
    problem "MANIFESTS: $file is not readable by all" "chmod a+r $file"
  done < <(find "$1" -maxdepth 1 -type f ! -name '.*' ! -perm -o=r)
}

# check_kubeconfig VARIABLE FILE: root alone reads the file, and setup copies it for the processes
# that query the API server.
check_kubeconfig() {
  local path=$2
  if [[ $path != ./* && $path != ../* && $path != /* ]]; then
    problem "$1: docker would take $path for the name of a volume" "write ./$path"
    return
  fi
  [[ $path == /* ]] || path=$here/$path
  if [[ ! -f $path || ! -s $path ]]; then
    problem "$1: $path is not a file, or is empty" 'relative paths count from the folder compose'
  elif grep -qE '^[[:space:]-]*server: *"?https?://(127\.|localhost|\[::1\])' "$path"; then
    problem "$1: the server in $path is on the loopback of each container" 'name an address that containers reach'
  fi
}

# As in docker compose, a variable that is already set wins over the file.
read_variables() {
  local name value
  while IFS='=' read -r name value; do
    [[ $name =~ ^[A-Z_]+$ && -z ${!name+set} ]] || continue
    [[ $value != \'*\' ]] || value=${value:1:-1}
    export "$name=$value"
  done <"$1"
}

choices=()
while IFS= read -r name; do
  [[ -z ${!name:-} ]] || choices+=("$name=${!name}")
done < <("$here/keep.sh" names)
if [[ $# -gt 0 ]]; then
  read_variables "$1"
elif [[ -f $here/.env ]]; then
  read_variables "$here/.env"
fi
check_compose
check_daemon
if ! runs_already; then
  check_port PROMETHEUS_PORT "${PROMETHEUS_PORT:-9090}"
  [[ ,${COMPOSE_PROFILES:-}, != *,grafana,* ]] || check_port GRAFANA_PORT "${GRAFANA_PORT:-3000}"
  check_project
fi
check_images
if [[ -n ${MANIFESTS:-} ]]; then
  ! check_path MANIFESTS "$MANIFESTS" || check_manifests "$(cd "$here" && realpath -m -- "$MANIFESTS")"
fi
[[ -z ${KUBELET_CONFIG:-} ]] || check_path KUBELET_CONFIG "$KUBELET_CONFIG" || true
[[ -z ${KUBECONFIG_FILE:-} ]] || check_kubeconfig KUBECONFIG_FILE "$KUBECONFIG_FILE"
[[ -z ${BOOTSTRAP_KUBECONFIG_FILE:-} ]] || check_kubeconfig BOOTSTRAP_KUBECONFIG_FILE "$BOOTSTRAP_KUBECONFIG_FILE"
if [[ ,${COMPOSE_PROFILES:-}, == *,cluster,* && -z ${KUBECONFIG_FILE:-}${BOOTSTRAP_KUBECONFIG_FILE:-} ]]; then
  problem 'the profile cluster is on, and KUBECONFIG_FILE names no kubeconfig' \
    'export KUBECONFIG_FILE=./node.kubeconfig, or BOOTSTRAP_KUBECONFIG_FILE'
fi
check_runtime
check_propagation
finish
