// SPDX-License-Identifier: Apache-2.0
//
// `bitbudget live`: a stream of interferograms through pipelines of a study, as fast as they come.
//
// The mask of a stream is that of its first frames (live_pipeline.h). Frames of another size get
// pipelines of their own; a stream without frames is waited for, then taken to have ended; an
// interrupt ends it, as does the number of phases that was asked for. All of these end with the
// summary.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_RUN_H
#define BB_SIM_FRINGE_LIVE_LIVE_RUN_H

#include "sim/experiment.h"

/// Contract in sim/experiment.h; `study` is a bb_fringe_study.
BB_CHECKED bb_status bb_live_run(const void *study, const bb_live_options *options,
                                 bb_results *results, bb_text *table);

#endif
