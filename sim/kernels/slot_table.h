// SPDX-License-Identifier: Apache-2.0
//
// The slots of an experiment's pipelines, whose numbers `tune --for` chooses by the quantity of
// interest: part of the experiment's row.
#ifndef BB_SIM_KERNELS_SLOT_TABLE_H
#define BB_SIM_KERNELS_SLOT_TABLE_H

#include "core/text.h"
#include "sim/experiment.h"

/// How good a pipeline is. NaN where it failed.
typedef struct bb_slot_score {
    double wrong; ///< a count that has to be 0
    double error; ///< held to a tolerance
    double bytes; ///< of what its slots store
} bb_slot_score;

/// States are [slot_count] numbers of slots, as slot_search.h has them; a text of none is borrowed.
typedef struct bb_slot_table {
    const char *const *slots; ///< [slot_count]
    int slot_count;
    const char *const *numbers; ///< [number_count], the most precise first
    int number_count;
    const char *wrong, *error, *unit; ///< "wrong cycles", "rms" and "nm": headings
    /// The tolerance of `error` unless the user gives one.
    double (*tolerance)(const void *study);
    /// Whether the study's draws differ: what was measured is one draw, whatever the seed.
    bool (*has_draws)(const void *study);
    /// Readies trials of pipelines against the study's reference. `study` and `options` outlive
    /// them. Errors: those of a run. Owner of `*out`: the caller, `close`.
    bb_status (*open)(const void *study, const bb_run_options *options, void **out);
    void (*close)(void **trials);
    /// Bytes of what a state's slots store, from sizes alone.
    bb_status (*weigh)(void *trials, const int *state, double *bytes);
    /// Computes a state in one of the study's draws. Errors: those of a run.
    bb_status (*score)(void *trials, const int *state, bb_index draw, bb_slot_score *out);
    /// Writes the study with its reference and, called `name`, the pipeline of a state; `wisdom`
    /// (NULL: the study's) is the file of its kernels' variants.
    bb_status (*write)(const void *study, const int *state, const char *name, const char *wisdom,
                       bool may_reorder, bb_text *out);
    /// The score of a pipeline in results of a run. Errors: BB_INTERNAL (there is none).
    bb_status (*read)(const bb_results *results, const char *name, bb_slot_score *out);
} bb_slot_table;

/// Bytes that bb_slot_table_describe writes at most.
enum { BB_SLOT_TABLE_STATE = 128 };

/// A state in words, "gradient fp16, smoother bf16".
void bb_slot_table_describe(const bb_slot_table *table, const int *state,
                            char out[BB_SLOT_TABLE_STATE]);

#endif
