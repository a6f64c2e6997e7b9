// SPDX-License-Identifier: Apache-2.0
#include "sim/input/map_file.h"

#include "core/address_space.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/isolation.h"
#include "sim/input/declared_size.h"
#include "sim/input/fits_image.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_dataset.h"
#include "sim/input/unit.h"
#include "sim/input/value_attributes.h"

#include <string.h>

// Findings of the child process, in shared memory.
typedef struct survey {
    const bb_map_request *request;
    double file_bytes;
    double *target; // destination of the values; NULL: header only
    bb_map_file map;
} survey;

// An open dataset.
typedef struct handles {
    hid_t file, id, type, space;
    bb_value_attributes attributes;
} handles;

static bb_status refuse_absent(hid_t file, const char *dataset)
{
    bb_status status = BB_OK;
    char near[BB_HDF5_LIBRARY_NAME];
    bb_hdf5_library_find_near(file, dataset[0] == '/' ? dataset + 1 : dataset, true, near);
    BB_FAIL(BB_IO, "no dataset of this name%s%s%s", near[0] == '\0' ? "" : " (the file has /", near,
            near[0] == '\0' ? "" : ")");
done:
    return status;
}

static bb_status check_unit(const bb_map_request *request, const char *unit)
{
    bb_status status = BB_OK;
    BB_REQUIRE(request->unit == NULL || bb_unit_is(unit, request->unit), BB_INVALID,
               "values in %s, expected %s", unit, request->unit);
done:
    return status;
}

static bb_status check_mask(const bb_map_request *request, bool is_whole, bool is_float)
{
    bb_status status = BB_OK;
    BB_REQUIRE(!request->mask || is_whole, BB_INVALID,
               "has %s, expected integers or booleans (0: not measured)",
               is_float ? "floats" : "no numbers");
done:
    return status;
}

static bb_index longest_edge(const bb_map_request *request)
{
    return request->longest > 0 ? request->longest : (bb_index)BB_MAP_FILE_EDGE;
}

static bb_status check_type(const bb_map_request *request, handles *open, bb_map_file *map)
{
    bb_status status = BB_OK;
    const H5T_class_t class = H5Tget_class(open->type);
    const bool whole_numbers = class == H5T_INTEGER || bb_hdf5_library_is_logical(open->type);
    BB_TRY(bb_value_attributes_read(open->id, open->type, &open->attributes));
    map->is_float = class == H5T_FLOAT || bb_value_attributes_packed(&open->attributes);
    BB_TRY(check_mask(request, whole_numbers && !map->is_float, map->is_float));
    BB_REQUIRE(request->mask || class == H5T_FLOAT || class == H5T_INTEGER, BB_INVALID,
               "is not numeric, expected floats or integers");
    BB_TRY(bb_hdf5_library_read_text(open->id, "units", map->unit, sizeof map->unit));
    BB_TRY(check_unit(request, map->unit));
    if (request->attribute != NULL) {
        BB_TRY(bb_hdf5_library_read_number(open->id, request->attribute, &map->attribute));
    }
done:
    return status;
}

// Checks the number of axes of a dataset.
static bb_status check_rank(const bb_map_request *request, int rank)
{
    bb_status status = BB_OK;
    const char *cube = request->cube;
    BB_REQUIRE(cube == NULL || rank == 3, BB_INVALID,
               "has %d axes, expected 3: [%s][rows][columns]", rank, cube);
    BB_REQUIRE(cube != NULL || rank == 2 || (rank == 3 && request->steps), BB_INVALID,
               "has %d axes, expected %s", rank,
               request->steps ? "[rows][columns] or [step][rows][columns]" : "[rows][columns]");
done:
    return status;
}

static bb_status check_shape(const bb_map_request *request, const handles *open, bb_map_file *map)
{
    bb_status status = BB_OK;
    hsize_t shape[3] = {0, 0, 0};
    const int rank = H5Sget_simple_extent_ndims(open->space);
    BB_TRY(check_rank(request, rank));
    BB_READ_TRY(H5Sget_simple_extent_dims(open->space, shape, NULL));
    const hsize_t *grid = shape + (rank - 2);
    const hsize_t longest = (hsize_t)longest_edge(request);
    BB_REQUIRE(grid[0] >= 1 && grid[1] >= 1 && grid[0] <= longest && grid[1] <= longest, BB_INVALID,
               "has %llu rows and %llu columns, expected 1 to %llu of each",
               (unsigned long long)grid[0], (unsigned long long)grid[1],
               (unsigned long long)longest);
    BB_REQUIRE(rank == 2 || (shape[0] >= 1 && shape[0] <= BB_MAP_FILE_EDGE), BB_INVALID,
               "has %llu %ss, expected 1 to %d", (unsigned long long)shape[0],
               request->cube == NULL ? "step" : request->cube, BB_MAP_FILE_EDGE);
    map->steps = rank == 3 ? (bb_index)shape[0] : 0;
    map->rows = (bb_index)grid[0];
    map->columns = (bb_index)grid[1];
done:
    return status;
}

static bb_index count_values(const bb_map_file *map)
{
    return (map->steps > 0 ? map->steps : 1) * map->rows * map->columns;
}

static bb_status read_values(const handles *open, bb_index count, double *values)
{
    bb_status status = BB_OK;
    char recorded[BB_DIGEST_BYTES], digest[BB_DIGEST_BYTES];
    bb_digest *state = NULL;
    if (bb_hdf5_library_is_logical(open->type)) { // converted in place, from the end of the buffer
        const unsigned char *bytes =
            (unsigned char *)values + count * (bb_index)(sizeof *values - 1);
        BB_READ_TRY(H5Dread(open->id, open->type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                            (unsigned char *)values + count * (bb_index)(sizeof *values - 1)));
        for (bb_index i = 0; i < count; ++i) {
            values[i] = bytes[i] != 0 ? 1.0 : 0.0;
        }
        goto done;
    }
    BB_READ_TRY(H5Dread(open->id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    BB_TRY(bb_hdf5_library_read_text(open->id, "digest", recorded, sizeof recorded));
    if (recorded[0] != '\0') {
        BB_TRY(bb_digest_create(&state));
        bb_digest_add_values(state, values, count);
        bb_digest_text(state, digest);
        BB_REQUIRE(strcmp(recorded, digest) == 0, BB_IO,
                   "damaged: the values have digest %s, the file records %s", digest, recorded);
    }
    bb_value_attributes_decode(&open->attributes, count, values);
done:
    bb_digest_destroy(&state);
    return status;
}

static bb_status inspect_open(survey *found, handles *open)
{
    bb_status status = BB_OK;
    const bb_map_request *request = found->request;
    bb_map_file map = {0};
    BB_REQUIRE(H5Fis_hdf5(request->file) > 0, BB_IO, "not an HDF5 file");
    BB_READ_TRY(open->file = H5Fopen(request->file, H5F_ACC_RDONLY, H5P_DEFAULT));
    open->id = H5Dopen2(open->file, request->dataset, H5P_DEFAULT);
    if (open->id < 0) {
        BB_TRY(refuse_absent(open->file, request->dataset));
    }
    BB_READ_TRY(open->type = H5Dget_type(open->id));
    BB_READ_TRY(open->space = H5Dget_space(open->id));
    BB_TRY(check_type(request, open, &map));
    BB_TRY(check_shape(request, open, &map));
    BB_TRY(bb_hdf5_library_require_filters(open->id));
    BB_TRY(bb_declared_size_check(open->id, (double)count_values(&map), found->file_bytes));
    if (found->target != NULL) {
        BB_REQUIRE(count_values(&map) == count_values(&found->map), BB_IO,
                   "the file changed after it was checked");
        BB_TRY(read_values(open, count_values(&map), found->target));
    }
    found->map = map;
done:
    return status;
}

// Runs in a child process; errors name the dataset.
static bb_status inspect(void *context)
{
    survey *found = context;
    handles open = {.file = -1, .id = -1, .type = -1, .space = -1};
    const bb_status status = bb_status_prefix(inspect_open(found, &open), "'%s', dataset '%s'",
                                              found->request->file, found->request->dataset);
    (void)H5Sclose(open.space);
    (void)H5Tclose(open.type);
    (void)H5Dclose(open.id);
    (void)H5Fclose(open.file);
    return status;
}

// Reads the header, or with `target` the values of an inspected map, in a child process.
static bb_status inspect_in_child(const bb_map_request *request, double *target, bb_map_file *map)
{
    bb_status status = BB_OK;
    char what[256];
    survey *found = bb_address_space_share(sizeof *found);
    BB_REQUIRE(found != NULL, BB_MEMORY, "host memory exhausted while checking a file");
    *found = (survey){.request = request, .target = target, .map = *map};
    BB_TRY(bb_file_stamp_size(request->file, &found->file_bytes));
    (void)snprintf(what, sizeof what, "'%s', dataset '%s'", request->file, request->dataset);
    BB_TRY(bb_isolation_run(what, bb_file_stamp_patience(found->file_bytes), inspect, found));
    *map = found->map;
done:
    bb_address_space_unshare(found, sizeof *found);
    return status;
}

// Stores an image with the unit and type of a dataset.
static bb_status store_image(const bb_map_request *request, bool header, bb_map_file *out)
{
    bb_status status = BB_OK;
    bb_fits_image image = {0};
    const bb_fits_request wanted = {.path = request->file,
                                    .part = bb_fits_image_part(request->dataset),
                                    .least_axes = request->cube != NULL ? 3 : 2,
                                    .most_axes = request->cube != NULL || request->steps ? 3 : 2,
                                    .limit = longest_edge(request)};
    BB_TRY((header ? bb_fits_image_inspect : bb_fits_image_read)(&wanted, &image));
    BB_TRY(bb_status_prefix(check_mask(request, !image.is_float, image.is_float), "'%s'",
                            request->file));
    BB_TRY(bb_status_prefix(check_unit(request, image.unit), "'%s'", request->file));
    *out = (bb_map_file){.steps = image.axes == 3 ? image.planes : 0,
                         .rows = image.rows,
                         .columns = image.columns,
                         .is_float = image.is_float,
                         .values = image.values,
                         .bytes = image.bytes};
    (void)snprintf(out->unit, sizeof out->unit, "%s", image.unit);
    image.values = NULL;
done:
    bb_fits_image_release(&image);
    return status;
}

bb_status bb_map_file_inspect(const bb_map_request *request, bb_map_file *out)
{
    *out = (bb_map_file){0};
    return bb_fits_image_recognised(request->file) ? store_image(request, true, out)
                                                   : inspect_in_child(request, NULL, out);
}

bb_status bb_map_file_read(const bb_map_request *request, bb_map_file *out)
{
    bb_status status = BB_OK;
    bb_map_file map = {0};
    double *values = NULL;
    size_t bytes = 0;
    *out = (bb_map_file){0};
    if (bb_fits_image_recognised(request->file)) {
        return store_image(request, false, out);
    }
    BB_TRY(bb_map_file_inspect(request, &map));
    BB_TRY(bb_declared_size_fits(count_values(&map) / map.columns, map.columns));
    bytes = (size_t)count_values(&map) * sizeof *values;
    values = bb_address_space_share(bytes);
    BB_REQUIRE(values != NULL, BB_MEMORY, "host memory exhausted: %.1f MB of '%s'",
               1e-6 * (double)bytes, request->file);
    BB_TRY(inspect_in_child(request, values, &map));
    *out = map;
    out->values = values;
    out->bytes = bytes;
    values = NULL;
done:
    bb_address_space_unshare(values, bytes);
    return status;
}

void bb_map_file_release(bb_map_file *map)
{
    bb_address_space_unshare(map->values, map->bytes);
    *map = (bb_map_file){0};
}
