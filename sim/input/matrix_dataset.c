// SPDX-License-Identifier: Apache-2.0
#include "sim/input/matrix_dataset.h"

#include "core/memory.h"
#include "sim/input/hdf5_library.h"

#include <string.h>

static const double MOST_VALUES = 0x1p40;

void bb_matrix_dataset_close(bb_matrix_dataset *matrix)
{
    (void)H5Sclose(matrix->space);
    (void)H5Dclose(matrix->id);
    (void)H5Fclose(matrix->file);
    *matrix = BB_MATRIX_DATASET_NONE;
}

bb_status bb_matrix_dataset_open(const bb_matrix_place *place, bb_matrix_dataset *out)
{
    bb_status status = BB_OK;
    hid_t type = -1;
    hsize_t shape[3] = {0, 0, 0};
    *out = BB_MATRIX_DATASET_NONE;
    BB_READ_TRY(out->file = H5Fopen(place->file, H5F_ACC_RDONLY, H5P_DEFAULT));
    out->id = H5Dopen2(out->file, place->dataset, H5P_DEFAULT);
    BB_REQUIRE(out->id >= 0, BB_IO, "no dataset '%s'", place->dataset);
    BB_READ_TRY(type = H5Dget_type(out->id));
    BB_READ_TRY(out->space = H5Dget_space(out->id));
    int rank = H5Sget_simple_extent_ndims(out->space);
    BB_TRY(bb_value_attributes_read(out->id, type, &out->attributes));
    BB_REQUIRE(H5Tget_class(type) == H5T_FLOAT || (H5Tget_class(type) == H5T_INTEGER &&
                                                   bb_value_attributes_packed(&out->attributes)),
               BB_INVALID, "dataset '%s' is not floating-point", place->dataset);
    BB_REQUIRE(rank == 2 || rank == 3, BB_INVALID,
               "dataset '%s' has %d dimensions, expected rows and columns, or rows, lines and "
               "columns of a mesh",
               place->dataset, rank);
    BB_READ_TRY(H5Sget_simple_extent_dims(out->space, shape, NULL));
    BB_TRY(bb_hdf5_library_require_filters(out->id));
    out->across = rank == 3 ? (bb_index)shape[2] : 0;
    shape[1] = rank == 3 && (double)shape[1] * (double)shape[2] <= MOST_VALUES ? shape[1] * shape[2]
               : rank == 3                                                     ? 0
                                                                               : shape[1];
    BB_REQUIRE(shape[0] > 0 && shape[1] > 0 && (double)shape[0] * (double)shape[1] <= MOST_VALUES,
               BB_INVALID, "dataset '%s' has %llu x %llu values, which are too few or too many",
               place->dataset, (unsigned long long)shape[0], (unsigned long long)shape[1]);
    out->rows = (bb_index)shape[0];
    out->columns = (bb_index)shape[1];
done:
    (void)H5Tclose(type);
    if (status != BB_OK) {
        bb_matrix_dataset_close(out);
    }
    return status;
}

// Reads a block from rows of meshes: the lines that contain the columns, then the columns.
static bb_status read_meshes(const bb_matrix_dataset *matrix, bb_index row, bb_index column,
                             bb_view out)
{
    bb_status status = BB_OK;
    hid_t memory = -1;
    double *lines = NULL; // [rows][lines][across]
    const bb_index across = matrix->across;
    const bb_index first = column / across;
    const bb_index past = (column + out.shape[1] - 1) / across + 1;
    const bb_index width = (past - first) * across;
    const hsize_t start[3] = {(hsize_t)row, (hsize_t)first, 0};
    const hsize_t count[3] = {(hsize_t)out.shape[0], (hsize_t)(past - first), (hsize_t)across};
    BB_TRY(BB_ALLOCATE(out.shape[0] * width, &lines));
    BB_READ_TRY(H5Sselect_hyperslab(matrix->space, H5S_SELECT_SET, start, NULL, count, NULL));
    BB_READ_TRY(memory = H5Screate_simple(3, count, NULL));
    BB_READ_TRY(H5Dread(matrix->id, H5T_NATIVE_DOUBLE, memory, matrix->space, H5P_DEFAULT, lines));
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        memcpy(bb_view_row(out, i), lines + i * width + column - first * across,
               (size_t)out.shape[1] * sizeof *lines);
    }
done:
    (void)H5Sclose(memory);
    BB_RELEASE(&lines);
    return status;
}

// Reads a block into a view with any row stride.
static bb_status read_plain(const bb_matrix_dataset *matrix, bb_index row, bb_index column,
                            bb_view out)
{
    bb_status status = BB_OK;
    hid_t memory = -1;
    const hsize_t start[2] = {(hsize_t)row, (hsize_t)column};
    const hsize_t count[2] = {(hsize_t)out.shape[0], (hsize_t)out.shape[1]};
    const hsize_t metadata[2] = {0, 0};
    const hsize_t extents[2] = {(hsize_t)out.shape[0], (hsize_t)out.strides[0]};
    BB_READ_TRY(H5Sselect_hyperslab(matrix->space, H5S_SELECT_SET, start, NULL, count, NULL));
    BB_READ_TRY(memory = H5Screate_simple(2, extents, NULL));
    BB_READ_TRY(H5Sselect_hyperslab(memory, H5S_SELECT_SET, metadata, NULL, count, NULL));
    BB_READ_TRY(
        H5Dread(matrix->id, H5T_NATIVE_DOUBLE, memory, matrix->space, H5P_DEFAULT, out.data));
done:
    (void)H5Sclose(memory);
    return status;
}

bb_status bb_matrix_dataset_read(const bb_matrix_dataset *matrix, bb_index row, bb_index column,
                                 bb_view out)
{
    const bb_status status = matrix->across > 0 ? read_meshes(matrix, row, column, out)
                                                : read_plain(matrix, row, column, out);
    for (bb_index i = 0; i < out.shape[0] && status == BB_OK; ++i) {
        bb_value_attributes_decode(&matrix->attributes, out.shape[1], bb_view_row(out, i));
    }
    return status;
}
