// SPDX-License-Identifier: Apache-2.0
#include "sim/input/matrix_metadata.h"

#include "core/digest.h"
#include "sim/input/hdf5_library.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// clang-format off
#define PLACE_KEYS(may_be_left_out)                                                                \
    {.name = "file", .kind = BB_KEY_PATH, .offset = offsetof(bb_matrix_place, file),              \
     .optional = (may_be_left_out),                                                                \
     .meaning = "HDF5 or FITS file, relative to the file that names it."},                                  \
    {.name = "dataset", .kind = BB_KEY_TEXT, .offset = offsetof(bb_matrix_place, dataset),        \
     .optional = (may_be_left_out),                                                                \
     .meaning = "Two-dimensional dataset in it, as /operators/Cmm; FITS: image by name or number."}
static const bb_key keys[] = {PLACE_KEYS(false)};
static const bb_key optional_keys[] = {PLACE_KEYS(true)};
// clang-format on
const bb_schema bb_matrix_place_schema = BB_SCHEMA("matrix", bb_matrix_place, keys);
const bb_schema bb_matrix_place_optional_schema =
    BB_SCHEMA("matrix", bb_matrix_place, optional_keys);

static const struct {
    const char *name;
    size_t offset;
} sizes[] = {
    {"mesh_columns", offsetof(bb_matrix_metadata, mesh_columns)},
    {"mesh_rows", offsetof(bb_matrix_metadata, mesh_rows)},
    {"row_columns", offsetof(bb_matrix_metadata, row_columns)},
    {"row_rows", offsetof(bb_matrix_metadata, row_rows)},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

void bb_matrix_metadata_set_text(bb_matrix_metadata *metadata, const char *yaml)
{
    const size_t length = strlen(yaml);
    if (length < sizeof metadata->made_for) {
        memcpy(metadata->made_for, yaml, length + 1);
        return;
    }
    char digest[BB_DIGEST_BYTES];
    bb_digest_of(yaml, length, digest);
    (void)snprintf(metadata->made_for, sizeof metadata->made_for, "digest: %s\n", digest);
}

bb_status bb_matrix_metadata_write(int64_t dataset, const bb_matrix_metadata *metadata)
{
    bb_status status = BB_OK;
    for (int i = 0; i < SIZES; ++i) {
        const double size = *(const double *)((const char *)metadata + sizes[i].offset);
        if (size != 0.0) {
            BB_TRY(bb_hdf5_library_write_attribute(dataset, sizes[i].name, NULL, size));
        }
    }
    if (metadata->axis[0] != '\0') {
        BB_TRY(bb_hdf5_library_write_attribute(dataset, "axis", metadata->axis, NAN));
    }
    if (metadata->rows[0] != '\0') {
        BB_TRY(bb_hdf5_library_write_attribute(dataset, "rows", metadata->rows, NAN));
    }
    if (metadata->made_for[0] != '\0') {
        BB_TRY(bb_hdf5_library_write_attribute(dataset, "made_for", metadata->made_for, NAN));
    }
done:
    return status;
}

bb_status bb_matrix_metadata_read(int64_t dataset, bb_matrix_metadata *out)
{
    bb_status status = BB_OK;
    *out = (bb_matrix_metadata){0};
    for (int i = 0; i < SIZES; ++i) {
        BB_TRY(bb_hdf5_library_read_number(dataset, sizes[i].name,
                                           (double *)((char *)out + sizes[i].offset)));
    }
    BB_TRY(bb_hdf5_library_read_text(dataset, "made_for", out->made_for, sizeof out->made_for));
done:
    return status;
}
