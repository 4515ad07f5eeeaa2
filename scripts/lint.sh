#!/usr/bin/env bash
# The checks that need no compiler: format, shell scripts, and the house rules (scripts/lint.py).
# clang-tidy, which takes minutes, is scripts/tidy.py.
# shellcheck disable=SC2317  # functions are called through step
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$tree"
status=0

# files PATTERN...: files of the tree, without outputs of builds and runs.
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

# Names the files only: clang-format -i says and does the rest. Many go to one process, which takes longer to start than
# to check a file.
formatted() {
  local said
  said=$(files '*.cc' '*.h' | xargs -0 -r -n 50 -P "$(nproc)" clang-format --dry-run --Werror 2>&1) && return
  if ! sed -n 's/:[0-9]*:[0-9]*: error: code should be clang-formatted.*/: not formatted (clang-format -i)/p' <<<"$said" | sort -u | grep .; then
    printf '%s\n' "$said"
  fi
  return 1
}
scripts_checked() {
  local list=(.ci/run)
  mapfile -d '' -O 1 -t list < <(files '*.sh')
  shellcheck --external-sources "${list[@]}"
}

step 'C++ format' formatted
step 'shell scripts' scripts_checked
step 'steps of cases' shellcheck --shell=bash --exclude=SC2034,SC2016 tests/cases/*/steps # expect reads their variables
step 'house rules: their own tests' python3 scripts/lint_test.py
step 'house rules' python3 scripts/lint.py
step 'clang-tidy: tests of what is looked at again' python3 scripts/tidy_test.py
step 'test runner: its own tests' python3 scripts/run_tests_test.py
step 'build: when it configures' scripts/build_test.sh
if ((status == 0)); then
  printf 'lint: clean\n'
fi
exit "$status"
