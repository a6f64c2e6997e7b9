#!/usr/bin/env bash
# Builds with CUDA on a GPU host and runs what CI cannot: the gpu tests, the self-test, the wafer
# study on its devices, the mixed product through CUDA and OpenCL, and the baseline of its speed. Arguments: commit id for the
# provenance, folder for logs.
set -uo pipefail
commit=${1:?commit id} logs=${2:?folder for logs}
cd "$(dirname "$0")/.."
failed=0
run() { echo "## $*"; "$@" 2>&1 | tail -n 40; [ "${PIPESTATUS[0]}" -eq 0 ] || { echo "FAILED: $*"; failed=1; }; }

cmake -B build-gpu -G Ninja -DBB_CUDA=ON -DBB_CUDA_ARCHITECTURES=90a -DBB_COMMIT="$commit" \
  >"$logs/configure.log" 2>&1 || { tail -n 20 "$logs/configure.log"; exit 1; }
cmake --build build-gpu --parallel 16 >"$logs/build.log" 2>&1 || { tail -n 30 "$logs/build.log"; exit 1; }
run ctest --test-dir build-gpu -L gpu --output-on-failure --no-tests=error
run env BB_OPENCL_DEVICE=NVIDIA ctest --test-dir build-gpu -R _opencl --output-on-failure --no-tests=error
run tests/gpu_sanitize.sh build-gpu "$logs/sanitize"
run build-gpu/bitbudget info
run build-gpu/bitbudget run configs/wafer/quick.yaml -q --force --device cpu -o "$logs/wafer-cpu.h5"
run build-gpu/bitbudget run configs/wafer/quick.yaml -q --force --device cuda -o "$logs/wafer-cuda.h5"
run env BB_OPENCL_DEVICE=NVIDIA build-gpu/bitbudget run tests/configs/small/wafer.yaml -q --force \
  --device opencl -o "$logs/wafer-opencl.h5" "pipelines=[{name: reference, storage: fp64, multiply: \
fp64, accumulate: fp64, device: cpu}, {name: mixed, storage: fp32, multiply: fp32, accumulate: fp64}]"
run env BB_OPENCL_DEVICE=NVIDIA build-gpu/bitbudget-bench -o "$logs/gemv.h5" --force \
  kernel-gemv-mixed-sp-{cuda,opencl} gemv-cuda-fp32{-each,-square,-tall}
run build-gpu/bitbudget-bench --quick -q --force -o "$logs/quick.h5" # every row runs, the figures mean nothing
case $(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1) in # slower than the baseline: exit 1
"NVIDIA H200") run build-gpu/bitbudget-bench --compare tests/baselines/nvidia-h200.yaml --device cuda -q --force -o "$logs/compare.h5" ;;
esac
run build-gpu/bitbudget run configs/ao/nx456.yaml -q --force -o "$logs/nx456.h5"
exit "$failed"
