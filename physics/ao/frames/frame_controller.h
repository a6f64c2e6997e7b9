// SPDX-License-Identifier: Apache-2.0
//
// What a real-time controller makes of one frame of slopes after another: commands by a stored
// matrix, an integrator on pseudo-open-loop slopes, and a delay.
//
// Sensors see s_k = t_k - P a_k (+ noise): the turbulence less what the mirrors make of the command
// a_k that is on them; in open loop P = 0. The controller knows P and adds it back:
//   u_k = Q (s_k + P a_k),   c_k = (1 - g) c_(k-1) + g u_k,   c_0 = u_0,
// with Q the matrix as it is stored and g the gain. Command c_k is on the mirrors from `delay`
// frames after the middle of exposure k, until the next arrives. Over the exposure of frame k, of
// length e in frames, a_k is the mean of what is on them: with L = ceil(delay + e / 2),
//   a_k = (1 - share) c_(k-L) + share c_(k-L+1),   share = max(0, (e / 2 + L - 1 - delay) / e),
// and nothing is before the first. With g = 1, c_k = Q (t_k + noise): the loop has no memory.
// Gilles 2005 has such a controller.
#ifndef BB_PHYSICS_AO_FRAMES_FRAME_CONTROLLER_H
#define BB_PHYSICS_AO_FRAMES_FRAME_CONTROLLER_H

#include "core/need.h"
#include "core/status.h"

/// How Q s is computed where that is not in fp64; borrowed.
typedef struct bb_control_product {
    /// Q s of slopes [slopes] into `out` [rows], with `work` doubles of scratch; NULL: in fp64.
    void (*multiply)(const void *context, const double *slopes, double *work, double *out);
    const void *context; ///< read by several threads at once
    bb_index work;
} bb_control_product;

/// Constant while a loop runs; matrices are borrowed.
typedef struct bb_control_law {
    bb_index rows;   ///< of what a command is: voltages, or slopes that a mirror follows
    bb_index slopes; ///< n
    const double *q; ///< [rows][slopes]
    bb_control_product product;
    const double *seen; ///< P [slopes][rows]; NULL: open loop
    double gain;        ///< (0, 1]
    double delay;       ///< in frames, at least exposure / 2; more than that in closed loop
    double exposure;    ///< in frames, 0..1
} bb_control_law;

/// The commands of the last frames. Plain owner.
typedef struct bb_frame_controller {
    const bb_control_law *law;
    bb_index lag;     ///< L
    double share;     ///< of the newer command
    bb_index count;   ///< frames so far
    double *commands; ///< [lag + 1][rows], frame k at k mod (lag + 1)
    double *applied;  ///< a_k [rows]
    double *echo;     ///< P a_k [slopes]
    double *input;    ///< [slopes]
    double *made;     ///< u_k [rows] of a product that is not in fp64, then its scratch
} bb_frame_controller;

/// Errors: BB_MEMORY, BB_INVALID (a law that would need a command before it is made). Release with
/// bb_frame_controller_release.
BB_CHECKED bb_status bb_frame_controller_create(const bb_control_law *law,
                                                bb_frame_controller *out);
void bb_frame_controller_release(bb_frame_controller *loop);
bb_need bb_frame_controller_need(double rows, double slopes, double delay);

/// Forgets all frames.
void bb_frame_controller_restart(bb_frame_controller *loop);

/// Takes the slopes [slopes] that sensors would see without mirrors. Returns the command c_k
/// [rows], valid until the next step.
const double *bb_frame_controller_step(bb_frame_controller *loop, const double *turbulence);

#endif
