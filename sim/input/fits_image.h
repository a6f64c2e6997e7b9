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

/// The part that a key `dataset` names: NULL, the first image, for a path as HDF5 has them.
const char *bb_fits_image_part(const char *dataset);

enum { BB_FITS_UNIT_BYTES = 72 };

/// Which image; texts are borrowed.
typedef struct bb_fits_request {
    const char *path;
    const char *part;          ///< EXTNAME, or number from 1, the primary one; NULL: the first one
    int least_axes, most_axes; ///< 2 or 3; further axes have one pixel
    bb_index limit;            ///< of rows and of columns
} bb_fits_request;

/// An image, row by row along the second axis, from the file's first pixel.
typedef struct bb_fits_image {
    int axes; ///< 2 or 3
    bb_index planes, rows, columns;
    bool is_float;                 ///< floats, or integers with a scale that is not whole
    char unit[BB_FITS_UNIT_BYTES]; ///< the header's BUNIT, "" where it has none
    double *values; ///< [planes][rows][columns], NULL of a header; bb_fits_image_release
    size_t bytes;   ///< of its memory
} bb_fits_image;

/// Looks at an image's shape and type, not at its pixels. Errors: BB_UNSUPPORTED (a build without
/// cfitsio), BB_IO (no such file or part, not FITS, damaged), BB_INVALID (no image of so many axes,
/// more pixels along an edge than asked for, more than 65536 planes), BB_MEMORY.
BB_CHECKED bb_status bb_fits_image_inspect(const bb_fits_request *request, bb_fits_image *out);

/// The same with the pixels, scaled as the header says; NaN where an integer pixel equals BLANK
/// (FITS 4.0, 4.4.2.5). Errors: also BB_IO where DATASUM or CHECKSUM do not match.
BB_CHECKED bb_status bb_fits_image_read(const bb_fits_request *request, bb_fits_image *out);
void bb_fits_image_release(bb_fits_image *image);

#endif
