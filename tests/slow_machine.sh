#!/usr/bin/env bash
# Runs tests as a slow, a loaded and a small machine would, with time limits ten times as long:
#
#   tests/slow_machine.sh BUILD [ROUNDS [REGEX]]
#
# under load (two busy loops), throttled (a cgroup with 30 % of a core; needs root), on one core and on
# two, ROUNDS times each (3). REGEX names the tests; left out, those that wait, measure or are ended by
# signals. Fails where one fails; says what could not be run.
set -uo pipefail
build=$1
rounds=${2:-3}
waiting='^(core-(clock|device-device|log|thread)|bench-bench|sim-(cli-command|output-(file|checkpoint))|sim-campaign-kills'
waiting+='|sim-ao-ao_interrupted|sim-wafer-(wafer_restart|realtime-(streamed_loop|wafer_loop))|sim-realtime-latency|solvers-operator-coded_operator'
waiting+='|precision-codecs-zfp-zfp_decoder)$'
regex=${3:-$waiting}
log=$(mktemp)
trap 'rm -f "$log"; kill $(jobs -p) 2>/dev/null' EXIT
failed=0

round() { # NAME COMMAND...: one round under COMMAND
  local name=$1
  shift
  if BB_TEST_SLOW=10 "$@" ctest --test-dir "$build" --no-tests=error --output-on-failure -j 2 -R "$regex" >"$log" 2>&1
  then printf '%-12s %s\n' "$name" "$(grep 'tests passed' "$log")"
  else printf '%-12s FAILED\n' "$name"; grep -E 'Failed|Timeout|ERROR|LINE' "$log"; failed=1
  fi
}

# A cgroup that has 30 ms of every 100 ms, of version 2 or 1.
quota=
make_quota() {
  local root=/sys/fs/cgroup
  if [ -w $root/cgroup.subtree_control ]; then
    echo +cpu >$root/cgroup.subtree_control 2>/dev/null
    quota=$root/bitbudget-slow
    mkdir -p $quota && echo "30000 100000" >$quota/cpu.max
  elif [ -w $root/cpu ]; then
    quota=$root/cpu/bitbudget-slow
    mkdir -p $quota && echo 100000 >$quota/cpu.cfs_period_us && echo 30000 >$quota/cpu.cfs_quota_us
  else
    return 1
  fi
}
in_quota() { (echo "$BASHPID" >"$quota/cgroup.procs" && exec "$@"); }

for ((k = 1; k <= rounds; ++k)); do
  for ((busy = 0; busy < 2; ++busy)); do while :; do :; done & done
  round "loaded"
  kill $(jobs -p) && wait 2>/dev/null
  round "one core" taskset -c 0
  round "two cores" taskset -c 0,1
  if make_quota 2>/dev/null; then round "throttled" in_quota; rmdir "$quota" 2>/dev/null
  else echo "throttled    not run: no cgroup that can be written to"
  fi
done
exit $failed
