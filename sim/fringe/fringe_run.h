// SPDX-License-Identifier: Apache-2.0
//
// The fringe driver: scene -> frames, stored per pipeline -> wrapped phase -> unwrapped per
// pipeline
// -> wrong cycles and nanometres.
#ifndef BB_SIM_FRINGE_FRINGE_RUN_H
#define BB_SIM_FRINGE_FRINGE_RUN_H

#include "sim/experiment.h"
#include "sim/fringe/fringe_score.h"

extern const bb_output_table *const bb_fringe_outputs[];

/// Contracts in sim/experiment.h; `study` is a bb_fringe_study.
BB_CHECKED bb_status bb_fringe_run(const void *study, const bb_run_options *options,
                                   bb_results *results);
BB_CHECKED bb_status bb_fringe_run_plan(const void *study, const bb_run_options *options,
                                        bb_plan *plan);

/// Pipelines that are tried one after another against a study's reference: devices and compiled
/// kernels stay.
typedef struct bb_fringe_trials bb_fringe_trials;

/// `study` and what it refers to are borrowed for as long as the trials live. Errors: those of a
/// run. Owner: the caller.
BB_CHECKED bb_status bb_fringe_trials_create(const bb_fringe_study *study,
                                             const bb_run_options *options, bb_fringe_trials **out);
void bb_fringe_trials_destroy(bb_fringe_trials **trials);

/// Computes one draw of the reference and of `pipeline`, and scores that; no polynomials are
/// fitted. Errors: those of a run. Owner of what `*out` holds: the caller.
BB_CHECKED bb_status bb_fringe_trials_run(bb_fringe_trials *trials,
                                          const bb_fringe_pipeline *pipeline, bb_index draw,
                                          bb_fringe_evaluation *out);

#endif
