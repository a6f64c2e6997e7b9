// SPDX-License-Identifier: Apache-2.0
//
// What random frames take (physics/ao/frames/frame_sampler.h), for the plan of a study.
#ifndef BB_SIM_AO_AO_FRAME_PLAN_H
#define BB_SIM_AO_AO_FRAME_PLAN_H

#include "physics/ao/frames/frame_sampler.h"

/// Sizes of the frames.
typedef struct bb_ao_frame_extent {
    double frames, layers;
    double lines;          ///< lenslets along an edge, of all sensors
    double points;         ///< along the pupil's edge, of all targets
    double squared_points; ///< sum of their squares
    bb_screen_size screen;
} bb_ao_frame_extent;

/// What all threads share, and what each has.
double bb_ao_frame_bytes(const bb_ao_frame_extent *of, double threads);

/// Of one core.
double bb_ao_frame_seconds(const bb_ao_frame_extent *of);

#endif
