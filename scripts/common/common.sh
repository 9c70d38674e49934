# Sourced by every script: where the tree is, the check of the environment, how a preset is built and tested.
# shellcheck shell=bash
set -euo pipefail

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

# die MESSAGE...: what we were asked to do can't be done; 2 everywhere means "unusable", 1 means "wrong".
die() {
    printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
    exit 2
}

# wrong MESSAGE...: the thing under test was found wrong.
wrong() {
    printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
    exit 1
}

say() {
    printf '== %s\n' "$*"
}

# The names come from the list that the programs check, so that there is one list.
known_environment() {
    grep -oE '"ATTEST_[A-Z0-9_]+"' "$ROOT/reference/include/attest/case/environment.hpp" | tr -d '"'
}

check_environment() {
    local known name
    known=$(known_environment) || die "no list of known variables in reference/include/attest/case/environment.hpp"
    # shellcheck disable=SC2016 # awk's own dollar
    while IFS= read -r name; do
        grep -qxF -- "$name" <<<"$known" || die "unknown environment variable $name; known: ${known//$'\n'/ }"
    done < <(awk 'BEGIN { for (name in ENVIRON) if (name ~ /^ATTEST_/) print name }')
}

# How many programs are compiled, and tests run, at a time. The heaviest sources take about 2 GB each.
JOBS=$(nproc)

# logged LOG COMMAND...: runs quietly, and shows the end of the log if the command fails.
logged() {
    local log=$1
    shift
    mkdir -p "$(dirname -- "$log")"
    if ! "$@" >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        printf '%s: failed: %s (whole log: %s)\n' "$(basename -- "$0")" "$*" "$log" >&2
        return 1
    fi
}

# build PRESET [TARGET...]: configures and builds; everything if no target is named.
build() {
    local preset=$1 target
    local -a targets=()
    shift
    for target in "$@"; do targets+=(--target "$target"); done
    say "building preset $preset${*:+: $*}"
    (
        cd "$ROOT" &&
            logged "build/$preset/configure.log" cmake --preset "$preset" &&
            logged "build/$preset/build.log" cmake --build --preset "$preset" -j "$JOBS" "${targets[@]}"
    )
}

# tests_ran FILE: reads what ctest printed and says "PASSED TOTAL"; fails when it can't find that or nothing ran.
tests_ran() {
    local line failed total
    line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$1" | tail -n 1) || return 1
    failed=$(sed -E 's/.* ([0-9]+) tests? failed.*/\1/' <<<"$line")
    total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$line")
    [ "$total" -gt 0 ] || return 1
    printf '%d %d\n' "$((total - failed))" "$total"
}

# missing_labels FILE LABEL...: prints each label that no test of this ctest run carried.
missing_labels() {
    local file=$1 label
    shift
    for label in "$@"; do
        grep -qE "^$label +=.*\([1-9][0-9]* tests?\)" "$file" || printf '%s\n' "$label"
    done
}

# run_ctest PRESET LABELS ARGUMENT...: runs the tests and keeps the output for the summary. A run without a test,
# or without one of the LABELS (a list in one word), is a failure: it would have proved nothing.
run_ctest() {
    local preset=$1 labels=$2 status=0 missing log="$ROOT/build/$1/ctest.log"
    shift 2
    say "testing preset $preset"
    (cd "$ROOT" && ctest --preset "$preset" --no-tests=error -j "$JOBS" "$@") 2>&1 | tee "$log" || status=1
    tests_ran "$log" >/dev/null || wrong "preset $preset: no test ran"
    # shellcheck disable=SC2086 # a list of words
    missing=$(missing_labels "$log" $labels)
    [ -z "$missing" ] || wrong "preset $preset: no test with the label ${missing//$'\n'/, } ran"
    return $status
}

# skipped PRESET: what the tests of the last run left out, as GoogleTest and ctest say it.
skipped() {
    local log="$ROOT/build/$1/Testing/Temporary/LastTest.log"
    [ -f "$log" ] || return 0
    { grep -E '^\[  SKIPPED \] [A-Za-z0-9_/]+\.[A-Za-z0-9_/]+ ' "$log" || true; } | sed -E 's/^\[  SKIPPED \] ([^ ]+).*/\1/' | sort -u
    { grep -E '\*\*\*Skipped' "$ROOT/build/$1/ctest.log" || true; } | sed -E 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+).*/\1/'
}

check_environment
