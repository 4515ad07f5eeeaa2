#!/usr/bin/env bash
# clang-tidy over our sources (all, or those named), by the compile commands of the dev preset.
#
#   tidy.sh [FILE...]
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$tree"
# Generated headers must be there to be included.
scripts/build.sh dev
if [[ $# -eq 0 ]]; then
  mapfile -t sources < <(jq -r '.[].file' build/dev/compile_commands.json |
    grep -E "^$tree/(libs|services|ctl|tests)/" | sort -u)
else
  sources=("$@")
fi
printf 'tidy: %d files\n' "${#sources[@]}"
# g++ options that clang 14 does not know are no finding.
printf '%s\0' "${sources[@]}" |
  xargs -0 -r -n 1 -P "$(nproc)" clang-tidy -p build/dev --quiet --extra-arg=-Wno-unknown-warning-option
printf 'tidy: clean\n'
