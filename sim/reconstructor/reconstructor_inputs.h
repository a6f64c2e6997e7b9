// SPDX-License-Identifier: Apache-2.0
//
// Matrices of a reconstructor study, read from the user's files: covariance of the measurements,
// cross-covariance of truth and measurements, covariance of the truth, and a low-rank part.
#ifndef BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_INPUTS_H
#define BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_INPUTS_H

#include "sim/input/matrix_file.h"
#include "sim/reconstructor/reconstructor_study.h"

#include <stdbool.h>

/// The user's matrices. Zero-initialise; do not move it while its sources are used.
typedef struct bb_reconstructor_inputs {
    bb_matrix_file *cmm, *ctm, *ctt; ///< ctt NULL: not given
    double *vectors, *weights;       ///< U [n][columns], w [columns]; NULL: no low-rank part
    bb_index columns;
    bool bounded;         ///< true if the weights are finite
    bb_matrix_source sum; ///< A plus its low-rank part
    double *zeros;        ///< [m][m] replacement for a missing Ctt
    bb_view zeros_view;
    bb_matrix_source zeros_source;
    const bb_matrix_source *truth;
} bb_reconstructor_inputs;

/// Opens the files of a study and checks that shapes and units match. Errors: BB_IO (files),
/// BB_INVALID (shapes, units, weights that are not positive), BB_MEMORY. Close also on failure.
BB_CHECKED bb_status bb_reconstructor_inputs_open(const bb_reconstructor_study *study,
                                                  bb_reconstructor_inputs *data);
void bb_reconstructor_inputs_close(bb_reconstructor_inputs *data);

#endif
