#!/usr/bin/env bash
# Builds and runs tests; the last line is "N passed, N failed". Arguments go to ctest, as in:
# scripts/test.sh -R pleg
#
# Each level in the preset where it shows most, or, with PRESET set, all levels in that one:
#
#   asan      unit and integration tests, and the simulation for a few seeds
#   tsan      the tests of what has threads
#   release   the simulation for all seeds, where a seed is quickest, and e2e, with the programs that users run
#
# Integration and e2e tests meet real programs, so one that fails is tried once more; each that needed it
# is named at the end, because such a test is a bug until shown otherwise. What a sanitizer finds fails in any try.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly LEVELS='unit|simulation|integration|e2e'
passed=0 failed=0
second_tries=() broken=() skipped=()
step='' step_begin=0 minutes=()

# begin NAME: the step before it has ended.
begin() {
  [[ -z $step ]] || minutes+=("$step $(((SECONDS - step_begin + 30) / 60)),")
  step=$1 step_begin=$SECONDS
}

# A test that no level claims would never run.
check_labels() {
  local unclaimed
  unclaimed=$(ctest --test-dir "$BUILD" -N -LE "^($LEVELS)\$" | sed -n 's/^ *Test *#[0-9]*: //p')
  if [[ -n $unclaimed ]]; then
    printf 'tests without a level (%s): %s\n' "$LEVELS" "$(xargs <<<"$unclaimed")" >&2
    exit 1
  fi
}

# Names by their end in the report: run, fail, notrun or disabled.
names_with() { sed -nE "s/.*<testcase name=\"([^\"]*)\".* status=\"$2\".*/\1/p" "$REPORTS/$1.xml"; }

# Names by what ctest printed for an attempt, such as Failed.
attempts_with() { sed -nE "s/.*Test +#[0-9]+: ([^ ]+) .*\*\*\*($2).*/\1/p" "$REPORTS/$1.txt" | sort -u; }

count() {
  local label=$1 name good bad left_out absent
  mapfile -t good < <(names_with "$label" run)
  mapfile -t absent < <(attempts_with "$label" 'Not Run') # its program is missing
  mapfile -t bad < <(names_with "$label" fail)
  mapfile -t left_out < <(names_with "$label" '(notrun|disabled)')
  bad+=("${absent[@]}")
  passed=$((passed + ${#good[@]}))
  failed=$((failed + ${#bad[@]}))
  broken+=("${bad[@]/#/$PRESET:}")
  for name in "${left_out[@]}"; do
    [[ " ${absent[*]} " == *" $name "* ]] || skipped+=("$PRESET:$name")
  done
  for name in $(attempts_with "$label" 'Failed|Exception|Timeout'); do
    [[ " ${good[*]} " != *" $name "* ]] || second_tries+=("$PRESET:$name")
  done
}

# A finding counts, whatever a second try said.
count_findings() {
  local report=$REPORTS/$1.txt
  if grep -qE 'Sanitizer: |: runtime error: ' "$report"; then
    printf 'A SANITIZER FOUND SOMETHING: %s\n' "$report"
    failed=$((failed + 1))
    broken+=("$PRESET:sanitizer($1)")
  fi
}

# Where tests put their directories: in memory, if there is room for them, because what syncs files waits for the
# disk, most of all beside others.
scratch() {
  local room=8388608 # KiB
  if [[ $(stat -f -c %T /dev/shm 2>/dev/null) == tmpfs && $(df --output=avail /dev/shm | tail -n 1) -ge $room &&
    $(awk '/^MemAvailable:/ {print $2}' /proc/meminfo) -ge $room ]]; then
    printf '/dev/shm'
  else
    printf '/tmp'
  fi
}

run_label() {
  local label=$1 options=(--parallel "$(nproc)")
  shift
  case $label in
    # Their processes wait for each other a third of the time.
    integration) options=(--parallel "$(($(nproc) + 1))" --repeat until-pass:2) ;;
    threads) options+=(--repeat until-pass:2) ;;
    e2e) options+=(--repeat until-pass:2) ;;
  esac
  if [[ $label == e2e && $EUID -ne 0 ]]; then
    printf '\n=== e2e tests SKIPPED: they run containers, which needs root\n'
    return
  fi
  printf '\n=== %s: %s tests\n' "$PRESET" "$label"
  begin "$PRESET $label"
  rm -f "$REPORTS/$label.xml"
  TMPDIR=$(scratch) ctest --test-dir "$BUILD" -L "^$label\$" --no-tests=ignore --output-on-failure --output-junit "$REPORTS/$label.xml" \
    "${options[@]}" "$@" </dev/null 2>&1 | tee "$REPORTS/$label.txt" || true
  if [[ -s $REPORTS/$label.xml ]]; then
    count "$label"
  else
    printf 'ctest broke off in the %s tests\n' "$label" >&2
    failed=$((failed + 1))
  fi
  count_findings "$label"
}

# run_preset PRESET "LABEL..." [TARGET...] -- [CTEST ARGUMENT...]
run_preset() {
  local labels label targets=()
  PRESET=$1 BUILD=$tree/build/$1 REPORTS=$tree/build/$1/test-reports
  read -ra labels <<<"$2"
  shift 2
  while [[ $1 != -- ]]; do
    targets+=("$1")
    shift
  done
  shift
  printf '\n=== %s: build\n' "$PRESET"
  begin "$PRESET build"
  "$tree/scripts/build.sh" "$PRESET" "${labels[@]/%/_tests}" "${targets[@]}"
  mkdir -p "$REPORTS"
  check_labels
  for label in "${labels[@]}"; do
    run_label "$label" "$@"
  done
}

main() {
  if [[ -n ${PRESET:-} ]]; then
    run_preset "$PRESET" "${LEVELS//|/ }" all -- "$@"
  else
    run_preset asan 'unit integration simulation' -- "$@"
    run_preset tsan threads -- "$@"
    run_preset release 'simulation e2e' benchmarks -- "$@"
  fi
  begin ''
  printf '\nminutes: %s all %d\n' "${minutes[*]}" $(((SECONDS + 30) / 60))
  [[ ${#skipped[@]} -eq 0 ]] || printf 'SKIPPED: %s\n' "${skipped[*]}"
  [[ ${#second_tries[@]} -eq 0 ]] || printf 'NEEDED A SECOND TRY (look into it): %s\n' "${second_tries[*]}"
  [[ ${#broken[@]} -eq 0 ]] || printf 'FAILED: %s\n' "${broken[*]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}

main "$@"
