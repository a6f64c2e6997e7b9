// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC11), addressed by (seed, stream,
// index), never by call order, so that results do not depend on threads or on what ran before.
#ifndef BB_CORE_RANDOM_H
#define BB_CORE_RANDOM_H

#include "core/status.h"

#include <stdint.h>

/// Streams, one for each cause of randomness. Add a name here; never reuse a number.
typedef enum bb_stream {
    BB_STREAM_BURL_STIFFNESS = 1,
    BB_STREAM_PHASE_SCREEN = 2,
    BB_STREAM_SELF_TEST = 3,
    BB_STREAM_INPUT = 4, ///< input vectors of studies of products
    BB_STREAM_SLOPE_NOISE = 10,
    BB_STREAM_LASER_TILT = 11,
    BB_STREAM_PHASE_DETAIL = 12,    ///< waves of a screen beyond those of BB_STREAM_PHASE_SCREEN
    BB_STREAM_BURL_MISSING = 16,    ///< burls missing at random
    BB_STREAM_MISSED_DEADLINE = 20, ///< corrections that never arrive
    BB_STREAM_RANGE_FINDER = 24,    ///< random columns of the range finder
    BB_STREAM_DRAW = 28,     ///< row factors that make the rounding errors of samples independent
    BB_STREAM_DITHER = 29,   ///< row factors that keep equal entries from being rounded alike
    BB_STREAM_ROUNDING = 30, ///< direction of stochastic rounding
    BB_STREAM_SUMMED_SLOPE = 31,    ///< slopes of studies of narrow accumulators
    BB_STREAM_SWEEP = 34,           ///< samples of the keys in a sweep
    BB_STREAM_SURFACE_BUMP = 40,    ///< positions, widths and heights of a surface's bumps
    BB_STREAM_SURFACE_WAVE = 41,    ///< waves of a surface's power spectrum
    BB_STREAM_VORTEX = 42,          ///< positions of residues of a phase
    BB_STREAM_PUPIL_HOLE = 43,      ///< positions of discs without data
    BB_STREAM_DEAD_PIXEL = 44,      ///< pixels without data
    BB_STREAM_PHASE_NOISE = 45,     ///< noise of a measured phase
    BB_STREAM_FRAME_NOISE = 46,     ///< noise of camera pixels
    BB_STREAM_FRAME_VIBRATION = 47, ///< phase errors common to a camera frame
    BB_STREAM_NIGHT_WALK = 48,      ///< random walk of layer strengths
    BB_STREAM_NIGHT_LEARNING = 49,  ///< errors of learned layer strengths
    BB_STREAM_LOOP_MATRIX = 60,     ///< values of a random control matrix
    BB_STREAM_LOOP_REFERENCE = 61,  ///< reference slopes of a control loop
    BB_STREAM_LOOP_SLOPES = 62,     ///< measured slopes of a control loop
} bb_stream;

/// Computes four words for the address (seed, stream, index).
void bb_random_words(uint64_t seed, bb_stream stream, uint64_t index, uint32_t words[4]);

/// Returns a uniform number on the open interval (0, 1), with 52 bits.
double bb_random_uniform(uint64_t seed, bb_stream stream, uint64_t index);

/// Returns a standard normal deviate (Box-Muller on one address).
double bb_random_normal(uint64_t seed, bb_stream stream, uint64_t index);
/// Computes two independent standard normal deviates of one address; the first is
/// bb_random_normal's.
void bb_random_normal_pair(uint64_t seed, bb_stream stream, uint64_t index, double out[2]);

#endif
