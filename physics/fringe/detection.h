// SPDX-License-Identifier: Apache-2.0
//
// Phase detection from frames.
//
// Steps: least squares over known steps (Greivenkamp, Opt. Eng. 23, 350, 1984). I_n = a0 + a1 cos
// step_n + a2 sin step_n in each pixel determines the phase atan2(-a2, a1) and the modulation, the
// amplitude of the fringes, hypot(a1, a2). For steps that divide 2 pi it is the N-bucket formula;
// noise of sigma in a pixel then gives noise of sqrt(2 / N) sigma / modulation in the phase.
//
// Carre (Metrologia 2, 13, 1966): four frames at phase - 3a, - a, + a, + 3a, a unknown and within
// (0, pi / 2). With A = I_1 - I_4 and B = I_2 - I_3
//
//     tan phase = sign(B) sqrt((3 B - A) (A + B)) / (I_2 + I_3 - I_1 - I_4)
//
// where numerator and denominator are |sin| and cos of the phase times 8 sin^2 a cos a times the
// modulation, so that the sign of B, which is that of the sine, and the denominator's choose the
// quadrant. A product made negative by noise counts as 0. The modulation assumes the nominal step.
#ifndef BB_PHYSICS_FRINGE_DETECTION_H
#define BB_PHYSICS_FRINGE_DETECTION_H

#include "physics/fringe/interferogram.h"

// Phase from one frame with a carrier (Womack, Opt. Eng. 23, 391, 1984): a tilt of (x, y) cycles a
// pixel makes the fringes dense, I = a + b cos(phase + 2 pi (x column + y row)). Multiplied by
// exp(-2 pi i (x column + y row)), the term b / 2 exp(i phase) varies slowly, and a window selects
// it:
//
//     S = sum_jk w_j w_k (I - mean I) exp(-2 pi i (x column + y row)),   phase = arg S
//
// over pixels with data. w is Hann's window of n pixels, sin^2(pi (k + 1) / (n + 1)), which has
// zeros at 2 / (n + 1), 3 / (n + 1), ... cycles a pixel and low side lobes between. Curvature of
// the phase within a window is smoothed; within half a window of an edge of the data the window is
// one-sided, and the phase is that of a point further in.

/// Computes the weights [px] of the window.
void bb_detection_carrier_window(bb_index px, double *weights);

/// The phase [rows][columns] of one frame in (-pi, pi], NaN where the frame is, or where the
/// modulation, 2 |S| over the sum of the weights that have data, is 0 or below least_modulation.
/// `modulation` [rows][columns] as for bb_detection_run. The same bits at any number of threads.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_detection_carrier(const bb_fringe_detection_config *detection,
                                          const bb_frames *frames, double *phase,
                                          double *modulation);

enum { BB_DETECTION_FRAMES = 16 }; ///< maximum number of frames

/// Checks steps other than the configuration's own for least squares: 3 to BB_DETECTION_FRAMES of
/// them, finite, with 1, cos and sin linearly independent (determinant of the normal equations
/// without the mean over 1e-6 steps^2; steps that divide 2 pi have 1/4). Errors: BB_INVALID.
BB_CHECKED bb_status bb_detection_steps_check(bb_index steps, const double *steps_rad);

/// Returns x - 2 pi rint(x / (2 pi)) in (-pi, pi]; NaN stays.
double bb_detection_wrap(double x);

/// Wraps `count` phases, as the algorithm none does; `wrapped` may be `phase`.
void bb_detection_wrap_all(bb_index count, const double *phase, double *wrapped);

/// Computes the weights of N frames at `steps_rad`: sum_n cosines[n] I_n is a1, sum_n sines[n] I_n
/// a2.
void bb_detection_weights(bb_index count, const double *steps_rad, double *cosines, double *sines);

/// The phase of frames from bb_frames_create (quantised or not) by the configuration's algorithm:
/// `phase` [rows][columns] in (-pi, pi], NaN where frames are, or where the modulation is 0 or
/// below detection.least_modulation. `modulation` [rows][columns], relative to full scale, of every
/// pixel with frames; NULL: omitted. The same bits at any number of threads. Errors: BB_INVALID for
/// an algorithm without frames or another number of them.
BB_CHECKED bb_status bb_detection_run(const bb_fringe_detection_config *detection,
                                      const bb_frames *frames, double *phase, double *modulation);

#endif
