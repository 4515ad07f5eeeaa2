#!/usr/bin/env bash
# A base image for machines that reach a Debian mirror and no registry: makes Debian 12 with debootstrap (root) and
# loads it into docker as splitlet.local/base:bookworm. Then: export BASE_IMAGE=splitlet.local/base:bookworm
#
#   base-image.sh [MIRROR]    default: http://deb.debian.org/debian
set -euo pipefail

mirror=${1:-http://deb.debian.org/debian}
work=$(mktemp -d /var/tmp/splitlet-base.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT

debootstrap --variant=minbase bookworm "$work/root" "$mirror"
rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/{doc,man,locale}
tar -C "$work/root" --numeric-owner -c . | docker import - splitlet.local/base:bookworm
