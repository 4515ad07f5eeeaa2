#!/usr/bin/env bash
# Runs the command blocks of some pages exactly as written, line by line in one shell, in a copy of the tree, with
# programs that are already built. Real containerd; needs root. BIN_DIR names the programs (of the release build, else
# of the dev build).
#
#   run.sh [GROUP[,GROUP]...]    local: the commands of README.md that take a minute or two; long: those that take longer;
#                                samples: deploy/local/README.md; cluster: docs/cluster.md (make test-readme runs all).
#                                Groups joined by a comma run in the order of their page.
#
# A line that ends in -f or -w would run forever, so it is ended after a few seconds and must have printed something. A
# line that ends in & runs until the end. The group cluster sets KUBELET_CONFIG, so that the machine and the kubelet's
# ports are not touched, and replaces /tmp/api and port 6443 by a folder and a port of this test. Lines with kubectl are
# skipped if it is not installed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"

if [[ $EUID -ne 0 ]]; then
  note 'skipped: needs root'
  exit 77
fi
[[ $# -gt 0 ]] || set -- local
declare -rA PAGES=([local]=README.md [long]=README.md [samples]=deploy/local/README.md [cluster]=docs/cluster.md)
bin=$(absolute "$(built_programs)")
work=$(mktemp -d /tmp/splitlet-readme.XXXXXX)
line='nothing yet'

cleanup() {
  local code=$?
  if ((code != 0)); then
    note "FAILED at: $line"
    tail -n 20 "$work/printed" >&2 2>/dev/null || true
  fi
  STATE_DIR=$work/tree/.run "$tree/deploy/local/stop.sh" >/dev/null 2>&1 || note "warning: stop.sh failed for $work/tree/.run"
  [[ -z ${beside:-} ]] || kill "$beside" 2>/dev/null || true
  remove_cgroups
  rm -rf --one-file-system "$work"
  exit "$code"
}
trap cleanup EXIT

copy_tree() {
  mkdir -p "$work/tree/build"
  (cd "$tree" && git ls-files --cached --others --exclude-standard -z | tar --null -T - -c --ignore-failed-read) | tar -x -C "$work/tree"
  ln -s "$(dirname "$bin")" "$work/tree/build/release"
}

# The Makefile's own recipes, without building.
make() { command make --no-print-directory --old-file=build --old-file=setup "$@"; }

# A following command (-f, -w) is ended, which is no failure.
follow() {
  local code=0
  timeout -s INT 5 bash -c "$(alias); shopt -s expand_aliases"$'\n'"$1" >"$work/printed" 2>&1 || code=$?
  [[ $code == 0 || $code == 124 || $code == 130 ]] && [[ -s $work/printed ]]
}

type_line() {
  line=$1
  say "\$ $line"
  if [[ ${line%%#*} =~ \ -[fw]\ *$ ]]; then
    follow "$line" || die "exit code or nothing printed: $line"
  elif [[ ${line%%#*} =~ \&\ *$ ]]; then
    eval "$line" >"$work/beside" 2>&1
    beside=$!
  else
    eval "$line" >"$work/printed" 2>&1 || die "exit code $?: $line"
  fi
}

all_healthy() { "$bin/splitletctl" --state-dir .run get processes -o json 2>/dev/null | jq -e 'all(.[]; .healthy)' >/dev/null; }

# At the end the node must be healthy and the demo unchanged, because the page promises it.
look_at_demo() {
  wait_until 30 all_healthy || die 'not all processes are healthy'
  "$bin/splitletctl" --state-dir .run get pods -o json >"$work/pods"
  jq -e '.items[] | select(.metadata.name | startswith("demo-")) | select(.status.phase == "Running")
    | .status.containerStatuses[0].restartCount == 0' "$work/pods" >/dev/null || die "the demo is not what it was: $(cat "$work/pods")"
}

# The cgroups of this test's pods are separate from those of other nodes on the machine.
readonly CGROUP=splitlet-readme-$$
cgroup_mounts() { awk '$3 == "cgroup" || $3 == "cgroup2" {print $2}' /proc/mounts; }
own_cgroups() {
  local mount file
  cgroup_mounts | while read -r mount; do
    mkdir -p "$mount/$CGROUP" 2>/dev/null || continue
    for file in cpuset.mems cpuset.cpus; do # those of version 1 begin empty
      [[ ! -e $mount/cgroup.clone_children || ! -e $mount/$file ]] || cat "$mount/$file" >"$mount/$CGROUP/$file"
    done
  done
  printf 'cgroupRoot: /%s\n' "$CGROUP" >>"$work/tree/deploy/local/examples/with-limits/kubelet.yaml"
}
remove_cgroups() {
  local mount
  cgroup_mounts | while read -r mount; do
    [[ ! -d $mount/$CGROUP ]] || find "$mount/$CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null || note "warning: $mount/$CGROUP stays"
  done
}

# Additional files that the group needs.
prepare_group() {
  rm -f .run/manifests/*.yaml # of a group before
  case $1 in
    samples) own_cgroups ;;
    cluster)
      [[ -x $bin/fake-api ]] || { note 'skipped: no fake-api is built' && exit 77; }
      port=$((21000 + $$ % 9000))
      printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' "port: $port" \
        'healthzPort: 0' 'failSwapOn: false' 'splitlet: {machineSetup: false}' >"$work/cluster.yaml"
      export KUBELET_CONFIG=$work/cluster.yaml
      # Targets that the page builds must already be built, and are not built again.
      # shellcheck disable=SC2016  # of the script that is written
      printf '%s\n' '#!/usr/bin/env bash' 'preset=$1 && shift' \
        'for program in "$@"; do [[ -x build/$preset/bin/$program ]] || exit 1; done' >scripts/build.sh
      ;;
  esac
}

# as_here GROUP LINE: the line with the folder and the port of this test.
as_here() {
  [[ $1 != cluster ]] || set -- "$1" "$(sed "s|/tmp/api|$work/api|g; s|--port 6443 |--port $((port + 9000)) |" <<<"$2")"
  say "$2"
}

of_api() { kubectl --kubeconfig "$work/api/admin.kubeconfig" get "$@" -o json 2>/dev/null; }
node_is_there() { of_api nodes node-a | jq -e 'any(.status.conditions[]; .type == "Ready" and .status == "True")' >/dev/null; }
hello_runs() { of_api pod hello | jq -e '.status.phase == "Running" and .status.containerStatuses[0].ready' >/dev/null; }
hello_is_gone() { ! "$bin/splitletctl" --state-dir .run get pods -o json | jq -e '.items[] | select(.metadata.name == "hello")' >/dev/null; }

# look_after LINE: waits for the effect that the page promises, because a person who types gives commands that
# time.
look_after() {
  case $1 in
    *fake-api*\&*) wait_until 30 test -s "$work/api/admin.kubeconfig" || die "fake-api: $(cat "$work/beside")" ;;
    'kubectl get nodes'*) node_is_there || die "node-a is not Ready: $(of_api nodes)" ;;
    'kubectl apply'*) wait_until 60 hello_runs || die "the pod does not run: $(of_api pod hello)" ;;
    'kubectl delete'*) wait_until 30 hello_is_gone || die 'the pod is still there' ;;
  esac
}

type_group() {
  local lines next page=${PAGES[${1%%,*}]:?no such group: $1}
  mapfile -t lines < <(python3 "$here/blocks.py" list "$1" "$page")
  [[ ${#lines[@]} -gt 0 && -n ${lines[0]} ]] || die "$page has no block of the group $1"
  prepare_group "$1"
  for next in "${lines[@]}"; do
    if [[ $next == kubectl* ]] && ! command -v kubectl >/dev/null; then
      note "left out, as kubectl is not installed: $next"
      continue
    fi
    [[ $next != 'make stop'* ]] || look_at_demo
    type_line "$(as_here "$1" "$next")"
    look_after "$next"
  done
  say "every line of $page ($1) did what it should"
}

copy_tree
cd "$work/tree"
shopt -s expand_aliases
for group in "$@"; do
  type_group "$group"
done
