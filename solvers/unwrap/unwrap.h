// SPDX-License-Identifier: Apache-2.0
//
// Phase unwrapping in the steps of Beier (docs/manual/references.md): wrapped gradients, rejection
// of outlier edges, least squares by multigrid, then congruence. Every step on a grid is a kernel
// of the kernel language (configs/kernels, unwrap_*), so it runs on every device with a backend.
//
//  1. Compute wrapped differences of neighbours within the mask.
//  2. Subtract from each difference the mean of its 9 x 9 neighbours; the rest is its residual. The
//     scale of all residuals is 1.4826 times the median of their absolute values, over every fourth
//     row and column. Edges beyond the limit, three times the scale within [LEAST, MOST], are
//     rejected: at first their gradient is that mean and their weight nearly zero. At noise of
//     sigma rad per point the scale of the residuals is sqrt(2) sigma. The limit stays well below
//     pi, so that differences wrapped by noise are rejected, too. The limit may also be fixed or
//     disabled.
//  3. Solve weighted least squares (unwrap_grids.h) until a correction is small or the V-cycles are
//     used up; rejected edges use their mean. Then reweight from the residuals of the solution
//     towards least absolute residuals (Holland and Welsch 1977, Commun. Stat. A6(9)), for the
//     given number of times. The weight is b d / (d + |r|) with d halved each time, at most 11
//     times. b = 1 / (1 + (e / s)^2) are Cauchy's weights of an edge whose gradient differs by e
//     from its mean, with s the scale of step 2, at least 0.1 rad. Rejected edges use their own
//     gradients again. Reweighting stops early if the phase, or its J (step 5), is unchanged twice
//     in a row. Conjugate gradients (unwrap_descent.h) take over this and all later solves of the
//     run if two or more V-cycles do not contract and their corrections are above rounding, or if
//     paths within the mask wind (unwrap_parts.h).
//  4. Set points without an accepted edge from their surroundings (mean over opposite pairs within
//     5 x 5). The piston of each part is the angle of the mean direction of wrapped phase minus
//     solution, refined by the means of the remaining differences. The result is the wrapped phase
//     plus the multiple of 2 pi nearest to solution and piston.
//  5. Of the phases of all least-squares solves, including the unweighted one, return the one with
//     the least J = sum over edges of b |k|. k is the number of cycles by which the difference of
//     the phase deviates from the wrapped difference; the first one wins a tie.
//
// Results do not depend on the number of threads.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_H
#define BB_SOLVERS_UNWRAP_UNWRAP_H

#include "core/need.h"
#include "solvers/unwrap/unwrap_config.h"
#include "solvers/unwrap/unwrap_parts.h"
#include "solvers/unwrap/unwrap_step.h"

struct bb_kernel_context;

/// Memory and kernels on a device for phases of one mask.
typedef struct bb_unwrap bb_unwrap;

/// Report of a run.
typedef struct bb_unwrap_report {
    double scale_rad;      ///< scale of the residuals of gradients; NaN without rejection
    double limit_rad;      ///< limit of a residual; NaN without rejection
    double rejected_share; ///< share of rejected edges; NaN if there are no edges
    bb_index cycles;       ///< V-cycles and steps of conjugate gradients, in total
    bb_index reweighted;   ///< number of reweightings
    /// Points where the last phase differs from the best one; 0 without reweighting.
    bb_index changed;
    double jumps; ///< J of the result (step 5); NaN without reweighting
    /// True if the least-squares solve of the result converged, judged by its corrections, or if
    /// reweighting found a phase without jumps.
    bool converged;
    double bytes;         ///< bytes of the fields in their formats
    double fp32_bytes;    ///< bytes of the same fields in fp32
    double cycle_seconds; ///< time of the V-cycles, including coarse weights and right-hand sides
    double solve_seconds; ///< from the wrapped phase in host memory to the result in host memory
} bb_unwrap_report;

/// Creates an unwrapper for phases of `mask` [rows][columns] (0: no data). The context is borrowed
/// for its lifetime, config and mask during the call. Errors: BB_INVALID (no point in the mask, an
/// arithmetic other than fp32 or fp64), BB_UNSUPPORTED, BB_MEMORY, those of
/// bb_kernel_launch_create. Owner: the caller.
BB_CHECKED bb_status bb_unwrap_create(struct bb_kernel_context *context,
                                      const bb_unwrap_config *config, const unsigned char *mask,
                                      bb_index columns, bb_index rows, bb_unwrap **out);
void bb_unwrap_destroy(bb_unwrap **unwrap);

/// Cost of an unwrapper with a run and its verification. The fields are in `device_bytes` if
/// `on_device` (a device with its own memory), else in host memory. Seconds are for two cores with
/// the full number of reweightings. Bytes include conjugate gradients, which any run or
/// verification may start; seconds do not, because the number of their steps depends on the phase.
bb_need bb_unwrap_need(const bb_unwrap_config *config, bb_index columns, bb_index rows,
                       bool on_device);

/// Parts of the mask; valid as long as the object.
const bb_unwrap_parts *bb_unwrap_parts_of(const bb_unwrap *unwrap);

/// Unwraps `wrapped` [rows][columns] in rad, finite within the mask, into `phase` [rows][columns],
/// NaN outside it. The first run includes compilation and recording of the GPU's graphs
/// (bb_device_graph) in its seconds. Errors: from bb_kernel_launch_queue, BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_run(bb_unwrap *unwrap, const double *wrapped, double *phase,
                                   bb_unwrap_report *report);

/// Determines `converged` of a run with the result `phase` if its corrections do not: formats
/// without conjugate gradients (bb_unwrap_config_supports_cg), conjugate gradients that failed, too
/// few cycles, or cycles that stopped contracting because of rounding. Solves the last
/// least-squares problem from the phase by conjugate gradients, without rounding to the formats.
/// The run has converged if at most one point in a thousand, or three points, then change by a
/// multiple of 2 pi. Call it after bb_unwrap_run, before the next run. Errors: those of
/// bb_kernel_launch_queue, BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_verify(bb_unwrap *unwrap, const double *phase,
                                      bb_unwrap_report *report);

/// For streams: device field into which the user's kernel writes the wrapped phase, [rows]
/// [columns] in words of SP, or of DP if the format is fp64; finite everywhere.
const bb_unwrap_field *bb_unwrap_wrapped(const bb_unwrap *unwrap);

/// Queues the unwrapping of bb_unwrap_wrapped in the device's order of work. It consists of the
/// same kernels and zeroing every time, so a bb_device_graph can record it. No data is read back:
/// all of method.cycles, method.reweight and method.reweight_cycles are done, none by conjugate
/// gradients. The phase equals that of a bb_unwrap_run with the same numbers of cycles and
/// reweightings. Errors: as bb_unwrap_run.
BB_CHECKED bb_status bb_unwrap_queue(bb_unwrap *unwrap);

/// Queues the copies for bb_unwrap_read, so that they do not wait for the host. Call it at most
/// once between bb_unwrap_queue and bb_unwrap_read, which calls it otherwise. Read the result
/// before queueing the next one; bb_unwrap_run discards it. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_unwrap_fetch(bb_unwrap *unwrap);

/// Returns the phase of the last bb_unwrap_queue like bb_unwrap_run; waits for the device once. In
/// the report, times and `jumps` are NaN and `changed` is 0. `converged` only says that the last
/// coarse-grid correction is below half a cycle; cycles that hardly contract on a mask are not
/// detected. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_unwrap_read(bb_unwrap *unwrap, double *phase, bb_unwrap_report *report);

#endif
