#!/usr/bin/env bash
# Configures (once) and builds a preset into build/PRESET: everything, or the targets named.
#
#   build.sh [dev|release|asan|tsan|plain] [TARGET...]
#
# JOBS overrides the number of parallel compilers.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${1:-dev}
shift || true

# One job for each core, but not more than one for each 1.5 GB, because a compiler killed for memory
# explains nothing.
jobs() {
  local by_memory cores
  cores=$(nproc)
  by_memory=$(awk '/^MemAvailable:/ {print int($2 / 1572864)}' /proc/meminfo)
  ((by_memory >= 1)) || by_memory=1
  printf '%d' "$((by_memory < cores ? by_memory : cores))"
}

# ccache's directory is in the user's home, so that the next checkout finds it.
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G}
cd "$tree"
# A folder that was configured before the presets changed may name another compiler. A folder in a copied tree refers
# to the sources of the other tree.
is_configured() {
  local cache=build/$preset/CMakeCache.txt
  [[ -f build/$preset/build.ninja && ! CMakePresets.json -nt $cache ]] || return 1
  [[ $(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache") -ef $tree ]]
}
if ! is_configured; then
  cmake --fresh --preset "$preset"
fi
exec ninja -C "build/$preset" -j "${JOBS:-$(jobs)}" "$@"
