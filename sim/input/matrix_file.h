// SPDX-License-Identifier: Apache-2.0
//
// A matrix in an HDF5 or FITS file as a source: users bring their own response rows, covariances or
// masks.
//
// Files come from anywhere, and the HDF5 library can crash on damaged ones: a file is first read
// through in a child process, which finds its size and range, refuses values that are not finite,
// and holds the values to the digest that this program writes beside its own operators. Only then
// is it opened here, and blocks are read as they are asked for.
#ifndef BB_SIM_INPUT_MATRIX_FILE_H
#define BB_SIM_INPUT_MATRIX_FILE_H

#include "core/matrix_source.h"
#include "sim/input/matrix_metadata.h"
#include "sim/input/unit.h"

typedef struct bb_matrix_file bb_matrix_file;

/// Reads a dataset that this process wrote and holds it to its digest; values may be anything.
/// Errors: BB_IO (as of bb_matrix_file_open, or no digest), BB_INVALID (no matrix), BB_MEMORY.
BB_CHECKED bb_status bb_matrix_file_verify(const bb_matrix_place *place);

/// Checks and opens a two-dimensional dataset of floating-point numbers of any width. `symmetric`
/// asks for a square matrix whose halves agree to 1e-12 of its largest magnitude; the source then
/// gives the lower one. `name` is the source's, borrowed. Errors: BB_IO (no such file or dataset,
/// not HDF5, damaged: a digest that does not fit, a reader that died), BB_INVALID (wrong type or
/// shape, a value that is not finite, not symmetric; row and column are named), BB_MEMORY,
/// BB_UNSUPPORTED (FITS in a build without cfitsio). A FITS image (fits_image.h) is held in memory;
/// its first pixel row is row 0. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_matrix_file_open(const bb_matrix_place *place, bool symmetric,
                                         const char *name, bb_matrix_file **out);

/// The same without a look at the values of an HDF5 dataset, for checks before a run: neither their
/// digest nor whether they are finite is known, and their range is 0.
BB_CHECKED bb_status bb_matrix_file_open_header(const bb_matrix_place *place, const char *name,
                                                bb_matrix_file **out);
void bb_matrix_file_close(bb_matrix_file **file);

/// Holds an open matrix to what it is expected to be: from here on its values and its unit are the
/// program's, converted where the file has another known one. Without a unit it is taken for that
/// one, which a log line says. Call once, before the source is read. Errors: BB_INVALID
/// (bb_unit_find's, values that leave the finite by the factor), named by file and dataset.
BB_CHECKED bb_status bb_matrix_file_expect(bb_matrix_file *file, bb_quantity quantity);

/// The matrix; it lives as long as the file is open. Its unit is the dataset's `units` or the
/// image's BUNIT, else "1", unless bb_matrix_file_expect made it another.
const bb_matrix_source *bb_matrix_file_source(const bb_matrix_file *file);

/// Columns of the mesh that the matrix's columns are, where the dataset has three dimensions; else
/// 0.
bb_index bb_matrix_file_mesh_columns(const bb_matrix_file *file);

/// What the dataset says that it was made for.
const bb_matrix_metadata *bb_matrix_file_metadata(const bb_matrix_file *file);

/// Axis that the dataset's attribute `axis` names, or its `long_name`: 0, 1 or 2 of x, y, z; -1
/// where neither names one.
int bb_matrix_file_axis(const bb_matrix_file *file);

/// Largest minus smallest value.
double bb_matrix_file_range(const bb_matrix_file *file);

#endif
