// SPDX-License-Identifier: Apache-2.0
//
// Fringe experiment: wrong cycles and nanometres of an interferometer's unwrapped phase.
#ifndef BB_SIM_FRINGE_FRINGE_EXPERIMENT_H
#define BB_SIM_FRINGE_FRINGE_EXPERIMENT_H

#include "sim/run/experiment.h"

extern const bb_experiment bb_fringe_experiment;

/// Functions of bb_fringe_experiment; contracts in sim/run/experiment.h, `study` is a
/// bb_fringe_study.
BB_CHECKED bb_status bb_fringe_experiment_plan(const void *study, const bb_run_options *options,
                                               bb_plan *plan);
/// Runs scene -> frames stored per pipeline -> wrapped phase -> unwrapping per pipeline -> wrong
/// cycles and nanometres.
BB_CHECKED bb_status bb_fringe_experiment_run(const void *study, const bb_run_options *options,
                                              bb_results *results);
/// Runs a stream of interferograms through pipelines of a study as fast as frames arrive.
///
/// The first frames determine the mask of the stream (live_lanes.h). Frames of another size get new
/// pipelines. The stream ends on its last frame, after a timeout without frames, after the
/// requested number of phases or on an interrupt; each of these still prints the summary.
BB_CHECKED bb_status bb_fringe_experiment_live(const void *study, const bb_live_options *options,
                                               bb_results *results, bb_text *table);

#endif
