#!/usr/bin/env bash
# Makes a base image for machines that reach a Debian mirror but no registry: builds Debian 12 with debootstrap
# (root) and loads it into docker as splitlet.local/base:bookworm. Keeps BASE_IMAGE in .env.
#
#   base-image.sh [MIRROR]    default: the mirror of this machine's own sources
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/../deploy/local/lib.sh"

mirror=${1:-$(package_mirror)}
[[ -n $mirror ]] || die "no Debian 12 source found on this machine; give a mirror: base-image.sh http://..."
work=$(mktemp -d /var/tmp/splitlet-base.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT

debootstrap --variant=minbase --include=ca-certificates bookworm "$work/root" "$mirror"
# Adds updates and security from the same sources.
[[ $# -gt 0 ]] || package_sources | sed -E 's/^/deb /; s/$/ main/' >"$work/root/etc/apt/sources.list"
rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/{doc,man,locale}
tar -C "$work/root" --numeric-owner -c . | docker import - splitlet.local/base:bookworm
"$here/keep.sh" BASE_IMAGE=splitlet.local/base:bookworm
