#!/usr/bin/env bash
# Tests the installed units: systemd accepts each, and the exposure that systemd-analyze computes does not grow.
# BIN_DIR names the programs (of the release build, else of the dev build).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/../local/lib.sh"
build=$(realpath "$(built_programs)/..")
work=$(mktemp -d /tmp/splitlet-units.XXXXXX)
trap 'rm -rf "$work"' EXIT

# unit, and its highest allowed exposure (0 is none, 10 everything)
readonly LIMITS='
splitlet-config-source 1.6
splitlet-sync-loop     1.5
splitlet-pod-worker    4.8
splitlet-pleg          1.5
splitlet-status        1.5
splitlet-gc            2.4
splitlet-node-api      1.6
splitlet-nats          1.5
splitlet-recorder      1.5
splitlet-setup         1.7
'

if ! command -v systemd-analyze >/dev/null; then
  echo 'skipped: no systemd-analyze'
  exit 77
fi
DESTDIR=$work/root cmake --install "$build" --prefix /usr >"$work/install.txt" 2>&1 || { cat "$work/install.txt" && exit 1; }

# systemd looks for the programs at the units' paths, here below the new root.
mkdir "$work/units"
for unit in "$work"/root/usr/lib/systemd/system/*; do
  sed -E "s#^(Exec[A-Za-z]+=[+-]*)/usr/(bin|lib/splitlet)/#\1$work/root/usr/\2/#" "$unit" >"$work/units/$(basename "$unit")"
done
SYSTEMD_UNIT_PATH=$work/units: systemd-analyze verify --man=no "$work"/units/* 2>&1 | grep splitlet >"$work/complaints" || true
if [[ -s $work/complaints ]]; then
  cat "$work/complaints"
  exit 1
fi

# Prints the planned actions; a line that systemd-tmpfiles rejects fails here, not at installation.
systemd-sysusers --dry-run --root="$work/root" "$work/root/usr/lib/sysusers.d/splitlet.conf" >"$work/users" 2>&1 ||
  { cat "$work/users" && exit 1; }
[[ $(grep -c "Would create user 'splitlet-\|Creating user 'splitlet-" "$work/users") == 7 ]] ||
  { cat "$work/users" && exit 1; }

# Manifests come from a URL; probes and hooks connect to pods; three processes call the API server, and one serves any
# address. All other processes stay on loopback.
open=$(grep -l '^IPAddressAllow=any' "$work"/root/usr/lib/systemd/system/*.service | xargs -n 1 basename | sort | xargs)
[[ $open == 'splitlet-config-source.service splitlet-node-api.service splitlet-pod-worker.service splitlet-status.service' ]] ||
  { echo "beyond loopback: $open" && exit 1; }

# With this setting systemd answers openat2 with ENOSYS, and only these two processes use it.
for unit in "$work"/root/usr/lib/systemd/system/splitlet-*.service; do
  want=yes
  case $unit in *-pod-worker.service | *-gc.service) want=no ;; esac
  [[ $(sed -n 's/^RestrictSUIDSGID=//p' "$unit" | tail -n 1) == "$want" ]] ||
    { echo "$(basename "$unit"): RestrictSUIDSGID is not $want, and openat2 goes with it" && exit 1; }
done

# gc reads the kernel's log for out-of-memory kills. gc needs all of these settings, and no other process needs any.
gc=$work/root/usr/lib/systemd/system/splitlet-gc.service
closed=$(sed -n 's/^ProtectKernelLogs=//p' "$gc" | tail -n 1)
rights=$(grep -cE '^(BindReadOnlyPaths=-/dev/kmsg|CapabilityBoundingSet=.* CAP_SYSLOG)$' "$gc" || true)
devices=$(sed -n 's/^DeviceAllow=//p' "$gc")
[[ $closed == no && $rights == 2 && $devices == '/dev/kmsg r' ]] ||
  { echo "gc cannot read the kernel's log, or has more devices: $closed, $rights, $devices" && exit 1; }
readers=$(grep -l 'CAP_SYSLOG\|^DeviceAllow=\|/dev/kmsg' "$work"/root/usr/lib/systemd/system/*.service | xargs -n 1 basename | xargs)
[[ $readers == splitlet-gc.service ]] || { echo "may read the kernel's log: $readers" && exit 1; }

# The runtime would not see mounts in a private mount namespace of pod-worker, so no setting may request one. The last
# line of a setting counts.
namespace=$(awk -F= '/^(Private(Tmp|Devices|Mounts)|Protect(System|Home|KernelTunables|KernelModules|KernelLogs|ControlGroups|Proc))=/ {last[$1] = $2}
  /^(Bind(ReadOnly)?Paths|(ReadWrite|ReadOnly|Inaccessible|Exec|NoExec)Paths|TemporaryFileSystem|RootDirectory|ProcSubset)=/ {print $1}
  END {for (name in last) if (last[name] != "no" && last[name] != "default") print name}' \
  "$work/root/usr/lib/systemd/system/splitlet-pod-worker.service")
[[ -z $namespace ]] || { echo "pod-worker gets a mount namespace of its own by ${namespace//$'\n'/ }" && exit 1; }

# setup decides whether the node has an API server. Files keep their owners here, including those of the bus.
state=$work/setup
mkdir -p "$state"/etc/splitlet "$state"/run/splitlet "$work/bin"
printf '#!/bin/sh\necho "$*" >>%s\n' "$work/owners" >"$work/bin/chown"
chmod +x "$work/bin/chown"
settings=$state/run/splitlet/cluster.env

# set_up WANTED [OPTIONS]: compares the settings that the units then get with WANTED, or `none`.
set_up() {
  local found=none
  ROOT=$state PATH=$work/bin:$PATH SPLITLET_OPTIONS=${2:-} "$work/root/usr/lib/splitlet/setup" >"$work/setup.txt" 2>&1 ||
    { cat "$work/setup.txt" && exit 1; }
  [[ ! -e $settings ]] || found=$(<"$settings")
  [[ $found == "$1" ]] || { echo "with \"${2:-}\" and $(ls "$state/etc/splitlet"): $found, want $1" && exit 1; }
}
set_up none
set_up 'SPLITLET_CLUSTER="--cert-dir=/var/lib/splitlet/pki"' '--log-format json --kubeconfig=/k'
set_up 'SPLITLET_CLUSTER=""' '--kubeconfig /k --cert-dir /c'
touch "$state/etc/splitlet/bootstrap-kubeconfig"
set_up 'SPLITLET_CLUSTER="--kubeconfig=/var/lib/splitlet/pki/kubeconfig --bootstrap-kubeconfig=/etc/splitlet/bootstrap-kubeconfig --cert-dir=/var/lib/splitlet/pki"'
touch "$state/etc/splitlet/kubeconfig"
mkdir "$state/run/splitlet/node-api"
set_up 'SPLITLET_CLUSTER="--kubeconfig=/etc/splitlet/kubeconfig --cert-dir=/var/lib/splitlet/pki"'
set_up 'SPLITLET_CLUSTER="--kubeconfig=/etc/splitlet/kubeconfig"' --cert-dir=/c
[[ $(stat -c %a "$state/etc/splitlet/kubeconfig") == 640 && -d $state/run/splitlet/node-api ]] ||
  { echo 'the kubeconfig is not for the group alone, or node-api is forgotten' && exit 1; }
# Only status may read the bootstrap kubeconfig, which can admit any node.
for want in "root:splitlet-status $state/etc/splitlet/bootstrap-kubeconfig" "root:splitlet-api $state/etc/splitlet/kubeconfig"; do
  [[ $(grep -F " ${want#* }" "$work/owners" | sort -u) == "$want" && $(stat -c %a "${want#* }") == 640 ]] ||
    { echo "${want#* } is not ${want%% *} 640: $(cat "$work/owners")" && exit 1; }
done
rm "$state"/etc/splitlet/{kubeconfig,bootstrap-kubeconfig}
set_up none
[[ ! -e $state/run/splitlet/node-api ]] || { echo 'node-api is missed on a node that has left its cluster' && exit 1; }

# The last line of a setting counts.
setting_of() { sed -n "s/^$2=//p" "$work/root/usr/lib/systemd/system/$1.service" | tail -n 1; }

# told UNIT EXPOSURE: the unit's row in deploy/README.md agrees with the unit.
told() {
  local unit=$1 user rights column='[^|]*' row
  row=$(grep "^| $unit |" "$here/../README.md") || { echo "$unit has no row in deploy/README.md" && exit 1; }
  user=$(setting_of "$unit" User)
  case ${user:-root} in
    root) user=root ;;
    *) user=own ;;
  esac
  rights=$(sed -E "s/^\|$column\|$column\|($column)\|.*/\1/" <<<"$row")
  [[ $row == "| $unit | $user |"*"| $2 |" ]] || { echo "deploy/README.md: $unit is of user $user and has exposure $2: $row" && exit 1; }
  [[ $(grep -owE '[A-Z_]{4,}' <<<"$rights" | sort | xargs) == "$(setting_of "$unit" CapabilityBoundingSet | sed 's/CAP_//g' | xargs -n 1 | sort | xargs)" ]] ||
    { echo "deploy/README.md: $unit has the capabilities $(setting_of "$unit" CapabilityBoundingSet): $rights" && exit 1; }
  [[ $(grep -c openat2 <<<"$rights") == "$(grep -c '^RestrictSUIDSGID=no' "$work/root/usr/lib/systemd/system/$unit.service")" ]] ||
    { echo "deploy/README.md: whether $unit has openat2: $rights" && exit 1; }
  [[ $(grep -oE '[0-9]+ open files' <<<"$rights") == "$(setting_of "$unit" LimitNOFILE | sed 's/$/ open files/')" ]] ||
    { echo "deploy/README.md: $unit may have $(setting_of "$unit" LimitNOFILE) open files: $rights" && exit 1; }
}

# A core dump would write keys to the disk, and one memory-hungry helper would end the whole
# process.
for unit in "$work"/root/usr/lib/systemd/system/splitlet-*.service; do
  unit=$(basename "$unit" .service)
  [[ $(setting_of "$unit" LimitCORE) == 0 ]] || { echo "$unit leaves cores" && exit 1; }
  [[ $unit == splitlet-setup || $(setting_of "$unit" OOMPolicy) == continue ]] || { echo "$unit ends with a program that it runs" && exit 1; }
done

while read -r unit limit; do
  [[ -n $unit ]] || continue
  found=$(SYSTEMD_UNIT_PATH=$work/units: systemd-analyze security --offline=true "$work/units/$unit.service" |
    sed -nE 's/.*Overall exposure level for .*: ([0-9.]+) .*/\1/p')
  printf '%-24s %s (limit %s)\n' "$unit" "${found:-none}" "$limit"
  awk -v found="${found:-10}" -v limit="$limit" 'BEGIN {exit !(found <= limit)}' || { echo "$unit is open wider" && exit 1; }
  told "$unit" "$found"
done <<<"$LIMITS"
echo 'all units are fine'
