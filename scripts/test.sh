#!/usr/bin/env bash
# Builds a preset (PRESET, dev) and runs its tests in the order unit, integration, e2e. The last line is
# "N passed, N failed". Arguments go to ctest, as in: scripts/test.sh -R pleg
#
# Integration and e2e tests meet real programs, so one that fails is tried once more; each that needed it
# is named at the end, because such a test is a bug until shown otherwise.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly PRESET=${PRESET:-dev}
readonly BUILD=$tree/build/$PRESET
readonly LABELS=(unit integration e2e)
readonly REPORTS=$BUILD/test-reports
passed=0 failed=0
second_tries=() broken=() skipped=()

# A test that no level claims would never run.
check_labels() {
  local unclaimed
  unclaimed=$(ctest --test-dir "$BUILD" -N -LE '^(unit|integration|e2e)$' | sed -n 's/^ *Test *#[0-9]*: //p')
  if [[ -n $unclaimed ]]; then
    printf 'tests without label unit, integration or e2e: %s\n' "$(xargs <<<"$unclaimed")" >&2
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
  broken+=("${bad[@]}")
  for name in "${left_out[@]}"; do
    [[ " ${absent[*]} " == *" $name "* ]] || skipped+=("$name")
  done
  for name in $(attempts_with "$label" 'Failed|Exception|Timeout'); do
    [[ " ${good[*]} " != *" $name "* ]] || second_tries+=("$name")
  done
}

run_label() {
  local label=$1 options=(--parallel "$(nproc)")
  shift
  case $label in
    integration) options+=(--repeat until-pass:2) ;;
    e2e) options=(--repeat until-pass:2) ;;
  esac
  printf '\n=== %s tests\n' "$label"
  rm -f "$REPORTS/$label.xml"
  ctest --test-dir "$BUILD" -L "^$label\$" --no-tests=ignore --output-on-failure --output-junit "$REPORTS/$label.xml" \
    "${options[@]}" "$@" </dev/null 2>&1 | tee "$REPORTS/$label.txt" || true
  if [[ -s $REPORTS/$label.xml ]]; then
    count "$label"
  else
    printf 'ctest broke off in the %s tests\n' "$label" >&2
    failed=$((failed + 1))
  fi
}

main() {
  local label
  "$tree/scripts/build.sh" "$PRESET"
  mkdir -p "$REPORTS"
  check_labels
  for label in "${LABELS[@]}"; do
    if [[ $label == e2e && $EUID -ne 0 ]]; then
      printf '\n=== e2e tests SKIPPED: they run containers, which needs root\n'
      continue
    fi
    run_label "$label" "$@"
  done
  printf '\n'
  [[ ${#skipped[@]} -eq 0 ]] || printf 'SKIPPED: %s\n' "${skipped[*]}"
  [[ ${#second_tries[@]} -eq 0 ]] || printf 'NEEDED A SECOND TRY (look into it): %s\n' "${second_tries[*]}"
  [[ ${#broken[@]} -eq 0 ]] || printf 'FAILED: %s\n' "${broken[*]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}

main "$@"
