// SPDX-License-Identifier: Apache-2.0
//
// Search for the cheapest candidate with a loss of at most max_loss, in the unit of the experiment.
//
// An experiment supplies the candidates and computes one draw of a candidate at a time; the search
// compares, lists and publishes them. A candidate is accepted if every draw is within the limits.
// Its loss is the largest of its draws, and a failed draw rejects it. A second limit bounds a count
// of errors, such as wrong cycles. The result is the accepted trial of least cost. Untried
// candidates are no cheaper only if the loss is monotone along a bisected ladder.
//
// Strategies: bisection of a ladder, predicted steps along a ladder, several ladders in parallel,
// and a greedy descent over slots.
#ifndef BB_SIM_PIPELINES_SEARCH_H
#define BB_SIM_PIPELINES_SEARCH_H

#include "core/outcome.h"
#include "core/store.h"
#include "core/text.h"
#include "sim/output/output_table.h"
#include "sim/run/experiment.h"

#include <stdbool.h>

enum { BB_SEARCH_NAME = 128, BB_SEARCH_PIECES = 2 };

/// Candidate of a search.
typedef struct bb_search_candidate {
    const char *name;     ///< cut to BB_SEARCH_NAME - 1 bytes
    double tolerance;     ///< tolerance of its rule or codec, NaN without one
    const void *pipeline; ///< argument of the callback `evaluate`
} bb_search_candidate;

/// Evaluated candidate.
typedef struct bb_search_trial {
    bb_index pipeline; ///< index in the study
    char name[BB_SEARCH_NAME];
    double tolerance, loss, cost; ///< loss NaN after a failure
    double wrong;                 ///< largest count of errors of its draws, 0 for experiments
                                  ///< without a count
    bool accepted;
} bb_search_trial;

/// Trials of all searches of a run. Opaque, owned by the caller.
typedef struct bb_search_trials bb_search_trials;

/// Room for `limit` trials. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_search_trials_create(bb_index limit, bb_search_trials **out);
void bb_search_trials_destroy(bb_search_trials **trials);

/// State of a search. Zero-initialise members that are not set; members from `found` on are the
/// result.
typedef struct bb_search {
    bb_search_trials *trials; ///< NULL: trials are not listed
    bb_index pipeline;        ///< index in the study
    const char *name;         ///< name of that pipeline
    double max_loss;
    double max_wrong;
    bb_index draws; ///< number of draws, at least 1
    void *context;  ///< argument of the callbacks
    /// Computes one draw of a candidate; `*loss` is NaN if it failed or has none.
    bb_status (*evaluate)(void *context, const void *pipeline, bb_index draw, double *loss);
    /// Cost of the candidate whose draw 0 was evaluated last, in any unit.
    double (*cost)(void *context);
    /// Number of errors in the draw evaluated last; NULL: the experiment has no such count.
    double (*wrong)(void *context);
    /// Stores the trial's work as the result; NULL: only `best` is needed.
    void (*adopt)(void *context);
    bool found;
    bb_index trial_count;
    bb_search_trial last;    ///< last trial
    bb_search_trial best;    ///< cheapest accepted trial, if found
    bb_search_trial nearest; ///< rejected trial with the smallest loss; empty name: none has a loss
} bb_search;

/// Evaluates the draws of one candidate until one exceeds a limit. Errors: from `evaluate`,
/// BB_INTERNAL (too many trials).
BB_CHECKED bb_status bb_search_try(bb_search *search, const bb_search_candidate *candidate,
                                   bool *accepted);

/// Sets the outcome of a search, ok or not_converged, with a detail about the best or the nearest
/// trial. `unit` is that of the loss, " nm" or "", `rest` is further text about that trial, such as
/// ", 3.1 MB".
void bb_search_report(const bb_search *search, const char *unit, const char *rest,
                      bb_outcome *outcome);

/// Bracket of the first accepted step of a ladder, assuming that all later steps are accepted too.
typedef struct bb_search_bracket {
    int rejected; ///< last step known to fail, or the one before the first
    int accepted; ///< first step known to be accepted, or the one after the last
} bb_search_bracket;

/// Ladder of candidates, from cheap to precise.
typedef struct bb_search_ladder {
    int first, steps; ///< steps `first` to `steps` - 1 are tried
    /// Number of steps per bit of precision, which divides the loss by four; 0: bisection only.
    /// Otherwise the first trials use the step predicted from the last loss.
    double bit;
    void *context;
    void (*make)(void *context, int step, bb_search_candidate *out);
} bb_search_ladder;

enum { BB_SEARCH_GUESSES = 4 }; ///< largest number of predicted trials after the first

/// Searches a ladder for its first accepted step, in at most 1 + log2(steps) trials plus the
/// predicted ones. Errors: from bb_search_try.
BB_CHECKED bb_status bb_search_run_ladder(bb_search *search, const bb_search_ladder *ladder);

/// Ladder that is bisected together with others.
typedef struct bb_search_lane {
    bb_search *search;
    bb_search_bracket bracket;
    int step; ///< step of the current pass; -1: this lane is done
} bb_search_lane;

/// Ladders that share passes over the data.
typedef struct bb_search_lanes {
    bb_search_lane *lanes; ///< [count]
    bb_index count;
    void *context;
    /// Computes the step of every unfinished lane.
    bb_status (*compute)(void *context);
    /// Reads candidate, loss and cost of a lane's step, in the order of the lanes.
    void (*read)(void *context, bb_index lane, bb_search_candidate *candidate, double *loss,
                 double *cost);
} bb_search_lanes;

/// Bisects all lanes, one step of each per pass. Errors: from `compute`, BB_INTERNAL (too many
/// trials).
BB_CHECKED bb_status bb_search_run_lanes(const bb_search_lanes *lanes);

/// Quality of a pipeline; NaN after a failure.
typedef struct bb_slot_score {
    double wrong; ///< number of errors, which must be 0
    double error; ///< error that is compared with a tolerance
    double bytes; ///< bytes stored by its slots
} bb_slot_score;

/// Slots of an experiment's pipelines and their formats; part of the experiment's row. A state is
/// [slot_count] indices of formats.
typedef struct bb_slot_table {
    const char *const *slots; ///< [slot_count]
    int slot_count;
    const char *const *numbers; ///< [number_count], the most precise first
    int number_count;
    const char *wrong, *error, *unit; ///< column headings, such as "wrong cycles", "rms" and "nm"
    /// Default of `tune --max-loss`.
    double (*tolerance)(const void *study);
    /// True if the draws of the study differ. Measured data are a single draw, whatever the seed.
    bool (*has_draws)(const void *study);
    /// Opens trials of pipelines against the study's reference. `study` and `options` must outlive
    /// them. Errors: from a run. Owner of `*out`: the caller, who calls `close`.
    bb_status (*open)(const void *study, const bb_run_options *options, void **out);
    void (*close)(void **trials);
    /// Bytes stored by the slots of a state, computed from sizes only.
    double (*bytes)(const void *study, const int *state);
    /// Scores a state in one of the study's draws. Errors: from a run.
    bb_status (*score)(void *trials, const int *state, bb_index draw, bb_slot_score *out);
    /// Writes the study with its reference and the pipeline of a state, called `name`. `wisdom` is
    /// the tuning cache of kernel variants; NULL: the study's.
    bb_status (*write)(const void *study, const int *state, const char *name, const char *wisdom,
                       bool may_reorder, bb_text *out);
    /// Reads the score of a pipeline from results of a run. Errors: BB_INTERNAL (not found).
    bb_status (*read)(const bb_results *results, const char *name, bb_slot_score *out);
} bb_slot_table;

/// Describes a state as text, such as "gradient fp16, smoother bf16".
void bb_slot_table_describe(const bb_slot_table *table, const int *state, char out[BB_SEARCH_NAME]);

enum { BB_SEARCH_SLOTS = 16, BB_SEARCH_NUMBERS = 16 };

/// Greedy search over slots. It starts with the most precise format everywhere, and tries the
/// change of one slot with the largest saving, on top of all accepted changes. A rejected change is
/// not tried again. At equal bytes the earlier format is preferred. Zero-initialise members that
/// are not set.
typedef struct bb_search_slots {
    const bb_slot_table *table;
    const void *study; ///< argument of table->bytes
    /// Called after each trial; `slot` was changed, -1: the start. NULL: not called.
    void (*tried)(void *context, int slot, const int *state, bool accepted);
    // Result.
    int state[BB_SEARCH_SLOTS];
    struct {
        int slot, before;                           ///< format before the change
    } changes[BB_SEARCH_SLOTS * BB_SEARCH_NUMBERS]; ///< [change_count] accepted changes, in order
    int change_count;
} bb_search_slots;

/// Runs the search; candidates are states. If the start is rejected, nothing else is tried. Errors:
/// BB_INVALID (too many slots or formats), errors of bb_search_try.
BB_CHECKED bb_status bb_search_run_slots(bb_search *search, bb_search_slots *slots);

/// Largest number of trials: the start, and every other format of every slot once.
int bb_search_slots_most(const bb_slot_table *table);

/// Undoes the last change; false if there is none.
bool bb_search_slots_retreat(bb_search_slots *slots);

/// Lists the checkpoint pieces of the trials, and restores them for a study of `pipelines`. Errors:
/// those of bb_store_read, BB_IO (impossible trials).
void bb_search_trials_list(const bb_search_trials *trials, bb_store_piece pieces[BB_SEARCH_PIECES]);
BB_CHECKED bb_status bb_search_trials_restore(bb_search_trials *trials, bb_index pipelines,
                                              bb_store *checkpoint);

/// Trial as a row of /search.
typedef struct bb_search_row {
    double index;
    const char *pipeline, *candidate;
    double tolerance, loss, cost, wrong, accepted;
} bb_search_row;

/// Columns of /search common to all experiments.
extern const bb_output_table bb_search_outputs;
extern const char bb_search_title[];

/// Table of further columns.
#define BB_SEARCH_TABLE(rows)                                                                      \
    {                                                                                              \
        .title = bb_search_title, .group = "search", .axes = "trial", BB_OUTPUT_ROWS(rows)         \
    }

/// Writes the group /search, one row per trial; no effect without trials. Names of pipelines start
/// at `names`, `stride` bytes apart. Errors: BB_MEMORY, errors of bb_output_table_publish.
BB_CHECKED bb_status bb_search_trials_publish(const bb_search_trials *trials,
                                              const char *const *names, size_t stride,
                                              const bb_output_table *candidates,
                                              const bb_output_table *losses, bb_results *results);

#endif
