// SPDX-License-Identifier: Apache-2.0
//
// Pipelines with `promise: {price: x}` in the place of their numbers: those of fewest bytes, slot
// by slot, with which no point is on another cycle than the reference's (or at most `wrong_cycles`
// of them) and the wavefront's rms minus the reference's is at most x nm, of every draw.
//
// Searched as `tune --for` does (sim/kernels/slot_search.h), over the same numbers. A cost is the
// bytes of all fields. That nothing else is smaller is not shown.
#ifndef BB_SIM_FRINGE_FRINGE_PROMISE_H
#define BB_SIM_FRINGE_FRINGE_PROMISE_H

#include "sim/fringe/fringe_work.h"
#include "sim/pipelines/promise.h"
#include "sim/plan.h"

/// Trials of all promises of a study, at most.
bb_index bb_fringe_promises_most(const bb_fringe_study *study);

/// Draws whose phase of the reference the searches of a study come back to; 0: none promises.
bb_index bb_fringe_promises_draws(const bb_fringe_study *study);

/// Searches for pipeline `pipeline` of the work, which takes its place where one is found, and says
/// what came of it: ok with a detail, or not_converged. `drawn` says how many draws its last trial
/// took. Errors: those of bb_fringe_work_try.
BB_CHECKED bb_status bb_fringe_promise_keep(bb_fringe_work *work, bb_index pipeline,
                                            bb_promise_trials *trials, bb_index *drawn,
                                            bb_outcome *outcome);

/// Writes the group /promise, one row a trial; nothing where nothing was tried. Errors: those of
/// bb_promise_trials_publish.
BB_CHECKED bb_status bb_fringe_promises_publish(const bb_promise_trials *trials,
                                                const bb_fringe_study *study, bb_results *results);

/// What was tried and what it costs, and the price, in /promise.
extern const bb_output_table bb_fringe_promise_outputs, bb_fringe_promise_prices;

/// What the search of a pipeline takes once its kernels are compiled, and a line of the plan.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_promise_plan(const bb_fringe_study *study,
                                            const bb_fringe_pipeline *pipeline, bool on_gpu,
                                            bb_plan *plan, bb_need *need);

/// Seconds to compile the kernels of all promises of a study, once for each of the numbers; 0 of
/// none.
double bb_fringe_promises_compile_s(const bb_fringe_study *study);

#endif
