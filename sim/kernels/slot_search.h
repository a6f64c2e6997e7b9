// SPDX-License-Identifier: Apache-2.0
//
// The fewest bytes of a computation's slots, each of which computes and stores in numbers of its
// own, that keep what the computation is for.
//
// Greedy: from the most precise numbers everywhere, the change of one slot that saves most bytes is
// tried; where the quantity of interest holds it stays, else that slot is not tried with those
// numbers again. Errors of slots are not assumed to add up: each trial computes with all that is
// lowered so far. That nothing else is smaller is not shown.
//
// The slots of an experiment's pipelines, whose numbers `tune --for` chooses by the quantity of
// interest: part of the experiment's row.
#ifndef BB_SIM_KERNELS_SLOT_SEARCH_H
#define BB_SIM_KERNELS_SLOT_SEARCH_H

#include "core/status.h"
#include "core/text.h"
#include "sim/experiment.h"

#include <stdbool.h>

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

enum { BB_SLOT_SEARCH_SLOTS = 16, BB_SLOT_SEARCH_NUMBERS = 16 };

/// A slot that was lowered, and its numbers until then.
typedef struct bb_slot_step {
    int slot, before;
} bb_slot_step;

/// Zero-initialise what is not given. States are [slots] numbers, each in [0, numbers): 0 is the
/// most precise one, and of those of equal bytes the earlier is tried first.
typedef struct bb_slot_search {
    int slots, numbers; ///< at least 1, at most BB_SLOT_SEARCH_SLOTS and BB_SLOT_SEARCH_NUMBERS
    void *context;      ///< of the callbacks
    /// Bytes of a state, at least as they compare. Errors end the search.
    bb_status (*weigh)(void *context, const int *state, double *bytes);
    /// Whether the quantity of interest holds. `slot` is the one that was changed, -1: none, the
    /// start. Errors end the search.
    bb_status (*attempt)(void *context, const int *state, int slot, bool *holds);
    // The result
    int state[BB_SLOT_SEARCH_SLOTS];                                  ///< what was found
    bb_slot_step kept[BB_SLOT_SEARCH_SLOTS * BB_SLOT_SEARCH_NUMBERS]; ///< [steps], in order
    int steps, trials;
} bb_slot_search;

/// Searches. `*holds` is false where not even the start holds; nothing else is tried then. Errors:
/// BB_INVALID (too many slots or numbers), those of the callbacks.
BB_CHECKED bb_status bb_slot_search_run(bb_slot_search *search, bool *holds);

/// States that a search tries at most: the start, and every slot with each other number once.
int bb_slot_search_most(int slots, int numbers);

/// Takes the last step back, as where what was found is not confirmed; false where there is none.
bool bb_slot_search_retreat(bb_slot_search *search);

#endif
