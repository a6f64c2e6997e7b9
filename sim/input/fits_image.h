// SPDX-License-Identifier: Apache-2.0
//
// An image in a FITS file: the first of two axes, or of three, or a named one, of any pixel type,
// through cfitsio where the build found it.
//
// As an HDF5 file (matrix_file.h) it is read in a child process, which a damaged file may crash.
// The path is taken as it is, without cfitsio's extended file names.
#ifndef BB_SIM_INPUT_FITS_IMAGE_H
#define BB_SIM_INPUT_FITS_IMAGE_H

#include "core/status.h"

#include <stdbool.h>

/// Whether a path is named as a FITS file: it ends in .fits, .fit, .fits.gz or .fits.fz, in upper
/// or lower case.
bool bb_fits_image_named(const char *path);

/// Whether a file is FITS by its first bytes: those of a FITS header (FITS 4.0, 4.4.1.1), or of a
/// file packed by gzip, PKZIP or bzip2. HDF5 by its signature is not. Where the bytes do not tell
/// or cannot be read, its name does.
bool bb_fits_image_recognised(const char *path);

/// A whole image: row by row along the second axis, from the file's first pixel; scaled as its
/// header says; NaN where an integer pixel equals BLANK (FITS 4.0, 4.4.2.5). Axes of one pixel do
/// not count. `limit` bounds either edge. Errors: BB_UNSUPPORTED (a build without cfitsio), BB_IO
/// (no such file, not FITS, damaged: also by its DATASUM or CHECKSUM), BB_INVALID (no image of two
/// axes, too large), BB_MEMORY.
/// Owner of `*values` [rows][columns]: the caller.
BB_CHECKED bb_status bb_fits_image_read(const char *path, bb_index limit, bb_index *rows,
                                        bb_index *columns, double **values);

enum { BB_FITS_UNIT_BYTES = 72 };

/// An image with its unit.
typedef struct bb_fits_image {
    bb_index planes; ///< along the third axis; 1 of two
    bb_index rows, columns;
    double *values;                ///< [planes][rows][columns], owned by the caller
    char unit[BB_FITS_UNIT_BYTES]; ///< the header's BUNIT, "" where it has none
} bb_fits_image;

/// The same of one part: `part` is its EXTNAME, or its number from 1, the primary one. Errors:
/// those above, BB_IO (no such part).
BB_CHECKED bb_status bb_fits_image_load(const char *path, const char *part, bb_index limit,
                                        bb_fits_image *out);

/// The same of three axes, the third of at most 65536 planes; `part` NULL: the first such image.
BB_CHECKED bb_status bb_fits_image_load_cube(const char *path, const char *part, bb_index limit,
                                             bb_fits_image *out);

/// Holds a square image's halves to each other within `bound`, the lower one being the matrix.
/// Errors: BB_INVALID, named by file and part.
BB_CHECKED bb_status bb_fits_image_mirror(const char *path, const char *part, double bound,
                                          bb_fits_image *image);

#endif
