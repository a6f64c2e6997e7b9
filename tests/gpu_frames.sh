#!/usr/bin/env bash
# Times of frames of ao on a GPU host, by `realtime` and by bitbudget-bench. Arguments: bitbudget (with
# bitbudget-bench in its folder), a folder for files, rates in Hz.
set -uo pipefail
program=${1:?program} out=${2:?folder for files} rate=${3:-1000}
frames() { # study pipeline and overrides
  echo "## $*"
  timeout 120 "$program" realtime "configs/ao/$1.yaml" realtime.pipeline="$2" "realtime.rate_hz=$rate" \
    realtime.deadline_ms=1 --device cuda --force -q -o "$out/$1-$2.h5" "${@:3}" 2>&1 |
    grep -E '^all|misses|median us|reads|commands of a frame|pipeline|problem|error|bitbudget|latency'
}
for storage in fp32 fp16 int8 bfp8 int6 quantiser int4; do
  frames rtc-mavis-like "$storage" realtime.frames=5000
done
frames rtc-mavis-like quantiser realtime.frames=20000 realtime.clock=device
frames rtc-mavis-like means realtime.frames=5000 realtime.controller=integrator
for storage in fp16 int8 int6 quantiser; do
  frames rtc-mosaic-like "$storage" realtime.frames=2000
done
frames rtc-mosaic-like quantiser realtime.frames=1000 realtime.targets=10 realtime.warm_up_frames=10 realtime.rate_hz=0
if [ "$(nvidia-smi -L | wc -l)" -gt 1 ]; then
  for storage in int6 quantiser; do
    frames rtc-mosaic-like "$storage" realtime.frames=1000 realtime.targets=10 realtime.gpus=2 realtime.warm_up_frames=10 realtime.rate_hz=0
  done
fi
for study in rtc-metis-like rtc-morfeo-like; do
  frames "$study" fp16 realtime.frames=2000
  frames "$study" quantiser realtime.frames=2000
done
for size in 4092x19078 5316x100368; do
  "$program-bench" --force --size "$size" -o "$out/frames-$size.h5" gemv-cuda-{fp32,fp16,bfp8,bfp6} gemv-cublas-{s,h}
done
"$program-bench" --force --energy -o "$out/frames.h5" gemv-cuda-{frame,target}-{fp16,quantiser} gemv-cuda-frame-int8
