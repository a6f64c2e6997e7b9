// SPDX-License-Identifier: Apache-2.0
//
// Dataset of an HDF5 file as a matrix: with two dimensions, or with three, whose last two, lines
// and columns of a mesh, are the columns. HDF5 is not thread-safe: the caller serialises the calls.
#ifndef BB_SIM_INPUT_MATRIX_DATASET_H
#define BB_SIM_INPUT_MATRIX_DATASET_H

#include "core/array.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_metadata.h"
#include "sim/input/value_attributes.h"

#include <hdf5.h>

#define BB_READ_TRY(call)                                                                          \
    BB_REQUIRE((call) >= 0, BB_IO, "cannot read: %s (%s)", bb_hdf5_library_error(), #call)

typedef struct bb_matrix_dataset {
    hid_t file, id, space;
    bb_index rows, columns;
    bb_index across; ///< for three dimensions, the number of mesh columns; else 0
    bb_value_attributes attributes;
} bb_matrix_dataset;

#define BB_MATRIX_DATASET_NONE ((bb_matrix_dataset){.file = -1, .id = -1, .space = -1})

/// Opens floating-point numbers of any width, or packed integers, whose filters are available.
/// Errors: BB_IO (no such dataset, damaged, a filter that is not available), BB_INVALID (another
/// type or rank, no values, more than 2^40). The caller owns `*out`.
BB_CHECKED bb_status bb_matrix_dataset_open(const bb_matrix_place *place, bb_matrix_dataset *out);
void bb_matrix_dataset_close(bb_matrix_dataset *matrix);

/// Reads the block at (row, column) with the view's shape, NaN where attributes mark a number as
/// undefined; the view may have any row stride. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_matrix_dataset_read(const bb_matrix_dataset *matrix, bb_index row,
                                            bb_index column, bb_view out);

#endif
