// SPDX-License-Identifier: Apache-2.0
//
// Writer of FITS files part by part (FITS Standard 4.0), with cfitsio if the build has it: images
// of 64-bit floats and tables that describe their axes, with keywords of eight characters and the
// checksums DATASUM and CHECKSUM in every part. Texts are reduced to ASCII, as required in headers.
#ifndef BB_SIM_OUTPUT_FITS_WRITER_H
#define BB_SIM_OUTPUT_FITS_WRITER_H

#include "core/matrix_source.h"

#include <stdbool.h>

typedef struct bb_fits_writer bb_fits_writer;

/// Checks that the build has cfitsio. Errors: BB_UNSUPPORTED, with the remedy.
BB_CHECKED bb_status bb_fits_writer_available(void);

/// True if a name is that of an output FITS file: it ends in .fits or .fit.
bool bb_fits_writer_named(const char *path);

/// Opens the existing empty file `path`: its primary part has no pixels, and keywords are written
/// there first. Errors of all functions: BB_IO with cfitsio's message, BB_MEMORY, BB_UNSUPPORTED.
/// The caller owns `*out`.
BB_CHECKED bb_status bb_fits_writer_open(const char *path, bb_fits_writer **out);

/// Ends the last part and the file. Without it, destroy leaves an incomplete file.
BB_CHECKED bb_status bb_fits_writer_close(bb_fits_writer **writer);
void bb_fits_writer_destroy(bb_fits_writer **writer);

/// Begins an image with EXTNAME `name`: `columns` along axis 1, the fastest, `rows` along axis 2.
/// Write its keywords next, then its pixels.
BB_CHECKED bb_status bb_fits_writer_image(bb_fits_writer *writer, const char *name, bb_index rows,
                                          bb_index columns);

/// Writes the image's pixels row by row in panels of the source. Errors: also those of the source.
BB_CHECKED bb_status bb_fits_writer_pixels(bb_fits_writer *writer, const bb_matrix_source *source);

/// Column of a table: numbers, or single words.
typedef struct bb_fits_column {
    const char *name;
    const char *unit;         ///< NULL: none
    const double *numbers;    ///< [rows], NULL: texts
    const char *const *texts; ///< [rows], NULL: numbers
} bb_fits_column;

enum { BB_FITS_COLUMNS = 8 };

/// Writes a binary table with EXTNAME `name` and `columns` [count <= BB_FITS_COLUMNS].
BB_CHECKED bb_status bb_fits_writer_table(bb_fits_writer *writer, const char *name, bb_index rows,
                                          const bb_fits_column *columns, int count);

/// Write keywords and lines of text to the current part. Numbers that are not finite are omitted.
BB_CHECKED bb_status bb_fits_writer_text(bb_fits_writer *writer, const char *keyword,
                                         const char *value, const char *comment);
BB_CHECKED bb_status bb_fits_writer_number(bb_fits_writer *writer, const char *keyword,
                                           double value, const char *comment);
BB_CHECKED bb_status bb_fits_writer_integer(bb_fits_writer *writer, const char *keyword,
                                            bb_index value, const char *comment);
BB_CHECKED bb_status bb_fits_writer_words(bb_fits_writer *writer, const char *words);

#endif
