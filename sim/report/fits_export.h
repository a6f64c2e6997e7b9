// SPDX-License-Identifier: Apache-2.0
//
// FITS export of a result file for a real-time computer: reconstructors, images and the pupil, with
// headers for axes, units and origin.
#ifndef BB_SIM_REPORT_FITS_EXPORT_H
#define BB_SIM_REPORT_FITS_EXPORT_H

#include "sim/output/results.h"

typedef struct bb_fits_export {
    const char *file;          ///< the result file, which holds the operators
    const bb_results *results; ///< its other groups (bb_reader_read_all)
    const char *offered;       ///< operators of its experiment, NULL for none
    const char *parts;         ///< "R,psf,pupil", NULL: all that the experiment has
    const char *pipelines;     ///< "sp,hp2", NULL: all
} bb_fits_export;

/// Whether everything that is asked for is in the file. Errors: BB_INVALID, with what makes a file
/// that has it; BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_fits_export_check(const bb_fits_export *wanted);

/// Writes the file `path`, which stands and is empty, from a bb_fits_export that was checked: what
/// bb_file_write_by calls. Parts of pipelines that failed are left out. Errors:
/// bb_fits_writer_open's, bb_matrix_file_open's.
BB_CHECKED bb_status bb_fits_export_write(const char *path, void *wanted);

#endif
