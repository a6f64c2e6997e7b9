// SPDX-License-Identifier: Apache-2.0
//
// What a controller in time (ao_timeline.h) takes beside its scores, for a plan.
#ifndef BB_SIM_AO_TIMELINE_AO_TIMELINE_PLAN_H
#define BB_SIM_AO_TIMELINE_AO_TIMELINE_PLAN_H

#include "physics/ao/frames/frame_sampler.h"
#include "sim/ao/ao_study.h"

/// Sizes of a study.
typedef struct bb_ao_timeline_extent {
    bb_frame_sampler_extent frames;
    double n;         ///< measurements
    double truths;    ///< slopes of a truth sensor, at most
    double actuators; ///< of a target's own mirror, where pipelines store commands
    double together;  ///< of mirrors that correct together; 0: none do
    double threads;
} bb_ao_timeline_extent;

/// The run on all skies; `held` stays until its scores are made: what guide stars see of mirrors,
/// and matrices whose products are not in fp64.
bb_need bb_ao_timeline_plan_need(const bb_ao_study *study, const bb_ao_timeline_extent *extent,
                                 bb_need *held);

#endif
