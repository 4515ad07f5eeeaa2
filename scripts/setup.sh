#!/usr/bin/env bash
# Installs the Debian packages of scripts/packages.txt that are missing. Prints its actions; does
# nothing, quickly, when all are installed. Starts no service, because the local stack runs its own
# copies.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

wanted() { grep -vE '^[[:space:]]*(#|$)' "$here/packages.txt"; }

# Packages of the list that dpkg does not report as installed.
missing() {
  local installed
  # shellcheck disable=SC2016  # the braces are dpkg's
  installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p' | sort -u)
  comm -23 <(wanted | sort -u) <(printf '%s\n' "$installed")
}

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "needs root to run: $*"
  fi
}

install() {
  printf 'setup: installing %d packages: %s\n' "$#" "$*"
  as_root apt-get update -q || die "apt-get update failed; check /etc/apt/sources.list and the network"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@" </dev/null ||
    die "apt-get install failed; the list is in scripts/packages.txt"
}

# Debian starts installed services unless a policy forbids it.
report_started_services() {
  local service
  command -v systemctl >/dev/null && [[ -d /run/systemd/system ]] || return 0
  for service in containerd nats-server prometheus; do
    systemctl --quiet is-active "$service" || continue
    printf 'setup: note: the %s service of Debian runs; splitlet does not use it (systemctl disable --now %s)\n' \
      "$service" "$service"
  done
}

main() {
  local packages
  [[ -n $(command -v dpkg-query) && -n $(command -v apt-get) ]] ||
    die "this is not Debian; install the equivalents of scripts/packages.txt by hand"
  mapfile -t packages < <(missing)
  if [[ ${#packages[@]} -eq 0 ]]; then
    printf 'setup: all %d packages are installed\n' "$(wanted | wc -l)"
    return
  fi
  install "${packages[@]}"
  mapfile -t packages < <(missing)
  [[ ${#packages[@]} -eq 0 ]] || die "still not installed: ${packages[*]}"
  report_started_services
  printf 'setup: done\n'
}

main
