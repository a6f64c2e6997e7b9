// SPDX-License-Identifier: Apache-2.0
//
// Baselines of benchmarks: ratios to ceilings and peers that a device reached, in a YAML file, and
// the comparison of a later build with them. Ratios are of one run each, so that the load and the
// clock of a machine weigh on both sides.
//
//     device: NVIDIA H200
//     rows:
//       - {name: gemv-cuda-fp16, ratio: 1.84, spread: 0.01}
//
// `ratio` is the best of BB_BASELINE_ROUNDS runs, `spread` the difference of the best and the worst
// over the best.
#ifndef BB_BENCH_BENCH_BASELINE_H
#define BB_BENCH_BENCH_BASELINE_H

#include "bench/bench.h"
#include "core/array.h"
#include "sim/config/layer.h"

enum { BB_BASELINE_ROUNDS = 3 };

/// Loss of a ratio, beyond its spread, that is a regression.
#define BB_BASELINE_TOLERANCE 0.05

typedef struct bb_baseline_row {
    char *name;
    double ratio, spread;
} bb_baseline_row;

typedef struct bb_bench_baseline {
    const char *device; ///< name of the cuda device, else of the processor
    bb_list rows;       ///< of bb_baseline_row
    bb_arena arena;     ///< owns the texts
    bb_layers layers;
} bb_bench_baseline;

/// Reads a file. Errors: BB_IO, BB_INVALID with the place, BB_MEMORY. Owner: the caller, who
/// releases it whatever the status.
BB_CHECKED bb_status bb_bench_baseline_read(const char *path, bb_bench_baseline *out);
void bb_bench_baseline_release(bb_bench_baseline *baseline);

/// The least ratio of a row that is no regression.
double bb_bench_baseline_least(const bb_baseline_row *row);

/// Runs the benchmarks of a baseline, or those of them that are named ([count]; 0: all), appends a
/// line for each to `table`, and counts in `*slower` those whose best ratio of up to
/// BB_BASELINE_ROUNDS runs is below the least one. The first run goes to /results. Errors:
/// BB_INVALID (a name that the baseline does not have, another device), those of bb_bench_run.
BB_CHECKED bb_status bb_bench_baseline_compare(const bb_bench_setup *setup,
                                               const bb_bench_baseline *baseline,
                                               char *const *names, bb_index count,
                                               bb_results *results, bb_text *table,
                                               bb_index *slower);

/// Runs the benchmarks that are named BB_BASELINE_ROUNDS times and appends the file's text to
/// `out`; rows that have no ratio are left out with a warning. The last run goes to /results.
/// Errors: BB_INVALID (no name, no ratio at all), those of bb_bench_run.
BB_CHECKED bb_status bb_bench_baseline_record(const bb_bench_setup *setup, char *const *names,
                                              bb_index count, bb_results *results, bb_text *out);

#endif
