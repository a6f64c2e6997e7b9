// SPDX-License-Identifier: Apache-2.0
//
// Benchmarks: what the hot loops reach against a ceiling or a peer that is measured in the same
// rounds, so that another load on the machine weighs on both. A benchmark is a row of the table in
// bench.c and a function that measures it; floors (bytes moved, operations) are counted, not
// measured. Bars are reported, never asserted.
#ifndef BB_BENCH_BENCH_H
#define BB_BENCH_BENCH_H

#include "core/device/device.h"
#include "core/text.h"
#include "precision/codec.h"
#include "sim/output/output_table.h"

enum { BB_BENCH_SAMPLES = 64 };

/// Times of one thing over the rounds, s.
typedef struct bb_bench_times {
    double seconds[BB_BENCH_SAMPLES];
    bb_index count;
} bb_bench_times;

void bb_bench_add(bb_bench_times *times, double seconds);
double bb_bench_best(const bb_bench_times *times);
double bb_bench_median(const bb_bench_times *times);

/// What every benchmark of a run shares.
typedef struct bb_bench_setup {
    bool quick; ///< sizes of a test: the figures mean nothing
    bb_index threads;
    bb_device *device;  ///< of the row's kind, while it is measured
    bool cpu_only;      ///< benchmarks of a cuda device are skipped, also where there is one
    const char *wisdom; ///< which variants kernels take (sim/kernels/wisdom.h); NULL: the user's
    bool may_reorder;   ///< variants with other orders of sums too
    const char *set;    ///< of benchmark data, or a factorization's matrix; NULL: the row's
    const char *file;   ///< of a kernel's text, NULL: the shipped one
    bb_index n;         ///< rows of a factorization; 0: the row's
    bb_index rows, columns; ///< of products; 0: the row's
} bb_bench_setup;

/// What one benchmark found. NaN: does not apply; a best time of NaN: skipped, for the reason in
/// `detail`; a ratio of NaN: nothing to hold it against.
typedef struct bb_bench_outcome {
    double best_s, median_s;
    double bytes;                  ///< floor of one repetition
    double flops;                  ///< floor of one repetition
    double peer;                   ///< best rate of the ceiling or peer, in GB/s or GFLOP/s
    double ratio;                  ///< what the bar is on
    double roof_bytes, roof_flops; ///< of a roofline: read rate and peak, 1/s; else NaN
    const char *against;           ///< what `ratio` is to; NULL: what the case names
    double bar;                    ///< of this peer; 0: what the case names
    const char *binds;             ///< what limits it: "bytes", "instructions", "flops"
    char detail[200];              ///< sizes and choices: "378 x 256000", "tile 512"
    double joules,
        idle_watts; ///< of one repetition, gross, and drawn before (sim/pipelines/energy.h)
    double energy_repetitions; ///< that they are a mean of
    char energy_note[160];     ///< by which counter, or why they are NaN
    double kernel_share;       ///< `ratio` of a kernel, whose bound is what it is to; else NaN
    char device[128];          ///< what ran it, "NVIDIA H200, CUDA 13.0 ..."
} bb_bench_outcome;

typedef struct bb_bench_case bb_bench_case;

/// Measures a row on setup->device; without a best time `detail` says why it was skipped.
typedef bb_status bb_bench_measure(const bb_bench_case *self, const bb_bench_setup *setup,
                                   bb_bench_outcome *out);

struct bb_bench_case {
    const char *name;
    const char *what;
    const char *against;       ///< what the ratio is to
    double bar;                ///< least ratio; NaN: none
    bb_bench_measure *measure; ///< NULL in a build without the device that it measures
    bb_device_kind device;
    int choice;          ///< of the family: variant, step, layout
    const char *storage; ///< as bb_codec_read takes it, or a matrix; or NULL
    bb_index n;          ///< rows of a factorization, which --n replaces; 0: it is no such
    bool is_shared;      ///< all processes of a team measure together
};

/// Where joules are wanted (sim/pipelines/energy.h), repeats `work`, which does `share` repetitions
/// of the benchmark a call, on the first device of its kind, and sets the joules of the outcome.
/// `with` says what a call does beside them, NULL: nothing. Errors: those of `work`, BB_MEMORY.
BB_CHECKED bb_status bb_bench_measure_energy(bb_device_kind device,
                                             bb_status (*work)(void *context), void *context,
                                             double share, const char *with, bb_bench_outcome *out);

/// `choice` of bb_bench_roofline and bb_bench_roofline_cuda.
typedef enum bb_bench_step {
    BB_BENCH_STEP_THERMAL,
    BB_BENCH_STEP_RESTRICTION,
    BB_BENCH_STEP_DEFORMATION,
} bb_bench_step;

/// All benchmarks that are listed; returns how many.
bb_index bb_bench_cases(const bb_bench_case **out);

/// Row by name; of kernel-NAME-TYPE-DEVICE also of those that are not listed. Errors: BB_INVALID
/// with the nearest name.
BB_CHECKED bb_status bb_bench_find(const char *name, bb_bench_case *out);

/// Measures a row on the first device of its kind; best and median are NaN, with the reason in
/// `detail`, where there is none, and where it or the host lacks memory or a kernel. Errors: those
/// of the benchmark.
BB_CHECKED bb_status bb_bench_measure_case(const bb_bench_case *self, const bb_bench_setup *setup,
                                           bb_bench_outcome *out);

/// The cuda device that a run may use, else the processor. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_bench_describe(const bb_bench_setup *setup, bool *is_cuda,
                                       bb_device_report *out);

extern const bb_output_table bb_bench_outputs;

/// Runs the benchmarks named ([count], 0 for all), writes their table to `table` and their numbers
/// to /results. Errors: BB_INVALID (an unknown name), those of the benchmarks.
BB_CHECKED bb_status bb_bench_run(const bb_bench_setup *setup, char *const *names, bb_index count,
                                  bb_results *results, bb_text *table);

/// Whether a row of a kernel names a kernel, a type and a set that there are. Errors: BB_INVALID.
BB_CHECKED bb_status bb_bench_kernel_check(const char *name, const bb_bench_setup *setup);

/// The measurements, one file a family.
bb_bench_measure bb_bench_gemv, bb_bench_gemv_cuda, bb_bench_factors, bb_bench_factors_cuda,
    bb_bench_roofline, bb_bench_roofline_cuda, bb_bench_heat, bb_bench_restriction,
    bb_bench_heat_cuda, bb_bench_restriction_cuda, bb_bench_loop, bb_bench_cholesky,
    bb_bench_processes, bb_bench_assembly, bb_bench_assembly_cuda, bb_bench_zfp, bb_bench_kernel,
    bb_bench_rows_cuda, bb_bench_encode_cuda, bb_bench_unwrap, bb_bench_rounding;

#endif
