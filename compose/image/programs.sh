#!/usr/bin/env bash
# Commands of the stage `programs` of the Dockerfile:
#
#   programs.sh packages source|prebuilt   compiler and libraries; nothing for prebuilt
#   programs.sh build source|prebuilt      the root file system of the image processes, in /out
set -euo pipefail

readonly PROGRAMS=(splitlet-config-source splitlet-sync-loop splitlet-pod-worker splitlet-pleg splitlet-status
  splitlet-gc splitlet-node-api splitletctl)

# The sections of scripts/packages.txt that a build needs.
packages() {
  local names
  mapfile -t names < <(awk '/^#/ {wanted = /^# (building|libraries)$/} wanted && /^[a-z]/' /build/packages.txt)
  [[ ${#names[@]} -gt 10 ]] || { echo 'packages.txt has other sections than expected' >&2 && exit 1; }
  install-packages busybox-static ca-certificates "${names[@]}"
}

compile() {
  /src/scripts/build.sh release "${PROGRAMS[@]}"
  /build/collect.sh /out /bin/busybox "${PROGRAMS[@]/#//src/build/release/bin/}"
}

take_prebuilt() {
  if [[ ! -d /prebuilt/root ]]; then
    echo 'PROGRAMS=prebuilt, but compose/.prebuilt is empty: run compose/prebuilt.sh first' >&2
    exit 1
  fi
  cp -a /prebuilt/root /out
}

case $1-$2 in
  packages-source) packages ;;
  packages-prebuilt) ;;
  build-source) compile && cp /prebuilt/start.sh /out/usr/bin/ ;;
  build-prebuilt) take_prebuilt && cp /prebuilt/start.sh /out/usr/bin/ ;;
  *) echo "PROGRAMS is source or prebuilt, not $2" >&2 && exit 1 ;;
esac
