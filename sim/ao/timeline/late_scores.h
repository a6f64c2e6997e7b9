// SPDX-License-Identifier: Apache-2.0
//
// Strehl ratios of a controller in time from covariances alone, with frozen flow and without
// frames.
//
// With a gain g below 1 the commands correspond to effective slopes, from J earlier frames T apart
// and the last one,
//   s_eff = sum_j a_j s(-j T),   a_j = g (1 - g)^j,   a_J = (1 - g)^J,
// whose covariances are sums over lags: with b_k = sum_i a_i a_(i+k) and C(t) = <s(t) s(0)^T> of
// the turbulence
//   Cmm' = b_0 Cmm + sum_k b_k [C(k T) + C(k T)^T],   Ctm' = sum_j a_j Ctm(delay + j T),
// and likewise for the phase. Noise, unknown tilts and errors of rounded slopes and sums are
// independent from frame to frame. J is the number of settling frames, limited to the age
// at which a frame's weight falls to 1e-6.
#ifndef BB_SIM_AO_TIMELINE_LATE_SCORES_H
#define BB_SIM_AO_TIMELINE_LATE_SCORES_H

#include "sim/ao/ao_scoring.h"

/// Computes Strehl ratios by pairs of points after the delay, for the evaluations [pipelines of the
/// study], into `correctable` and `whole` [pipelines][targets][wavelengths]. `whole` is unchanged
/// with independent error terms. `wind` [layers][2], m/s. Errors: BB_MEMORY, BB_DEVICE, the
/// sources'.
BB_CHECKED bb_status bb_late_scores_run(bb_ao_scoring *scoring, const bb_ao_config *physics,
                                        const double (*wind)[2], bb_ao_evaluation *evaluations,
                                        double *correctable, double *whole);

/// Need in addition to the scores of all pipelines. `cmm` and `ctm` are one fill of each
/// covariance, for n measurements and m slopes of all truths; `wholes` is that of a whole
/// residual's covariances.
bb_need bb_late_scores_need(const bb_ao_study *study, double n, double m, bb_need cmm, bb_need ctm,
                            bb_need wholes);

#endif
