#!/usr/bin/env bash
# The checks that need no compiler: format, shell scripts, and the house rules (scripts/lint.py).
# clang-tidy, which takes minutes, is scripts/tidy.py.
# shellcheck disable=SC2317  # functions are called through step
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$tree"
status=0

# files PATTERN...: of the tree, without what is made by building and running.
files() {
  local names=()
  while [[ $# -gt 0 ]]; do
    names+=(-o -name "$1")
    shift
  done
  find . \( -path ./build -o -path ./.git -o -path ./.cache -o -path './.run*' \) -prune \
    -o -type f \( "${names[@]:1}" \) -print0
}

step() {
  printf 'lint: %s\n' "$1"
  shift
  "$@" || status=1
}

# Names the files only: clang-format -i says and does the rest.
formatted() {
  # shellcheck disable=SC2016  # $1 belongs to the inner shell
  files '*.cc' '*.h' | xargs -0 -r -n 1 -P "$(nproc)" sh -c \
    'clang-format --dry-run --Werror "$1" >/dev/null 2>&1 || { echo "$1: not formatted (clang-format -i)"; exit 1; }' lint
}
scripts_checked() {
  local list=(.ci/run)
  mapfile -d '' -O 1 -t list < <(files '*.sh')
  shellcheck --external-sources "${list[@]}"
}

step 'C++ format' formatted
step 'shell scripts' scripts_checked
step 'house rules: their own tests' python3 scripts/lint_test.py
step 'house rules' python3 scripts/lint.py
step 'clang-tidy: tests of what is looked at again' python3 scripts/tidy_test.py
step 'test runner: its own tests' python3 scripts/run_tests_test.py
if ((status == 0)); then
  printf 'lint: clean\n'
fi
exit "$status"
