// SPDX-License-Identifier: Apache-2.0
//
// Frames of one sky that the wind carries (frozen flow, Taylor 1938): every layer's screens keep
// their shape and move by v t.
//
// Screens are sums of plane waves (phase_screen.h), so a move is a phase factor to each wave, exact
// at any time; sensors and pupils keep their axes. Slopes may be averaged over an exposure, a
// factor to each wave too. The waves of a screen repeat after its period, and with it what a layer
// shows after period / v: long waves from other ones of their own (subharmonics), the finer ones
// the same again. That makes frames of one realisation alike, not wrong; errors come from several
// realisations, whose screens are independent.
//
// A frame is made of (seed, realisation, time) and the number of its noise alone.
#ifndef BB_PHYSICS_AO_FRAMES_FLOW_SAMPLER_H
#define BB_PHYSICS_AO_FRAMES_FLOW_SAMPLER_H

#include "physics/ao/frames/frame_sampler.h"

/// One realisation at a time; one for each thread.
typedef struct bb_flow_sampler bb_flow_sampler;

/// Borrows the sampler and `wind` [layers][2], m/s along x and y. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_flow_sampler_create(const bb_frame_sampler *sampler,
                                            const double (*wind)[2], bb_flow_sampler **out);
void bb_flow_sampler_destroy(bb_flow_sampler **flow);

/// Draws the screens of a realisation, those of frame `number` of the sampler.
void bb_flow_sampler_start(bb_flow_sampler *flow, uint64_t seed, uint64_t number);

/// What the sensors of `parts` (BB_FRAME_GUIDES ...) see at a time, guide stars on the mean over
/// `exposure_s` around it and with the noise of frame `noise_number`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_flow_sampler_look(bb_flow_sampler *flow, int parts, double time_s,
                                          double exposure_s, uint64_t seed, uint64_t noise_number,
                                          bb_frame *frame);

/// What a realisation holds beside the sampler, and what drawing it takes, on one thread.
bb_need bb_flow_sampler_need(const bb_frame_sampler_extent *frames);

/// What one look takes on one thread: at guide stars and targets, of `frames` as a whole. A mean of
/// both parts counts as one.
bb_need bb_flow_sampler_look_need(const bb_frame_sampler_extent *frames);

#endif
