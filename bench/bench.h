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
    bb_device *device;  ///< of the CPU
    bool cpu_only;      ///< benchmarks of a cuda device are skipped, also where there is one
    const char *wisdom; ///< which variants kernels take (sim/kernels/wisdom.h); NULL: the user's
    bool may_reorder;   ///< variants with other orders of sums too
    const char *set;    ///< of benchmark data of kernels; NULL: what the row is of
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
    double joules, idle_watts;     ///< of one repetition, gross, and drawn before (sim/energy.h)
    double energy_repetitions;     ///< that they are a mean of
    char energy_note[160];         ///< by which counter, or why they are NaN
    double kernel_share;           ///< `ratio` of a kernel, whose bound is what it is to; else NaN
    char device[128];              ///< of a kernel: what ran it, "NVIDIA H200, CUDA 13.0 ..."
    char library[48];              ///< of a kernel: the library's fastest call that does the same
    double library_s;              ///< its best time; NaN: there is none
    double library_ratio;          ///< over best_s: beyond 1 the kernel is faster
} bb_bench_outcome;

/// Layouts of a matrix for y = C x, of about as many values each: a slit's of 378 x 256000 but for
/// these, which are added to a `choice`.
enum {
    BB_BENCH_SQUARE = 1 << 16, ///< 9728 x 9728
    BB_BENCH_TALL = 1 << 17,   ///< 252000 x 384
    BB_BENCH_FRAME = 1 << 18,  ///< 4092 x 19078: commands from slopes, of random values
    BB_BENCH_TARGET = 1 << 19, ///< 5316 x 100368, the same: commands of one target
    BB_BENCH_SHARED = 1 << 20, ///< none: all processes of a team measure together
    BB_BENCH_CHOICE = BB_BENCH_SQUARE - 1,
};

/// Rows, columns, and a mesh that divides the columns; 0: there is none.
typedef struct bb_bench_sizes {
    bb_index rows, columns, mesh_columns;
} bb_bench_sizes;

/// A row of a frame's matrix, drawn as `bitbudget realtime` of ao draws one: normal numbers, large
/// where commands and slopes have one place in the pupil.
void bb_bench_draw_commands(bb_index row, bb_index rows, bb_index columns, double *out);

/// Of a `choice`.
bb_bench_sizes bb_bench_sizes_of(int choice, bool quick);

typedef struct bb_bench_case bb_bench_case;
struct bb_bench_case {
    const char *name;
    const char *what;
    const char *against; ///< what the ratio is to
    double bar;          ///< least ratio; NaN: none
    /// NULL in a build without the device that it measures.
    bb_status (*measure)(const bb_bench_case *self, const bb_bench_setup *setup,
                         bb_bench_outcome *out);
    int choice;          ///< format, variant or step, and a layout
    const char *storage; ///< as bb_codec_read takes it, or a kernel and its type; NULL: none
};

/// The first cuda device; NULL, with times of NaN and the reason in `detail`, where benchmarks of
/// it are to be skipped. Errors: BB_DEVICE. Owner: the caller.
BB_CHECKED bb_status bb_bench_open_cuda(const bb_bench_setup *setup, bb_bench_outcome *out,
                                        bb_device **device);

/// BB_OK, with the message in `detail`, where a device or a host lacks memory or a kernel: a reason
/// to skip a benchmark, not an error. Else `status`.
BB_CHECKED bb_status bb_bench_skip(bb_status status, bb_bench_outcome *out);

/// Where joules are wanted (sim/energy.h), repeats `work`, which does `share` repetitions of the
/// benchmark a call, on the first device of its kind, and sets the joules of the outcome. `with`
/// says what a call does beside them, NULL: nothing. Errors: those of `work`, BB_MEMORY.
BB_CHECKED bb_status bb_bench_take_energy(bb_device_kind device, bb_status (*work)(void *context),
                                          void *context, double share, const char *with,
                                          bb_bench_outcome *out);

/// `choice` of bb_bench_roofline and bb_bench_roofline_cuda.
typedef enum bb_bench_step {
    BB_BENCH_STEP_THERMAL,
    BB_BENCH_STEP_RESTRICTION,
    BB_BENCH_STEP_DEFORMATION,
} bb_bench_step;

/// All benchmarks; returns how many.
bb_index bb_bench_cases(const bb_bench_case **out);

extern const bb_output_table bb_bench_outputs;

/// Runs the benchmarks named ([count], 0 for all), writes their table to `table` and their numbers
/// to /results. Errors: BB_INVALID (an unknown name), those of the benchmarks.
BB_CHECKED bb_status bb_bench_run(const bb_bench_setup *setup, char *const *names, bb_index count,
                                  bb_results *results, bb_text *table);

/// The measurements, one file a family.
BB_CHECKED bb_status bb_bench_gemv(const bb_bench_case *self, const bb_bench_setup *setup,
                                   bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_gemv_fp32_sums(const bb_bench_case *self, const bb_bench_setup *setup,
                                             bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_gemv_blas(const bb_bench_case *self, const bb_bench_setup *setup,
                                        bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_roofline(const bb_bench_case *self, const bb_bench_setup *setup,
                                       bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_heat(const bb_bench_case *self, const bb_bench_setup *setup,
                                   bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_cholesky(const bb_bench_case *self, const bb_bench_setup *setup,
                                       bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_processes(const bb_bench_case *self, const bb_bench_setup *setup,
                                        bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_assembly(const bb_bench_case *self, const bb_bench_setup *setup,
                                       bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_assembly_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                            bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_streamed(const bb_bench_case *self, const bb_bench_setup *setup,
                                       bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_roofline_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                            bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_zfp(const bb_bench_case *self, const bb_bench_setup *setup,
                                  bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_zfp_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                       bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_factors(const bb_bench_case *self, const bb_bench_setup *setup,
                                      bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_factors_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                           bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_restriction_cuda(const bb_bench_case *self,
                                               const bb_bench_setup *setup, bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_heat_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                        bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_kernel(const bb_bench_case *self, const bb_bench_setup *setup,
                                     bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_kernel_emit(const bb_bench_case *self, const bb_bench_setup *setup,
                                          bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_unwrap(const bb_bench_case *self, const bb_bench_setup *setup,
                                     bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_rounding(const bb_bench_case *self, const bb_bench_setup *setup,
                                       bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_rounding_cuda(const bb_bench_case *self, const bb_bench_setup *setup,
                                            bb_bench_outcome *out);
BB_CHECKED bb_status bb_bench_loop(const bb_bench_case *self, const bb_bench_setup *setup,
                                   bb_bench_outcome *out);

#endif
