#!/usr/bin/env bash
# The studies of the fewest bits on a GPU host, whose tables are in docs/manual/rtc.md. Arguments: the
# program, a folder for files, the studies, all of a GPU by default; STUDY_S: seconds of each.
set -uo pipefail
program=${1:?program} out=${2:?folder for files}
shift 2
[ $# -gt 0 ] || set -- metis mavis harmoni morfeo mosaic
columns=reconstructor_bits,solved_bits,loss_worst,strehl_loss_shaken
failed=0
for study in "$@"; do
  begin=$SECONDS
  timeout "${STUDY_S:-480}" "$program" run "configs/ao/rtc-fewest-$study.yaml" --force -q -o "$out/fewest-$study.h5" ||
    { echo "FAILED: $study"; failed=1; continue; }
  echo "## $study, $((SECONDS - begin)) s"
  for more in ,frame_p50_us,frame_p99_us ""; do # not of those that time no frames
    "$program" show "$out/fewest-$study.h5" --format md --columns "$columns$more" 2>/dev/null && break
  done
done
exit $failed
