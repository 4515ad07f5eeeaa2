# shellcheck shell=bash
# Functions of the scripts of the local stack. Sourced, never run.
#
# Every process of the stack carries an environment variable with the stack's directory
# (SPLITLET_STACK or SPLITLET_RUNTIME). By this variable the stop scripts find their processes
# without pid files, and two stacks on one machine never touch each other.

# containerd takes unix sockets of 104 bytes (the kernel 107), and its longest below the state directory is
# /containerd/containerd.sock.ttrpc; splitlet's are shorter.
# shellcheck disable=SC2034  # used by the scripts that source this file
readonly MAX_STATE_DIR=71

say() { printf '%s\n' "$*"; }
note() { printf '%s\n' "$*" >&2; }
die() {
  note "error: $*"
  exit 1
}

# An absolute path with no symlinks, for a directory that need not exist yet.
absolute() { realpath -m -- "$1"; }

# Eight hex digits that stand for a directory in names of limited length.
short_hash() { printf '%s' "$1" | sha256sum | cut -c1-8; }

need_root() {
  [[ $EUID -eq 0 ]] || die "the local stack needs root (it makes containers, mounts and a bridge)"
}

need_commands() {
  local command missing=()
  for command in "$@"; do
    command -v "$command" >/dev/null || missing+=("$command")
  done
  [[ ${#missing[@]} -eq 0 ]] || die "not installed: ${missing[*]} (make setup installs them)"
}

# wait_until SECONDS COMMAND...: true as soon as the command succeeds, false when time is up.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

# Process ids that carry NAME=VALUE in their environment, one per line.
pids_with() {
  local files
  files=$(grep -lzFx -- "$1=$2" /proc/[0-9]*/environ 2>/dev/null || true)
  [[ -z $files ]] || sed -E 's|/proc/([0-9]+)/environ|\1|' <<<"$files"
}

none_with() { [[ -z $(pids_with "$1" "$2") ]]; }

# end_all_with NAME VALUE: TERM, five seconds, then KILL for every process that carries the variable.
end_all_with() {
  local pids
  mapfile -t pids < <(pids_with "$1" "$2")
  [[ ${#pids[@]} -gt 0 ]] || return 0
  kill -TERM "${pids[@]}" 2>/dev/null || true
  wait_until 5 none_with "$1" "$2" && return 0
  mapfile -t pids < <(pids_with "$1" "$2")
  [[ ${#pids[@]} -eq 0 ]] || kill -KILL "${pids[@]}" 2>/dev/null || true
  wait_until 5 none_with "$1" "$2" || die "these processes cannot be ended: $(pids_with "$1" "$2" | xargs)"
}

# Mount points below a directory, the innermost first. Another program may have mounted the directory itself.
mounts_below() {
  awk -v dir="$1" 'index($5, dir "/") == 1 {print length($5) "\t" $5}' \
    /proc/self/mountinfo | sort -rn | cut -f2-
}

# One mount point may carry several mounts, so repeat until none is left.
unmount_below() {
  local point round
  for round in 1 2 3 4 5; do
    [[ -n $(mounts_below "$1") ]] || return 0
    while IFS= read -r point; do
      umount "$point" 2>/dev/null || umount -l "$point" 2>/dev/null || true
    done < <(mounts_below "$1")
  done
  [[ -z $(mounts_below "$1") ]] || die "still mounted after $round rounds: $(mounts_below "$1" | xargs)"
}

# The programs under test: BIN_DIR, else the built ones, the release build first.
built_programs() {
  local root preset
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  if [[ -n ${BIN_DIR:-} ]]; then
    say "$BIN_DIR"
    return
  fi
  for preset in release dev; do
    [[ ! -x $root/build/$preset/bin/splitletctl ]] || { say "$root/build/$preset/bin" && return; }
  done
  die "no programs are built: make build"
}

# Debian sources of this machine: a line "SITE SUITE" for each, the release itself first.
# shellcheck disable=SC2016  # the names are apt's
package_sources() { apt-get indextargets --format '$(SITE) $(RELEASE)' 2>/dev/null | grep -E ' bookworm(-updates|-security)?$' | sort -u -k2; }
package_mirror() { package_sources | awk '$2 == "bookworm" {print $1; exit}'; }

# Paths of one stack for run.sh and stop.sh; STATE_DIR is already absolute.

# Processes of every node, and processes of a node with an API server (docs/cluster.md).
# shellcheck disable=SC2034  # used by the scripts that source this file
readonly PROCESSES=(config-source sync-loop pod-worker pleg status gc) CLUSTER_PROCESSES=(node-api)

# Two commands on one stack would undo each other's steps; the second waits.
lock_stack() {
  exec {stack_lock}>"$STATE_DIR/stack.lock"
  flock -w 60 "$stack_lock" || die "another run.sh or stop.sh is using $STATE_DIR"
}

# The command that stops the stack in STATE_DIR.
stop_command() {
  local tree
  tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  say "make stop$([[ $STATE_DIR == "$tree/.run" ]] || printf ' STATE_DIR=%s' "$STATE_DIR")"
}

supervisor_pid() {
  local pid
  for pid in $(pids_with SPLITLET_STACK "$STATE_DIR"); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == runsvdir ]] && say "$pid"
  done
  return 0
}
