// SPDX-License-Identifier: Apache-2.0
//
// The matrices of a reconstructor study, read from the user's files: covariance of the
// measurements, covariance of the truth with them and of the truth itself, and a low-rank part.
#ifndef BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_INPUTS_H
#define BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_INPUTS_H

#include "sim/input/matrix_file.h"
#include "sim/reconstructor/reconstructor_study.h"

#include <stdbool.h>

/// The user's matrices. Zero-initialise; it stays in place while its sources are used.
typedef struct bb_reconstructor_inputs {
    bb_matrix_file *cmm, *ctm, *ctt; ///< ctt NULL: not given
    double *vectors, *weights;       ///< U [n][columns], w [columns]; NULL: no low-rank part
    bb_index columns;
    bool bounded;         ///< the weights are finite
    bb_matrix_source sum; ///< A and its low-rank part
    double *zeros;        ///< [m][m] in its place
    bb_view zeros_view;
    bb_matrix_source zeros_source;
    const bb_matrix_source *truth;
} bb_reconstructor_inputs;

/// Opens what a study names and holds shapes and units against each other. Errors: BB_IO (files),
/// BB_INVALID (shapes, units, weights that are not positive), BB_MEMORY. Close also on failure.
BB_CHECKED bb_status bb_reconstructor_inputs_open(const bb_reconstructor_study *study,
                                                  bb_reconstructor_inputs *data);
void bb_reconstructor_inputs_close(bb_reconstructor_inputs *data);

#endif
