// SPDX-License-Identifier: Apache-2.0
//
// Benchmarks of the hot loops against a ceiling or a peer measured in the same rounds, so that
// other load on the machine affects both. A benchmark is a row of the table in bench.c and a
// function that measures it. Minimum traffic and operations are computed, not measured. Bars are
// reported, never asserted.
#ifndef BB_BENCH_BENCH_H
#define BB_BENCH_BENCH_H

#include "core/device/device.h"
#include "core/text.h"
#include "precision/codec.h"
#include "sim/output/output_table.h"

enum { BB_BENCH_SAMPLES = 64 };

/// Times of all rounds, s.
typedef struct bb_bench_times {
    double seconds[BB_BENCH_SAMPLES];
    bb_index count;
} bb_bench_times;

void bb_bench_add(bb_bench_times *times, double seconds);
double bb_bench_best(const bb_bench_times *times);
double bb_bench_median(const bb_bench_times *times);

/// Settings common to all benchmarks of a run.
typedef struct bb_bench_setup {
    bool quick; ///< sizes for tests: the measured numbers are meaningless
    bb_index threads;
    bb_device *device;      ///< device of the row's kind, set while it is measured
    bool cpu_only;          ///< skip benchmarks of a cuda device even if there is one
    const char *wisdom;     ///< file of kernel variants (sim/kernels/wisdom.h); NULL: the user's
    bool may_reorder;       ///< allow variants with another order of summation
    const char *set;        ///< benchmark data set, or matrix of a factorization; NULL: the row's
    const char *file;       ///< file of a kernel, NULL: the shipped one
    bb_index n;             ///< rows of a factorization; 0: number from the row
    bb_index rows, columns; ///< sizes of products; 0: sizes from the row
} bb_bench_setup;

/// Result of one benchmark. NaN: not applicable. If the best time is NaN, it was skipped for the
/// reason in `detail`; if the ratio is NaN, there is no reference.
typedef struct bb_bench_outcome {
    double best_s, median_s;
    double bytes;                  ///< minimum traffic of one repetition
    double flops;                  ///< operations of one repetition
    double peer;                   ///< best rate of the ceiling or peer, in GB/s or GFLOP/s
    double ratio;                  ///< quantity compared with the bar
    double roof_bytes, roof_flops; ///< read rate and peak of a roofline, 1/s; else NaN
    const char *against;           ///< reference of `ratio`; NULL: reference of the case
    double bar;                    ///< bar for this peer; 0: bar of the case
    const char *binds;             ///< limiting resource: "bytes", "instructions", "flops"
    char detail[200];              ///< sizes and options: "378 x 256000", "tile 512"
    double joules,
        idle_watts;            ///< gross energy of one repetition, and idle power before it
                               ///< (sim/pipelines/energy.h)
    double energy_repetitions; ///< number of repetitions averaged
    char energy_note[160];     ///< name of the counter, or the reason why the energies are NaN
    double kernel_share;       ///< `ratio` of a kernel, the fraction of its bound; else NaN
    char device[128];          ///< device, "NVIDIA H200, CUDA 13.0 ..."
} bb_bench_outcome;

typedef struct bb_bench_case bb_bench_case;

/// Measures a row on setup->device. If there is no best time, `detail` is the reason why the row
/// was skipped.
typedef bb_status bb_bench_measure(const bb_bench_case *self, const bb_bench_setup *setup,
                                   bb_bench_outcome *out);

struct bb_bench_case {
    const char *name;
    const char *what;
    const char *against;       ///< reference of the ratio
    double bar;                ///< required ratio; NaN: none
    bb_bench_measure *measure; ///< NULL in a build without the device
    bb_device_kind device;
    int choice;          ///< meaning depends on the family: variant, step, layout
    const char *storage; ///< in the format of bb_codec_read, or a matrix; or NULL
    bb_index n;     ///< default rows of a factorization, replaced by --n; 0: not a factorization
    bool is_shared; ///< measured by all processes of a team together
};

/// If energy is requested (sim/pipelines/energy.h), repeats `work`, each call of which performs
/// `share` repetitions of the benchmark, on the first device of its kind, and sets the energy of
/// the outcome. `with` names other work included in a call, NULL: none. Errors: from `work`,
/// BB_MEMORY.
BB_CHECKED bb_status bb_bench_measure_energy(bb_device_kind device,
                                             bb_status (*work)(void *context), void *context,
                                             double share, const char *with, bb_bench_outcome *out);

/// Values of `choice` for bb_bench_roofline and bb_bench_roofline_cuda.
typedef enum bb_bench_step {
    BB_BENCH_STEP_THERMAL,
    BB_BENCH_STEP_RESTRICTION,
    BB_BENCH_STEP_DEFORMATION,
} bb_bench_step;

/// Returns the number of listed benchmarks and sets `*out` to them.
bb_index bb_bench_cases(const bb_bench_case **out);

/// Finds a row by name; kernel-NAME-TYPE-DEVICE also finds unlisted rows. Errors: BB_INVALID with
/// the nearest name.
BB_CHECKED bb_status bb_bench_find(const char *name, bb_bench_case *out);

/// Measures a row on the first device of its kind. Best and median are NaN, with the reason in
/// `detail`, if there is no such device, or if memory or a kernel is missing. Errors: from the
/// benchmark.
BB_CHECKED bb_status bb_bench_measure_case(const bb_bench_case *self, const bb_bench_setup *setup,
                                           bb_bench_outcome *out);

/// Describes the cuda device available to the run, else the processor. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_bench_describe(const bb_bench_setup *setup, bool *is_cuda,
                                       bb_device_report *out);

extern const bb_output_table bb_bench_outputs;

/// Runs the named benchmarks ([count], 0 for all), writes their table to `table` and their numbers
/// to /results. Errors: BB_INVALID (an unknown name), errors of the benchmarks.
BB_CHECKED bb_status bb_bench_run(const bb_bench_setup *setup, char *const *names, bb_index count,
                                  bb_results *results, bb_text *table);

/// Checks that the kernel, type and set named by a row exist. Errors: BB_INVALID.
BB_CHECKED bb_status bb_bench_kernel_check(const char *name, const bb_bench_setup *setup);

/// Measuring functions, one file for each family.
bb_bench_measure bb_bench_gemv, bb_bench_gemv_cuda, bb_bench_factors, bb_bench_factors_cuda,
    bb_bench_roofline, bb_bench_roofline_cuda, bb_bench_heat, bb_bench_restriction,
    bb_bench_heat_cuda, bb_bench_restriction_cuda, bb_bench_loop, bb_bench_cholesky,
    bb_bench_processes, bb_bench_assembly, bb_bench_assembly_cuda, bb_bench_zfp, bb_bench_kernel,
    bb_bench_rows_cuda, bb_bench_encode_cuda, bb_bench_unwrap, bb_bench_rounding;

#endif
