// SPDX-License-Identifier: Apache-2.0
//
// Quantities for instrument teams: seeing parameters, flux and noise of every sensor, modes of the
// mirror, the error budget of the reference, and coordinates of rows and columns of dumped
// operators.
#ifndef BB_SIM_AO_AO_QUANTITIES_H
#define BB_SIM_AO_AO_QUANTITIES_H

#include "sim/ao/ao_scoring.h"
#include "sim/run/plan.h"

/// Seeing parameters of an atmosphere along the line of sight.
typedef struct bb_ao_seeing {
    double r0_m;          ///< at 500 nm
    double seeing_arcsec; ///< 0.98 lambda / r0 at 500 nm, no outer scale
    double theta0_arcsec; ///< isoplanatic angle at 500 nm
    double tau0_s;        ///< coherence time at 500 nm, NaN without wind
} bb_ao_seeing;

/// Seeing with the study's wind (error_terms.wind_m_per_s), else the profile's.
bb_ao_seeing bb_ao_seeing_of(const bb_ao_study *study, const bb_atmosphere *atmosphere);

/// Adds the seeing to a plan. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_seeing_print(const bb_ao_seeing *seeing, double zenith_angle_deg,
                                        bb_plan *plan);

/// Sets noise_m of the reference: its rms residual from noise alone, R N R^T, in every direction,
/// by the study's score; NaN after a failure. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_ao_quantities_noise(bb_ao_scoring *scoring, bb_ao_evaluation *reference);

#endif
