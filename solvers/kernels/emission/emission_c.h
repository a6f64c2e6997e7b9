// SPDX-License-Identifier: Apache-2.0
//
// What the entries of loops (emission_c.c) are made of: bodies by points, by lanes and by tile.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_C_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_C_H

#include "solvers/kernels/emission/emission_points.h"
#include "solvers/kernels/emission/emission_sums.h"

typedef struct bb_emission_c {
    bb_emission_writer base;
    bb_emission_target target; ///< C or OpenCL C
    bool by_tile;
    bool *is_saved; ///< [value_count] values that later loops over the tile take up
} bb_emission_c;

/// Before texts in which points store side by side: what keeps gcc from joining their operations.
extern const char *const bb_emission_c_plain_loops;

/// Appends steps inside the loop over points, iterators with theirs.
BB_CHECKED bb_status bb_emission_c_steps(bb_emission_c *writer, const bb_step_list *list);

/// Appends the body of points b ... e - 1 as loops over them, iterators around.
BB_CHECKED bb_status bb_emission_c_tile(bb_emission_c *writer);

#endif
