// SPDX-License-Identifier: Apache-2.0
//
// The fringe experiment: wrong cycles and nanometres of an interferometer's unwrapped phase.
#ifndef BB_SIM_FRINGE_FRINGE_EXPERIMENT_H
#define BB_SIM_FRINGE_FRINGE_EXPERIMENT_H

#include "sim/run/experiment.h"

extern const bb_experiment bb_fringe_experiment;

/// Functions of that row; contracts in sim/run/experiment.h, `study` is a bb_fringe_study.
BB_CHECKED bb_status bb_fringe_experiment_plan(const void *study, const bb_run_options *options,
                                               bb_plan *plan);
/// Scene -> frames, stored per pipeline -> wrapped phase -> unwrapped per pipeline -> wrong cycles
/// and nanometres.
BB_CHECKED bb_status bb_fringe_experiment_run(const void *study, const bb_run_options *options,
                                              bb_results *results);
/// A stream of interferograms through pipelines of a study, as fast as they come.
///
/// The mask of a stream is that of its first frames (live_lanes.h). Frames of another size get
/// pipelines of their own; a stream without frames is waited for, then taken to have ended; an
/// interrupt ends it, as does the number of phases that was asked for. All of these end with the
/// summary.
BB_CHECKED bb_status bb_fringe_experiment_live(const void *study, const bb_live_options *options,
                                               bb_results *results, bb_text *table);

#endif
