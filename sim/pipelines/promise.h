// SPDX-License-Identifier: Apache-2.0
//
// Promises: the cheapest candidate whose price, in the unit of the experiment, is at most a limit.
//
// An experiment says how a candidate is computed and priced (a callback, once a draw) and in which
// order candidates come; here they are tried, compared, listed and published. A candidate keeps the
// promise where every one of its draws does, and its price is the worst; one that breaks down keeps
// none. Beside its price a candidate may have a count that is wrong, which has a limit of its own
// and comes first: no price makes up for it. What is found is the trial of least cost of those that
// kept the promise: verified, and never dearer than another that was tried. That nothing else is
// cheaper is as sure as the price is monotone along a ladder that is bisected.
#ifndef BB_SIM_PIPELINES_PROMISE_H
#define BB_SIM_PIPELINES_PROMISE_H

#include "sim/output/checkpoint.h"
#include "sim/output/output_table.h"

#include <stdbool.h>

enum { BB_PROMISE_NAME = 128, BB_PROMISE_PIECES = 2 };

/// Something to try.
typedef struct bb_promise_candidate {
    const char *name;     ///< at most BB_PROMISE_NAME - 1 bytes are kept
    double tolerance;     ///< of its rule or codec, NaN where it has none
    const void *pipeline; ///< what the callbacks make of it
} bb_promise_candidate;

/// A candidate that was tried.
typedef struct bb_promise_trial {
    bb_index pipeline; ///< of the study
    char name[BB_PROMISE_NAME];
    double tolerance, price, cost; ///< price NaN where it broke down
    double wrong;                  ///< largest of its draws, 0 where the experiment counts nothing
    bool kept;
} bb_promise_trial;

/// Trials of all searches of a run. Opaque, owned by the caller.
typedef struct bb_promise_trials bb_promise_trials;

/// Room for `limit` trials. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_promise_trials_create(bb_index limit, bb_promise_trials **out);
void bb_promise_trials_destroy(bb_promise_trials **trials);

/// One search. Zero-initialise what is not given; `found`, `trial_count` and `best` are the result.
typedef struct bb_promise_search {
    bb_promise_trials *trials;
    bb_index pipeline;  ///< of the study
    const char *name;   ///< of that
    double limit;       ///< the price that is promised
    double wrong_limit; ///< the count that is promised
    bb_index draws;     ///< at least 1
    void *context;      ///< of the callbacks
    /// Computes a candidate as one of its draws; `*price` is NaN where it failed or has none.
    bb_status (*evaluate)(void *context, const void *pipeline, bb_index draw, double *price);
    /// Cost of the candidate that was evaluated last as draw 0, in any unit.
    double (*cost)(void *context);
    /// What is wrong in the draw that was evaluated last; NULL: the experiment counts nothing.
    double (*wrong)(void *context);
    /// The work of that candidate becomes what was found, in the place of what was.
    void (*adopt)(void *context);
    bool found;
    bb_index trial_count;
    bb_promise_trial best;    ///< where one was found
    bb_promise_trial nearest; ///< of least price of those that kept nothing; no name: none has one
} bb_promise_search;

/// Tries one candidate: its draws until one leaves the promise. `*kept` says whether it kept it.
/// Errors: those of `evaluate`, BB_INTERNAL (no room for another trial).
BB_CHECKED bb_status bb_promise_try(bb_promise_search *search,
                                    const bb_promise_candidate *candidate, bool *kept);

/// The same of a candidate that was computed already, as by who computes several at once: its
/// worst price, NaN where it failed or has none, and its cost. `evaluate`, `cost` and `draws` are
/// not asked. Errors: BB_INTERNAL (no room for another trial).
BB_CHECKED bb_status bb_promise_take(bb_promise_search *search,
                                     const bb_promise_candidate *candidate, double price,
                                     double cost, bool *kept);

/// A bisection for the first of some steps that keeps a promise, as if all after one that does did
/// too: at most 1 + log2(steps) steps are tried.
typedef struct bb_promise_bisection {
    int failed; ///< the last step that is known to fail, or that before the first one
    int kept;   ///< the first step that is known to keep it, or that after the last one
} bb_promise_bisection;

/// The step to try next; -1 where none is left.
int bb_promise_bisection_step(const bb_promise_bisection *bisection);

/// Whether that step kept the promise.
void bb_promise_bisection_take(bb_promise_bisection *bisection, bool kept);

/// Candidates from cheap to precise: `make` gives the one at `step`.
typedef struct bb_promise_ladder {
    int steps;
    void *context;
    void (*make)(void *context, int step, bb_promise_candidate *out);
} bb_promise_ladder;

/// Bisects a ladder for the first step that keeps the promise. Errors: those of bb_promise_try.
BB_CHECKED bb_status bb_promise_bisect(bb_promise_search *search, const bb_promise_ladder *ladder);

/// What a checkpoint has to keep of the trials, and reading it back for a study of `pipelines`.
/// Errors: those of bb_store_take, BB_IO (trials that cannot be).
void bb_promise_trials_list(const bb_promise_trials *trials,
                            bb_store_piece pieces[BB_PROMISE_PIECES]);
BB_CHECKED bb_status bb_promise_trials_take(bb_promise_trials *trials, bb_index pipelines,
                                            bb_store *checkpoint);

/// A trial as /promise has it: what the rows of its tables point into.
typedef struct bb_promise_row {
    double index;
    const char *pipeline, *candidate; ///< who asked, and what was tried
    double tolerance, price, cost, wrong, kept;
} bb_promise_row;

/// The part of /promise that all experiments have; tables of the others share its title.
extern const bb_output_table bb_promise_outputs;

/// What was tried and what it costs, of experiments that search storages.
extern const bb_output_table bb_promise_storages;
extern const char bb_promise_title[];

/// What an experiment's trials are called beside that: the candidate, its tolerance and its cost,
/// and the price.
typedef struct bb_promise_tables {
    const bb_output_table *candidates, *price;
} bb_promise_tables;

/// Writes the group /promise, one row a trial; nothing where nothing was tried. `names` [pipelines]
/// are those of the study's pipelines. Errors: BB_MEMORY, those of bb_output_table_publish.
BB_CHECKED bb_status bb_promise_trials_publish(const bb_promise_trials *trials,
                                               const char *const *names,
                                               const bb_promise_tables *tables,
                                               bb_results *results);

#endif
