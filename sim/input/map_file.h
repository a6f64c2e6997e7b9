// SPDX-License-Identifier: Apache-2.0
//
// Maps in an HDF5 or FITS file: what a camera or an interferometer of the user's measured, NaN
// where it did not, or a stack of them.
//
// As with matrices (matrix_file.h) a file comes from anywhere and the libraries may crash on a
// damaged one: it is read in a child process, into memory that both see.
#ifndef BB_SIM_INPUT_MAP_FILE_H
#define BB_SIM_INPUT_MAP_FILE_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { BB_MAP_FILE_EDGE = 16384 }; ///< the most rows, columns or steps

/// What is asked for; texts are borrowed.
typedef struct bb_map_request {
    const char *file;
    const char *dataset; ///< of a FITS file an image (fits_image.h), the first one for "/any"
    const char
        *unit;  ///< that the attribute `units` says, however spelled, if at all; NULL: anything
    bool steps; ///< [step][rows][columns] will do too
    bool mask;  ///< integers or booleans, no floats
    const char *cube;      ///< a map for each of these ("actuator") and nothing else; NULL: not so
    const char *attribute; ///< a number beside the values, not of FITS; NULL: none is looked for
    bb_index longest;      ///< the most rows or columns; 0: BB_MAP_FILE_EDGE
} bb_map_request;

enum { BB_MAP_FILE_UNIT = 72 };

/// Numbers of a dataset, floats or integers of any width, as doubles.
typedef struct bb_map_file {
    bb_index steps; ///< 0 where it is [rows][columns]
    bb_index rows, columns;
    bool is_float;               ///< or packed; else integers
    char unit[BB_MAP_FILE_UNIT]; ///< the attribute `units` or BUNIT, "" where there is none
    double attribute;            ///< the number asked for; 0 where there is none
    double *values;              ///< [steps or 1][rows][columns]; NULL of a header
    size_t bytes;                ///< of its memory
} bb_map_file;

/// Looks at a dataset's shape and type, not at its values. Errors: BB_IO (no such file or dataset,
/// with the nearest name that there is; not HDF5, damaged, a reader that died), BB_INVALID (type,
/// axes, unit, more points a side than asked for), those of bb_fits_image_inspect; all named by
/// file and dataset.
BB_CHECKED bb_status bb_map_file_inspect(const bb_map_request *request, bb_map_file *out);

/// The same with the values, which may be NaN: also where an attribute calls a number undefined
/// (value_attributes.h), of a mask too; packed numbers are unpacked. Where the dataset carries a
/// digest (that of this program's own operators) they are held to it. Errors: also BB_MEMORY. Owner
/// of the values: the caller, who releases them with bb_map_file_release.
BB_CHECKED bb_status bb_map_file_read(const bb_map_request *request, bb_map_file *out);
void bb_map_file_release(bb_map_file *map);

#endif
