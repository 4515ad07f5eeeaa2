#!/usr/bin/env bash
# Puts programs that are built already where `docker compose build --build-arg PROGRAMS=prebuilt` finds them, with
# the libraries of this machine.
#
#   prebuilt.sh [BIN_DIR]     default: build/release/bin
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${1:-$here/../build/release/bin}
programs=()
for process in config-source sync-loop pod-worker pleg status gc node-api; do
  programs+=("$bin/splitlet-$process")
done
rm -rf "$here/.prebuilt"
mkdir -p "$here/.prebuilt"
"$here/image/collect.sh" "$here/.prebuilt/root" /bin/busybox "${programs[@]}" "$bin/splitletctl"
du -sh "$here/.prebuilt/root"
