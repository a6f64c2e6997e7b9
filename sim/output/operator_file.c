// SPDX-License-Identifier: Apache-2.0
#include "sim/output/operator_file.h"

#include "core/memory.h"
#include "core/thread.h"
#include "sim/hdf5_filter.h"
#include "sim/hdf5_library.h"
#include "sim/input/matrix_file.h"

#include <hdf5.h>
#include <hdf5_hl.h>
#include <math.h>
#include <stdio.h>

enum { CHUNK_BYTES = 1 << 20, PANEL_BYTES = 1 << 26, BATCH_ROWS = 32 };

#define WRITE_TRY(call)                                                                            \
    BB_REQUIRE((call) >= 0, BB_IO, "cannot write operator: %s (%s)", bb_hdf5_library_error(), #call)

static bb_status open_group(hid_t file, hid_t *out)
{
    bb_status status = BB_OK;
    hid_t list = -1;
    if (H5Lexists(file, "operators", H5P_DEFAULT) > 0) {
        WRITE_TRY(*out = H5Gopen2(file, "operators", H5P_DEFAULT));
        goto done;
    }
    WRITE_TRY(list = H5Pcreate(H5P_GROUP_CREATE));
    WRITE_TRY(H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    WRITE_TRY(*out = H5Gcreate2(file, "operators", H5P_DEFAULT, list, H5P_DEFAULT));
done:
    (void)H5Pclose(list);
    return status;
}

// An axis of indices, attached to dimension `dimension` of the operator.
static bb_status attach_axis(hid_t group, hid_t matrix, const char *name, const char *suffix,
                             unsigned dimension, bb_index count)
{
    bb_status status = BB_OK;
    hid_t id = -1;
    char *axis = NULL;
    double *index = NULL;
    char meaning[32];
    const hsize_t shape = (hsize_t)count;
    BB_TRY(bb_memory_printf(&axis, "%s_%s", name, suffix));
    BB_TRY(BB_ALLOCATE(count, &index));
    for (bb_index i = 0; i < count; ++i) {
        index[i] = (double)i;
    }
    WRITE_TRY(H5LTmake_dataset_double(group, axis, 1, &shape, index));
    WRITE_TRY(id = H5Dopen2(group, axis, H5P_DEFAULT));
    WRITE_TRY(H5DSset_scale(id, axis));
    BB_TRY(bb_hdf5_library_write_attribute(id, "units", "1", NAN));
    (void)snprintf(meaning, sizeof meaning, "%s index", suffix);
    BB_TRY(bb_hdf5_library_write_attribute(id, "long_name", meaning, NAN));
    WRITE_TRY(H5DSattach_scale(matrix, id, dimension));
done:
    (void)H5Dclose(id);
    BB_RELEASE(&axis);
    BB_RELEASE(&index);
    return status;
}

// Rows by columns, or by the mesh that columns are where the storage is zfp's.
typedef struct form {
    int rank;
    hsize_t shape[3], chunk[3];
} form;

static form form_of(const bb_operator *matrix)
{
    const bb_index rows = matrix->source->rows;
    const bb_index columns = matrix->source->columns;
    if (matrix->storage.tolerance > 0.0) {
        const hsize_t across = (hsize_t)matrix->storage.mesh_columns;
        const hsize_t lines = (hsize_t)columns / across;
        return (form){3, {(hsize_t)rows, lines, across}, {1, lines, across}};
    }
    const bb_index wide = CHUNK_BYTES / (bb_index)sizeof(double);
    const bb_index tall = wide / (columns < wide ? columns : wide);
    return (form){
        2,
        {(hsize_t)rows, (hsize_t)columns},
        {(hsize_t)(tall < rows ? tall : rows), (hsize_t)(columns < wide ? columns : wide)}};
}

static bb_status create_dataset(hid_t group, const bb_operator *matrix, hid_t *space, hid_t *out)
{
    bb_status status = BB_OK;
    hid_t list = -1;
    const form layout = form_of(matrix);
    WRITE_TRY(*space = H5Screate_simple(layout.rank, layout.shape, NULL));
    WRITE_TRY(list = H5Pcreate(H5P_DATASET_CREATE));
    WRITE_TRY(H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    WRITE_TRY(H5Pset_chunk(list, layout.rank, layout.chunk));
    if (matrix->storage.tolerance > 0.0) {
        BB_TRY(bb_hdf5_filter_zfp_add(list, matrix->storage.tolerance));
    }
    WRITE_TRY(H5Pset_fletcher32(list));
    WRITE_TRY(*out = H5Dcreate2(group, matrix->name, H5T_IEEE_F64LE, *space, H5P_DEFAULT, list,
                                H5P_DEFAULT));
done:
    (void)H5Pclose(list);
    return status;
}

// Rows of a panel, filled over the threads in batches that start at multiples of their height.
typedef struct filling {
    const bb_matrix_source *source;
    bb_index row;
    bb_view panel;
} filling;

static bb_status fill_rows(void *context, bb_index begin, bb_index end)
{
    const filling *work = context;
    return bb_matrix_source_fill(
        work->source, work->row + begin, 0,
        bb_view_matrix(bb_view_row(work->panel, begin), end - begin, work->panel.shape[1]));
}

static bb_status write_panels(hid_t id, hid_t space, const bb_operator *matrix,
                              bb_value_digest *digest)
{
    bb_status status = BB_OK;
    hid_t memory = -1;
    double *values = NULL;
    const form layout = form_of(matrix);
    bb_index columns = matrix->source->columns;
    bb_index tall = PANEL_BYTES / (columns * (bb_index)sizeof(double)) / BATCH_ROWS * BATCH_ROWS;
    tall = tall < BATCH_ROWS ? BATCH_ROWS : tall;
    BB_TRY(BB_ALLOCATE(tall * columns, &values));
    for (bb_index row = 0; row < matrix->source->rows; row += tall) {
        bb_index rest = matrix->source->rows - row;
        bb_index rows = rest < tall ? rest : tall;
        filling work = {matrix->source, row, bb_view_matrix(values, rows, columns)};
        BB_TRY(bb_thread_ranges(rows, BATCH_ROWS, fill_rows, &work));
        const hsize_t start[3] = {(hsize_t)row, 0, 0};
        const hsize_t count[3] = {(hsize_t)rows, layout.shape[1], layout.shape[2]};
        WRITE_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
        WRITE_TRY(memory = H5Screate_simple(layout.rank, count, NULL));
        WRITE_TRY(H5Dwrite(id, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
        (void)H5Sclose(memory);
        memory = -1;
        bb_value_digest_add(digest, values, rows * columns);
    }
done:
    (void)H5Sclose(memory);
    BB_RELEASE(&values);
    return status;
}

// The digest is of what readers get: zfp's values, once they have left HDF5's cache.
static bb_status digest_stored(hid_t group, const bb_operator *matrix, hid_t *id,
                               bb_value_digest *digest)
{
    bb_status status = BB_OK;
    hid_t space = -1;
    hid_t memory = -1;
    double *values = NULL; // [columns]
    const form layout = form_of(matrix);
    const hsize_t count[3] = {1, layout.shape[1], layout.shape[2]};
    WRITE_TRY(H5Dclose(*id));
    *id = -1;
    WRITE_TRY(*id = H5Dopen2(group, matrix->name, H5P_DEFAULT));
    WRITE_TRY(space = H5Dget_space(*id));
    WRITE_TRY(memory = H5Screate_simple(layout.rank, count, NULL));
    BB_TRY(BB_ALLOCATE(matrix->source->columns, &values));
    for (bb_index row = 0; row < matrix->source->rows; ++row) {
        const hsize_t start[3] = {(hsize_t)row, 0, 0};
        WRITE_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
        WRITE_TRY(H5Dread(*id, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
        bb_value_digest_add(digest, values, matrix->source->columns);
    }
done:
    BB_RELEASE(&values);
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    return status;
}

static bb_status attach_axes(hid_t group, hid_t id, const bb_operator *matrix)
{
    bb_status status = BB_OK;
    const form layout = form_of(matrix);
    BB_TRY(attach_axis(group, id, matrix->name, "row", 0, (bb_index)layout.shape[0]));
    if (layout.rank == 2) {
        BB_TRY(attach_axis(group, id, matrix->name, "column", 1, (bb_index)layout.shape[1]));
    } else {
        BB_TRY(attach_axis(group, id, matrix->name, "line", 1, (bb_index)layout.shape[1]));
        BB_TRY(attach_axis(group, id, matrix->name, "column", 2, (bb_index)layout.shape[2]));
        BB_TRY(bb_hdf5_library_write_attribute(id, "tolerance", NULL, matrix->storage.tolerance));
    }
done:
    return status;
}

bb_status bb_operator_write(int64_t file, const bb_operator *matrix)
{
    bb_status status = BB_OK;
    hid_t group = -1;
    hid_t space = -1;
    hid_t id = -1;
    bb_value_digest *digest = NULL;
    char text[BB_DIGEST_BYTES];
    BB_TRY(bb_value_digest_create(&digest));
    BB_TRY(open_group(file, &group));
    BB_TRY(create_dataset(group, matrix, &space, &id));
    BB_TRY(write_panels(id, space, matrix, digest));
    if (matrix->storage.tolerance > 0.0) {
        bb_value_digest_destroy(&digest);
        BB_TRY(bb_value_digest_create(&digest));
        BB_TRY(digest_stored(group, matrix, &id, digest));
    }
    bb_value_digest_text(digest, text);
    BB_TRY(bb_hdf5_library_write_attribute(id, "units", matrix->source->unit, NAN));
    BB_TRY(bb_hdf5_library_write_attribute(id, "long_name", matrix->long_name, NAN));
    BB_TRY(bb_hdf5_library_write_attribute(id, "digest", text, NAN));
    BB_TRY(bb_matrix_metadata_write(id, &matrix->metadata));
    BB_TRY(attach_axes(group, id, matrix));
done:
    bb_value_digest_destroy(&digest);
    (void)H5Dclose(id);
    (void)H5Sclose(space);
    (void)H5Gclose(group);
    return status;
}

bb_status bb_operator_verify(const char *path, const bb_operator *matrix)
{
    bb_status status = BB_OK;
    char *dataset = NULL;
    BB_TRY(bb_memory_printf(&dataset, "/operators/%s", matrix->name));
    const bb_matrix_place place = {path, dataset};
    BB_TRY(bb_matrix_file_verify(&place));
done:
    BB_RELEASE(&dataset);
    return status;
}
