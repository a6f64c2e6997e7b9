#!/usr/bin/env bash
# Runs every group of gpu tests of a build under compute-sanitizer's memcheck, racecheck, synccheck and
# initcheck, with few cases where the group has that, several at once. A line and a log each; fails where
# one finds errors, fails or runs out of time.
# Arguments: build folder, folder for logs, how many at once (4), seconds for each (600), part of the names
# as ctest has them, such as solvers-kernels (all of them).
set -uo pipefail
usage="usage: $0 BUILD LOGS [JOBS [SECONDS [NAME]]]"
build=${1:?$usage} logs=${2:?$usage} jobs=${3:-4} limit=${4:-600} part=${5:-}
left_out=panel_lapack # the same kernels as panel_cholesky, for hours
command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not in PATH" >&2; exit 2; }
mkdir -p "$logs" && : >"$logs/results" || exit 2

check() {
  local tool=$1 program=$2 group=$3 options=() begin=$SECONDS test log code summary verdict=clean
  test=${program##*/test-} test=${test%-cuda}-$group
  log=$logs/$tool-$test.log
  [ "$tool" = racecheck ] && options=(--racecheck-report all)
  # A test provokes an out-of-memory answer on purpose: API errors are checked by the program.
  timeout --kill-after=10 "$limit" compute-sanitizer --tool "$tool" "${options[@]}" \
    --report-api-errors no --error-exitcode 9 "$program" "$group" few >"$log" 2>&1
  code=$?
  summary=$(grep 'SUMMARY' "$log" | tail -n 1 | sed 's/^=* *//')
  case $code in
    0) case $summary in *"SUMMARY: 0 "*) ;; *"(0 errors, "*) verdict=warned ;; *) verdict=error ;; esac ;;
    77) verdict=skipped ;;
    124 | 137) verdict=late ;;
    *) verdict=error ;;
  esac
  printf '%-10s %-32s exit %3d %5d s  %s\n' "$tool" "$test" "$code" $((SECONDS - begin)) "${summary:-no summary}"
  echo "$verdict $tool $test" >>"$logs/results"
}
export -f check
export logs limit OPENBLAS_NUM_THREADS=1

for tool in memcheck racecheck synccheck initcheck; do
  for program in "$build"/tests/test-*-cuda; do
    for group in $("$program" --list); do
      name=${program##*/test-} name=${name%-cuda}-$group
      case $name in *"$left_out"*) ;; *"$part"*) printf '%s\0%s\0%s\0' "$tool" "$program" "$group" ;; esac
    done
  done
done | xargs -0 -n 3 -P "$jobs" bash -c 'check "$@"' check

names() { sed -n "s/^$1 //p" "$logs/results" | sort; }
count() { names "$1" | wc -l; }
printf '%s clean, %s with warnings, %s skipped, %s with errors, %s out of time; %s left out\n' \
  "$(count clean)" "$(count warned)" "$(count skipped)" "$(count error)" "$(count late)" "$left_out"
for verdict in warned error late; do
  names "$verdict" | sed "s/^/${verdict/late/out of time}: /"
done
[ "$(count clean)" -gt 0 ] && [ "$(count error)" -eq 0 ] && [ "$(count late)" -eq 0 ]
