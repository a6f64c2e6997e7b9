// SPDX-License-Identifier: Apache-2.0
#include "sim/output/image.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/thread.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_file.h"
#include "sim/output/results.h"

#include <hdf5.h>
#include <hdf5_hl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20, PANEL_BYTES = 1 << 26, BATCH_ROWS = 32 };

#define WRITE_TRY(call)                                                                            \
    BB_REQUIRE((call) >= 0, BB_IO, "cannot write operator: %s (%s)", bb_hdf5_library_error(), #call)

#define HDF5_TRY(call)                                                                             \
    BB_REQUIRE((call) >= 0, BB_INTERNAL, "HDF5 refused: %s (%s)", bb_hdf5_library_error(), #call)

static bb_status make_group(hid_t file, const char *name, hid_t *out)
{
    bb_status status = BB_OK;
    hid_t list = -1;
    if (name[0] == '\0') {
        HDF5_TRY(*out = H5Gopen2(file, "/", H5P_DEFAULT));
        goto done;
    }
    htri_t exists = H5Lexists(file, name, H5P_DEFAULT);
    HDF5_TRY(exists);
    if (exists > 0) {
        HDF5_TRY(*out = H5Gopen2(file, name, H5P_DEFAULT));
        goto done;
    }
    HDF5_TRY(list = H5Pcreate(H5P_GROUP_CREATE));
    HDF5_TRY(H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    HDF5_TRY(H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    HDF5_TRY(*out = H5Gcreate2(file, name, H5P_DEFAULT, list, H5P_DEFAULT));
done:
    (void)H5Pclose(list);
    return status;
}

// Attaches an axis of indices to dimension `dimension` of the operator.
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

// Shape of a dataset: rows by columns, or by the mesh of the columns for zfp storage.
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
        BB_TRY(bb_hdf5_library_add_zfp(list, matrix->storage.tolerance));
    }
    WRITE_TRY(H5Pset_fletcher32(list));
    WRITE_TRY(*out = H5Dcreate2(group, matrix->name, H5T_IEEE_F64LE, *space, H5P_DEFAULT, list,
                                H5P_DEFAULT));
done:
    (void)H5Pclose(list);
    return status;
}

// Rows of a panel, computed by the threads in batches that start at multiples of their height.
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

static bb_status write_panels(hid_t id, hid_t space, const bb_operator *matrix, bb_digest *digest)
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
        bb_digest_add_values(digest, values, rows * columns);
    }
done:
    (void)H5Sclose(memory);
    BB_RELEASE(&values);
    return status;
}

// Computes the digest of values as readers get them: zfp's values are read back after leaving
// HDF5's cache.
static bb_status digest_stored(hid_t group, const bb_operator *matrix, hid_t *id, bb_digest *digest)
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
        bb_digest_add_values(digest, values, matrix->source->columns);
    }
done:
    BB_RELEASE(&values);
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    return status;
}

static bb_status attach_indices(hid_t group, hid_t id, const bb_operator *matrix)
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

static bb_status write_operator(int64_t file, const bb_operator *matrix)
{
    bb_status status = BB_OK;
    hid_t group = -1;
    hid_t space = -1;
    hid_t id = -1;
    bb_digest *digest = NULL;
    char text[BB_DIGEST_BYTES];
    BB_TRY(bb_digest_create(&digest));
    BB_TRY(make_group(file, "operators", &group));
    BB_TRY(create_dataset(group, matrix, &space, &id));
    BB_TRY(write_panels(id, space, matrix, digest));
    if (matrix->storage.tolerance > 0.0) {
        bb_digest_destroy(&digest);
        BB_TRY(bb_digest_create(&digest));
        BB_TRY(digest_stored(group, matrix, &id, digest));
    }
    bb_digest_text(digest, text);
    BB_TRY(bb_hdf5_library_write_attribute(id, "units", matrix->source->unit, NAN));
    BB_TRY(bb_hdf5_library_write_attribute(id, "long_name", matrix->long_name, NAN));
    BB_TRY(bb_hdf5_library_write_attribute(id, "digest", text, NAN));
    BB_TRY(bb_matrix_metadata_write(id, &matrix->metadata));
    BB_TRY(attach_indices(group, id, matrix));
done:
    bb_digest_destroy(&digest);
    (void)H5Dclose(id);
    (void)H5Sclose(space);
    (void)H5Gclose(group);
    return status;
}

static bb_status verify_operator(const char *path, const bb_operator *matrix)
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

enum { SMALL_BYTES = 4096, CORE_INCREMENT = 1 << 20, DEFLATE_LEVEL = 4 };

// Chooses chunks of at most CHUNK_BYTES: leading axes are cut to 1 until the rest fits.
static void choose_chunk(const bb_dataset *dataset, hsize_t chunk[BB_RESULTS_RANK])
{
    bb_index bytes = dataset->count * (bb_index)sizeof(double);
    for (int a = 0; a < dataset->rank; ++a) {
        chunk[a] = (hsize_t)dataset->shape[a];
    }
    for (int a = 0; a < dataset->rank && bytes > CHUNK_BYTES; ++a) {
        bb_index inner = bytes / dataset->shape[a];
        bb_index kept = CHUNK_BYTES / inner;
        chunk[a] = (hsize_t)(kept < 1 ? 1 : kept);
        bytes = inner * (bb_index)chunk[a];
    }
}

static bb_status creation_list(const bb_dataset *dataset, hid_t *out)
{
    bb_status status = BB_OK;
    const double fill = NAN;
    HDF5_TRY(*out = H5Pcreate(H5P_DATASET_CREATE));
    HDF5_TRY(H5Pset_attr_creation_order(*out, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    if (dataset->is_text) {
        goto done;
    }
    HDF5_TRY(H5Pset_fill_value(*out, H5T_NATIVE_DOUBLE, &fill));
    if (dataset->rank > 0 && dataset->count * (bb_index)sizeof(double) > SMALL_BYTES) {
        hsize_t chunk[BB_RESULTS_RANK];
        choose_chunk(dataset, chunk);
        HDF5_TRY(H5Pset_chunk(*out, dataset->rank, chunk));
        HDF5_TRY(H5Pset_shuffle(*out));
        HDF5_TRY(H5Pset_deflate(*out, DEFLATE_LEVEL));
        HDF5_TRY(H5Pset_fletcher32(*out));
    }
done:
    return status;
}

static bb_status attach_axes(hid_t file, hid_t group, const bb_dataset *dataset, hid_t id)
{
    bb_status status = BB_OK;
    hid_t scale = -1;
    if (dataset->is_axis) {
        HDF5_TRY(H5DSset_scale(id, dataset->name));
        goto done;
    }
    for (int a = 0; a < dataset->rank; ++a) {
        htri_t here = H5Lexists(group, dataset->axes[a], H5P_DEFAULT);
        HDF5_TRY(here);
        HDF5_TRY(scale = H5Dopen2(here > 0 ? group : file, dataset->axes[a], H5P_DEFAULT));
        HDF5_TRY(H5DSattach_scale(id, scale, (unsigned)a));
        (void)H5Dclose(scale);
        scale = -1;
    }
done:
    (void)H5Dclose(scale);
    return status;
}

static bool has_axes_of(const bb_dataset *dataset, const bb_dataset *coordinate)
{
    int found = 0;
    for (int c = 0; c < coordinate->rank; ++c) {
        for (int a = 0; a < dataset->rank; ++a) {
            found += strcmp(dataset->axes[a], coordinate->axes[c]) == 0;
        }
    }
    return found == coordinate->rank;
}

// Lists "point_x_mm point_y_mm", the coordinates of a dataset in its group and the root.
static bb_status name_coordinates(const bb_results *results, const bb_dataset *dataset,
                                  bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *other = bb_results_dataset(results, i);
        const bool is_near = other->group[0] == '\0' || strcmp(other->group, dataset->group) == 0;
        if (other->is_coordinate && is_near && has_axes_of(dataset, other)) {
            BB_TRY(bb_text_add(out, "%s%s", out->length == 0 ? "" : " ", other->name));
        }
    }
done:
    return status;
}

static bb_status describe(hid_t id, const bb_results *results, const bb_dataset *dataset)
{
    bb_status status = BB_OK;
    bb_text coordinates = {0};
    if (!dataset->is_text) {
        BB_TRY(bb_hdf5_library_write_attribute(id, "units", dataset->unit, NAN));
        if (!dataset->is_axis) {
            BB_TRY(bb_hdf5_library_write_attribute(id, "_FillValue", NULL, NAN));
        }
    }
    BB_TRY(bb_hdf5_library_write_attribute(id, "long_name", dataset->long_name, NAN));
    if (dataset->measured) {
        BB_TRY(bb_hdf5_library_write_attribute(id, "measured", NULL, 1.0));
    }
    if (!dataset->is_axis && !dataset->is_coordinate) {
        BB_TRY(name_coordinates(results, dataset, &coordinates));
    }
    if (coordinates.length > 0) {
        BB_TRY(
            bb_hdf5_library_write_attribute(id, "coordinates", bb_text_string(&coordinates), NAN));
    }
done:
    bb_text_release(&coordinates);
    return status;
}

static bb_status write_dataset(hid_t file, const bb_results *results, const bb_dataset *dataset)
{
    bb_status status = BB_OK;
    hid_t group = -1;
    hid_t space = -1;
    hid_t type = -1;
    hid_t list = -1;
    hid_t id = -1;
    hsize_t shape[BB_RESULTS_RANK];
    for (int a = 0; a < dataset->rank; ++a) {
        shape[a] = (hsize_t)dataset->shape[a];
    }
    BB_TRY(make_group(file, dataset->group, &group));
    HDF5_TRY(space = dataset->rank == 0 ? H5Screate(H5S_SCALAR)
                                        : H5Screate_simple(dataset->rank, shape, NULL));
    if (dataset->is_text) {
        BB_TRY(bb_hdf5_library_text_type(H5T_VARIABLE, &type));
    } else {
        HDF5_TRY(type = H5Tcopy(H5T_IEEE_F64LE));
    }
    BB_TRY(creation_list(dataset, &list));
    HDF5_TRY(id = H5Dcreate2(group, dataset->name, type, space, H5P_DEFAULT, list, H5P_DEFAULT));
    if (dataset->is_text) {
        HDF5_TRY(H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, dataset->texts));
    } else {
        HDF5_TRY(H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, dataset->numbers));
    }
    BB_TRY(attach_axes(file, group, dataset, id));
    BB_TRY(describe(id, results, dataset));
done:
    (void)H5Dclose(id);
    (void)H5Pclose(list);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Gclose(group);
    return status;
}

// Writes an attribute of an existing dataset or of a group, which is created if needed.
static bb_status write_attribute(hid_t file, const bb_results *results,
                                 const bb_attribute *attribute)
{
    bb_status status = BB_OK;
    hid_t owner = -1;
    if (bb_results_find(results, attribute->owner) != NULL) {
        HDF5_TRY(owner = H5Oopen(file, attribute->owner, H5P_DEFAULT));
    } else {
        BB_TRY(make_group(file, attribute->owner, &owner));
    }
    BB_TRY(bb_hdf5_library_write_attribute(owner, attribute->name, attribute->text,
                                           attribute->number));
done:
    (void)H5Oclose(owner);
    return status;
}

// Axis of the result table: the first of /results, or of the root if /results has none.
static const char *table_axis(const bb_results *results)
{
    const char *shared = NULL;
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        if (dataset->is_axis && strcmp(dataset->group, "results") == 0) {
            return dataset->name;
        }
        if (dataset->is_axis && dataset->group[0] == '\0' && shared == NULL) {
            shared = dataset->name;
        }
    }
    return shared;
}

// True if all axes of a dataset are in the root, like those of a collection.
static bool is_over_root(const bb_results *results, const bb_dataset *dataset)
{
    for (int a = 0; a < dataset->rank; ++a) {
        const bb_dataset *axis = bb_results_find(results, dataset->axes[a]);
        if (axis == NULL || !axis->is_axis) {
            return false;
        }
    }
    return true;
}

// Adds hard links in the root to the axis and columns of the result table; for a collection, to
// columns over all swept keys.
static bb_status link_table(hid_t file, const bb_results *results)
{
    bb_status status = BB_OK;
    const char *axis = table_axis(results);
    const bool collection = bb_results_note_text(results, "", "sweep_plan") != NULL;
    for (bb_index i = 0; axis != NULL && i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        char path[256];
        const bool column = collection ? is_over_root(results, dataset)
                                       : dataset->rank == 1 && strcmp(dataset->axes[0], axis) == 0;
        if (strcmp(dataset->group, "results") != 0 || !column) {
            continue;
        }
        (void)snprintf(path, sizeof path, "results/%.200s", dataset->name);
        HDF5_TRY(H5Lcreate_hard(file, path, file, dataset->name, H5P_DEFAULT, H5P_DEFAULT));
    }
done:
    return status;
}

static bb_status write_everything(hid_t file, const bb_results *results)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        BB_TRY(write_dataset(file, results, bb_results_dataset(results, i)));
    }
    BB_TRY(link_table(file, results));
    for (bb_index i = 0; i < bb_results_note_count(results); ++i) {
        BB_TRY(write_attribute(file, results, bb_results_attribute(results, i)));
    }
done:
    return status;
}

// `path` NULL creates the file in memory.
static bb_status create_file(const char *path, hid_t *out)
{
    bb_status status = BB_OK;
    hid_t access = -1;
    hid_t creation = -1;
    HDF5_TRY(access = H5Pcreate(H5P_FILE_ACCESS));
    if (path == NULL) {
        HDF5_TRY(H5Pset_fapl_core(access, CORE_INCREMENT, false));
    }
    // H5Fget_file_image clears a flag of superblocks 2 and 3 without updating their checksum, so
    // that the image cannot be opened (HDFGroup/hdf5 issue 1915); superblock 0 has no checksum.
    HDF5_TRY(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18));
    HDF5_TRY(creation = H5Pcreate(H5P_FILE_CREATE));
    HDF5_TRY(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    HDF5_TRY(H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    HDF5_TRY(*out = H5Fcreate(path == NULL ? "bitbudget-image" : path, H5F_ACC_TRUNC, creation,
                              access));
done:
    (void)H5Pclose(creation);
    (void)H5Pclose(access);
    return status;
}

bb_status bb_image_build(const bb_results *results, unsigned char **out, bb_index *bytes)
{
    bb_status status = BB_OK;
    hid_t file = -1;
    unsigned char *image = NULL;
    BB_TRY(create_file(NULL, &file));
    BB_TRY(write_everything(file, results));
    HDF5_TRY(H5Fflush(file, H5F_SCOPE_GLOBAL));
    ssize_t size = H5Fget_file_image(file, NULL, 0);
    HDF5_TRY(size);
    BB_TRY(BB_ALLOCATE(size, &image));
    HDF5_TRY(H5Fget_file_image(file, image, (size_t)size));
    HDF5_TRY(H5Fclose(file));
    file = -1;
    *out = image;
    *bytes = size;
    image = NULL;
done:
    BB_RELEASE(&image);
    (void)H5Fclose(file);
    return status;
}

static bb_status write_file(const bb_results *results, const char *path)
{
    bb_status status = BB_OK;
    hid_t file = -1;
    BB_TRY(create_file(path, &file));
    BB_TRY(write_everything(file, results));
    for (bb_index i = 0; i < bb_results_operator_count(results); ++i) {
        BB_TRY(write_operator(file, bb_results_operator_at(results, i)));
    }
    HDF5_TRY(H5Fflush(file, H5F_SCOPE_GLOBAL));
    HDF5_TRY(H5Fclose(file));
    file = -1;
    for (bb_index i = 0; i < bb_results_operator_count(results); ++i) {
        BB_TRY(verify_operator(path, bb_results_operator_at(results, i)));
    }
done:
    (void)H5Fclose(file);
    return status;
}

bb_status bb_image_write(const bb_results *results, const char *path)
{
    bb_status_record record;
    bb_status status = write_file(results, path);
    if (status == BB_INTERNAL) {
        // An HDF5 error is internal for a file in memory, an I/O error on disk.
        bb_status_save(&record);
        status =
            bb_status_set(BB_IO, __FILE__, __LINE__, "cannot write '%s': %s", path, record.message);
    }
    return status;
}

static bb_status write_results(const char *temporary, void *context)
{
    return bb_image_write(context, temporary);
}

bb_status bb_image_save(bb_results *results, const char *path, bool force)
{
    bb_status status = BB_OK;
    unsigned char *image = NULL;
    bb_index bytes = 0;
    if (bb_results_operator_count(results) > 0) {
        return bb_file_write_by(path, force, write_results, results);
    }
    BB_TRY(bb_image_build(results, &image, &bytes));
    BB_TRY(bb_file_write(path, force, image, bytes));
done:
    BB_RELEASE(&image);
    return status;
}
