#!/usr/bin/env bash
# Tests check.sh with a fake docker: each problem gives a line with a hint and a code other than 0.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d /tmp/splitlet-check.XXXXXX)
listener=
trap '[[ -z $listener ]] || kill "$listener"; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/pods" "$work/closed" "$work/tree"
tree=$work/tree # a checkout with nothing built
cp "$here/check.sh" "$here/keep.sh" "$tree/"
chmod 0755 "$work/pods"
chmod 0700 "$work/closed"

# Answers of a healthy docker; a case overrides some.
cat >"$work/bin/docker" <<'DOCKER'
#!/bin/sh
case $1 in
  compose) [ -n "$FAKE_COMPOSE" ] && echo "$FAKE_COMPOSE" ;;
  version) echo "$FAKE_DOCKER"; [ "${FAKE_DOCKER#[0-9]}" != "$FAKE_DOCKER" ] ;;
  info) echo "$FAKE_OPTIONS" ;;
  ps) case $* in
    *--format*) [ -z "$FAKE_OTHER" ] || echo "$FAKE_OTHER" ;;
    *) [ -z "$FAKE_RUNS" ] || echo 4711 ;;
  esac ;;
  image | pull) [ -z "$FAKE_NO_IMAGE" ] ;;
  manifest) [ -z "$FAKE_NO_REGISTRY" ] ;;
esac
DOCKER
printf '#!/bin/sh\nexit 1\n' >"$work/bin/docker-compose"
chmod +x "$work"/bin/*

# expect WHAT VARIABLE=VALUE...: the output has `WHAT` with a hint below, and the code is 1; with an empty
# WHAT the code is 0.
expect() {
  local what=$1 code=0
  shift
  rm -f "$tree/.env"
  keeps "$what" "$@"
}
keeps() {
  local what=$1 code=0
  shift
  env PATH="$work/bin:$PATH" FAKE_COMPOSE=2.24.5 FAKE_DOCKER=24.0.7 PROPAGATION=rprivate PROMETHEUS_PORT="$free" GRAFANA_PORT="$free" \
    "$@" >"$work/said" 2>&1 || code=$?
  if [[ -z $what ]]; then
    ((code == 0)) && ! grep -q ': line [0-9]' "$work/said" && return
  elif ((code == 1)) && grep -qF -- "$what" "$work/said" && grep -q '^  -> ' "$work/said"; then
    return
  fi
  printf 'FAILED: code %d, want "%s":\n' "$code" "$what"
  cat "$work/said"
  exit 1
}

# A port that is in use, and a free port.
python3 -c 'import socket, time
taken, free = socket.socket(), socket.socket()
taken.bind(("127.0.0.1", 0)), free.bind(("127.0.0.1", 0)), taken.listen()
print(taken.getsockname()[1], free.getsockname()[1], flush=True)
free.close()
time.sleep(60)' >"$work/ports" &
listener=$!
until [[ -s $work/ports ]]; do :; done
read -r taken free <"$work/ports"

check=$tree/check.sh
expect '' "$check"
expect '' FAKE_COMPOSE=v2.3.0 MANIFESTS="$work/pods" "$check"
expect 'docker has no compose' FAKE_COMPOSE= "$check"
expect 'docker-compose is 1.25.0' FAKE_COMPOSE=1.25.0 "$check"
expect 'docker is 19.03.15' FAKE_DOCKER=19.03.15 "$check"
expect 'no docker daemon answers' FAKE_DOCKER='Cannot connect to the Docker daemon' "$check"
expect "no permission for docker's socket" FAKE_DOCKER='dial unix: permission denied' "$check"
expect 'user namespaces' FAKE_OPTIONS='[name=seccomp name=userns]' "$check"
expect "port $taken is in use" PROMETHEUS_PORT="$taken" "$check"
expect '' PROMETHEUS_PORT="$taken" FAKE_RUNS=1 "$check"
expect "$work/nothing does not exist" MANIFESTS="$work/nothing" "$check"
expect "$work/closed is not readable by all" MANIFESTS="$work/closed" "$check"
expect 'no runtime of the host' RUNTIME=host RUNTIME_DIR="$work" "$check"
printf 'apiVersion: v1\n' >"$work/pods/closed.yaml"
chmod 0600 "$work/pods/closed.yaml"
expect "$work/pods/closed.yaml is not readable by all" MANIFESTS="$work/pods" "$check"
expect 'a project tree of /elsewhere/compose already exists' FAKE_OTHER=/elsewhere/compose "$check"
expect 'a project mine of /elsewhere/compose already exists' COMPOSE_PROJECT_NAME=mine FAKE_OTHER=/elsewhere/compose "$check"
expect '' FAKE_OTHER="$tree" FAKE_RUNS=1 "$check"
expect 'BASE_IMAGE: mine:1 is neither local' BASE_IMAGE=mine:1 FAKE_NO_IMAGE=1 "$check"
expect 'there is no .prebuilt' PROGRAMS=prebuilt "$check"
expect 'PROGRAMS is source or prebuilt' PROGRAMS=binary "$check"
expect '' GRAFANA_PORT="$taken" "$check"
expect "port $taken is in use" GRAFANA_PORT="$taken" COMPOSE_PROFILES=grafana "$check"
expect 'GRAFANA_IMAGE: grafana/mine:1 is neither local' COMPOSE_PROFILES=grafana GRAFANA_IMAGE=grafana/mine:1 FAKE_NO_IMAGE=1 FAKE_NO_REGISTRY=1 "$check"
expect 'KUBECONFIG_FILE names no kubeconfig' COMPOSE_PROFILES=grafana,cluster "$check"
expect 'docker would take node.kubeconfig for the name of a volume' KUBECONFIG_FILE=node.kubeconfig "$check"
expect "$work/nothing is not a file" KUBECONFIG_FILE="$work/nothing" "$check"
for server in https://127.0.0.1:6443 '"https://localhost"'; do
  printf 'clusters:\n- cluster:\n    server: %s\n' "$server" >"$work/kubeconfig"
  expect 'on the loopback of each container' KUBECONFIG_FILE="$work/kubeconfig" "$check"
done
printf 'clusters:\n- cluster: {server: "https://10.0.0.1:6443"}\n' >"$work/kubeconfig"
chmod 0600 "$work/kubeconfig"
expect '' COMPOSE_PROFILES=cluster KUBECONFIG_FILE="$work/kubeconfig" "$check"
expect '' COMPOSE_PROFILES=cluster BOOTSTRAP_KUBECONFIG_FILE="$work/kubeconfig" "$check"
expect "BOOTSTRAP_KUBECONFIG_FILE: $work/nothing is not a file" BOOTSTRAP_KUBECONFIG_FILE="$work/nothing" "$check"
printf 'RUNTIME=host\nRUNTIME_DIR=%s\n' "$work" >"$work/host.env"
expect 'no runtime of the host' "$check" "$work/host.env"
expect '' RUNTIME=private "$check" "$work/host.env"

# A missing folder is one problem, and not an error of a tool.
[[ $(MANIFESTS=$work/nothing PATH="$work/bin:$PATH" FAKE_COMPOSE=2.24.5 FAKE_DOCKER=24.0.7 PROPAGATION=rprivate \
  PROMETHEUS_PORT="$free" "$check" 2>&1 | grep -vc '^error: \|^  -> ') == 0 ]]

# DOCKER_HOST names the default socket of this machine: the daemon's mounts count just the same.
if ! awk '$5 == "/" && / shared:/ {found = 1} END {exit !found}' /proc/1/mountinfo; then
  expect 'not a shared mount' PROPAGATION=rshared DOCKER_HOST=unix:///var/run/docker.sock "$check"
fi
expect '' PROPAGATION=rshared DOCKER_HOST=tcp://elsewhere:2375 "$check"

# check.sh saves the variables of the shell only without a problem, and the next shell uses them.
expect '' NODE_NAME=n1 APT_SOURCES=$'deb http://a b main\ndeb http://c d main' "$check"
[[ $("$tree/keep.sh") == *'NODE_NAME=n1'* && $("$tree/keep.sh") == *"APT_SOURCES='deb http://a b main"$'\n'"deb http://c d main'"* ]]
keeps 'BASE_IMAGE: mine:1 is neither local' BASE_IMAGE=mine:1 FAKE_NO_IMAGE=1 "$check"
[[ $("$tree/keep.sh") != *BASE_IMAGE* ]]
"$tree/keep.sh" MANIFESTS="$work/nothing" APT_SOURCES='deb http://e f main' NODE_NAME=
keeps "$work/nothing does not exist" "$check"
[[ $("$tree/keep.sh") == "MANIFESTS=$work/nothing"$'\n'"APT_SOURCES='deb http://e f main'"$'\n'* || $("$tree/keep.sh") != *NODE_NAME* ]]
"$tree/keep.sh" "$work/host.env" MANIFESTS=
keeps 'no runtime of the host' "$check"
for word in NO_SUCH=1 "$work/no-file" "NODE_NAME=it's"; do
  if "$tree/keep.sh" "$word" 2>/dev/null; then echo "FAILED: keep.sh takes $word" && exit 1; fi
done
echo 'all cases passed'
