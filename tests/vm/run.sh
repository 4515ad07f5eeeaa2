#!/usr/bin/env bash
# Tests the package in a virtual machine: Debian 12 with the cloud kernel under qemu, with systemd, cgroup version 2,
# AppArmor and logind. The package is installed as in deploy/README.md, and the sample pods run, limited by slices of
# systemd. Then follow a reboot, two power cuts with running pods, one of them while pods are created, steps of the
# clock, and the same limits with the driver cgroupfs. Started by hand (make vm-test), because fetching the root from
# the machine's package source takes minutes.
#
# Needs root, qemu-system-x86, mmdebstrap and cpack; without them it prints what is missing and exits with 77 (skipped).
# PRESET (release) names the build, VM_DIR (build/vm) the folder of root and disk, ACCEL=tcg|kvm chooses by hand.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(realpath "$here/../..")
# shellcheck source=deploy/local/lib.sh
source "$tree/deploy/local/lib.sh"

readonly PACKAGES=linux-image-cloud-amd64,initramfs-tools,systemd-sysv,dbus,libpam-systemd,apparmor,udev,kmod,procps,jq,iproute2,iptables,containerd,runc,containernetworking-plugins
readonly BOOT_LIMIT=1500 # seconds, for one boot and its phase: an emulated processor is slow
build=$tree/build/${PRESET:-release}
dir=$(absolute "${VM_DIR:-$tree/build/vm}")
readonly build dir root=$dir/root disk=$dir/disk.img
machine=

skip() {
  say "skipped: $*"
  exit 77
}

# Made once; everything from the tree is made each time.
make_root() {
  local wanted depends
  depends=$(dpkg-deb -f "$dir"/package/splitlet_*.deb Depends | sed -E 's/ \([^)]*\)//g; s/, /,/g')
  wanted="$PACKAGES,$depends"
  [[ $(cat "$dir/root.packages" 2>/dev/null) != "$wanted" ]] || return 0
  rm -rf "$root"
  mmdebstrap --variant=minbase --include="$wanted" --format=directory bookworm "$root" \
    /etc/apt/sources.list.d/*.sources >"$dir/mmdebstrap.log" 2>&1 ||
    skip "no root of Debian can be made: $(tail -n 1 "$dir/mmdebstrap.log")"
  say "$wanted" >"$dir/root.packages"
}

fill_root() {
  local srv=$root/srv/vm images
  rm -rf "$srv"
  mkdir -p "$srv"
  cp "$dir"/package/splitlet_*.deb "$srv/splitlet.deb"
  cp -r "$tree/deploy/local/examples" "$here/guest.sh" "$srv/"
  cp "$tree"/deploy/README.md "$srv/package-page"
  mapfile -t images < <("$tree/deploy/local/images.sh" build)
  cp "${images[@]}" "$srv/"
  say guest >"$root/etc/hostname"
  say '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
  cat >"$root/etc/systemd/system/vm-test.service" <<UNIT
[Unit]
After=multi-user.target
[Service]
ExecStart=/srv/vm/guest.sh
[Install]
WantedBy=multi-user.target
UNIT
  ln -sf ../vm-test.service "$root/etc/systemd/system/multi-user.target.wants/vm-test.service"
  rm -f "$disk"
  mke2fs -q -t ext4 -d "$root" "$disk" 4G
}

# qemu ARGUMENT...: runs qemu with kernel and initramfs of the root.
qemu() {
  exec qemu-system-x86_64 -accel "$accel" -cpu max -smp 2 -m 2048 -display none -nodefaults -no-reboot -nic none \
    -kernel "$root"/boot/vmlinuz-* -initrd "$root"/boot/initrd.img-* "$@"
}

# On some machines KVM exists but hangs, so a kernel that stops immediately must do so in time.
choose_accelerator() {
  accel=${ACCEL:-kvm}
  [[ -z ${ACCEL:-} ]] || return 0
  [[ -c /dev/kvm ]] && gives_up_at_once || accel=tcg
}

gives_up_at_once() {
  local probe
  (qemu -serial none -append 'rdinit=/nothing root=/dev/nothing panic=-1') >"$dir/kvm.log" 2>&1 &
  probe=$!
  wait_until 20 dead "$probe" || { kill -KILL "$probe" && return 1; }
  wait "$probe"
}
dead() { ! kill -0 "$1" 2>/dev/null; }

# boot NUMBER: sets `next` to the step that the machine announces.
boot() {
  local console=$dir/console-$1.log
  (qemu -serial "file:$console" -drive "file=$disk,format=raw,if=virtio" \
    -append 'root=/dev/vda rw console=ttyS0 apparmor=1 security=apparmor quiet') 2>"$dir/qemu.log" &
  machine=$!
  wait_until "$BOOT_LIMIT" told "$console" ||
    die "boot $1 says nothing of its end: $(tail -n 3 "$console" "$dir/qemu.log")"
  tr -d '\r' <"$console" | grep -o 'VM: .*' | sed "s/^VM:/  boot $1:/"
  next=$(tr -d '\r' <"$console" | sed -n 's/.*VM: next: //p' | tail -n 1)
  [[ -n $next ]] || die "boot $1 failed; see $console"
}
told() { grep -qE 'VM: (next|failed)' "$1" 2>/dev/null || dead "$machine"; }

leave() {
  [[ -z $machine ]] || kill -KILL "$machine" 2>/dev/null || true
}

main() {
  local number next command
  [[ $EUID -eq 0 ]] || skip 'needs root'
  for command in qemu-system-x86_64 mmdebstrap cpack mke2fs; do
    command -v "$command" >/dev/null || skip "no $command"
  done
  trap leave EXIT
  mkdir -p "$dir"
  rm -rf "$dir/package" "$dir"/console-*.log
  cpack -G DEB --config "$build/CPackConfig.cmake" -B "$dir/package" >"$dir/cpack.log" 2>&1 || die "cpack: see $dir/cpack.log"
  make_root
  fill_root
  choose_accelerator
  say "a machine with $accel; its consoles are in $dir"
  for number in 1 2 3 4 5; do
    boot "$number"
    case $next in
      cut) kill -KILL "$machine" ;;
      reboot | done) wait_until 120 dead "$machine" || die "boot $number does not end" ;;
    esac
    wait "$machine" 2>/dev/null || true
    machine=
    [[ $next != 'done' ]] || break
  done
  [[ $next == 'done' ]] || die 'the machine never said that it is done'
  say 'all steps passed'
}

main
