// SPDX-License-Identifier: Apache-2.0
//
// Spectrum of the factored matrix, an option of the studies: eigenvalues of the (scaled) covariance
// and singular values of selected tiles, with the lines u lambda_max below which a format's
// rounding hides them (Doucet et al., figure 2).
#ifndef BB_SIM_PIPELINES_FACTOR_SPECTRUM_H
#define BB_SIM_PIPELINES_FACTOR_SPECTRUM_H

#include "sim/output/output_table.h"
#include "sim/pipelines/factor_problem.h"

/// Output tables, in the order of the manual's output page.
extern const bb_output_table bb_factor_spectrum_formats, bb_factor_spectrum_matrix,
    bb_factor_spectrum_places, bb_factor_spectrum_tiles;

/// Writes the group /spectrum of a prepared problem, if the study requests it. Errors: BB_INVALID
/// (a tile beyond the matrix), BB_MEMORY, errors of solvers/factor/spectrum.h.
BB_CHECKED bb_status bb_factor_spectrum_publish(const bb_factor_problem *problem,
                                                bb_results *results);

/// Checks that the selected tiles are within n measurements. Errors: BB_INVALID.
BB_CHECKED bb_status bb_factor_spectrum_check(const bb_factor_solver_config *solver, bb_index n);

/// Need of the requested eigenvalues. The need of the tiles is negligible.
bb_need bb_factor_spectrum_need(const bb_factor_solver_config *solver, bb_index n);

#endif
