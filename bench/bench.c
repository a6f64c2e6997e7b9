// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "bench/gemv_cuda_bench.h"
#include "bench/panel_bench.h"
#include "bench/panels/cusolvermp_bench.h"
#include "bench/panels/swap_bench.h"
#include "bench/panels/two_gpus_bench.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/suggestion.h"
#include "core/team.h"
#include "precision/variant.h"
#include "sim/energy.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// clang-format off
static const bb_bench_case cases[] = {
    {"gemv-fp64", "y = C x, stored and multiplied in fp64", "read", NAN, bb_bench_gemv, 0, "fp64"},
    {"gemv-fp32", "y = C x, stored in fp32", "read", 0.8, bb_bench_gemv, 0, "fp32"},
    {"gemv-tf32", "y = C x, stored in tf32", "gemv-fp32", NAN, bb_bench_gemv, 0, "tf32"},
    {"gemv-bf16", "y = C x, stored in bf16", "gemv-fp32", NAN, bb_bench_gemv, 0, "bf16"},
    {"gemv-fp16", "y = C x, stored in fp16", "gemv-fp32", 1.7, bb_bench_gemv, 0, "fp16"},
    {"gemv-e4m3", "y = C x, stored in e4m3", "gemv-fp32", 2.5, bb_bench_gemv, 0, "e4m3"},
    {"gemv-e5m2", "y = C x, stored in e5m2", "gemv-fp32", 2.5, bb_bench_gemv, 0, "e5m2"},
    {"gemv-bfp8", "y = C x, block floating point of 8 bits", "gemv-fp32", 2.5, bb_bench_gemv, 0, "bfp bits=8"},
    {"gemv-bfp4", "the same of 4 bits", "gemv-fp32", NAN, bb_bench_gemv, 0, "bfp bits=4"},
    {"gemv-bfp12", "the same of 12 bits", "gemv-fp32", NAN, bb_bench_gemv, 0, "bfp bits=12"},
    {"gemv-bfp16", "the same of 16 bits", "gemv-fp32", NAN, bb_bench_gemv, 0, "bfp bits=16"},
    {"gemv-quantiser", "y = C x, block-width quantiser, about 4 bits", "gemv-fp32", NAN, bb_bench_gemv, 0, "quantiser tolerance=6e-13"},
    {"gemv-fp16-fp32-sums", "y = C x, stored in fp16, with sums in fp32", "gemv-fp32", NAN, bb_bench_gemv_fp32_sums, 0, "fp16"},
    {"gemv-e4m3-fp32-sums", "the same with sums in fp32", "gemv-fp32", NAN, bb_bench_gemv_fp32_sums, 0, "e4m3"},
    {"gemv-e5m2-fp32-sums", "the same with sums in fp32", "gemv-fp32", NAN, bb_bench_gemv_fp32_sums, 0, "e5m2"},
    {"gemv-bfp8-fp32-sums", "the same with sums in fp32", "gemv-fp32", NAN, bb_bench_gemv_fp32_sums, 0, "bfp bits=8"},
    {"gemv-zfp", "y = C x, zfp 2-D, 8 bits a value", "gemv-fp32", NAN, bb_bench_gemv, 0, "zfp mode=rate bits=8 dimensions=2"},
    {"gemv-low-rank", "y = C x of a slit, low-rank tiles", "read", NAN, bb_bench_factors, 0, "low_rank tolerance=1e-12"},
    {"gemv-transform", "y = C x of a slit, transformed blocks", "read", NAN, bb_bench_factors, 0, "transform tolerance=1e-12"},
    {"gemv-cuda-low-rank", "y = C x of a slit on a cuda device, low-rank tiles, cold, alone", "10 us", 1.0, BB_CUDA_TWIN(bb_bench_factors_cuda), 0, "low_rank tolerance=1e-12"},
    {"gemv-cuda-transform", "y = C x of a slit on a cuda device, transformed blocks, cold, alone", "10 us", 1.0, BB_CUDA_TWIN(bb_bench_factors_cuda), 0, "transform tolerance=1e-12"},
    {"gemv-cuda-fp64", "y = C x on a cuda device, stored and multiplied in fp64", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP64, NULL},
    {"gemv-cuda-fp32", "y = C x on a cuda device, stored in fp32, runs of 32 products", "fp32 read", 0.92, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP32, NULL},
    {"gemv-cuda-fp32-each", "y = C x on a cuda device, stored in fp32, every product by itself in fp64", "fp32 read", 0.92, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP32_EACH, NULL},
    {"gemv-cuda-tf32", "y = C x on a cuda device, stored in tf32", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_TF32, NULL},
    {"gemv-cuda-bf16", "y = C x on a cuda device, stored in bf16", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_BF16, NULL},
    {"gemv-cuda-fp16", "y = C x on a cuda device, stored in fp16", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP16, NULL},
    {"gemv-cuda-e4m3", "y = C x on a cuda device, stored in e4m3", "fp32 read", 3.4, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_E4M3, NULL},
    {"gemv-cuda-e5m2", "y = C x on a cuda device, stored in e5m2", "fp32 read", 3.4, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_E5M2, NULL},
    {"gemv-cuda-bfp4", "y = C x on a cuda device, block floating point of 4 bits", "fp32 read", 6.0, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_BFP4, NULL},
    {"gemv-cuda-bfp6", "y = C x on a cuda device, block floating point of 6 bits", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_BFP6, NULL},
    {"gemv-cuda-bfp8", "y = C x on a cuda device, block floating point of 8 bits", "fp32 read", 3.3, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_BFP8, NULL},
    {"gemv-cuda-bfp12", "y = C x on a cuda device, block floating point of 12 bits", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_BFP12, NULL},
    {"gemv-cuda-bfp16", "y = C x on a cuda device, block floating point of 16 bits", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_BFP16, NULL},
    {"gemv-cuda-quantiser", "y = C x on a cuda device, absolute block-width quantiser", "fp32 read", 6.0, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_QUANTISER, NULL},
    {"gemv-cuda-zfp", "y = C x on a cuda device, zfp 2-D, fixed accuracy at the seed's tolerance", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_ZFP, NULL},
    {"gemv-cuda-fp32-axes", "three of gemv-cuda-fp32 in one launch, time of one", "fp32 read", 0.92, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP32_AXES, NULL},
    {"gemv-cuda-e4m3-axes", "three of gemv-cuda-e4m3 in one launch, time of one", "fp32 read", 3.4, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_E4M3_AXES, NULL},
    {"gemv-cuda-bfp8-axes", "three of gemv-cuda-bfp8 in one launch, time of one", "fp32 read", 3.3, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_BFP8_AXES, NULL},
    {"gemv-cuda-bfp4-axes", "three of gemv-cuda-bfp4 in one launch, time of one", "fp32 read", 6.0, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_BFP4_AXES, NULL},
    {"gemv-cuda-zfp-axes", "three of gemv-cuda-zfp in one launch, time of one", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_ZFP_AXES, NULL},
    {"gemv-figure9", "peer of gemv-cuda: the kernel of Bamakhrama et al., Figure 9", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FIGURE9, NULL},
    {"gemv-cublas-s", "peer of gemv-cuda: cublasSgemv", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_S, NULL},
    {"gemv-cublas-d", "peer of gemv-cuda: cublasDgemv", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_D, NULL},
    {"gemv-split-batched", "peer of gemv-cuda: cublasGemmStridedBatchedEx over runs of columns", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_SPLIT_BATCHED, NULL},
    {"gemv-split-gemv", "peer of gemv-cuda: cublasSgemvStridedBatched over runs of columns", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_SPLIT_GEMV, NULL},
    {"streamed-fp32", "fields that cross PCIe in fp32, products of a slow field", "Table 1", NAN, BB_CUDA_TWIN(bb_bench_streamed), BB_FORMAT_FP32, NULL},
    {"streamed-e4m3", "fields that cross PCIe in e4m3, products of a slow field", "Table 1", NAN, BB_CUDA_TWIN(bb_bench_streamed), BB_FORMAT_E4M3, NULL},
    {"gemv-fp32-square", "gemv-fp32 of 9728 x 9728", "read", NAN, bb_bench_gemv, BB_BENCH_SQUARE, "fp32"},
    {"gemv-fp32-tall", "gemv-fp32 of 252000 x 384", "read", NAN, bb_bench_gemv, BB_BENCH_TALL, "fp32"},
    {"gemv-blas-s", "peer of gemv-fp32: the BLAS's sgemv", "read", NAN, bb_bench_gemv_blas, BB_FORMAT_FP32, NULL},
    {"gemv-blas-s-square", "the same of 9728 x 9728", "read", NAN, bb_bench_gemv_blas, BB_FORMAT_FP32 | BB_BENCH_SQUARE, NULL},
    {"gemv-blas-s-tall", "the same of 252000 x 384", "read", NAN, bb_bench_gemv_blas, BB_FORMAT_FP32 | BB_BENCH_TALL, NULL},
    {"gemv-frame-fp32", "y = C x of a frame of 4092 commands from 19078 slopes, stored and summed in fp32", "read", NAN, bb_bench_gemv_fp32_sums, BB_BENCH_FRAME, "fp32"},
    {"gemv-frame-fp16", "the same stored in fp16", "fp32 storage", NAN, bb_bench_gemv_fp32_sums, BB_BENCH_FRAME, "fp16"},
    {"gemv-frame-int8", "the same, integers of 8 bits", "fp32 storage", NAN, bb_bench_gemv_fp32_sums, BB_BENCH_FRAME, "integer bits=8"},
    {"gemv-frame-bfp8", "the same, block floating point of 8 bits", "fp32 storage", NAN, bb_bench_gemv_fp32_sums, BB_BENCH_FRAME, "bfp bits=8"},
    {"gemv-frame-bfp4", "the same, block floating point of 4 bits", "fp32 storage", NAN, bb_bench_gemv_fp32_sums, BB_BENCH_FRAME, "bfp bits=4"},
    {"gemv-frame-quantiser", "the same, block-width quantiser, about 4.5 bits", "fp32 storage", NAN, bb_bench_gemv_fp32_sums, BB_BENCH_FRAME, "quantiser tolerance=0.036"},
    {"gemv-blas-s-frame", "peer of gemv-frame: the BLAS's sgemv", "read", NAN, bb_bench_gemv_blas, BB_FORMAT_FP32 | BB_BENCH_FRAME, NULL},
    {"gemv-blas-d", "peer of gemv-fp32: the BLAS's dgemv", "read", NAN, bb_bench_gemv_blas, BB_FORMAT_FP64, NULL},
    {"gemv-blas-d-square", "the same of 9728 x 9728", "read", NAN, bb_bench_gemv_blas, BB_FORMAT_FP64 | BB_BENCH_SQUARE, NULL},
    {"gemv-blas-d-tall", "the same of 252000 x 384", "read", NAN, bb_bench_gemv_blas, BB_FORMAT_FP64 | BB_BENCH_TALL, NULL},
    {"gemv-cuda-fp32-square", "gemv-cuda-fp32 of 9728 x 9728", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP32 | BB_BENCH_SQUARE, NULL},
    {"gemv-cuda-fp32-tall", "gemv-cuda-fp32 of 252000 x 384", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP32 | BB_BENCH_TALL, NULL},
    {"gemv-cuda-fp32-each-square", "gemv-cuda-fp32-each of 9728 x 9728", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP32_EACH | BB_BENCH_SQUARE, NULL},
    {"gemv-cuda-fp32-each-tall", "gemv-cuda-fp32-each of 252000 x 384", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FP32_EACH | BB_BENCH_TALL, NULL},
    {"gemv-figure9-square", "gemv-figure9 of 9728 x 9728", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FIGURE9 | BB_BENCH_SQUARE, NULL},
    {"gemv-figure9-tall", "gemv-figure9 of 252000 x 384", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_FIGURE9 | BB_BENCH_TALL, NULL},
    {"gemv-cublas-s-square", "gemv-cublas-s of 9728 x 9728", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_S | BB_BENCH_SQUARE, NULL},
    {"gemv-cublas-s-tall", "gemv-cublas-s of 252000 x 384", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_S | BB_BENCH_TALL, NULL},
    {"gemv-cublas-d-square", "gemv-cublas-d of 9728 x 9728", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_D | BB_BENCH_SQUARE, NULL},
    {"gemv-cublas-d-tall", "gemv-cublas-d of 252000 x 384", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_D | BB_BENCH_TALL, NULL},
    {"gemv-cuda-frame-fp32", "y = C x of 4092 commands from 19078 slopes on a cuda device, stored in fp32", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_FRAME, "fp32"},
    {"gemv-cuda-frame-fp16", "the same stored in fp16", "fp32 read", 1.8, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_FRAME, "fp16"},
    {"gemv-cuda-frame-int8", "the same, integers of 8 bits", "fp32 read", 3.2, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_FRAME, "integer bits=8"},
    {"gemv-cuda-frame-bfp8", "the same, block floating point of 8 bits", "fp32 read", 3.1, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_FRAME, "bfp bits=8"},
    {"gemv-cuda-frame-bfp6", "the same, block floating point of 6 bits", "fp32 read", 3.4, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_FRAME, "bfp bits=6"},
    {"gemv-cuda-frame-int6", "the same, integers of 6 bits", "fp32 read", 3.4, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_FRAME, "integer bits=6"},
    {"gemv-cuda-frame-quantiser", "the same, block-width quantiser, about 4.5 bits", "fp32 read", 4.6, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_FRAME, "quantiser tolerance=0.036"},
    {"gemv-cuda-frame-int4", "the same, integers of 4 bits", "fp32 read", 5.2, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_FRAME, "integer bits=4"},
    {"gemv-cublas-s-frame", "peer of gemv-cuda-frame: cublasSgemv", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_S | BB_BENCH_FRAME, NULL},
    {"gemv-cublas-h-frame", "peer of gemv-cuda-frame: cublasHSSgemvStridedBatched, fp16", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_H | BB_BENCH_FRAME, NULL},
    {"gemv-low-rank-tiles-frame", "peer of gemv-cuda-frame: low-rank tiles of 128, rank 38, batched", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_LOW_RANK_TILES | BB_BENCH_FRAME, NULL},
    {"gemv-cuda-target-fp32", "y = C x of 5316 commands from 100368 slopes on a cuda device, stored in fp32", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_TARGET, "fp32"},
    {"gemv-cuda-target-fp16", "the same stored in fp16", "fp32 read", 1.8, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_TARGET, "fp16"},
    {"gemv-cuda-target-int8", "the same, integers of 8 bits", "fp32 read", 3.2, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_TARGET, "integer bits=8"},
    {"gemv-cuda-target-bfp8", "the same, block floating point of 8 bits", "fp32 read", 3.1, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_TARGET, "bfp bits=8"},
    {"gemv-cuda-target-bfp6", "the same, block floating point of 6 bits", "fp32 read", 3.4, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_TARGET, "bfp bits=6"},
    {"gemv-cuda-target-int6", "the same, integers of 6 bits", "fp32 read", 3.4, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_TARGET, "integer bits=6"},
    {"gemv-cuda-target-quantiser", "the same, block-width quantiser, about 4.5 bits", "fp32 read", 4.6, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_TARGET, "quantiser tolerance=0.036"},
    {"gemv-cuda-target-int4", "the same, integers of 4 bits", "fp32 read", 5.2, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_OTHER | BB_BENCH_TARGET, "integer bits=4"},
    {"gemv-cublas-s-target", "peer of gemv-cuda-target: cublasSgemv", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_S | BB_BENCH_TARGET, NULL},
    {"gemv-cublas-h-target", "peer of gemv-cuda-target: cublasHSSgemvStridedBatched, fp16", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_CUBLAS_H | BB_BENCH_TARGET, NULL},
    {"gemv-low-rank-tiles-target", "peer of gemv-cuda-target: low-rank tiles of 128, rank 38, batched", "fp32 read", NAN, BB_CUDA_TWIN(bb_gemv_cuda_bench), BB_GEMV_CUDA_LOW_RANK_TILES | BB_BENCH_TARGET, NULL},
    {"roofline-thermal", "T <- A T under the roof of its operations a byte", "roof", NAN, bb_bench_roofline, BB_BENCH_STEP_THERMAL, NULL},
    {"roofline-restriction", "S = W T, wafer to grid, the same", "roof", NAN, bb_bench_roofline, BB_BENCH_STEP_RESTRICTION, NULL},
    {"roofline-deformation", "y = C S, gemv-fp32, the same", "roof", NAN, bb_bench_roofline, BB_BENCH_STEP_DEFORMATION, NULL},
    {"roofline-cuda-thermal", "T <- A T on a cuda device under the slope of its operations a byte", "slope", NAN, BB_CUDA_TWIN(bb_bench_roofline_cuda), BB_BENCH_STEP_THERMAL, NULL},
    {"roofline-cuda-restriction", "S = W T, wafer to grid, the same", "slope", NAN, BB_CUDA_TWIN(bb_bench_roofline_cuda), BB_BENCH_STEP_RESTRICTION, NULL},
    {"roofline-cuda-deformation", "y = C S, gemv-cuda-fp32, the same", "slope", NAN, BB_CUDA_TWIN(bb_bench_roofline_cuda), BB_BENCH_STEP_DEFORMATION, NULL},
    {"kernel-add-sp-cpu", "C = A + B, printed in C, SP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "add SP"},
    {"kernel-add-dp-cpu", "C = A + B, printed in C, DP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "add DP"},
    {"kernel-laplace5-sp-cpu", "Laplace of 5 points, printed in C, SP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "laplace5 SP"},
    {"kernel-laplace5-dp-cpu", "Laplace of 5 points, printed in C, DP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "laplace5 DP"},
    {"kernel-laplace9-sp-cpu", "Laplace of 9 points, printed in C, SP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "laplace9 SP"},
    {"kernel-laplace9-dp-cpu", "Laplace of 9 points, printed in C, DP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "laplace9 DP"},
    {"kernel-l2norm-sp-cpu", "Euclidean norm, printed in C, SP", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "l2norm SP"},
    {"kernel-l2norm-dp-cpu", "Euclidean norm, printed in C, DP", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "l2norm DP"},
    {"kernel-max-sp-cpu", "largest element, printed in C, SP", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "max SP"},
    {"kernel-max-dp-cpu", "largest element, printed in C, DP", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "max DP"},
    {"kernel-gemv-sp-cpu", "c = A b, printed in C, SP", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "gemv SP"},
    {"kernel-gemv-dp-cpu", "c = A b, printed in C, DP", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "gemv DP"},
    {"kernel-gemv-transposed-sp-cpu", "c = A^T b, printed in C, SP", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "gemv-transposed SP"},
    {"kernel-gemv-transposed-dp-cpu", "c = A^T b, printed in C, DP", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "gemv-transposed DP"},
    {"kernel-gemv-mixed-wide-cpu", "c = A b of 378 x 256000, products in SP, sums in DP, printed in C", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "gemv-mixed SP seed"},
    {"kernel-gemv-mixed-square-cpu", "c = A b of 9728 x 9728, products in SP, sums in DP, printed in C", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "gemv-mixed SP large"},
    {"kernel-gemv-mixed-tall-cpu", "c = A b of 252000 x 384, products in SP, sums in DP, printed in C", "read", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "gemv-mixed SP odd"},
    {"kernel-gemm-sp-cpu", "C = A B, printed in C, SP", "sgemm", NAN, bb_bench_kernel, BB_DEVICE_CPU, "gemm SP"},
    {"kernel-gemm-dp-cpu", "C = A B, printed in C, DP", "dgemm", NAN, bb_bench_kernel, BB_DEVICE_CPU, "gemm DP"},
    {"kernel-spmv-sp-cpu", "y = A x, rows of 32 in a band, printed in C, SP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "spmv SP"},
    {"kernel-spmv-dp-cpu", "y = A x, rows of 32 in a band, printed in C, DP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "spmv DP"},
    {"kernel-spmv5-sp-cpu", "y = A x, 5 points of a grid of 2048 x 2048, printed in C, SP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "spmv SP odd"},
    {"kernel-spmv5-dp-cpu", "y = A x, 5 points of a grid of 2048 x 2048, printed in C, DP", "triad", 0.8, bb_bench_kernel, BB_DEVICE_CPU, "spmv DP odd"},
    {"kernel-add-sp-opencl", "C = A + B, printed in OpenCL, SP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "add SP"},
    {"kernel-add-dp-opencl", "C = A + B, printed in OpenCL, DP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "add DP"},
    {"kernel-laplace5-sp-opencl", "Laplace of 5 points, printed in OpenCL, SP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "laplace5 SP"},
    {"kernel-laplace5-dp-opencl", "Laplace of 5 points, printed in OpenCL, DP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "laplace5 DP"},
    {"kernel-laplace9-sp-opencl", "Laplace of 9 points, printed in OpenCL, SP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "laplace9 SP"},
    {"kernel-laplace9-dp-opencl", "Laplace of 9 points, printed in OpenCL, DP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "laplace9 DP"},
    {"kernel-l2norm-sp-opencl", "Euclidean norm, printed in OpenCL, SP", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "l2norm SP"},
    {"kernel-l2norm-dp-opencl", "Euclidean norm, printed in OpenCL, DP", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "l2norm DP"},
    {"kernel-max-sp-opencl", "largest element, printed in OpenCL, SP", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "max SP"},
    {"kernel-max-dp-opencl", "largest element, printed in OpenCL, DP", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "max DP"},
    {"kernel-gemv-sp-opencl", "c = A b, printed in OpenCL, SP", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemv SP"},
    {"kernel-gemv-dp-opencl", "c = A b, printed in OpenCL, DP", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemv DP"},
    {"kernel-gemv-transposed-sp-opencl", "c = A^T b, printed in OpenCL, SP", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemv-transposed SP"},
    {"kernel-gemv-transposed-dp-opencl", "c = A^T b, printed in OpenCL, DP", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemv-transposed DP"},
    {"kernel-gemv-mixed-wide-opencl", "c = A b of 378 x 256000, products in SP, sums in DP, printed in OpenCL", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemv-mixed SP seed"},
    {"kernel-gemv-mixed-square-opencl", "c = A b of 9728 x 9728, products in SP, sums in DP, printed in OpenCL", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemv-mixed SP large"},
    {"kernel-gemv-mixed-tall-opencl", "c = A b of 252000 x 384, products in SP, sums in DP, printed in OpenCL", "read", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemv-mixed SP odd"},
    {"kernel-gemm-sp-opencl", "C = A B, printed in OpenCL, SP", "fma peak", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemm SP"},
    {"kernel-gemm-dp-opencl", "C = A B, printed in OpenCL, DP", "fma peak", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "gemm DP"},
    {"kernel-spmv-sp-opencl", "y = A x, rows of 32 in a band, printed in OpenCL, SP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "spmv SP"},
    {"kernel-spmv-dp-opencl", "y = A x, rows of 32 in a band, printed in OpenCL, DP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "spmv DP"},
    {"kernel-spmv5-sp-opencl", "y = A x, 5 points of a grid of 2048 x 2048, printed in OpenCL, SP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "spmv SP odd"},
    {"kernel-spmv5-dp-opencl", "y = A x, 5 points of a grid of 2048 x 2048, printed in OpenCL, DP", "copy", NAN, bb_bench_kernel, BB_DEVICE_OPENCL, "spmv DP odd"},
    {"kernel-add-sp-cuda", "C = A + B, printed in CUDA, SP", "copy", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "add SP"},
    {"kernel-add-dp-cuda", "C = A + B, printed in CUDA, DP", "copy", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "add DP"},
    {"kernel-laplace5-sp-cuda", "Laplace of 5 points, printed in CUDA, SP", "copy", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "laplace5 SP"},
    {"kernel-laplace5-dp-cuda", "Laplace of 5 points, printed in CUDA, DP", "copy", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "laplace5 DP"},
    {"kernel-laplace9-sp-cuda", "Laplace of 9 points, printed in CUDA, SP", "copy", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "laplace9 SP"},
    {"kernel-laplace9-dp-cuda", "Laplace of 9 points, printed in CUDA, DP", "copy", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "laplace9 DP"},
    {"kernel-l2norm-sp-cuda", "Euclidean norm, printed in CUDA, SP", "read", 0.95, bb_bench_kernel, BB_DEVICE_CUDA, "l2norm SP"},
    {"kernel-l2norm-dp-cuda", "Euclidean norm, printed in CUDA, DP", "read", 0.95, bb_bench_kernel, BB_DEVICE_CUDA, "l2norm DP"},
    {"kernel-max-sp-cuda", "largest element, printed in CUDA, SP", "read", 0.95, bb_bench_kernel, BB_DEVICE_CUDA, "max SP"},
    {"kernel-max-dp-cuda", "largest element, printed in CUDA, DP", "read", 0.95, bb_bench_kernel, BB_DEVICE_CUDA, "max DP"},
    {"kernel-gemv-sp-cuda", "c = A b, printed in CUDA, SP", "read", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "gemv SP"},
    {"kernel-gemv-dp-cuda", "c = A b, printed in CUDA, DP", "read", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "gemv DP"},
    {"kernel-gemv-transposed-sp-cuda", "c = A^T b, printed in CUDA, SP", "read", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "gemv-transposed SP"},
    {"kernel-gemv-transposed-dp-cuda", "c = A^T b, printed in CUDA, DP", "read", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "gemv-transposed DP"},
    {"kernel-gemv-mixed-wide-cuda", "c = A b of 378 x 256000, products in SP, sums in DP, printed in CUDA", "read", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "gemv-mixed SP seed"},
    {"kernel-gemv-mixed-square-cuda", "c = A b of 9728 x 9728, products in SP, sums in DP, printed in CUDA", "read", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "gemv-mixed SP large"},
    {"kernel-gemv-mixed-tall-cuda", "c = A b of 252000 x 384, products in SP, sums in DP, printed in CUDA", "read", 0.9, bb_bench_kernel, BB_DEVICE_CUDA, "gemv-mixed SP odd"},
    {"kernel-gemm-sp-cuda", "C = A B, printed in CUDA, SP", "fma peak", 0.45, bb_bench_kernel, BB_DEVICE_CUDA, "gemm SP"},
    {"kernel-gemm-dp-cuda", "C = A B, printed in CUDA, DP", "fma peak", 0.45, bb_bench_kernel, BB_DEVICE_CUDA, "gemm DP"},
    {"kernel-spmv-sp-cuda", "y = A x, rows of 32 in a band, printed in CUDA, SP", "copy", 0.75, bb_bench_kernel, BB_DEVICE_CUDA, "spmv SP"},
    {"kernel-spmv-dp-cuda", "y = A x, rows of 32 in a band, printed in CUDA, DP", "copy", 0.75, bb_bench_kernel, BB_DEVICE_CUDA, "spmv DP"},
    {"kernel-spmv5-sp-cuda", "y = A x, 5 points of a grid of 2048 x 2048, printed in CUDA, SP", "copy", 0.75, bb_bench_kernel, BB_DEVICE_CUDA, "spmv SP odd"},
    {"kernel-spmv5-dp-cuda", "y = A x, 5 points of a grid of 2048 x 2048, printed in CUDA, DP", "copy", 0.75, bb_bench_kernel, BB_DEVICE_CUDA, "spmv DP odd"},
    {"unwrap-1024-sp-cpu", "a phase of 1024 x 1024 unwrapped, rejection and least squares, printed in C, SP", "DCT", 1.0, bb_bench_unwrap, BB_DEVICE_CPU, NULL},
    {"unwrap-1024-sp-opencl", "a phase of 1024 x 1024 unwrapped, rejection and least squares, printed in OpenCL, SP", "DCT", NAN, bb_bench_unwrap, BB_DEVICE_OPENCL, NULL},
    {"unwrap-1024-sp-cuda", "a phase of 1024 x 1024 unwrapped, rejection and least squares, printed in CUDA, SP", "DCT", NAN, bb_bench_unwrap, BB_DEVICE_CUDA, NULL},
    {"unwrap-1024-full-sp-cpu", "a phase of 1024 x 1024 unwrapped, rejection and reweighting to least absolute residuals, printed in C, SP", "C loops", NAN, bb_bench_unwrap, BB_DEVICE_CPU, "full"},
    {"unwrap-1024-full-sp-opencl", "a phase of 1024 x 1024 unwrapped, rejection and reweighting to least absolute residuals, printed in OpenCL, SP", "C loops", NAN, bb_bench_unwrap, BB_DEVICE_OPENCL, "full"},
    {"unwrap-1024-full-sp-cuda", "a phase of 1024 x 1024 unwrapped, rejection and reweighting to least absolute residuals, printed in CUDA, SP", "C loops", NAN, bb_bench_unwrap, BB_DEVICE_CUDA, "full"},
    {"kernel-emit", "reading, checking and printing a kernel, the longest of those shipped", "20 ms", 1.0, bb_bench_kernel_emit, 0, NULL},
    {"zfp-decode", "a variable-rate stream in 2-D, seed's tolerance", "libzfp", NAN, bb_bench_zfp, 0, NULL},
    {"zfp-decode-cuda", "the same on a cuda device, 387 MB", "300 GB/s", 1.0, BB_CUDA_TWIN(bb_bench_zfp_cuda), 0, NULL},
    {"thermal-step", "T <- A T of wafer and clamp, mesh 0.5 mm", "triad", 0.6, bb_bench_heat, 0, NULL},
    {"heat-step-cuda", "T <- A T of the same as a captured graph on a cuda device", "15 us", 1.0, BB_CUDA_TWIN(bb_bench_heat_cuda), 0, NULL},
    {"loop-slow-field-e4m3", "heat, products and outputs of a slow field, three axes, step by step", "12 ms", 1.0, BB_CUDA_TWIN(bb_bench_loop), 0, "e4m3"},
    {"loop-slow-field-low-rank", "the same, low-rank tiles", "12 ms", 1.0, BB_CUDA_TWIN(bb_bench_loop), 0, "low_rank tolerance_of_range=2.9e-5"},
    {"cholesky-dp", "tile Cholesky in fp64", "potrf", 1.0, bb_bench_cholesky, BB_VARIANT_DP, NULL},
    {"cholesky-sp", "tile Cholesky in fp32", "potrf", 1.0, bb_bench_cholesky, BB_VARIANT_SP, NULL},
    {"cholesky-tf32", "tile Cholesky, tf32 operands", "cholesky-sp", 1.0 / 3.0, bb_bench_cholesky, BB_VARIANT_TF32, NULL},
    {"cholesky-bf16", "tile Cholesky, bf16 operands", "cholesky-sp", 1.0 / 3.0, bb_bench_cholesky, BB_VARIANT_BF16, NULL},
    {"cholesky-hp1", "tile Cholesky, fp16 operands", "cholesky-sp", 1.0 / 3.0, bb_bench_cholesky, BB_VARIANT_HP1, NULL},
    {"cholesky-hp2", "tile Cholesky, fp16 operands and tiles", "cholesky-sp", 1.0 / 3.0, bb_bench_cholesky, BB_VARIANT_HP2, NULL},
    {"cholesky-processes-sp", "tile Cholesky in fp32 by StarPU, over processes", "own or pspotrf", 1.0 / 1.15, bb_bench_processes, BB_VARIANT_SP | BB_BENCH_SHARED, NULL},
    {"cholesky-processes-hp1", "the same, fp16 operands", "own, or pspotrf", 1.0 / 1.15, bb_bench_processes, BB_VARIANT_HP1 | BB_BENCH_SHARED, NULL},
    {"cholesky-hp3", "tile Cholesky, fp16 throughout", "cholesky-sp", 1.0 / 15.0, bb_bench_cholesky, BB_VARIANT_HP3, NULL},
    {"assembly", "slope covariances without reuse, 60 s for 1e8 x 10", "60 s", 1.0, bb_bench_assembly, 0, NULL},
    {"assembly-cuda", "slope covariances of 9 sensors on a cuda device", "0.7 s", 1.0, BB_CUDA_TWIN(bb_bench_assembly_cuda), 0, NULL},
    {"factor-98304-hp1", "panels of a matrix that decays on a cuda device, diagonal blocks in x3", "cusolver", 12.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_98304_HP1, NULL},
    {"factor-98304-hp1-random", "the same of a random matrix", "cusolver", 12.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_98304_HP1_RANDOM, NULL},
    {"factor-100368-hp1-covariance", "the same of a covariance of slopes", "cusolver", 12.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_100368_HP1_COVARIANCE, NULL},
    {"factor-98304-hp1-narrow", "panels on a cuda device, fp16 operands throughout", "cusolver", 12.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_98304_HP1_NARROW, NULL},
    {"factor-98304-x3", "panels on a cuda device, split operands", "cusolver", 3.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_98304_X3, NULL},
    {"factor-49152-hp1", "panels on a cuda device, diagonal blocks in x3", "cusolver", 9.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_49152_HP1, NULL},
    {"factor-49152-hp1-random", "the same of a random matrix", "cusolver", 9.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_49152_HP1_RANDOM, NULL},
    {"factor-49152-sp", "panels on a cuda device in fp32", "cusolver", 1.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_49152_SP, NULL},
    {"rounding-sweep", "rows rounded to e4m3 in the norm of a covariance", "dtrsm", 0.5, bb_bench_rounding, 0, NULL},
    {"rounding-sweep-cuda", "the same with the factor on a cuda device", "fma peak", NAN, BB_CUDA_TWIN(bb_bench_rounding_cuda), 0, NULL},
    {"factor-16384-hp1", "panels on a cuda device, diagonal blocks in x3", "cusolver", 5.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_16384_HP1, NULL},
    {"factor-16384-hp1-random", "the same of a random matrix", "cusolver", 5.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_16384_HP1_RANDOM, NULL},
    {"factor-16384-sp", "panels on a cuda device in fp32", "cusolver", 1.0, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_16384_SP, NULL},
    {"factor-34128-dp", "a covariance of slopes, with its error", "cusolver", NAN, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_34128_DP, NULL},
    {"factor-34128-sp", "the same in fp32", "cusolver", NAN, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_34128_SP, NULL},
    {"factor-34128-tf32", "the same in tf32", "cusolver", NAN, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_34128_TF32, NULL},
    {"factor-34128-x3", "the same with split operands", "cusolver", NAN, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_34128_X3, NULL},
    {"factor-34128-hp1", "the same in fp16 operands, diagonal blocks in x3", "cusolver", NAN, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_34128_HP1, NULL},
    {"factor-34128-hp2", "the same with fp16 blocks", "cusolver", NAN, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_34128_HP2, NULL},
    {"forward-100368-hp1", "factor and forward sweep of 11152 right-hand sides", "1.1 s", NAN, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_100368_FORWARD, NULL},
    {"backward-100368-hp1", "backward sweep of 11152 right-hand sides", "1.1 s", NAN, BB_CUDA_TWIN(bb_panel_bench), BB_BENCH_100368_BACKWARD, NULL},
    {"factor-100368-hp1-two", "panels of a covariance of slopes on two cuda devices", "one GPU", 1.0 / 0.6, BB_CUDA_TWIN(bb_two_gpus_bench), BB_TWO_GPUS_HP1, NULL},
    {"factor-100368-x3-two", "the same with split operands", "one GPU", 1.0 / 0.55, BB_CUDA_TWIN(bb_two_gpus_bench), BB_TWO_GPUS_X3, NULL},
    {"factor-300000-hp1-two", "panels in fp16 of a matrix that decays on two cuda devices", "one GPU", NAN, BB_CUDA_TWIN(bb_two_gpus_bench), BB_TWO_GPUS_300000, NULL},
    {"solve-100368-hp1-two", "the same in fp16 with both sweeps of 11152 right-hand sides", "one GPU", 1.0 / 0.6, BB_CUDA_TWIN(bb_two_gpus_bench), BB_TWO_GPUS_SOLVE, NULL},
    {"factor-100368-sp-cusolvermp", "a covariance of slopes in fp32 on two cuda devices", "cusolvermp", 1.0, BB_CUDA_TWIN(bb_cusolvermp_bench), BB_CUSOLVERMP_SP, NULL},
    {"factor-100368-dp-cusolvermp", "the same in fp64", "cusolvermp", 1.0, BB_CUDA_TWIN(bb_cusolvermp_bench), BB_CUSOLVERMP_DP, NULL},
    {"factor-200000-hp1-swap", "panels on a cuda device with L in the host's memory", "L on the GPU", 0.7, BB_CUDA_TWIN(bb_swap_bench), 0, NULL},
};
// clang-format on
enum { CASES = sizeof cases / sizeof cases[0] };

bb_index bb_bench_cases(const bb_bench_case **out)
{
    *out = cases;
    return CASES;
}

bb_bench_sizes bb_bench_sizes_of(int choice, bool quick)
{
    static const bb_bench_sizes wide = {378, 256000, 512}, quick_wide = {21, 4096, 512};
    static const bb_bench_sizes square = {9728, 9728, 512}, quick_square = {512, 512, 512};
    static const bb_bench_sizes tall = {252000, 384, 128}, quick_tall = {2048, 384, 128};
    static const bb_bench_sizes frame = {4092, 19078, 0}, quick_frame = {96, 1023, 0};
    static const bb_bench_sizes target = {5316, 100368, 0};
    return (choice & BB_BENCH_TARGET) != 0   ? (quick ? quick_frame : target)
           : (choice & BB_BENCH_FRAME) != 0  ? (quick ? quick_frame : frame)
           : (choice & BB_BENCH_TALL) != 0   ? (quick ? quick_tall : tall)
           : (choice & BB_BENCH_SQUARE) != 0 ? (quick ? quick_square : square)
                                             : (quick ? quick_wide : wide);
}

void bb_bench_add(bb_bench_times *times, double seconds)
{
    if (times->count < BB_BENCH_SAMPLES) {
        times->seconds[times->count++] = seconds;
    }
}

double bb_bench_best(const bb_bench_times *times)
{
    double best = INFINITY;
    for (bb_index i = 0; i < times->count; ++i) {
        best = fmin(best, times->seconds[i]);
    }
    return best;
}

double bb_bench_median(const bb_bench_times *times)
{
    double sorted[BB_BENCH_SAMPLES];
    for (bb_index i = 0; i < times->count; ++i) {
        bb_index j = i;
        for (; j > 0 && sorted[j - 1] > times->seconds[i]; --j) {
            sorted[j] = sorted[j - 1];
        }
        sorted[j] = times->seconds[i];
    }
    bb_index half = times->count / 2;
    return times->count == 0       ? NAN
           : times->count % 2 == 1 ? sorted[half]
                                   : 0.5 * (sorted[half - 1] + sorted[half]);
}

bb_status bb_bench_open_cuda(const bb_bench_setup *setup, bb_bench_outcome *out, bb_device **device)
{
    *device = NULL;
    out->best_s = NAN;
    out->median_s = NAN;
    if (setup->cpu_only) {
        (void)snprintf(out->detail, sizeof out->detail, "device cpu was asked for");
        return BB_OK;
    }
    // The reason stands where the sizes would.
    return bb_device_count(BB_DEVICE_CUDA, out->detail, sizeof out->detail) == 0
               ? BB_OK
               : bb_device_open(BB_DEVICE_CUDA, 0, device);
}

bb_status bb_bench_skip(bb_status status, bb_bench_outcome *out)
{
    if (status != BB_MEMORY && status != BB_UNSUPPORTED) {
        return status;
    }
    (void)snprintf(out->detail, sizeof out->detail, "%.*s", (int)sizeof out->detail - 1,
                   bb_status_message());
    bb_status_clear();
    return BB_OK;
}

bb_status bb_bench_take_energy(bb_device_kind device, bb_status (*work)(void *context),
                               void *context, double share, const char *with, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_energy_cost cost;
    BB_TRY(bb_energy_take(device, work, context, &cost));
    out->joules = cost.joules / share;
    out->idle_watts = cost.idle_watts;
    out->energy_repetitions = isnan(cost.joules) ? NAN : share * (double)cost.repetitions;
    (void)snprintf(out->energy_note, sizeof out->energy_note, "%s%s%s",
                   cost.unknown != NULL ? cost.unknown : bb_energy_counter(device),
                   cost.unknown != NULL || with == NULL ? "" : "; with ",
                   cost.unknown != NULL || with == NULL ? "" : with);
done:
    return status;
}

static bb_status find_case(const char *name, const bb_bench_case **out)
{
    bb_status status = BB_OK;
    const char *nearest = NULL;
    bb_index distance = PTRDIFF_MAX;
    for (int i = 0; i < CASES; ++i) {
        if (strcmp(cases[i].name, name) == 0) {
            *out = &cases[i];
            goto done;
        }
        bb_suggestion_consider(name, cases[i].name, &distance, &nearest);
    }
    BB_FAIL(BB_INVALID, "no benchmark '%s'%s%s%s; 'bitbudget-bench --list' lists them", name,
            nearest == NULL ? "" : " (did you mean ", nearest == NULL ? "" : nearest,
            nearest == NULL ? "" : "?)");
done:
    return status;
}

static bb_status measure(const bb_bench_case *self, const bb_bench_setup *setup,
                         bb_bench_outcome *out)
{
    if (bb_team_joined()->size > 1 && (self->choice & BB_BENCH_SHARED) == 0) {
        (void)snprintf(out->detail, sizeof out->detail, "skipped: of one process");
        out->best_s = out->median_s = NAN;
        return BB_OK;
    }
    if (self->measure != NULL) {
        return self->measure(self, setup, out);
    }
    bb_device *device = NULL; // of a kind that this build lacks: skipped, with the reason
    return bb_bench_open_cuda(setup, out, &device);
}

static const char *verdict(const bb_bench_case *self, const bb_bench_outcome *outcome)
{
    return isnan(outcome->best_s)        ? "skipped"
           : isnan(self->bar)            ? "-"
           : isnan(outcome->ratio)       ? "no peer"
           : outcome->ratio >= self->bar ? "met"
                                         : "missed";
}

// A line of words alone.
#define TEXT_LINE "%-26s %10s %10s %16s %9s %22s %5s %-7s %-12s %s\n"

static bb_status add_line(const bb_bench_case *self, const bb_bench_outcome *outcome,
                          bb_text *table)
{
    bb_status status = BB_OK;
    if (isnan(outcome->best_s)) {
        return bb_text_add(table, TEXT_LINE, self->name, "-", "-", "-", "-", "-", "-",
                           verdict(self, outcome), "", outcome->detail);
    }
    bool by_flops = isnan(outcome->bytes);
    double rate = 1e-9 * (by_flops ? outcome->flops : outcome->bytes) / outcome->best_s;
    BB_TRY(bb_text_add(table, "%-26s %10.3f %10.3f %8.1f %-7s %9.3f", self->name,
                       1e3 * outcome->median_s, 1e3 * outcome->best_s, rate,
                       by_flops ? "GFLOP/s" : "GB/s",
                       1e-9 * (by_flops ? outcome->flops : outcome->bytes)));
    BB_TRY(bb_text_add(table, " %7.2f of %-11s", outcome->ratio, self->against));
    BB_TRY(isnan(self->bar) ? bb_text_add(table, " %5s", "-")
                            : bb_text_add(table, " %5.2f", self->bar));
    BB_TRY(bb_text_add(table, " %-7s %-12s %s", verdict(self, outcome), outcome->binds,
                       outcome->detail));
    if (bb_energy_is_wanted()) {
        BB_TRY(isnan(outcome->joules) ? bb_text_add(table, "; no joules: %s", outcome->energy_note)
                                      : bb_text_add(table, "; %.4g J, idle %.1f W", outcome->joules,
                                                    outcome->idle_watts));
    }
    BB_TRY(bb_text_add(table, "\n"));
done:
    return status;
}

// A benchmark and what it found.
typedef struct bench_row {
    bb_bench_case self;
    bb_bench_outcome outcome;
    const char *detail, *verdict, *energy_note, *library, *device;
    double bytes_per_s, flops_per_s;
} bench_row;

static const bb_output rows[] = {
    {"benchmark", "benchmark", NULL, "benchmark", .note = "those asked for",
     BB_MEMBER(bench_row, self.name)},
    {"what", "benchmark", NULL, "what is measured", BB_MEMBER(bench_row, self.what)},
    {"against", "benchmark", NULL, "what the ratio is to", BB_MEMBER(bench_row, self.against)},
    {"binds", "benchmark", NULL, "what limits it", BB_MEMBER(bench_row, outcome.binds)},
    {"detail", "benchmark", NULL, "sizes and choices", .note = "or why it was skipped",
     BB_MEMBER(bench_row, detail)},
    {"verdict", "benchmark", NULL, "met, missed or skipped", BB_MEMBER(bench_row, verdict)},
    {"best_s", "benchmark", "s", "shortest time of one repetition",
     BB_MEMBER(bench_row, outcome.best_s), .measured = true},
    {"median_s", "benchmark", "s", "median time of one repetition",
     BB_MEMBER(bench_row, outcome.median_s), .measured = true},
    {"floor_bytes", "benchmark", "byte", "bytes that one repetition cannot do without",
     BB_MEMBER(bench_row, outcome.bytes)},
    {"floor_flops", "benchmark", "1", "operations of one repetition",
     BB_MEMBER(bench_row, outcome.flops)},
    {"bytes_per_s", "benchmark", "byte s-1", "floor_bytes over best_s",
     BB_MEMBER(bench_row, bytes_per_s), .measured = true},
    {"flops_per_s", "benchmark", "s-1", "floor_flops over best_s",
     BB_MEMBER(bench_row, flops_per_s), .measured = true},
    {"peer_rate", "benchmark", "1e9 s-1",
     "best rate of the ceiling or peer: bytes for gemv and thermal-step, else operations",
     BB_MEMBER(bench_row, outcome.peer), .measured = true},
    {"roof_bytes_per_s", "benchmark", "byte s-1", "of a roofline: rate of reading as many bytes",
     BB_MEMBER(bench_row, outcome.roof_bytes), .measured = true},
    {"roof_flops_per_s", "benchmark", "s-1", "of a roofline: peak of the program's arithmetic",
     .note = "of separate products and sums in fp32; NaN on cuda",
     BB_MEMBER(bench_row, outcome.roof_flops), .measured = true},
    {"ratio", "benchmark", "1", "to the ceiling or peer named in `against`",
     BB_MEMBER(bench_row, outcome.ratio), .measured = true},
    {"bar", "benchmark", "1", "least ratio that was asked for", BB_MEMBER(bench_row, self.bar)},
    {"kernel_share", "benchmark", "1", "of a kernel: `ratio`, its share of what bounds it",
     .note = "NaN of other benchmarks", BB_MEMBER(bench_row, outcome.kernel_share),
     .measured = true},
    {"device", "benchmark", NULL, "of a kernel: the device that ran it, and its driver",
     .note = "empty of other benchmarks", BB_MEMBER(bench_row, device)},
    {"library", "benchmark", NULL, "of a kernel: the fastest call of a library that does the same",
     .note = "empty where there is none", BB_MEMBER(bench_row, library)},
    {"library_s", "benchmark", "s", "shortest time of that call, in the rounds of the kernel",
     BB_MEMBER(bench_row, outcome.library_s), .measured = true},
    {"library_ratio", "benchmark", "1", "library_s over best_s: beyond 1 the kernel is faster",
     BB_MEMBER(bench_row, outcome.library_ratio), .measured = true},
    {"energy_j", "benchmark", "J", "energy of one repetition, gross",
     .note =
         "with `--energy`: all that the device draws meanwhile, the mean of as many repetitions "
         "as its counter needs",
     BB_MEMBER(bench_row, outcome.joules), .measured = true},
    {"idle_power_w", "benchmark", "W",
     "power that the device drew idle, before its first joules were counted",
     .note = "NaN where no counter was read", BB_MEMBER(bench_row, outcome.idle_watts),
     .measured = true},
    {"energy_repetitions", "benchmark", "1", "repetitions that energy_j is the mean of",
     .note = "NaN where energy_j is", BB_MEMBER(bench_row, outcome.energy_repetitions),
     .measured = true},
    {"energy_note", "benchmark", NULL, "counter of energy_j, or why it is NaN",
     .note = "and what it holds beside the repetition", BB_MEMBER(bench_row, energy_note)},
};
const bb_output_table bb_bench_outputs = {"/results, bench", NULL, "results", "benchmark",
                                          BB_OUTPUT_ROWS(rows)};

static bb_status measure_row(const bb_bench_setup *setup, bench_row *row)
{
    bb_status status = BB_OK;
    bb_bench_outcome *outcome = &row->outcome;
    *outcome = (bb_bench_outcome){.bytes = NAN,
                                  .flops = NAN,
                                  .peer = NAN,
                                  .ratio = NAN,
                                  .roof_bytes = NAN,
                                  .roof_flops = NAN,
                                  .binds = "",
                                  .joules = NAN,
                                  .idle_watts = NAN,
                                  .energy_repetitions = NAN,
                                  .kernel_share = NAN,
                                  .library_s = NAN,
                                  .library_ratio = NAN};
    (void)snprintf(outcome->energy_note, sizeof outcome->energy_note, "%s",
                   bb_energy_is_wanted() ? "not a piece of work that can be repeated by itself"
                                         : "not asked for: --energy");
    BB_TRY(measure(&row->self, setup, outcome));
    if (isnan(outcome->best_s)) {
        (void)snprintf(outcome->energy_note, sizeof outcome->energy_note, "skipped");
    }
    row->self.bar = outcome->bar > 0.0 ? outcome->bar : row->self.bar;
    if (outcome->against != NULL) {
        row->self.against = outcome->against;
    }
    row->energy_note = outcome->energy_note;
    row->detail = outcome->detail;
    row->library = outcome->library;
    row->device = outcome->device;
    row->verdict = verdict(&row->self, outcome);
    row->bytes_per_s = outcome->bytes / outcome->best_s;
    row->flops_per_s = outcome->flops / outcome->best_s;
done:
    return status;
}

bb_status bb_bench_run(const bb_bench_setup *setup, char *const *names, bb_index count,
                       bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_index row_count = count == 0 ? CASES : count;
    bench_row *found = NULL; // [row_count]
    BB_REQUIRE(count <= CASES, BB_INVALID, "%td benchmarks named, there are %d", count, CASES);
    BB_TRY(BB_ZEROED(row_count, &found));
    for (bb_index i = 0; i < row_count; ++i) {
        const bb_bench_case *self = &cases[i];
        if (count > 0) {
            BB_TRY(find_case(names[i], &self));
        }
        found[i].self = *self;
    }
    BB_TRY(bb_text_add(table, TEXT_LINE, "benchmark", "median ms", "best ms", "rate of best",
                       "floor 1e9", "ratio", "bar", "", "binds", "detail"));
    for (bb_index i = 0; i < row_count; ++i) {
        bb_log_progress("bench", i, row_count);
        BB_TRY(measure_row(setup, &found[i]));
        BB_TRY(add_line(&found[i].self, &found[i].outcome, table));
    }
    bb_log_progress("bench", row_count, row_count);
    BB_TRY(bb_output_table_publish_records(&bb_bench_outputs, found, sizeof *found, row_count, NULL,
                                           results));
done:
    BB_RELEASE(&found);
    return status;
}
