#!/usr/bin/env bash
# A relative path in the arguments counts from the caller's folder, also with --state-dir.
set -euo pipefail

work=$(mktemp -d /tmp/splitlet-paths.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/stack/run"
printf '%s\n' '{"kind": "Config", "apiVersion": "v1", "current-context": "none"}' >"$work/my.kubeconfig"
cd "$work"
! printed=$("$BIN_DIR/splitletctl" --state-dir stack get node --kubeconfig my.kubeconfig n 2>&1) || exit 1
if [[ $printed != "error: --kubeconfig: $work/my.kubeconfig: current-context: "* ]]; then
  printf '%s\n' "my.kubeconfig was not read: $printed" >&2
  exit 1
fi
