// SPDX-License-Identifier: Apache-2.0
//
// Phase from one frame with a carrier (Womack, Opt. Eng. 23, 391, 1984): a tilt of (x, y) cycles a
// pixel makes fringes dense, I = a + b cos(phase + 2 pi (x column + y row)). Times
// exp(-2 pi i (x column + y row)) the part b / 2 exp(i phase) varies slowly, and a window keeps it:
//
//     S = sum_jk w_j w_k (I - mean I) exp(-2 pi i (x column + y row)),   phase = arg S
//
// over pixels with data. w is Hann's window of n pixels, sin^2(pi (k + 1) / (n + 1)), which lets
// nothing through at 2 / (n + 1), 3 / (n + 1), ... cycles a pixel and little between. A phase that
// bends within a window is smoothed; within half a window of an edge of the data the window is
// one-sided, and the phase that of a place further in.
#ifndef BB_PHYSICS_FRINGE_CARRIER_H
#define BB_PHYSICS_FRINGE_CARRIER_H

#include "physics/fringe/interferogram.h"

/// Weights [px] of the window.
void bb_carrier_window(bb_index px, double *weights);

/// The phase [rows][columns] of one frame in (-pi, pi], NaN where the frame is, or where the
/// modulation, 2 |S| over the sum of the weights that have data, is 0 or below least_modulation.
/// `modulation` [rows][columns] as of bb_detection_run. The same bits at any number of threads.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_carrier_run(const bb_fringe_detection_config *detection,
                                    const bb_frames *frames, double *phase, double *modulation);

#endif
