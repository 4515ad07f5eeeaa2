#!/usr/bin/env bash
# Copies programs that are already built, with their libraries, to where `docker compose build --build-arg
# PROGRAMS=prebuilt` finds them. Saves PROGRAMS=prebuilt in .env.
#
#   prebuilt.sh [BIN_DIR]     default: build/release/bin
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${1:-$here/../build/release/bin}
programs=("$bin/splitletctl")
for process in config-source sync-loop pod-worker pleg status gc node-api; do
  programs+=("$bin/splitlet-$process")
done
for program in "${programs[@]}"; do
  [[ -x $program ]] || { echo "error: $program does not exist: run make build, or name the folder of a build" >&2 && exit 1; }
done
rm -rf "$here/.prebuilt"
mkdir -p "$here/.prebuilt"
"$here/image/collect.sh" "$here/.prebuilt/root" /bin/busybox "${programs[@]}"
du -sh "$here/.prebuilt/root"
"$here/keep.sh" PROGRAMS=prebuilt
