// SPDX-License-Identifier: Apache-2.0
//
// Unwraps a phase in the steps of seed 002: wrapped gradients, deleted jumps, least squares by
// multigrid, then congruence. Every step on a grid is a kernel of the language (configs/kernels,
// unwrap_*), so it runs on whatever device has a back end.
//
//  1. Wrapped differences of neighbours within the mask.
//  2. Each differs from the mean of its 9 x 9 neighbours by a residual. The scale of all residuals
//     is 1.4826 times the median of their sizes, over every fourth row and column. Edges beyond the
//     limit, three times the scale within [LEAST, MOST], are rejected: their gradient is that
//     mean at first and their weight next to nothing. At noise of sigma rad a point the residuals'
//     scale is sqrt(2) sigma; the limit never comes near pi, so that what was wrapped by noise is
//     rejected with it. A limit may also be given, or none.
//  3. Weighted least squares (unwrap_grids.h), until a correction is small or the cycles are
//     done; in it a rejected edge has that mean. Then, as often as asked, weights are made anew
//     from the residuals of the solution towards least absolute residuals (Holland and Welsch 1977,
//     Commun. Stat. A6(9)): b d / (d + |r|) with d halved each time, 11 times at most, and with
//     b = 1 / (1 + (e / s)^2) of an edge whose gradient differs by e from its mean (Cauchy's
//     weights), s the scale of step 2, at least 0.1 rad. Rejected edges have their own gradients
//     again. It ends early where the phase, or its J (5.), has stayed the same twice. Where two
//     cycles or more do not contract, and their corrections are not yet rounding, or where ways
//     within the mask wind (unwrap_parts.h), conjugate gradients (unwrap_descent.h) solve these
//     equations and those of the rest of the run.
//  4. Points all of whose edges were rejected are set by the points around them (mean over pairs
//     that lie opposite in 5 x 5). The piston of each part is the angle of the mean direction of
//     wrapped phase less solution, then refined by means of what is left. The phase is the wrapped
//     one and the whole number of turns that is nearest to solution and piston.
//  5. Of the phases of all least squares, the unweighted one among them, the result is that with
//     the least J = sum over edges of b |k|, k the turns by which the difference of the phase
//     misses the wrapped one; of equal ones the first.
//
// Results are the same for any number of threads.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_H
#define BB_SOLVERS_UNWRAP_UNWRAP_H

#include "core/need.h"
#include "solvers/unwrap/unwrap_config.h"
#include "solvers/unwrap/unwrap_parts.h"
#include "solvers/unwrap/unwrap_step.h"

struct bb_kernel_context;

/// All that is needed for phases of one mask: memory and kernels on a device.
typedef struct bb_unwrap bb_unwrap;

/// What a run found.
typedef struct bb_unwrap_report {
    double scale_rad;      ///< of the residuals of gradients; NaN without rejection
    double limit_rad;      ///< of a residual; NaN without rejection
    double rejected_share; ///< of the edges; NaN where there is none
    bb_index cycles;       ///< V-cycles in all, and steps of conjugate gradients
    bb_index reweighted;   ///< times
    bb_index changed;      ///< points of the last one on another turn than the kept ones; 0 without
    double jumps;          ///< J of the result (5.); NaN without reweighting
    /// The least squares of the result, by its corrections, or a result of reweighting without
    /// jumps.
    bool converged;
    double bytes;         ///< that the fields take in their formats
    double fp32_bytes;    ///< and in fp32
    double cycle_seconds; ///< of the V-cycles, and of coarse weights and right-hand sides
    double solve_seconds; ///< from the wrapped phase in host memory to the result there
} bb_unwrap_report;

/// For phases of `mask` [rows][columns] (0: no data). The context is borrowed for as long as it
/// lives, config and mask during the call. Errors: BB_INVALID (no point in the mask, an arithmetic
/// that is neither fp32 nor fp64), BB_UNSUPPORTED, BB_MEMORY, those of bb_kernel_launch_create.
/// Owner: the caller.
BB_CHECKED bb_status bb_unwrap_create(struct bb_kernel_context *context,
                                      const bb_unwrap_config *config, const unsigned char *mask,
                                      bb_index columns, bb_index rows, bb_unwrap **out);
void bb_unwrap_destroy(bb_unwrap **unwrap);

/// What an unwrapper, a run of it and its verification take; the fields are in `device_bytes` where
/// `on_device`, a memory of its own, else in the host's. The seconds are those of two cores, with
/// as many reweightings as are allowed. Conjugate gradients, which any run or verification may
/// start, are in the bytes alone: their steps depend on the phase.
bb_need bb_unwrap_need(const bb_unwrap_config *config, bb_index columns, bb_index rows,
                       bool on_device);

/// The parts of the mask; valid as long as the object.
const bb_unwrap_parts *bb_unwrap_parts_of(const bb_unwrap *unwrap);

/// Unwraps `wrapped` [rows][columns] in rad, finite within the mask, into `phase` [rows][columns],
/// NaN outside it. The first run compiles, and records what a GPU repeats (bb_device_graph): its
/// seconds hold that too. Errors: those of bb_kernel_launch_queue, BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_run(bb_unwrap *unwrap, const double *wrapped, double *phase,
                                   bb_unwrap_report *report);

/// Decides `converged` of a run with the result `phase` where its corrections do not: in formats
/// without conjugate gradients (bb_unwrap_config_descends), where these failed, after a single
/// cycle or few that leave an error, and after cycles that did not contract for rounding. Solves
/// the last least squares from the phase by conjugate gradients, in words without rounding to the
/// formats. The run has converged if at most one point in a thousand, or three, is then on another
/// turn. Call it behind bb_unwrap_run, before the next one. Errors: those of
/// bb_kernel_launch_queue, BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_verify(bb_unwrap *unwrap, const double *phase,
                                      bb_unwrap_report *report);

/// For streams: where a kernel of the user's writes the wrapped phase on the device, [rows]
/// [columns] in words of SP, or of DP where the format is fp64; finite everywhere.
const bb_unwrap_field *bb_unwrap_wrapped(const bb_unwrap *unwrap);

/// Queues the unwrapping of what stands there, in the device's order of work: kernels and zeroing
/// alone, the same every time, so that a bb_device_graph can hold it. Nothing is read back to
/// decide: all of method.cycles, method.reweight and method.reweight_cycles are done, none by
/// conjugate gradients. The phase is that of bb_unwrap_run where as many were done there. Errors:
/// as bb_unwrap_run.
BB_CHECKED bb_status bb_unwrap_queue(bb_unwrap *unwrap);

/// Queues the copies of what bb_unwrap_read gives, so that they do not wait for the host: behind a
/// bb_unwrap_queue, once before its bb_unwrap_read, which else does it. What was fetched is read
/// before the next one is queued; a bb_unwrap_run drops it. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_unwrap_fetch(bb_unwrap *unwrap);

/// The phase of what was queued last, as bb_unwrap_run gives it; waits for the device, once. Of the
/// report the times and `jumps` are NaN and `changed` is 0; `converged` says that the last
/// correction of a coarse grid is below half a turn: cycles that hardly contract on a mask are not
/// seen. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_unwrap_read(bb_unwrap *unwrap, double *phase, bb_unwrap_report *report);

#endif
