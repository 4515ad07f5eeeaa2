#!/usr/bin/env bash
# Runs chaos scenarios on a private local stack, which it starts and stops. State, pods' logs and, if a scenario fills
# it, volumes have file systems of their own. The configuration of a scenario is config/NAME.yaml, if that exists. A
# scenario with `apiServer: true` also gets fake-api, which keeps its objects over restarts, and config/api-server.yaml;
# without a fake-api in BIN_DIR the scenario is skipped.
#
#   run.sh [NAME...]     these scenarios of this folder; without: a short fixed set
#
# Variables: BIN_DIR (build/$PRESET/bin), PRESET (dev), MINUTES (rounds of each until then), REPEAT (1), SEED, REPORT (a
# folder), KEEP=1 leaves the stack running. Exit code 77 without root: skipped. Even after SIGKILL it leaves nothing
# behind, because a second process cleans up.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(realpath "$here/../..")
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"

BIN_DIR=$(absolute "${BIN_DIR:-$tree/build/${PRESET:-dev}/bin}")
export BIN_DIR
readonly BIN_DIR REGISTRY_PORT=18500 API_PORT=25443 FIXED=(smoke grace-is-kept reboot sidecars api-away)

[[ $EUID -eq 0 ]] || { note "skipped: running containers needs root" && exit 77; }

# Checked before anything is created or started.
check_words() {
  local name
  for name in "$@"; do
    [[ -r $here/$name.yaml ]] ||
      die "there is no scenario $name: want one of $(cd "$here" && printf '%s\n' *.yaml | sed 's/\.yaml$//' | paste -sd' ')"
  done
  check_number MINUTES '^[0-9]+(\.[0-9]+)?$' "${MINUTES:-1}"
  check_number REPEAT '^[1-9][0-9]*$' "${REPEAT:-1}"
  check_number SEED '^[0-9]+$' "${SEED:-1}"
}
check_number() { [[ $3 =~ $2 ]] || die "$1: \"$3\" is no number that it can have"; }

if [[ ${1:-} == --after ]]; then
  dir=$3
else
  [[ $# -gt 0 ]] || set -- "${FIXED[@]}"
  check_words "$@"
  dir=$(mktemp -d "${TMPDIR:-/tmp}/chaos-XXXX")
fi
readonly dir
child=
registry=

# The run removes its pods and ends its faults first.
end_run() {
  [[ -n $child ]] || return 0
  kill -TERM "$child" 2>/dev/null || true
  wait_until 30 dead "$child" || kill -KILL "$child" 2>/dev/null || true
}

dead() { ! kill -0 "$1" 2>/dev/null; }

end() {
  end_run
  [[ -z $registry ]] || kill "$registry" 2>/dev/null || true
  [[ ! -d $dir/api ]] || heal_api
  [[ ${KEEP:-0} == 0 ]] || { note "the stack is left running: STATE_DIR=$dir" && return; }
  STATE_DIR=$dir "$tree/deploy/local/stop.sh" >/dev/null || note "warning: the stack in $dir did not stop cleanly"
  unmount_below "$dir"
  rm -rf "$dir"
}

# A scenario that uses the registry on loopback gets one, which ends with this script.
start_registry() {
  grep -q "127.0.0.1:$REGISTRY_PORT/" "$here/$1.yaml" && [[ -z $registry ]] || return 0
  "$here/registry.py" "$REGISTRY_PORT" >"$dir/registry.log" 2>&1 &
  registry=$!
  wait_until 10 registry_answers || { cat "$dir/registry.log" && exit 1; }
}

registry_answers() { (: </dev/tcp/127.0.0.1/"$REGISTRY_PORT") 2>/dev/null; }

wants_api() { grep -q '^apiServer: true' "$here/$1.yaml"; }

# Removes rules that a killed run left from a partition.
heal_api() {
  local end
  for end in --dport --sport; do
    while iptables -w 5 -D OUTPUT -o lo -p tcp "$end" "$API_PORT" -j DROP 2>/dev/null; do :; done
  done
}

# A service of the stack. It runs once before the stack, because the processes need its kubeconfig.
write_api() {
  local home=$dir/sv/api-server node command pid
  [[ ! -d $home ]] || return 0
  node=${NODE_NAME:-$(uname -n)}
  command=("$BIN_DIR/fake-api" --dir "$dir/api" --port "$API_PORT" --node "${node,,}"
    --control "$dir/api/control" --keep "$dir/api/objects")
  mkdir -p "$dir/api" "$home/log" "$dir/log/api-server"
  SPLITLET_STACK=$dir "${command[@]}" >"$dir/api.log" 2>&1 &
  pid=$!
  wait_until 20 test -s "$dir/api/admin.kubeconfig" || { kill "$pid" && cat "$dir/api.log" && exit 1; }
  kill "$pid"
  wait "$pid" || true
  printf '#!/usr/bin/env bash\nexec svlogd %q\n' "$dir/log/api-server" >"$home/log/run"
  # Adds quotes only where needed, because other code searches the text for flags.
  { printf '#!/usr/bin/env bash\nexec 2>&1\nexec' && printf ' %q' "${command[@]}" && echo; } >"$home/run"
  chmod +x "$home/log/run" "$home/run"
}

forget_api() {
  [[ -d $dir/sv/api-server ]] || return 0
  sv -w 15 force-stop "$dir/sv/api-server" >/dev/null || note 'warning: fake-api did not end in time'
  heal_api
  rm -rf "$dir/sv/api-server" "$dir/api"
}

# Stops the stack if the process with this id ended without doing so.
end_after() {
  while ! dead "$1" && [[ -d $dir ]]; do sleep 1; done
  [[ ! -d $dir ]] || end
}

# mount_small FOLDER INODES: mounts a small file system there, on a file if loop devices are
# available.
mount_small() {
  local folder=$dir/$1 image=$dir/${1//\//-}.img
  mkdir -p "$folder"
  truncate -s 256M "$image"
  if ! { mkfs.ext4 -q -N "$2" "$image" && mount -o loop "$image" "$folder" && rmdir "$folder/lost+found"; } 2>/dev/null; then
    mount -t tmpfs -o "size=256m,nr_inodes=$2" none "$folder"
  fi
}

# Starts the stack, or restarts the services with a changed configuration.
start_stack() {
  local config=$here/config/$1.yaml kubeconfig=
  ! wants_api "$1" || kubeconfig=$dir/api/node.kubeconfig
  [[ -r $config || -z $kubeconfig ]] || config=$here/config/api-server.yaml
  [[ -r $config ]] || config=
  [[ $config:$kubeconfig != "${configured-none}" ]] || return 0
  configured=$config:$kubeconfig
  [[ -z $kubeconfig ]] || write_api
  NODE_KUBECONFIG=$kubeconfig KUBELET_CONFIG=$config STATE_DIR=$dir DEMO=0 "$tree/deploy/local/run.sh" \
    >"$dir/start.log" || { cat "$dir/start.log" && exit 1; }
  [[ -n $kubeconfig ]] || forget_api
}

run_one() {
  local options=(--repeat "${REPEAT:-1}")
  [[ -z ${MINUTES:-} ]] || options=(--minutes "$MINUTES")
  [[ -z ${SEED:-} ]] || options+=(--seed "$SEED")
  [[ -z ${REPORT:-} ]] || options+=(--report "$(absolute "$REPORT")/$1")
  options+=(--label "$(git -C "$tree" rev-parse --short HEAD 2>/dev/null || say unknown)")
  "$BIN_DIR/splitletctl" --state-dir "$dir" chaos run "$here/$1.yaml" "${options[@]}" &
  child=$!
  local result=0
  wait "$child" || result=$?
  child=
  return "$result"
}

main() {
  local name ran=0 failed=()
  trap end EXIT
  trap 'exit 143' INT TERM HUP
  [[ ${KEEP:-0} != 0 ]] || setsid --fork "$here/run.sh" --after $$ "$dir" </dev/null >/dev/null 2>&1
  mount_small state 250000
  chmod 0700 "$dir/state"
  mount_small log/pods 10000
  # Other programs write more there than fits.
  for name in "$@"; do
    ! grep -q 'fillDisk: kubelet' "$here/$name.yaml" || { mount_small kubelet 50000 && break; }
  done
  for name in "$@"; do
    if wants_api "$name" && [[ ! -x $BIN_DIR/fake-api ]]; then
      note "SKIPPED: $name: no fake-api is built"
      continue
    fi
    ran=1
    start_stack "$name"
    start_registry "$name"
    run_one "$name" || failed+=("$name")
  done
  [[ ${#failed[@]} -eq 0 ]] || die "violations in: ${failed[*]}"
  ((ran)) || exit 77
}

if [[ ${1:-} == --after ]]; then
  end_after "$2"
else
  main "$@"
fi
