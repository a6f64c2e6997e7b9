// SPDX-License-Identifier: Apache-2.0
//
// Maps in an HDF5 or FITS file, as measured by a camera or an interferometer, with NaN for missing
// points, or a stack of maps.
//
// As for matrices (matrix_file.h), files may be damaged and crash the libraries: a file is read in
// a child process into shared memory.
#ifndef BB_SIM_INPUT_MAP_FILE_H
#define BB_SIM_INPUT_MAP_FILE_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { BB_MAP_FILE_EDGE = 16384 }; ///< largest number of rows, columns or steps

/// Requested map; texts are borrowed.
typedef struct bb_map_request {
    const char *file;
    const char *dataset; ///< for a FITS file an image (fits_image.h), the first one for "/any"
    /// required value of the attribute `units`, if present, in any spelling; NULL: any
    const char *unit;
    bool steps;       ///< also accepts [step][rows][columns]
    bool mask;        ///< requires integers or booleans
    const char *cube; ///< requires one map for each item of this name ("actuator"); NULL: not used
    const char *attribute; ///< a numeric attribute to read, not for FITS; NULL: none
    bb_index longest;      ///< largest number of rows or columns; 0: BB_MAP_FILE_EDGE
} bb_map_request;

enum { BB_MAP_FILE_UNIT = 72 };

/// Numbers of a dataset, floats or integers of any width, as doubles.
typedef struct bb_map_file {
    bb_index steps; ///< 0 for [rows][columns]
    bb_index rows, columns;
    bool is_float;               ///< floats or packed integers; else integers
    char unit[BB_MAP_FILE_UNIT]; ///< attribute `units` or BUNIT, "" if absent
    double attribute;            ///< value of the requested attribute; 0 if absent
    double *values;              ///< [steps or 1][rows][columns]; NULL for a header
    size_t bytes;                ///< allocated size
} bb_map_file;

/// Reads a dataset's shape and type without its values. Errors, all naming file and dataset: BB_IO
/// (no such file or dataset, with the nearest existing name; not HDF5, damaged, a reader that
/// crashed), BB_INVALID (type, axes, unit, more points along an edge than the limit), those of
/// bb_fits_image_inspect.
BB_CHECKED bb_status bb_map_file_inspect(const bb_map_request *request, bb_map_file *out);

/// Reads a dataset with its values, which may be NaN, also where an attribute marks a number as
/// undefined (value_attributes.h), in masks too; packed numbers are unpacked. If the dataset has a
/// digest (as operators of this program do), it is verified. Errors: also BB_MEMORY. The caller
/// owns the values and releases them with bb_map_file_release.
BB_CHECKED bb_status bb_map_file_read(const bb_map_request *request, bb_map_file *out);
void bb_map_file_release(bb_map_file *map);

#endif
