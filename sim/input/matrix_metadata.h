// SPDX-License-Identifier: Apache-2.0
//
// Metadata of a matrix in a file, as attributes of its dataset: the grids of its columns and rows,
// and the keys that determine its values.
#ifndef BB_SIM_INPUT_MATRIX_METADATA_H
#define BB_SIM_INPUT_MATRIX_METADATA_H

#include "core/schema.h"
#include "core/status.h"

#include <stdint.h>

/// Where a matrix is: the keys under `matrix:` and the like.
typedef struct bb_matrix_place {
    const char *file;    ///< path
    const char *dataset; ///< path in the file; FITS: name or number of an image, "/any": the first
} bb_matrix_place;

extern const bb_schema bb_matrix_place_schema;

/// The same with both keys optional: NULL where they are left out.
extern const bb_schema bb_matrix_place_optional_schema;

enum { BB_MATRIX_METADATA_BYTES = 4096 };

/// Zero-initialised it says nothing. Numbers are whole in files of this program.
typedef struct bb_matrix_metadata {
    double mesh_columns,
        mesh_rows;                ///< of the mesh that columns, or a block of them, are; 0: unsaid
    double row_columns, row_rows; ///< of the grid that rows are; 0: not said
    char axis[4];                 ///< of displacements, "x", "y" or "z"; "": not said
    char rows[48]; ///< group that has its rows, "/actuators_0"; "": not said. Not read.
    char made_for[BB_MATRIX_METADATA_BYTES]; ///< YAML of bb_emission_write; "": not said
} bb_matrix_metadata;

/// Takes a YAML text for `made_for`, or its digest in place of one that is too long.
void bb_matrix_metadata_set_text(bb_matrix_metadata *metadata, const char *yaml);

/// Writes what is said as attributes of `dataset` (a hid_t). Errors:
/// bb_hdf5_library_write_attribute's.
BB_CHECKED bb_status bb_matrix_metadata_write(int64_t dataset, const bb_matrix_metadata *metadata);

/// Reads what attributes of `dataset` say, but for the axis (bb_matrix_file_axis). Errors: BB_IO.
BB_CHECKED bb_status bb_matrix_metadata_read(int64_t dataset, bb_matrix_metadata *out);

#endif
