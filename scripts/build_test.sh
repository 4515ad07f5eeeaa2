#!/usr/bin/env bash
# Tests when build.sh configures; cmake and ninja are stubs, in a tree of this test.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d /tmp/splitlet-build.XXXXXX)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/bin" "$work/a/scripts" "$work/a/build/dev"
cp "$here/build.sh" "$work/a/scripts/"
touch "$work/a/CMakePresets.json"
# shellcheck disable=SC2016  # of the script that is written
printf '#!/bin/sh\necho "cmake $*"\nprintf "CMAKE_HOME_DIRECTORY:INTERNAL=%%s\\n" "$PWD" >build/dev/CMakeCache.txt\ntouch build/dev/build.ninja\n' >"$work/bin/cmake"
printf '#!/bin/sh\necho ninja\n' >"$work/bin/ninja"
chmod +x "$work/bin/cmake" "$work/bin/ninja"

# expect NAME WANT TREE: compares the commands of build.sh there.
expect() {
  local called
  called=$(PATH=$work/bin:$PATH JOBS=1 "$3/scripts/build.sh" dev | paste -sd' ')
  [[ $called == "$2" ]] || { echo "$1: want \"$2\", got \"$called\"" >&2 && exit 1; }
}

expect 'the first time' 'cmake --fresh --preset dev ninja' "$work/a"
expect 'again' 'ninja' "$work/a"
ln -s a "$work/link"
expect 'by another name of the same tree' 'ninja' "$work/link"
cp -r "$work/a" "$work/b"
expect 'in a copy' 'cmake --fresh --preset dev ninja' "$work/b"
touch -d '+1 minute' "$work/a/CMakePresets.json"
expect 'after the presets changed' 'cmake --fresh --preset dev ninja' "$work/a"
echo 'build.sh configures when it has to'
