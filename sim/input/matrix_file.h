// SPDX-License-Identifier: Apache-2.0
//
// Matrix in an HDF5 or FITS file as a source, for user-supplied response rows, covariances or
// masks.
//
// Files may be damaged and crash the HDF5 library: a file is first read in a child process, which
// determines size and range, refuses non-finite values, and verifies the digest that this program
// writes with its own operators. Only then the file is opened here, and blocks are read on demand.
#ifndef BB_SIM_INPUT_MATRIX_FILE_H
#define BB_SIM_INPUT_MATRIX_FILE_H

#include "core/matrix_source.h"
#include "sim/input/matrix_metadata.h"
#include "sim/input/unit.h"

typedef struct bb_matrix_file bb_matrix_file;

/// Reads a dataset written by this process and verifies its digest; values are arbitrary. Errors:
/// BB_IO (as of bb_matrix_file_open, or no digest), BB_INVALID (no matrix), BB_MEMORY.
BB_CHECKED bb_status bb_matrix_file_verify(const bb_matrix_place *place);

/// Checks and opens a two-dimensional dataset of floating-point numbers of any width. `symmetric`
/// requires a square matrix whose halves agree to 1e-12 of its largest magnitude; the source then
/// provides the lower one. `name`, the name of the source, is borrowed. Errors: BB_IO (no such file
/// or dataset, not HDF5, damaged: a wrong digest, a reader that crashed), BB_INVALID (wrong type or
/// shape, a non-finite value, not symmetric; row and column are named), BB_MEMORY, BB_UNSUPPORTED
/// (FITS in a build without cfitsio). A FITS image (fits_image.h) is stored in memory; its first
/// pixel row is row 0. The caller owns `*out`.
BB_CHECKED bb_status bb_matrix_file_open(const bb_matrix_place *place, bool symmetric,
                                         const char *name, bb_matrix_file **out);

/// Opens a matrix as above, but without reading the values of an HDF5 dataset, for checks before a
/// run: the digest and finiteness of the values are not checked, and their range is 0.
BB_CHECKED bb_status bb_matrix_file_open_header(const bb_matrix_place *place, const char *name,
                                                bb_matrix_file **out);
void bb_matrix_file_close(bb_matrix_file **file);

/// Checks the unit of an open matrix and converts its values to the program's unit if the file has
/// another known one. A missing unit is assumed to be the program's, which is logged. Call it once,
/// before the source is read. Errors, naming file and dataset: BB_INVALID (those of bb_unit_find,
/// values that overflow by the conversion).
BB_CHECKED bb_status bb_matrix_file_expect(bb_matrix_file *file, bb_quantity quantity);

/// Matrix source; valid while the file is open. Its unit is the dataset's `units` or the image's
/// BUNIT, else "1", unless changed by bb_matrix_file_expect.
const bb_matrix_source *bb_matrix_file_source(const bb_matrix_file *file);

/// Number of mesh columns if the dataset has three dimensions; else 0.
bb_index bb_matrix_file_mesh_columns(const bb_matrix_file *file);

/// Metadata stored with the dataset.
const bb_matrix_metadata *bb_matrix_file_metadata(const bb_matrix_file *file);

/// Axis named by the dataset's attribute `axis` or its `long_name`: 0, 1 or 2 for x, y, z; -1 if
/// neither names one.
int bb_matrix_file_axis(const bb_matrix_file *file);

/// Largest minus smallest value.
double bb_matrix_file_range(const bb_matrix_file *file);

#endif
