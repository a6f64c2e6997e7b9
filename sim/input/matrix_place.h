// SPDX-License-Identifier: Apache-2.0
//
// Where a matrix of the user's is.
#ifndef BB_SIM_INPUT_MATRIX_PLACE_H
#define BB_SIM_INPUT_MATRIX_PLACE_H

#include "core/schema.h"

/// Where a matrix is: the keys under `matrix:` and the like.
typedef struct bb_matrix_place {
    const char *file;    ///< path
    const char *dataset; ///< path inside the file; FITS: name or number of an image
} bb_matrix_place;

extern const bb_schema bb_matrix_place_schema;

/// The same with both keys optional: NULL where they are left out.
extern const bb_schema bb_matrix_place_optional_schema;

#endif
