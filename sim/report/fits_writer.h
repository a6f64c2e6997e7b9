// SPDX-License-Identifier: Apache-2.0
//
// A FITS file part by part (FITS Standard 4.0), through cfitsio where the build found it: images of
// 64-bit floats and tables of what their axes stand for, with keywords of eight characters and the
// checksums DATASUM and CHECKSUM in every part. Texts are held to ASCII, as headers ask for.
#ifndef BB_SIM_REPORT_FITS_WRITER_H
#define BB_SIM_REPORT_FITS_WRITER_H

#include "core/matrix_source.h"

#include <stdbool.h>

typedef struct bb_fits_writer bb_fits_writer;

/// Errors: BB_UNSUPPORTED where the build has no cfitsio, with the remedy.
BB_CHECKED bb_status bb_fits_writer_available(void);

/// Whether a name is one of a FITS file that is written: it ends in .fits or .fit.
bool bb_fits_writer_named(const char *path);

/// Begins a file in `path`, which stands and is empty: its primary part has no pixels, and keywords
/// go there first. Errors of all: BB_IO with cfitsio's words, BB_MEMORY, BB_UNSUPPORTED. Owner of
/// `*out`: the caller.
BB_CHECKED bb_status bb_fits_writer_open(const char *path, bb_fits_writer **out);

/// Ends the last part and the file. Released without it, by destroy, the file is not whole.
BB_CHECKED bb_status bb_fits_writer_close(bb_fits_writer **writer);
void bb_fits_writer_destroy(bb_fits_writer **writer);

/// Begins an image, EXTNAME `name`: `columns` along axis 1, which runs fastest, `rows` along
/// axis 2. Its keywords come next, then its pixels.
BB_CHECKED bb_status bb_fits_writer_image(bb_fits_writer *writer, const char *name, bb_index rows,
                                          bb_index columns);

/// The image's pixels, row by row, by panels of the source. Errors: also the source's.
BB_CHECKED bb_status bb_fits_writer_pixels(bb_fits_writer *writer, const bb_matrix_source *source);

/// A column of a table: numbers, or texts of one word.
typedef struct bb_fits_column {
    const char *name;
    const char *unit;         ///< NULL: none
    const double *numbers;    ///< [rows], NULL: texts
    const char *const *texts; ///< [rows], NULL: numbers
} bb_fits_column;

enum { BB_FITS_COLUMNS = 8 };

/// A binary table, EXTNAME `name`, of `columns` [count <= BB_FITS_COLUMNS].
BB_CHECKED bb_status bb_fits_writer_table(bb_fits_writer *writer, const char *name, bb_index rows,
                                          const bb_fits_column *columns, int count);

/// Keywords of the part that was begun last, and lines of words. A number that is not finite is
/// left out.
BB_CHECKED bb_status bb_fits_writer_text(bb_fits_writer *writer, const char *keyword,
                                         const char *value, const char *comment);
BB_CHECKED bb_status bb_fits_writer_number(bb_fits_writer *writer, const char *keyword,
                                           double value, const char *comment);
BB_CHECKED bb_status bb_fits_writer_integer(bb_fits_writer *writer, const char *keyword,
                                            bb_index value, const char *comment);
BB_CHECKED bb_status bb_fits_writer_words(bb_fits_writer *writer, const char *words);

#endif
