// SPDX-License-Identifier: Apache-2.0
//
// Search for the cheapest candidate whose loss, in the unit of the experiment, is at most max_loss.
//
// An experiment supplies the candidates and computes one draw of a candidate at a time. A search
// tries, compares, lists and publishes them. A candidate is accepted if every draw is within the
// limits; its loss is the largest of its draws, and a draw that fails rejects it. A second limit
// bounds a count of errors, such as wrong cycles. The result is the accepted trial of least cost:
// it was computed, and no trial that was accepted is cheaper. Untried candidates are no cheaper
// only if the loss is monotone along a ladder that is bisected.
//
// Strategies: bisection of a ladder, guesses along a ladder, several ladders side by side, and a
// greedy descent over slots.
#ifndef BB_SIM_PIPELINES_SEARCH_H
#define BB_SIM_PIPELINES_SEARCH_H

#include "core/outcome.h"
#include "core/store.h"
#include "core/text.h"
#include "sim/output/output_table.h"
#include "sim/run/experiment.h"

#include <stdbool.h>

enum { BB_SEARCH_NAME = 128, BB_SEARCH_PIECES = 2 };

/// Something to try.
typedef struct bb_search_candidate {
    const char *name;     ///< cut to BB_SEARCH_NAME - 1 bytes
    double tolerance;     ///< of its rule or codec, NaN without one
    const void *pipeline; ///< argument of the callback `evaluate`
} bb_search_candidate;

/// A candidate that was tried.
typedef struct bb_search_trial {
    bb_index pipeline; ///< of the study
    char name[BB_SEARCH_NAME];
    double tolerance, loss, cost; ///< loss NaN after a failure
    double wrong;                 ///< largest of its draws, 0 if the experiment counts nothing
    bool accepted;
} bb_search_trial;

/// Trials of all searches of a run. Opaque, owned by the caller.
typedef struct bb_search_trials bb_search_trials;

/// Room for `limit` trials. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_search_trials_create(bb_index limit, bb_search_trials **out);
void bb_search_trials_destroy(bb_search_trials **trials);

/// One search. Zero-initialise what is not given; the members from `found` on are the result.
typedef struct bb_search {
    bb_search_trials *trials; ///< NULL: trials are not listed
    bb_index pipeline;        ///< of the study
    const char *name;         ///< of that pipeline
    double max_loss;
    double max_wrong;
    bb_index draws; ///< at least 1
    void *context;  ///< of the callbacks
    /// Computes one draw of a candidate; `*loss` is NaN if it failed or has none.
    bb_status (*evaluate)(void *context, const void *pipeline, bb_index draw, double *loss);
    /// Cost of the candidate whose draw 0 was evaluated last, in any unit.
    double (*cost)(void *context);
    /// Count of errors in the draw evaluated last; NULL: the experiment counts nothing.
    double (*wrong)(void *context);
    /// Stores the work of the trial as the result; NULL: `best` is enough.
    void (*adopt)(void *context);
    bool found;
    bb_index trial_count;
    bb_search_trial last;    ///< of all
    bb_search_trial best;    ///< if found
    bb_search_trial nearest; ///< rejected trial of least loss; no name: none has a loss
} bb_search;

/// Tries one candidate: its draws until one is beyond a limit. Errors: those of `evaluate`,
/// BB_INTERNAL (no room for another trial).
BB_CHECKED bb_status bb_search_try(bb_search *search, const bb_search_candidate *candidate,
                                   bool *accepted);

/// Outcome of a search: ok or not_converged, with a detail about the best or the nearest trial.
/// `unit` is that of the loss, " nm" or "", `rest` what else there is to say of that trial, ", 3.1
/// MB".
void bb_search_report(const bb_search *search, const char *unit, const char *rest,
                      bb_outcome *outcome);

/// Bracket of the first step of a ladder that is accepted, if all steps after it are too.
typedef struct bb_search_bracket {
    int rejected; ///< last step known to fail, or the one before the first
    int accepted; ///< first step known to be accepted, or the one after the last
} bb_search_bracket;

/// Candidates from cheap to precise.
typedef struct bb_search_ladder {
    int first, steps; ///< steps `first` to `steps` - 1 are tried
    /// Steps in a bit of precision, which divides the loss by four; 0: bisection alone. Otherwise
    /// the first trials go where the last loss predicts the limit.
    double bit;
    void *context;
    void (*make)(void *context, int step, bb_search_candidate *out);
} bb_search_ladder;

enum { BB_SEARCH_GUESSES = 4 }; ///< predicted trials at most, after the first one

/// Searches a ladder for its first accepted step, in at most 1 + log2(steps) trials and the
/// guesses. Errors: those of bb_search_try.
BB_CHECKED bb_status bb_search_run_ladder(bb_search *search, const bb_search_ladder *ladder);

/// One of several ladders that are bisected side by side.
typedef struct bb_search_lane {
    bb_search *search;
    bb_search_bracket bracket;
    int step; ///< of the current pass; -1: this lane is done
} bb_search_lane;

/// Ladders that share a pass over the data.
typedef struct bb_search_lanes {
    bb_search_lane *lanes; ///< [count]
    bb_index count;
    void *context;
    /// Computes the step of every lane that is not done.
    bb_status (*compute)(void *context);
    /// Candidate, loss and cost of a lane's step, in the order of the lanes.
    void (*read)(void *context, bb_index lane, bb_search_candidate *candidate, double *loss,
                 double *cost);
} bb_search_lanes;

/// Bisects all lanes, one step of each in a pass. Errors: those of `compute`, BB_INTERNAL (no
/// room).
BB_CHECKED bb_status bb_search_run_lanes(const bb_search_lanes *lanes);

/// Quality of a pipeline. NaN after a failure.
typedef struct bb_slot_score {
    double wrong; ///< a count that has to be 0
    double error; ///< compared with a tolerance
    double bytes; ///< of what its slots store
} bb_slot_score;

/// Slots of an experiment's pipelines, each with numbers of its own; part of the experiment's row.
/// A state is [slot_count] indices of numbers.
typedef struct bb_slot_table {
    const char *const *slots; ///< [slot_count]
    int slot_count;
    const char *const *numbers; ///< [number_count], the most precise first
    int number_count;
    const char *wrong, *error, *unit; ///< "wrong cycles", "rms" and "nm": headings
    /// Default of `tune --max-loss`.
    double (*tolerance)(const void *study);
    /// Whether the draws of the study differ: measured data are one draw, whatever the seed.
    bool (*has_draws)(const void *study);
    /// Opens trials of pipelines against the study's reference. `study` and `options` outlive
    /// them. Errors: those of a run. Owner of `*out`: the caller, `close`.
    bb_status (*open)(const void *study, const bb_run_options *options, void **out);
    void (*close)(void **trials);
    /// Bytes that the slots of a state store, from sizes alone.
    double (*bytes)(const void *study, const int *state);
    /// Computes a state in one of the study's draws. Errors: those of a run.
    bb_status (*score)(void *trials, const int *state, bb_index draw, bb_slot_score *out);
    /// Writes the study with its reference and, called `name`, the pipeline of a state; `wisdom`
    /// (NULL: the study's) is the file of its kernels' variants.
    bb_status (*write)(const void *study, const int *state, const char *name, const char *wisdom,
                       bool may_reorder, bb_text *out);
    /// The score of a pipeline in results of a run. Errors: BB_INTERNAL (there is none).
    bb_status (*read)(const bb_results *results, const char *name, bb_slot_score *out);
} bb_slot_table;

/// A state in words, "gradient fp16, smoother bf16".
void bb_slot_table_describe(const bb_slot_table *table, const int *state, char out[BB_SEARCH_NAME]);

enum { BB_SEARCH_SLOTS = 16, BB_SEARCH_NUMBERS = 16 };

/// Greedy search over slots: from the most precise numbers everywhere, the change of one slot that
/// saves most bytes is tried, with all changes so far. A rejected change is not tried again. Of
/// equal bytes the earlier number comes first. Zero-initialise what is not given.
typedef struct bb_search_slots {
    const bb_slot_table *table;
    const void *study; ///< argument of table->bytes
    /// Called after each trial; `slot` was changed, -1: none, the start. NULL: not called.
    void (*tried)(void *context, int slot, const int *state, bool accepted);
    // The result
    int state[BB_SEARCH_SLOTS];
    struct {
        int slot, before;                           ///< its numbers before the change
    } changes[BB_SEARCH_SLOTS * BB_SEARCH_NUMBERS]; ///< [change_count] accepted, in order
    int change_count;
} bb_search_slots;

/// Searches; candidates are states. If the start is rejected nothing else is tried. Errors:
/// BB_INVALID (too many slots or numbers), those of bb_search_try.
BB_CHECKED bb_status bb_search_run_slots(bb_search *search, bb_search_slots *slots);

/// Trials at most: the start, and every slot with each other number once.
int bb_search_slots_most(const bb_slot_table *table);

/// Undoes the last change; false if there is none.
bool bb_search_slots_retreat(bb_search_slots *slots);

/// Pieces of a checkpoint of the trials, and reading them back for a study of `pipelines`. Errors:
/// those of bb_store_read, BB_IO (impossible trials).
void bb_search_trials_list(const bb_search_trials *trials, bb_store_piece pieces[BB_SEARCH_PIECES]);
BB_CHECKED bb_status bb_search_trials_restore(bb_search_trials *trials, bb_index pipelines,
                                              bb_store *checkpoint);

/// A trial as the rows of /search read it.
typedef struct bb_search_row {
    double index;
    const char *pipeline, *candidate;
    double tolerance, loss, cost, wrong, accepted;
} bb_search_row;

/// The columns of /search that all experiments have.
extern const bb_output_table bb_search_outputs;
extern const char bb_search_title[];

/// A table of further columns.
#define BB_SEARCH_TABLE(rows)                                                                      \
    {                                                                                              \
        .title = bb_search_title, .group = "search", .axes = "trial", BB_OUTPUT_ROWS(rows)         \
    }

/// Writes the group /search, one row a trial; nothing without trials. Names of pipelines start at
/// `names`, `stride` bytes apart. Errors: BB_MEMORY, those of bb_output_table_publish.
BB_CHECKED bb_status bb_search_trials_publish(const bb_search_trials *trials,
                                              const char *const *names, size_t stride,
                                              const bb_output_table *candidates,
                                              const bb_output_table *losses, bb_results *results);

#endif
