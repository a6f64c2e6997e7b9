// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "bench/gemv/gemv_bench.h"
#include "bench/gemv/gemv_peer.h"
#include "bench/panels/panel_bench.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/suggestion.h"
#include "core/team.h"
#include "precision/variant.h"
#include "sim/pipelines/energy.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// clang-format off
#define GEMV_CUDA(name_, what_, bar_, choice_, storage_) \
    {name_, what_, "fp32 read", bar_, BB_CUDA_TWIN(bb_bench_gemv_cuda), .device = BB_DEVICE_CUDA, .choice = (choice_), .storage = (storage_)}
#define PEER(name_, what_, kind_) \
    GEMV_CUDA(name_, "peer of gemv-cuda: " what_, NAN, BB_GEMV_PEER * (kind_), NULL)
#define ENCODE(name_, what_, storage_) \
    {name_, what_, "host encoder", NAN, BB_CUDA_TWIN(bb_bench_encode_cuda), .device = BB_DEVICE_CUDA, .choice = BB_GEMV_WIDE, .storage = (storage_)}
#define PANELS(name_, what_, against_, bar_, choice_, matrix_, n_) \
    {name_, what_, against_, bar_, BB_CUDA_TWIN(bb_panel_bench), .device = BB_DEVICE_CUDA, .choice = (choice_), .storage = (matrix_), .n = (n_)}
#define KERNEL(name_, what_, bar_) \
    {"kernel-" name_ "-sp-cuda", what_ ", printed in CUDA, SP", "", bar_, bb_bench_kernel, .device = BB_DEVICE_CUDA}

static const bb_bench_case cases[] = {
    {"gemv-fp32", "y = C x of 378 x 256000, stored in fp32", "read", 0.8, bb_bench_gemv, .choice = BB_GEMV_WIDE, .storage = "fp32"},
    {"gemv-fp16", "the same stored in fp16", "gemv-fp32", 1.7, bb_bench_gemv, .choice = BB_GEMV_WIDE, .storage = "fp16"},
    {"gemv-e4m3", "the same stored in e4m3", "gemv-fp32", 2.5, bb_bench_gemv, .choice = BB_GEMV_WIDE, .storage = "e4m3"},
    {"gemv-bfp8", "the same in 8-bit block floating point", "gemv-fp32", 2.5, bb_bench_gemv, .choice = BB_GEMV_WIDE, .storage = "bfp bits=8"},
    {"gemv-quantiser", "the same with the block-width quantiser, about 4 bits", "gemv-fp32", NAN, bb_bench_gemv, .choice = BB_GEMV_WIDE, .storage = "quantiser tolerance=6e-13"},
    {"gemv-zfp", "the same in zfp 2-D, 8 bits per value", "gemv-fp32", NAN, bb_bench_gemv, .choice = BB_GEMV_WIDE, .storage = "zfp mode=rate bits=8 dimensions=2"},
    {"gemv-frame-int8", "y = C x of 4092 commands from 19078 slopes, 8-bit integers, sums in fp32", "fp32 storage", NAN, bb_bench_gemv, .choice = BB_GEMV_FRAME | BB_GEMV_FP32_SUMS, .storage = "integer bits=8"},
    {"gemv-blas-s", "peer of gemv-fp32: sgemv of the BLAS", "read", NAN, bb_bench_gemv, .choice = BB_GEMV_WIDE},
    {"gemv-low-rank", "y = C x of a slit, low-rank tiles", "read", NAN, bb_bench_factors, .storage = "low_rank tolerance=1e-12"},
    {"gemv-transform", "y = C x of a slit, transformed blocks", "read", NAN, bb_bench_factors, .storage = "transform tolerance=1e-12"},
    {"gemv-cuda-low-rank", "gemv-low-rank on a cuda device, cold, alone", "10 us", 1.0, BB_CUDA_TWIN(bb_bench_factors_cuda), .device = BB_DEVICE_CUDA, .storage = "low_rank tolerance=1e-12"},
    {"gemv-cuda-transform", "gemv-transform on a cuda device, cold, alone", "10 us", 1.0, BB_CUDA_TWIN(bb_bench_factors_cuda), .device = BB_DEVICE_CUDA, .storage = "transform tolerance=1e-12"},
    GEMV_CUDA("gemv-cuda-fp64", "y = C x of 378 x 256000 on a cuda device, stored and multiplied in fp64", NAN, BB_GEMV_WIDE, "fp64"),
    GEMV_CUDA("gemv-cuda-fp32", "the same stored in fp32, runs of 32 products", 0.92, BB_GEMV_WIDE, "fp32"),
    GEMV_CUDA("gemv-cuda-fp32-each", "the same stored in fp32, every product separately in fp64", 0.92, BB_GEMV_WIDE | BB_GEMV_EACH, "fp32"),
    GEMV_CUDA("gemv-cuda-tf32", "the same stored in tf32", NAN, BB_GEMV_WIDE, "tf32"),
    GEMV_CUDA("gemv-cuda-bf16", "the same stored in bf16", NAN, BB_GEMV_WIDE, "bf16"),
    GEMV_CUDA("gemv-cuda-fp16", "the same stored in fp16", NAN, BB_GEMV_WIDE, "fp16"),
    GEMV_CUDA("gemv-cuda-e4m3", "the same stored in e4m3", 3.4, BB_GEMV_WIDE, "e4m3"),
    GEMV_CUDA("gemv-cuda-e5m2", "the same stored in e5m2", 3.4, BB_GEMV_WIDE, "e5m2"),
    GEMV_CUDA("gemv-cuda-bfp4", "the same in 4-bit block floating point", 6.0, BB_GEMV_WIDE, "bfp bits=4"),
    GEMV_CUDA("gemv-cuda-bfp6", "the same with 6 bits", NAN, BB_GEMV_WIDE, "bfp bits=6"),
    GEMV_CUDA("gemv-cuda-bfp8", "the same with 8 bits", 3.3, BB_GEMV_WIDE, "bfp bits=8"),
    GEMV_CUDA("gemv-cuda-bfp12", "the same with 12 bits", NAN, BB_GEMV_WIDE, "bfp bits=12"),
    GEMV_CUDA("gemv-cuda-bfp16", "the same with 16 bits", NAN, BB_GEMV_WIDE, "bfp bits=16"),
    GEMV_CUDA("gemv-cuda-quantiser", "the same with the block-width quantiser, about 4 bits", 6.0, BB_GEMV_WIDE, "quantiser tolerance=6e-13"),
    GEMV_CUDA("gemv-cuda-fp32-axes", "three of gemv-cuda-fp32 in one launch, time of one", 0.92, BB_GEMV_WIDE | BB_GEMV_AXES, "fp32"),
    GEMV_CUDA("gemv-cuda-e4m3-axes", "three of gemv-cuda-e4m3 in one launch, time of one", 3.4, BB_GEMV_WIDE | BB_GEMV_AXES, "e4m3"),
    GEMV_CUDA("gemv-cuda-bfp8-axes", "three of gemv-cuda-bfp8 in one launch, time of one", 3.3, BB_GEMV_WIDE | BB_GEMV_AXES, "bfp bits=8"),
    GEMV_CUDA("gemv-cuda-bfp4-axes", "three of gemv-cuda-bfp4 in one launch, time of one", 6.0, BB_GEMV_WIDE | BB_GEMV_AXES, "bfp bits=4"),
    GEMV_CUDA("gemv-cuda-fp32-square", "gemv-cuda-fp32 of 9728 x 9728", NAN, BB_GEMV_SQUARE, "fp32"),
    GEMV_CUDA("gemv-cuda-fp32-tall", "gemv-cuda-fp32 of 252000 x 384", NAN, BB_GEMV_TALL, "fp32"),
    GEMV_CUDA("gemv-cuda-frame-fp16", "y = C x of 4092 commands from 19078 slopes on a cuda device, stored in fp16", 1.8, BB_GEMV_FRAME, "fp16"),
    GEMV_CUDA("gemv-cuda-frame-int8", "the same, 8-bit integers", 3.2, BB_GEMV_FRAME, "integer bits=8"),
    GEMV_CUDA("gemv-cuda-frame-quantiser", "the same with the block-width quantiser, about 4.5 bits", 4.6, BB_GEMV_FRAME, "quantiser tolerance=0.036"),
    GEMV_CUDA("gemv-cuda-target-fp16", "y = C x of 5316 commands from 100368 slopes on a cuda device, stored in fp16", 1.8, BB_GEMV_TARGET, "fp16"),
    GEMV_CUDA("gemv-cuda-target-quantiser", "the same with the block-width quantiser, about 4.5 bits", 4.6, BB_GEMV_TARGET, "quantiser tolerance=0.036"),
    PEER("gemv-figure9", "the kernel of Bamakhrama et al., Figure 9", BB_GEMV_FIGURE9),
    PEER("gemv-cublas-s", "cublasSgemv", BB_GEMV_CUBLAS_S),
    PEER("gemv-cublas-d", "cublasDgemv", BB_GEMV_CUBLAS_D),
    PEER("gemv-cublas-h", "cublasHSSgemvStridedBatched, fp16", BB_GEMV_CUBLAS_H),
    PEER("gemv-split-batched", "cublasGemmStridedBatchedEx over runs of columns", BB_GEMV_SPLIT_BATCHED),
    {"roofline-thermal", "T <- A T against the roof of its operations per byte", "roof", NAN, bb_bench_roofline, .choice = BB_BENCH_STEP_THERMAL},
    {"roofline-restriction", "S = W T, wafer to grid, the same", "roof", NAN, bb_bench_roofline, .choice = BB_BENCH_STEP_RESTRICTION},
    {"roofline-deformation", "y = C S, gemv-fp32, the same", "roof", NAN, bb_bench_roofline, .choice = BB_BENCH_STEP_DEFORMATION},
    {"roofline-cuda-thermal", "T <- A T on a cuda device against the slope of its operations per byte", "slope", NAN, BB_CUDA_TWIN(bb_bench_roofline_cuda), .device = BB_DEVICE_CUDA, .choice = BB_BENCH_STEP_THERMAL},
    {"roofline-cuda-restriction", "S = W T, wafer to grid, the same", "slope", NAN, BB_CUDA_TWIN(bb_bench_roofline_cuda), .device = BB_DEVICE_CUDA, .choice = BB_BENCH_STEP_RESTRICTION},
    {"roofline-cuda-deformation", "y = C S, gemv-cuda-fp32, the same", "slope", NAN, BB_CUDA_TWIN(bb_bench_roofline_cuda), .device = BB_DEVICE_CUDA, .choice = BB_BENCH_STEP_DEFORMATION},
    KERNEL("add", "C = A + B", 0.9),
    KERNEL("laplace5", "5-point Laplacian", 0.9),
    KERNEL("laplace9", "9-point Laplacian", 0.9),
    KERNEL("l2norm", "Euclidean norm", 0.95),
    KERNEL("gemv", "c = A b", 0.9),
    KERNEL("gemm", "C = A B", 0.45),
    KERNEL("spmv", "y = A x, 32 entries per row in a band", 0.75),
    KERNEL("spmv5", "y = A x, 5-point stencil on a grid of 2048 x 2048", 0.75),
    {"unwrap-1024-sp-cpu", "1024 x 1024 phase unwrapped with rejection and least squares, printed in C, SP", "DCT", 1.0, bb_bench_unwrap, .device = BB_DEVICE_CPU},
    {"unwrap-1024-sp-cuda", "the same printed in CUDA", "DCT", NAN, bb_bench_unwrap, .device = BB_DEVICE_CUDA},
    {"unwrap-1024-full-sp-cpu", "the same in C, reweighted to least absolute residuals", "C loops", NAN, bb_bench_unwrap, .device = BB_DEVICE_CPU, .storage = "full"},
    {"unwrap-1024-full-sp-cuda", "the same in CUDA", "C loops", NAN, bb_bench_unwrap, .device = BB_DEVICE_CUDA, .storage = "full"},
    {"zfp-decode", "variable-rate stream in 2-D, published tolerance", "libzfp", NAN, bb_bench_zfp, .device = BB_DEVICE_CPU},
    {"zfp-decode-cuda", "the same on a cuda device, 387 MB", "300 GB/s", 1.0, bb_bench_zfp, .device = BB_DEVICE_CUDA},
    {"thermal-step", "T <- A T of wafer and clamp, mesh 0.5 mm", "triad", 0.6, bb_bench_heat, .choice = 0},
    {"heat-step-cuda", "T <- A T of the same as a captured graph on a cuda device", "15 us", 1.0, BB_CUDA_TWIN(bb_bench_heat_cuda), .device = BB_DEVICE_CUDA, .choice = 0},
    {"rows-fem-cuda", "response rows of 2163 points by finite elements on a cuda device", "CHOLMOD", NAN, BB_CUDA_TWIN(bb_bench_rows_cuda), .device = BB_DEVICE_CUDA},
    ENCODE("encode-fp16-cuda", "378 x 256000 in fp64 encoded in fp16 on a cuda device, rows scaled", "fp16"),
    ENCODE("encode-bfp8-cuda", "the same in 8-bit block floating point", "bfp bits=8"),
    ENCODE("encode-transform-cuda", "the same in transformed blocks", "transform tolerance=1e-12"),
    {"loop-slow-field-e4m3", "heat, products and outputs of a slow field, three axes, step by step", "12 ms", 1.0, BB_CUDA_TWIN(bb_bench_loop), .device = BB_DEVICE_CUDA, .storage = "e4m3"},
    {"loop-slow-field-low-rank", "the same, low-rank tiles", "12 ms", 1.0, BB_CUDA_TWIN(bb_bench_loop), .device = BB_DEVICE_CUDA, .storage = "low_rank tolerance_of_range=2.9e-5"},
    {"cholesky-sp", "tile Cholesky in fp32", "potrf", 1.0, bb_bench_cholesky, .choice = BB_VARIANT_SP, .n = 8192},
    {"cholesky-hp1", "tile Cholesky, fp16 operands", "cholesky-sp", 1.0 / 3.0, bb_bench_cholesky, .choice = BB_VARIANT_HP1, .n = 8192},
    {"cholesky-hp2", "tile Cholesky, fp16 operands and tiles", "cholesky-sp", 1.0 / 3.0, bb_bench_cholesky, .choice = BB_VARIANT_HP2, .n = 8192},
    {"cholesky-processes-sp", "tile Cholesky in fp32 with StarPU, over processes", "own or pspotrf", 1.0 / 1.15, bb_bench_processes, .choice = BB_VARIANT_SP, .n = 8192, .is_shared = true},
    {"rounding-sweep", "rows rounded to e4m3 in the norm of a covariance", "dtrsm", 0.5, bb_bench_rounding, .n = 4096},
    {"assembly", "slope covariances without reuse, 60 s for 1e8 x 10", "60 s", 1.0, bb_bench_assembly, .choice = 0},
    {"assembly-cuda", "slope covariances of 9 sensors on a cuda device", "0.7 s", 1.0, BB_CUDA_TWIN(bb_bench_assembly_cuda), .device = BB_DEVICE_CUDA, .choice = 0},
    PANELS("factor-16384-hp1", "panels on a cuda device, diagonal blocks in x3", "cusolver", 5.0, BB_VARIANT_HP1, "decay", 16384),
    PANELS("factor-16384-sp", "panels on a cuda device in fp32", "cusolver", 1.0, BB_VARIANT_SP, "decay", 16384),
    PANELS("factor-98304-x3", "panels on a cuda device, split operands", "cusolver", 3.0, BB_VARIANT_X3, "decay", 98304),
    PANELS("factor-100368-hp1-two", "panels of a covariance of slopes on two cuda devices", "one GPU", 1.0 / 0.6, BB_VARIANT_HP1 | BB_PANEL_TWO, "covariance", 100368),
    PANELS("factor-100368-x3-two", "the same with split operands", "one GPU", 1.0 / 0.55, BB_VARIANT_X3 | BB_PANEL_TWO, "covariance", 100368),
    PANELS("solve-100368-hp1-two", "the same in fp16 with both sweeps of 11152 right-hand sides", "one GPU", 1.0 / 0.6, BB_VARIANT_HP1 | BB_PANEL_TWO | BB_PANEL_SOLVE, "covariance", 100368),
    PANELS("factor-200000-hp1-swap", "panels on a cuda device with L in host memory", "L on the GPU", 0.7, BB_VARIANT_HP1 | BB_PANEL_SWAP, "random", 200000),
    PANELS("factor-100368-sp-cusolvermp", "a covariance of slopes in fp32 on two cuda devices", "cusolvermp", 1.0, BB_VARIANT_SP | BB_PANEL_CUSOLVERMP, "covariance", 100368),
    PANELS("factor-100368-dp-cusolvermp", "the same in fp64", "cusolvermp", 1.0, BB_VARIANT_DP | BB_PANEL_CUSOLVERMP, "covariance", 100368),
};
// clang-format on
enum { CASES = sizeof cases / sizeof cases[0] };

bb_index bb_bench_cases(const bb_bench_case **out)
{
    *out = cases;
    return CASES;
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

bb_status bb_bench_measure_energy(bb_device_kind device, bb_status (*work)(void *context),
                                  void *context, double share, const char *with,
                                  bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_energy_cost cost;
    BB_TRY(bb_energy_measure_cost(device, work, context, &cost));
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

bb_status bb_bench_find(const char *name, bb_bench_case *out)
{
    bb_status status = BB_OK;
    bb_suggestion near = {.word = name};
    for (int i = 0; i < CASES; ++i) {
        if (strcmp(cases[i].name, name) == 0) {
            *out = cases[i];
            goto done;
        }
        bb_suggestion_add(&near, cases[i].name);
    }
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        const char *dash = strrchr(name, '-');
        if (strncmp(name, "kernel-", 7) == 0 && strcmp(dash + 1, bb_device_names[kind]) == 0) {
            *out = (bb_bench_case){.name = name,
                                   .what = "a kernel of the language on its benchmark data",
                                   .bar = NAN,
                                   .measure = bb_bench_kernel,
                                   .device = (bb_device_kind)kind};
            goto done;
        }
    }
    BB_FAIL(BB_INVALID, "unknown benchmark '%s'%s; 'bitbudget-bench --list' lists them", name,
            bb_suggestion_text(&near));
done:
    return status;
}

bb_status bb_bench_describe(const bb_bench_setup *setup, bool *is_cuda, bb_device_report *out)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    *is_cuda = !setup->cpu_only && bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0;
    BB_TRY(bb_device_open(*is_cuda ? BB_DEVICE_CUDA : BB_DEVICE_CPU, 0, &device));
    BB_TRY(bb_device_describe(device, out));
done:
    bb_device_close(&device);
    return status;
}

bb_status bb_bench_measure_case(const bb_bench_case *self, const bb_bench_setup *setup,
                                bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_bench_setup own = *setup;
    bb_device_report report;
    out->best_s = out->median_s = NAN;
    own.device = NULL;
    if (bb_team_joined()->size > 1 && !self->is_shared) {
        (void)snprintf(out->detail, sizeof out->detail, "skipped: needs a single process");
        goto done;
    }
    if (setup->cpu_only && self->device != BB_DEVICE_CPU) {
        (void)snprintf(out->detail, sizeof out->detail, "skipped by --device cpu");
        goto done;
    }
    if (bb_device_count(self->device, out->detail, sizeof out->detail) == 0) {
        goto done; // the reason replaces the sizes
    }
    BB_TRY(bb_device_open(self->device, 0, &own.device));
    BB_TRY(bb_device_describe(own.device, &report));
    (void)snprintf(out->device, sizeof out->device, "%.60s%s%.64s", report.name,
                   report.driver[0] == '\0' ? "" : ", ", report.driver);
    status = self->measure(self, &own, out);
    if (status == BB_MEMORY || status == BB_UNSUPPORTED ||
        (status == BB_INVALID && setup->rows > 0)) { // the codec does not support this size
        (void)snprintf(out->detail, sizeof out->detail, "%.*s", (int)sizeof out->detail - 1,
                       bb_status_message());
        bb_status_clear();
        out->best_s = out->median_s = NAN;
        status = BB_OK;
    }
done:
    bb_device_close(&own.device);
    return status;
}

static const char *verdict(const bb_bench_case *self, const bb_bench_outcome *outcome)
{
    return isnan(outcome->best_s)        ? "skipped"
           : isnan(self->bar)            ? "-"
           : isnan(outcome->ratio)       ? "no peer"
           : outcome->ratio >= self->bar ? "met"
                                         : "missed";
}

// Format of a table line of texts.
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
    if (bb_energy_is_enabled()) {
        BB_TRY(isnan(outcome->joules) ? bb_text_add(table, "; no joules: %s", outcome->energy_note)
                                      : bb_text_add(table, "; %.4g J, idle %.1f W", outcome->joules,
                                                    outcome->idle_watts));
    }
    BB_TRY(bb_text_add(table, "\n"));
done:
    return status;
}

// Benchmark and its result.
typedef struct bench_row {
    bb_bench_case self;
    bb_bench_outcome outcome;
    const char *detail, *verdict, *energy_note, *device;
    char sized[64]; // name with the size of --n
    double bytes_per_s, flops_per_s;
} bench_row;

static const bb_output rows[] = {
    {"benchmark", "benchmark", NULL, "benchmark", .note = "the selected ones",
     BB_MEMBER(bench_row, self.name)},
    {"what", "benchmark", NULL, "measured operation", BB_MEMBER(bench_row, self.what)},
    {"against", "benchmark", NULL, "reference of the ratio", BB_MEMBER(bench_row, self.against)},
    {"binds", "benchmark", NULL, "limiting resource", BB_MEMBER(bench_row, outcome.binds)},
    {"detail", "benchmark", NULL, "sizes and options", .note = "or the reason why it was skipped",
     BB_MEMBER(bench_row, detail)},
    {"verdict", "benchmark", NULL, "met, missed or skipped", BB_MEMBER(bench_row, verdict)},
    {"best_s", "benchmark", "s", "shortest time of one repetition",
     BB_MEMBER(bench_row, outcome.best_s), .measured = true},
    {"median_s", "benchmark", "s", "median time of one repetition",
     BB_MEMBER(bench_row, outcome.median_s), .measured = true},
    {"floor_bytes", "benchmark", "byte", "minimum memory traffic of one repetition",
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
    {"roof_bytes_per_s", "benchmark", "byte s-1", "for a roofline: rate of reading as many bytes",
     BB_MEMBER(bench_row, outcome.roof_bytes), .measured = true},
    {"roof_flops_per_s", "benchmark", "s-1", "for a roofline: peak of the program's arithmetic",
     .note = "of separate products and sums in fp32; NaN on cuda",
     BB_MEMBER(bench_row, outcome.roof_flops), .measured = true},
    {"ratio", "benchmark", "1", "relative to the ceiling or peer named in `against`",
     BB_MEMBER(bench_row, outcome.ratio), .measured = true},
    {"bar", "benchmark", "1", "required ratio", BB_MEMBER(bench_row, self.bar)},
    {"kernel_share", "benchmark", "1", "for a kernel: `ratio`, the fraction of its bound",
     .note = "NaN for other benchmarks", BB_MEMBER(bench_row, outcome.kernel_share),
     .measured = true},
    {"device", "benchmark", NULL, "device and driver", .note = "empty if skipped",
     BB_MEMBER(bench_row, device)},
    {"energy_j", "benchmark", "J", "energy of one repetition, gross",
     .note = "with `--energy`: total energy of the device in this time, mean over as many "
             "repetitions as its counter needs",
     BB_MEMBER(bench_row, outcome.joules), .measured = true},
    {"idle_power_w", "benchmark", "W",
     "idle power of the device, before the first energy measurement",
     .note = "NaN without a counter", BB_MEMBER(bench_row, outcome.idle_watts), .measured = true},
    {"energy_repetitions", "benchmark", "1", "number of repetitions averaged in energy_j",
     .note = "NaN if energy_j is NaN", BB_MEMBER(bench_row, outcome.energy_repetitions),
     .measured = true},
    {"energy_note", "benchmark", NULL, "counter of energy_j, or the reason why it is NaN",
     .note = "and what it includes besides the repetition", BB_MEMBER(bench_row, energy_note)},
};
const bb_output_table bb_bench_outputs = {"/results, bench", NULL, "results", "benchmark",
                                          BB_OUTPUT_ROWS(rows)};

// With other sizes than the row's, a benchmark has no bar; its name includes the size of --n.
static void resize(const bb_bench_setup *setup, bench_row *row)
{
    const char *name = row->self.name;
    const size_t digits = strcspn(name, "0123456789");
    const size_t count = strspn(name + digits, "0123456789");
    if (setup->quick || (setup->rows == 0 && (setup->n == 0 || row->self.n == 0))) {
        return;
    }
    row->self.bar = NAN;
    if (setup->n > 0 && row->self.n > 0 && count > 3) {
        (void)snprintf(row->sized, sizeof row->sized, "%.*s%td%s", (int)digits, name, setup->n,
                       name + digits + count);
        row->self.name = row->sized;
    }
}

// Checks before any measurement that the row accepts the given sizes, set and file.
static bb_status check_row(const bb_bench_setup *setup, const bb_bench_case *self)
{
    bb_status status = BB_OK;
    const bool is_kernel = self->measure == bb_bench_kernel;
    const bool is_panel = self->n > 0 && self->storage != NULL && self->device == BB_DEVICE_CUDA;
    const bool is_product = strncmp(self->name, "gemv-", 5) == 0 &&
                            strstr(self->name, "low-rank") == NULL &&
                            strstr(self->name, "transform") == NULL;
    BB_REQUIRE(setup->n == 0 || self->n > 0, BB_INVALID, "benchmark %s: remove --n", self->name);
    BB_REQUIRE(setup->rows == 0 || is_product, BB_INVALID, "benchmark %s: remove --size",
               self->name);
    BB_REQUIRE(setup->set == NULL || is_kernel || is_panel, BB_INVALID,
               "benchmark %s: remove --set", self->name);
    BB_REQUIRE(setup->file == NULL || is_kernel, BB_INVALID, "benchmark %s: remove --file",
               self->name);
    BB_TRY(is_kernel ? bb_bench_kernel_check(self->name, setup) : BB_OK);
done:
    return status;
}

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
                                  .kernel_share = NAN};
    (void)snprintf(outcome->energy_note, sizeof outcome->energy_note, "%s",
                   bb_energy_is_enabled() ? "the work cannot be repeated separately"
                                          : "not measured: --energy is off");
    BB_TRY(bb_bench_measure_case(&row->self, setup, outcome));
    if (isnan(outcome->best_s)) {
        (void)snprintf(outcome->energy_note, sizeof outcome->energy_note, "skipped");
    }
    row->self.bar = outcome->bar > 0.0 ? outcome->bar : row->self.bar;
    resize(setup, row);
    if (outcome->against != NULL) {
        row->self.against = outcome->against;
    }
    row->energy_note = outcome->energy_note;
    row->detail = outcome->detail;
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
    BB_TRY(BB_ZEROED(row_count, &found));
    for (bb_index i = 0; i < row_count; ++i) {
        BB_TRY(bb_bench_find(count > 0 ? names[i] : cases[i].name, &found[i].self));
        BB_TRY(check_row(setup, &found[i].self));
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
