// SPDX-License-Identifier: Apache-2.0
//
// Inside of bb_plate_factor, shared by the files that make, keep and load it.
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_FACTOR_PARTS_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_FACTOR_PARTS_H

#include "physics/wafer/response/plate_factor.h"

struct bb_cholmod_parts;

struct bb_plate_factor {
    bb_supernodes view;
    int64_t *place;                   ///< [unknowns]
    struct bb_cholmod_parts *cholmod; ///< owner of what the view shows, or NULL for the next two
    int64_t *indices;                 ///< first, row_start, value_start, row, permutation
    double *values;
};

/// Fills `place` from the view. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_factor_place(bb_plate_factor *factor);

#endif
