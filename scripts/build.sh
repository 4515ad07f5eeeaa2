#!/usr/bin/env bash
# Configures (once) and builds a preset into build/PRESET: everything, or the targets named.
#
#   build.sh [dev|release|asan|tsan|plain] [TARGET...]
#
# JOBS overrides how many compilers run at once.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${1:-dev}
shift || true

# One for each core, and none without 1.5 GB: a compiler that is killed for memory explains nothing.
jobs() {
  local by_memory cores
  cores=$(nproc)
  by_memory=$(awk '/^MemAvailable:/ {print int($2 / 1572864)}' /proc/meminfo)
  ((by_memory >= 1)) || by_memory=1
  printf '%d' "$((by_memory < cores ? by_memory : cores))"
}

# In the home of the user, so that the next checkout finds it.
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G}
cd "$tree"
# One that was configured before the presets changed may name another compiler, and one in a tree that was copied names
# the sources of the other tree.
is_configured() {
  local cache=build/$preset/CMakeCache.txt
  [[ -f build/$preset/build.ninja && ! CMakePresets.json -nt $cache ]] || return 1
  [[ $(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache") -ef $tree ]]
}
if ! is_configured; then
  cmake --fresh --preset "$preset"
fi
exec ninja -C "build/$preset" -j "${JOBS:-$(jobs)}" "$@"
