// SPDX-License-Identifier: Apache-2.0
#include "sim/input/matrix_place.h"

#include <stddef.h>

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
