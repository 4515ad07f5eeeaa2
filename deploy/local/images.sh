#!/usr/bin/env bash
# Makes the images of the local stack from Debian's files, so that no registry is needed:
# splitlet.local/pause:1 (holds a sandbox's namespaces), splitlet.local/busybox:1 (a shell and its
# tools). Archives are kept in build/images and made again when their sources change.
#
#   images.sh load SOCKET SNAPSHOTTER   import both into the containerd behind SOCKET
#   images.sh build                     make the archives only, print their paths
set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/local/lib.sh
source "$here/lib.sh"

readonly CACHE=${SPLITLET_IMAGE_CACHE:-$(absolute "$here/../../build/images")}
readonly BUSYBOX=${BUSYBOX:-/bin/busybox}

# A static program of a few kilobytes: waits for children and signals, as a sandbox's first process must.
pause_rootfs() {
  gcc -static -Os -s -o "$1/pause" "$here/pause.c"
}

busybox_rootfs() {
  local applet
  mkdir -p "$1"/{bin,dev,etc,home,proc,root,sys,tmp,var}
  chmod 1777 "$1/tmp"
  cp "$BUSYBOX" "$1/bin/busybox"
  while IFS= read -r applet; do
    [[ $applet == busybox ]] || ln -s busybox "$1/bin/$applet"
  done < <("$BUSYBOX" --list)
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$1/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$1/etc/group"
}

# pack NAME ROOTFS ARCHIVE CONFIG...: an OCI archive with one layer; containerd uses NAME unchanged.
pack() {
  local name=$1 rootfs=$2 archive=$3 work
  shift 3
  work=$(dirname "$rootfs")/layout
  umoci init --layout "$work"
  umoci new --image "$work:1"
  umoci insert --image "$work:1" "$rootfs" /
  umoci config --image "$work:1" --no-history "$@"
  umoci gc --layout "$work"
  jq -c --arg name "$name" '.manifests[0].annotations["io.containerd.image.name"] = $name' \
    "$work/index.json" >"$work/index.new"
  mv "$work/index.new" "$work/index.json"
  tar -C "$work" -cf "$archive.new" .
  mv "$archive.new" "$archive"
}

# The file name carries a hash of its sources, so an outdated archive is never used.
archive_of() {
  local sum
  sum=$(cat "$here/images.sh" "$here/pause.c" "$BUSYBOX" | sha256sum | cut -c1-12)
  printf '%s/%s-%s.tar' "$CACHE" "$1" "$sum"
}

build_one() {
  local kind=$1 archive work
  shift
  archive=$(archive_of "$kind")
  [[ ! -s $archive ]] || return 0
  need_commands umoci jq gcc
  work=$(mktemp -d "$CACHE/.work.XXXXXX")
  mkdir "$work/rootfs"
  "${kind}_rootfs" "$work/rootfs"
  pack "splitlet.local/$kind:1" "$work/rootfs" "$archive" "$@"
  rm -rf "$work"
}

build() {
  need_commands flock
  [[ -x $BUSYBOX ]] || die "$BUSYBOX is missing (make setup installs busybox-static)"
  mkdir -p "$CACHE"
  local lock
  exec {lock}>"$CACHE/.lock"
  flock "$lock"
  build_one pause --config.entrypoint /pause --config.user 65535:65535
  build_one busybox --config.cmd /bin/sh --config.env PATH=/bin
  exec {lock}>&-
}

# containerd notifies its CRI plugin of a new image by an event; the plugin then sets the label.
known_to_cri() {
  ctr --address "$1" -n k8s.io images list "name==$2" | grep io.cri-containerd.image=managed >/dev/null
}

load() {
  local socket=$1 snapshotter=$2 kind
  build
  for kind in pause busybox; do
    known_to_cri "$socket" "splitlet.local/$kind:1" && continue
    ctr --address "$socket" -n k8s.io images import --snapshotter "$snapshotter" "$(archive_of "$kind")" >/dev/null
    wait_until 10 known_to_cri "$socket" "splitlet.local/$kind:1" ||
      die "containerd does not offer splitlet.local/$kind:1 to CRI"
  done
}

case ${1-} in
  build) build && say "$(archive_of pause)" && say "$(archive_of busybox)" ;;
  load) load "$2" "$3" ;;
  *) die "usage: images.sh build | load SOCKET SNAPSHOTTER" ;;
esac
