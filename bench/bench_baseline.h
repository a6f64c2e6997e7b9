// SPDX-License-Identifier: Apache-2.0
//
// Baselines of benchmarks: ratios to ceilings and peers reached on a device, in a YAML file, and
// their comparison with a later build. Each ratio is measured within one run, so that load and
// clock of the machine affect both sides.
//
//     device: NVIDIA H200
//     rows:
//       - {name: gemv-cuda-fp16, ratio: 1.84, spread: 0.01}
//
// `ratio` is the best of BB_BASELINE_ROUNDS runs, `spread` the difference between the best and the
// worst, divided by the best.
#ifndef BB_BENCH_BENCH_BASELINE_H
#define BB_BENCH_BENCH_BASELINE_H

#include "bench/bench.h"
#include "core/array.h"
#include "sim/config/layer.h"

enum { BB_BASELINE_ROUNDS = 3 };

/// Relative loss of a ratio beyond its spread that counts as a regression.
#define BB_BASELINE_TOLERANCE 0.05

typedef struct bb_baseline_row {
    char *name;
    double ratio, spread;
} bb_baseline_row;

typedef struct bb_bench_baseline {
    const char *device; ///< name of the cuda device, else of the processor
    bb_list rows;       ///< list of bb_baseline_row
    bb_arena arena;     ///< owner of the texts
    bb_layers layers;
} bb_bench_baseline;

/// Reads a file. Errors: BB_IO, BB_INVALID with the place, BB_MEMORY. The caller releases `*out`
/// also after an error.
BB_CHECKED bb_status bb_bench_baseline_read(const char *path, bb_bench_baseline *out);
void bb_bench_baseline_release(bb_bench_baseline *baseline);

/// Lowest ratio of a row that is not a regression.
double bb_bench_baseline_least(const bb_baseline_row *row);

/// Runs the benchmarks of a baseline, or the named ones ([count]; 0: all), appends a line for each
/// to `table`, and counts in `*slower` those whose best ratio in up to BB_BASELINE_ROUNDS runs is
/// below the lowest allowed one. The first run is written to /results. Errors: BB_INVALID (a name
/// missing in the baseline, another device), errors of bb_bench_run.
BB_CHECKED bb_status bb_bench_baseline_compare(const bb_bench_setup *setup,
                                               const bb_bench_baseline *baseline,
                                               char *const *names, bb_index count,
                                               bb_results *results, bb_text *table,
                                               bb_index *slower);

/// Runs the named benchmarks BB_BASELINE_ROUNDS times and appends the file's text to `out`; rows
/// without a ratio are omitted with a warning. The last run is written to /results. Errors:
/// BB_INVALID (no names, or no ratio), errors of bb_bench_run.
BB_CHECKED bb_status bb_bench_baseline_record(const bb_bench_setup *setup, char *const *names,
                                              bb_index count, bb_results *results, bb_text *out);

#endif
