// SPDX-License-Identifier: Apache-2.0
//
// One dataset of an HDF5 file as a matrix: of two dimensions, or of three whose last two, lines and
// columns of a mesh, are the columns. HDF5 serves one thread at a time: the caller sees to it.
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
    bb_index across; ///< of three dimensions: columns of the mesh that the columns are; else 0
    bb_value_attributes attributes;
} bb_matrix_dataset;

#define BB_MATRIX_DATASET_NONE ((bb_matrix_dataset){.file = -1, .id = -1, .space = -1})

/// Opens floating-point numbers of any width, or packed integers, whose filters are at hand.
/// Errors: BB_IO (no such dataset, damaged, a filter that is not present), BB_INVALID (another type
/// or rank, no values, more than 2^40). Owner of `*out`: the caller.
BB_CHECKED bb_status bb_matrix_dataset_open(const bb_matrix_place *place, bb_matrix_dataset *out);
void bb_matrix_dataset_close(bb_matrix_dataset *matrix);

/// Reads the block at (row, column) of the view's shape, NaN where its attributes call a number
/// undefined; rows of the view may stand apart. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_matrix_dataset_read(const bb_matrix_dataset *matrix, bb_index row,
                                            bb_index column, bb_view out);

#endif
