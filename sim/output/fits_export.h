// SPDX-License-Identifier: Apache-2.0
//
// FITS export of a result file for a real-time computer: reconstructors, images and pupil, with
// headers for axes, units and origin.
#ifndef BB_SIM_OUTPUT_FITS_EXPORT_H
#define BB_SIM_OUTPUT_FITS_EXPORT_H

#include "sim/output/results.h"

typedef struct bb_fits_export {
    const char *file;          ///< result file with the operators
    const bb_results *results; ///< other groups of the file (bb_reader_read_all)
    const char *offered;       ///< operators of its experiment, NULL for none
    const char *parts;         ///< "R,psf,pupil", NULL: all parts of the experiment
    const char *pipelines;     ///< "sp,hp2", NULL: all
} bb_fits_export;

/// Checks that all requested parts are in the file. Errors: BB_INVALID, with the command that
/// creates them; BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_fits_export_check(const bb_fits_export *wanted);

/// Writes the existing empty file `path` from a checked bb_fits_export; callback of
/// bb_file_write_by. Parts of failed pipelines are skipped. Errors: from bb_fits_writer_open
/// and bb_matrix_file_open.
BB_CHECKED bb_status bb_fits_export_write(const char *path, void *wanted);

#endif
