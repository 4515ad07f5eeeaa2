#!/usr/bin/env bash
# Tests the packages splitlet and splitlet-chaos: their files and dependencies. As root, where debootstrap reaches a
# mirror, it also installs them in a clean Debian 12, runs the programs as the units would, and checks that removal
# leaves nothing behind.
#
# BIN_DIR names the programs (of the release build, else of the dev build), PACKAGE_MIRROR the mirror (else this
# machine's); INSTALL=1 does the second part, which downloads 100 MB.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/../local/lib.sh"
build=$(realpath "$(built_programs)/..")
mirror=${PACKAGE_MIRROR:-$(package_mirror)}
work=$(mktemp -d /var/tmp/splitlet-package.XXXXXX)
root=$work/root

cleanup() {
  local point
  for point in "$root"/proc "$root"/dev/pts; do
    ! mountpoint -q "$point" || umount "$point"
  done
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

make_packages() {
  cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/cpack" >"$work/cpack.txt" 2>&1 || { cat "$work/cpack.txt" && exit 1; }
  mv "$work"/cpack/splitlet_*.deb "$work/splitlet.deb"
  mv "$work"/cpack/splitlet-chaos_*.deb "$work/splitlet-chaos.deb"
}

# check_size NAME: Installed-Size equals the size of the files.
check_size() {
  local size unpacked
  size=$(dpkg-deb -f "$work/$1.deb" Installed-Size)
  unpacked=$(dpkg-deb --fsys-tarfile "$work/$1.deb" | tar -tv | awk '{sum += $3} END {print int(sum / 1024)}')
  ((size >= unpacked && size < unpacked + 1000)) || die "$1: Installed-Size is $size kB, the files have $unpacked kB"
}

check_contents() {
  local process file depends
  dpkg-deb -c "$work/splitlet.deb" | awk '{print $6}' >"$work/files"
  for process in "${PROCESSES[@]}" "${CLUSTER_PROCESSES[@]}"; do
    for file in usr/bin/splitlet-$process usr/lib/systemd/system/splitlet-$process.service \
      usr/share/man/man8/splitlet-$process.8.gz; do
      grep -qx "./$file" "$work/files" || die "$file is not in the package"
    done
  done
  for file in usr/bin/splitletctl usr/bin/splitlet-kubelet usr/share/man/man1/splitletctl.1.gz usr/share/man/man8/splitlet.8.gz etc/default/splitlet \
    usr/lib/splitlet/takeover usr/lib/systemd/system/splitlet.target usr/lib/sysusers.d/splitlet.conf usr/lib/tmpfiles.d/splitlet.conf \
    usr/share/bash-completion/completions/splitletctl usr/share/zsh/vendor-completions/_splitletctl \
    usr/share/fish/vendor_completions.d/splitletctl.fish usr/share/doc/splitlet/copyright usr/share/doc/splitlet/changelog.gz; do
    grep -qx "./$file" "$work/files" || die "$file is not in the package"
  done
  ! grep -E 'test|fake|bench|chaos' "$work/files" || die 'the package holds what is for development'
  depends=$(dpkg-deb -f "$work/splitlet.deb" Depends)
  for file in 'libgrpc++1' libprotobuf libnats libcurl4 nats-server openssl systemd; do
    [[ $depends == *"$file"* ]] || die "the package does not depend on $file: $depends"
  done
  check_size splitlet
  [[ $(dpkg-deb -I "$work/splitlet.deb" conffiles) == /etc/default/splitlet ]] || die 'conffiles'
}

# The package holds only its program, without maintainer scripts.
check_chaos_contents() {
  local version depends
  dpkg-deb -c "$work/splitlet-chaos.deb" | awk '$6 !~ /\/$/ {print $6}' | sort >"$work/chaos-files"
  printf './usr/%s\n' bin/splitlet-chaos share/doc/splitlet-chaos/changelog.gz share/doc/splitlet-chaos/copyright \
    share/man/man1/splitlet-chaos.1.gz | diff - "$work/chaos-files" || die 'splitlet-chaos has other files'
  version=$(dpkg-deb -f "$work/splitlet.deb" Version)
  depends=$(dpkg-deb -f "$work/splitlet-chaos.deb" Depends)
  [[ $depends == *"splitlet (= $version)"* && $depends == *'libgrpc++1'* ]] || die "splitlet-chaos depends on $depends"
  dpkg-deb -e "$work/splitlet-chaos.deb" "$work/chaos-control"
  [[ ! -e $work/chaos-control/postinst && ! -e $work/chaos-control/conffiles ]] || die 'splitlet-chaos has scripts of splitlet'
  check_size splitlet-chaos
}

# Output of `splitletctl chaos` without the package splitlet-chaos, and with it.
check_chaos_command() {
  local code=0
  dpkg-deb -x "$work/splitlet.deb" "$work/tree"
  PATH=/usr/bin:/bin "$work/tree/usr/bin/splitletctl" chaos run scenario.yaml >"$work/printed" 2>&1 || code=$?
  [[ $code == 1 && $(<"$work/printed") == 'error: splitlet-chaos is not installed: it is in the package splitlet-chaos' ]] ||
    die "splitletctl chaos run without splitlet-chaos: exit code $code: $(<"$work/printed")"
  dpkg-deb -x "$work/splitlet-chaos.deb" "$work/tree"
  "$work/tree/usr/bin/splitletctl" chaos run --help | grep -qx 'Usage: splitletctl chaos run \[OPTIONS\] scenario' ||
    die 'splitletctl chaos run --help with splitlet-chaos'
}

# hardened FILE: read-only after relocation, no lazy binding, not at a fixed address, with checks of stack and buffers.
hardened() {
  readelf -W -d "$1" >"$work/dynamic"
  grep -qE 'BIND_NOW|Flags:.* NOW' "$work/dynamic" || die "$1: lazy binding"
  readelf -W -l "$1" | grep -q GNU_RELRO || die "$1: no RELRO"
  readelf -W -h "$1" | grep -q 'Type: *DYN' || die "$1: at a fixed address"
  readelf -W --dyn-syms "$1" >"$work/symbols"
  grep -q __stack_chk_fail "$work/symbols" || die "$1: no stack protector"
  grep -qE '__[a-z]+_chk@' "$work/symbols" || die "$1: no FORTIFY_SOURCE"
}

check_hardening() {
  local program
  if ! grep -qx 'SPLITLET_FLAVOUR:[A-Z]*=release' "$build/CMakeCache.txt"; then
    say 'SKIPPED: hardening, which is of the release build'
    return
  fi
  for program in "$work"/tree/usr/bin/*; do
    hardened "$program"
  done
}

in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

make_root() {
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.txt" 2>&1 || {
    tail -n 3 "$work/debootstrap.txt"
    echo "skipped: debootstrap does not reach $mirror"
    exit 77
  }
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  cp /etc/resolv.conf "$root/etc/"
  mount -t proc proc "$root/proc"
}

install_it() {
  cp "$work"/splitlet*.deb "$root/tmp/"
  in_root apt-get install -q -y --no-install-recommends -o Dpkg::Use-Pty=0 /tmp/splitlet.deb /tmp/splitlet-chaos.deb >"$work/apt.txt" 2>&1 ||
    { tail -n 20 "$work/apt.txt" && die 'apt-get install'; }
}

check_installed() {
  local program user
  for program in "${PROCESSES[@]/#/splitlet-}" "${CLUSTER_PROCESSES[@]/#/splitlet-}" splitletctl splitlet-chaos; do
    in_root "$program" --version >/dev/null || die "$program does not start"
  done
  for user in config-source sync-loop pleg status node-api; do
    grep -q "^    $user: $(in_root id -u "splitlet-$user")\$" "$root/etc/splitlet/kubelet.yaml" || die "user of $user"
    [[ " $(in_root id -Gn "splitlet-$user") " == *' splitlet '* ]] || die "$user is not in the group"
  done
  [[ $(in_root getent group splitlet-api | cut -d: -f4 | tr , '\n' | sort | xargs) == \
    'splitlet-config-source splitlet-node-api splitlet-status' ]] || die "who reads the kubeconfig: $(in_root getent group splitlet-api)"
  [[ $(in_root stat -c '%U:%G %a' /var/lib/splitlet/pki) == 'splitlet-status:splitlet-api 2750' ]] || die '/var/lib/splitlet/pki'
  [[ $(in_root stat -c '%U:%G %a' /var/log/pods) == 'root:splitlet-logs 2755' ]] || die '/var/log/pods'
  [[ $(stat -c %a "$root/etc/splitlet/bus") == 700 ]] || die '/etc/splitlet/bus is open'
  [[ $(in_root stat -c '%U:%G %a' /etc/splitlet/kubelet.yaml) == 'root:splitlet 640' ]] || die 'rights of kubelet.yaml'
  in_root systemd-analyze verify --man=no splitlet.target splitlet-pod-worker.service >"$work/verify" 2>&1 || true
  ! grep splitlet "$work/verify" || die 'systemd-analyze verify'
}

# Runs the steps of splitlet-setup.service with its capabilities.
check_setup() {
  in_root setpriv --bounding-set=-all,+chown,+dac_override,+fowner --inh-caps=-all --no-new-privs /usr/lib/splitlet/setup ||
    die 'setup with its capabilities'
  [[ $(stat -c '%U %a' "$root/etc/splitlet/bus/pleg.creds") == 'root 600' ]] || die 'passwords of the bus'
  [[ $(in_root stat -c '%U:%G %a' /var/lib/splitlet/nats/tls/current/server.key) == 'root:splitlet-nats 640' ]] || die 'key of the bus'
  [[ ! -e $root/run/splitlet/cluster.env ]] || die 'a node without a kubeconfig is told of an API server'
  touch "$root/etc/splitlet/kubeconfig"
  in_root setpriv --bounding-set=-all,+chown,+dac_override,+fowner --inh-caps=-all --no-new-privs /usr/lib/splitlet/setup ||
    die 'setup with a kubeconfig'
  grep -q 'kubeconfig=/etc/splitlet/kubeconfig' "$root/run/splitlet/cluster.env" || die 'processes are not told of the kubeconfig'
  [[ $(in_root stat -c '%U:%G %a' /etc/splitlet/kubeconfig) == 'root:splitlet-api 640' ]] || die 'rights of the kubeconfig'
  mv "$root/etc/splitlet/kubeconfig" "$root/etc/splitlet/bootstrap-kubeconfig"
  in_root setpriv --bounding-set=-all,+chown,+dac_override,+fowner --inh-caps=-all --no-new-privs /usr/lib/splitlet/setup ||
    die 'setup with a bootstrap kubeconfig'
  [[ $(in_root stat -c '%U:%G %a' /etc/splitlet/bootstrap-kubeconfig) == 'root:splitlet-status 640' ]] ||
    die 'rights of the bootstrap kubeconfig'
  in_root setpriv --reuid=splitlet-nats --regid=splitlet-nats --init-groups --bounding-set=-all --inh-caps=-all --no-new-privs \
    nats-server -t --config /var/lib/splitlet/nats/nats.conf >"$work/nats.txt" 2>&1 || { cat "$work/nats.txt" && die 'nats-server'; }
}

check_removed() {
  local left
  in_root dpkg --purge splitlet-chaos splitlet >"$work/purge.txt" 2>&1 || { cat "$work/purge.txt" && die 'purge'; }
  left=$(find "$root"/usr "$root"/etc "$root"/var/lib "$root"/run -name '*splitlet*' ! -path '*/var/lib/dpkg/*' ! -path '*/apt/*' \
    ! -name 'splitlet*.deb')
  [[ -z $left ]] || die "left after purge: $left"
}

make_packages
check_contents
check_chaos_contents
check_chaos_command
check_hardening
echo 'the packages are complete'
if [[ ${INSTALL:-0} != 1 || $EUID -ne 0 ]] || ! command -v debootstrap >/dev/null; then
  echo 'SKIPPED: installing it in a clean Debian (INSTALL=1, root and debootstrap do that)'
  exit 0
fi
make_root
install_it
check_installed
check_setup
check_removed
echo 'installed, looked at and purged in a clean Debian 12'
