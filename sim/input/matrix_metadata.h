// SPDX-License-Identifier: Apache-2.0
//
// Metadata of a matrix in a file, as attributes of its dataset: the grids of its columns and rows,
// and the keys that determine its values.
#ifndef BB_SIM_INPUT_MATRIX_METADATA_H
#define BB_SIM_INPUT_MATRIX_METADATA_H

#include "core/schema.h"
#include "core/status.h"

#include <stdint.h>

/// Location of a matrix: the keys under `matrix:` and similar groups.
typedef struct bb_matrix_place {
    const char *file;    ///< path
    const char *dataset; ///< path in the file; FITS: name or number of an image, "/any": the first
} bb_matrix_place;

extern const bb_schema bb_matrix_place_schema;

/// Location of a matrix with both keys optional: a key is NULL if omitted.
extern const bb_schema bb_matrix_place_optional_schema;

enum { BB_MATRIX_METADATA_BYTES = 4096 };

/// Metadata of a matrix. Zero-initialised: nothing is known. Numbers are integers in files of this
/// program.
typedef struct bb_matrix_metadata {
    double mesh_columns,
        mesh_rows;                ///< size of the mesh of the columns, or of a block of them; 0:
                                  ///< unknown
    double row_columns, row_rows; ///< size of the grid of the rows; 0: unknown
    char axis[4];                 ///< direction of displacements, "x", "y" or "z"; "": unknown
    char rows[48]; ///< group that describes its rows, "/actuators_0"; "": unknown. Not read.
    char made_for[BB_MATRIX_METADATA_BYTES]; ///< YAML of bb_emission_write; "": unknown
} bb_matrix_metadata;

/// Stores a YAML text in `made_for`, or its digest if it is too long.
void bb_matrix_metadata_set_text(bb_matrix_metadata *metadata, const char *yaml);

/// Writes the known metadata as attributes of `dataset` (a hid_t). Errors: those of
/// bb_hdf5_library_write_attribute.
BB_CHECKED bb_status bb_matrix_metadata_write(int64_t dataset, const bb_matrix_metadata *metadata);

/// Reads the metadata from attributes of `dataset`, except the axis (bb_matrix_file_axis). Errors:
/// BB_IO.
BB_CHECKED bb_status bb_matrix_metadata_read(int64_t dataset, bb_matrix_metadata *out);

#endif
