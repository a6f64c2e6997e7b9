// SPDX-License-Identifier: Apache-2.0
//
// Which points of a line keep all accesses inside their objects, so that a loop over them needs no
// boundary; and which values loops over a tile hand to later ones.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_POINTS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_POINTS_H

#include "solvers/kernels/emission/emission_steps.h"

/// Sets `is_fast` [step_count] for accesses of the body, with a boundary, whose first coordinate is
/// the position of dimension 0 plus what a line decides, and whose second does not follow it.
/// Returns whether there are any.
bool bb_emission_find_fast(const bb_program *program, const bool *is_inside, bool *is_fast);

/// Appends declarations of `lo` and `hi`: points lo ... hi - 1 of b ... e - 1 keep the fast
/// accesses inside.
BB_CHECKED bb_status bb_emission_line_bounds(bb_emission_writer *writer, const bool *is_fast);

/// Leaves in `is_fast` the steps whose coordinates go along with the point, one by one or not at
/// all. Returns whether there are any.
bool bb_emission_find_moving(const bb_program *program, bool *is_fast);

/// Appends lines that clear `inside`, an int, where a moving access of `points` by `rows` points
/// from (x0, x1) on, which are declared, leaves its object.
BB_CHECKED bb_status bb_emission_tile_bounds(bb_emission_writer *writer, const bool *is_fast,
                                             bb_index points, bb_index rows);

/// Where the first iterator stands in a body that has one.
int bb_emission_iterator_place(const bb_program *program);

/// Whether neighbouring points share what their iterators read, since these run alike for them all.
bool bb_emission_runs_by_tile(const bb_program *program);

/// Sets `is_saved` [value_count] for values of the body that an iterator or a step behind one takes
/// from before it.
BB_CHECKED bb_status bb_emission_find_saved(const bb_program *program, bool *is_saved);

#endif
