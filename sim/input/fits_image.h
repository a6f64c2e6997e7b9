// SPDX-License-Identifier: Apache-2.0
//
// Image in a FITS file: the first with two or three axes, or a named one, of any pixel type, read
// with cfitsio if the build has it.
//
// Like an HDF5 file (matrix_file.h) it is read in a child process, which a damaged file may crash.
// The path is used literally, without cfitsio's extended file names.
#ifndef BB_SIM_INPUT_FITS_IMAGE_H
#define BB_SIM_INPUT_FITS_IMAGE_H

#include "core/status.h"

#include <stdbool.h>

/// True if the name of a path is that of a FITS file: it ends in .fits, .fit, .fits.gz or .fits.fz,
/// in upper or lower case.
bool bb_fits_image_named(const char *path);

/// True if the first bytes of a file are those of a FITS header (FITS 4.0, 4.4.1.1) or of a file
/// compressed by gzip, PKZIP or bzip2. Files with the HDF5 signature are not FITS. If the bytes are
/// inconclusive or unreadable, the name decides.
bool bb_fits_image_recognised(const char *path);

/// Part named by a key `dataset`; NULL, the first image, for a path as in HDF5.
const char *bb_fits_image_part(const char *dataset);

enum { BB_FITS_UNIT_BYTES = 72 };

/// Requested image; texts are borrowed.
typedef struct bb_fits_request {
    const char *path;
    const char *part;          ///< EXTNAME, or number from 1, the primary HDU; NULL: the first one
    int least_axes, most_axes; ///< 2 or 3; further axes have one pixel
    bb_index limit;            ///< largest number of rows and of columns
} bb_fits_request;

/// Image in rows along the second axis, starting at the file's first pixel.
typedef struct bb_fits_image {
    int axes; ///< 2 or 3
    bb_index planes, rows, columns;
    bool is_float;                 ///< floats, or integers with a scale that is not an integer
    char unit[BB_FITS_UNIT_BYTES]; ///< BUNIT of the header, "" if absent
    /// [planes][rows][columns], NULL for a header; release with bb_fits_image_release
    double *values;
    size_t bytes; ///< allocated size
} bb_fits_image;

/// Reads an image's shape and type without its pixels. Errors: BB_UNSUPPORTED (a build without
/// cfitsio), BB_IO (no such file or part, not FITS, damaged), BB_INVALID (no image with these axes,
/// more pixels along an edge than the limit, more than 65536 planes), BB_MEMORY.
BB_CHECKED bb_status bb_fits_image_inspect(const bb_fits_request *request, bb_fits_image *out);

/// Reads an image with its pixels, scaled as the header specifies; NaN where an integer pixel
/// equals BLANK (FITS 4.0, 4.4.2.5). Errors: also BB_IO if DATASUM or CHECKSUM do not match.
BB_CHECKED bb_status bb_fits_image_read(const bb_fits_request *request, bb_fits_image *out);
void bb_fits_image_release(bb_fits_image *image);

#endif
