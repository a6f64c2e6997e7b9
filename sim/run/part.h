// SPDX-License-Identifier: Apache-2.0
//
// Parts of an experiment: its optional features and its published results, each in a file of its
// own. A driver builds the problem, solves, and goes through its table of parts.
#ifndef BB_SIM_RUN_PART_H
#define BB_SIM_RUN_PART_H

#include "sim/config/config.h"
#include "sim/run/plan.h"

typedef struct bb_output_table bb_output_table; // sim/output/output_table.h
typedef struct bb_results bb_results;           // sim/output/results.h

/// A row of such a table. The types behind `study`, `extent` and `work` are the experiment's: its
/// configuration, the sizes of its plan, and the state of a run. A function that is
/// NULL has nothing to do.
typedef struct bb_part {
    const char *name;                  ///< for the log of phases
    bool (*wanted)(const void *study); ///< NULL: by every study; else asked before need, plan_lines
                                       ///< and the two runs
    /// Adds violations of rules between keys to `problems`. Errors: BB_MEMORY.
    bb_status (*check)(const void *study, const bb_config *config, bb_problems *problems);
    /// Memory and time of its runs, beside those of the solves.
    bb_status (*need)(const void *study, const void *extent, bb_need *out);
    /// Adds its lines to a plan, which has its need already.
    bb_status (*plan_lines)(const void *study, const void *extent, bb_plan *plan);
    /// Before the pipelines are computed, and when all are scored.
    bb_status (*start)(void *work, bb_results *results);
    bb_status (*run)(void *work, bb_results *results);
    const bb_output_table *const *outputs; ///< NULL: writes nothing; NULL ends them
} bb_part;

/// Tables that a part writes.
#define BB_OUTPUTS(...) ((const bb_output_table *const[]){__VA_ARGS__, NULL})

/// The functions of all parts of a table that NULL ends, in its order. Errors: the parts'.
BB_CHECKED bb_status bb_parts_check(const bb_part *const *parts, const void *study,
                                    const bb_config *config, bb_problems *problems);
BB_CHECKED bb_status bb_parts_plan_lines(const bb_part *const *parts, const void *study,
                                         const void *extent, bb_plan *plan);
BB_CHECKED bb_status bb_parts_start(const bb_part *const *parts, const void *study, void *work,
                                    bb_results *results);
BB_CHECKED bb_status bb_parts_run(const bb_part *const *parts, const void *study, void *work,
                                  bb_results *results);

/// Their needs in turn, each together with `beside`, which all of them keep.
BB_CHECKED bb_status bb_parts_need(const bb_part *const *parts, const void *study,
                                   const void *extent, bb_need beside, bb_need *out);

/// A line of -v about a phase that began at *begin, a clock of core/clock.h; the next begins now.
void bb_parts_log_phase(const char *phase, double *begin);

/// Table number `index` of what they write, NULL past the last.
const bb_output_table *bb_parts_output(const bb_part *const *parts, bb_index index);

#endif
