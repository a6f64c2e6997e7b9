// SPDX-License-Identifier: Apache-2.0
//
// Parts of an experiment: its optional features and its published results, each in a separate file.
// A driver builds the problem, solves it, and calls the functions of its table of parts.
#ifndef BB_SIM_RUN_PART_H
#define BB_SIM_RUN_PART_H

#include "sim/config/config.h"
#include "sim/run/plan.h"

typedef struct bb_output_table bb_output_table; // sim/output/output_table.h
typedef struct bb_results bb_results;           // sim/output/results.h

/// Row of a table of parts. The types of `study`, `extent` and `work` are the experiment's: its
/// configuration, the sizes of its plan, and the state of a run. NULL functions are skipped.
typedef struct bb_part {
    const char *name;                  ///< name for the log of phases
    bool (*wanted)(const void *study); ///< NULL: always enabled; else queried before need,
                                       ///< plan_lines, start and run
    /// Adds violations of rules between keys to `problems`. Errors: BB_MEMORY.
    bb_status (*check)(const void *study, const bb_config *config, bb_problems *problems);
    /// Computes memory and time of the part's runs, in addition to those of the solves.
    bb_status (*need)(const void *study, const void *extent, bb_need *out);
    /// Adds the part's lines to a plan, which already includes its need.
    bb_status (*plan_lines)(const void *study, const void *extent, bb_plan *plan);
    /// Functions called before the pipelines are computed, and after all are scored.
    bb_status (*start)(void *work, bb_results *results);
    bb_status (*run)(void *work, bb_results *results);
    const bb_output_table *const *outputs; ///< NULL-terminated; NULL: writes nothing
} bb_part;

/// Output tables of a part.
#define BB_OUTPUTS(...) ((const bb_output_table *const[]){__VA_ARGS__, NULL})

/// Call the functions of all parts of a NULL-terminated table in order. Errors: from the parts.
BB_CHECKED bb_status bb_parts_check(const bb_part *const *parts, const void *study,
                                    const bb_config *config, bb_problems *problems);
BB_CHECKED bb_status bb_parts_plan_lines(const bb_part *const *parts, const void *study,
                                         const void *extent, bb_plan *plan);
BB_CHECKED bb_status bb_parts_start(const bb_part *const *parts, const void *study, void *work,
                                    bb_results *results);
BB_CHECKED bb_status bb_parts_run(const bb_part *const *parts, const void *study, void *work,
                                  bb_results *results);

/// Combines the needs of all parts, which occur one after the other, each together with `common`,
/// which persists.
BB_CHECKED bb_status bb_parts_need(const bb_part *const *parts, const void *study,
                                   const void *extent, bb_need common, bb_need *out);

/// Logs with -v the time of a phase that began at *begin, a clock of core/clock.h, and restarts the
/// clock.
void bb_parts_log_phase(const char *phase, double *begin);

/// Output table `index` of the parts, NULL past the last.
const bb_output_table *bb_parts_output(const bb_part *const *parts, bb_index index);

#endif
