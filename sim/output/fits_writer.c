// SPDX-License-Identifier: Apache-2.0
#include "sim/output/fits_writer.h"

#include "sim/input/fits_image.h"

#include <string.h>

bool bb_fits_writer_named(const char *path)
{
    return bb_fits_image_named(path) && strchr("zZ", path[strlen(path) - 1]) == NULL;
}

#ifndef BB_HAVE_CFITSIO

bb_status bb_fits_writer_available(void)
{
    return bb_status_set(
        BB_UNSUPPORTED, __FILE__, __LINE__,
        "this build cannot write FITS files; install libcfitsio-dev and configure again");
}

bb_status bb_fits_writer_open(const char *path, bb_fits_writer **out)
{
    (void)path;
    *out = NULL;
    return bb_fits_writer_available();
}

bb_status bb_fits_writer_close(bb_fits_writer **writer)
{
    (void)writer;
    return bb_fits_writer_available();
}

void bb_fits_writer_destroy(bb_fits_writer **writer)
{
    *writer = NULL;
}

bb_status bb_fits_writer_image(bb_fits_writer *writer, const char *name, bb_index rows,
                               bb_index columns)
{
    (void)writer, (void)name, (void)rows, (void)columns;
    return bb_fits_writer_available();
}

bb_status bb_fits_writer_pixels(bb_fits_writer *writer, const bb_matrix_source *source)
{
    (void)writer, (void)source;
    return bb_fits_writer_available();
}

bb_status bb_fits_writer_table(bb_fits_writer *writer, const char *name, bb_index rows,
                               const bb_fits_column *columns, int count)
{
    (void)writer, (void)name, (void)rows, (void)columns, (void)count;
    return bb_fits_writer_available();
}

bb_status bb_fits_writer_text(bb_fits_writer *writer, const char *keyword, const char *value,
                              const char *comment)
{
    (void)writer, (void)keyword, (void)value, (void)comment;
    return bb_fits_writer_available();
}

bb_status bb_fits_writer_number(bb_fits_writer *writer, const char *keyword, double value,
                                const char *comment)
{
    (void)writer, (void)keyword, (void)value, (void)comment;
    return bb_fits_writer_available();
}

bb_status bb_fits_writer_integer(bb_fits_writer *writer, const char *keyword, bb_index value,
                                 const char *comment)
{
    (void)writer, (void)keyword, (void)value, (void)comment;
    return bb_fits_writer_available();
}

bb_status bb_fits_writer_words(bb_fits_writer *writer, const char *words)
{
    (void)writer, (void)words;
    return bb_fits_writer_available();
}

#else

#include "core/memory.h"

#include <fitsio.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { BLOCK_BYTES = 2880, CARD_BYTES = 80, COMMENT_BYTES = 70, PANEL_BYTES = 1 << 24, AXES = 2 };

struct bb_fits_writer {
    fitsfile *file;
    char *path;
};

static bb_status check_code(int code, const bb_fits_writer *writer, const char *what)
{
    char text[FLEN_STATUS] = "";
    if (code == 0) {
        return BB_OK;
    }
    fits_get_errstatus(code, text);
    return bb_status_set(BB_IO, __FILE__, __LINE__, "cannot write '%s': %s: %s", writer->path, what,
                         text);
}

bb_status bb_fits_writer_available(void)
{
    return BB_OK;
}

// Writes a minimal file: cfitsio does not create a file under an existing name, but extends one.
static bb_status begin_file(const char *path)
{
    bb_status status = BB_OK;
    static const char *const cards[] = {"SIMPLE  =                    T",
                                        "BITPIX  =                    8",
                                        "NAXIS   =                    0", "END"};
    char block[BLOCK_BYTES];
    FILE *file = fopen(path, "wb");
    BB_REQUIRE(file != NULL, BB_IO, "cannot write '%s'", path);
    memset(block, ' ', sizeof block);
    for (size_t c = 0; c < sizeof cards / sizeof *cards; ++c) {
        memcpy(block + c * CARD_BYTES, cards[c], strlen(cards[c]));
    }
    const bool written = fwrite(block, 1, sizeof block, file) == sizeof block;
    const bool closed = fclose(file) == 0;
    BB_REQUIRE(written && closed, BB_IO, "cannot write '%s'", path);
done:
    return status;
}

bb_status bb_fits_writer_open(const char *path, bb_fits_writer **out)
{
    bb_status status = BB_OK;
    bb_fits_writer *writer = NULL;
    int code = 0;
    *out = NULL;
    BB_TRY(begin_file(path));
    BB_TRY(BB_ZEROED(1, &writer));
    BB_TRY(bb_memory_text(path, &writer->path));
    (void)fits_open_diskfile(&writer->file, path, READWRITE, &code);
    BB_TRY(check_code(code, writer, "open it"));
    (void)fits_write_date(writer->file, &code);
    BB_TRY(check_code(code, writer, "date"));
    *out = writer;
    writer = NULL;
done:
    bb_fits_writer_destroy(&writer);
    return status;
}

// Writes the checksums of the current part.
static bb_status end_part(bb_fits_writer *writer)
{
    int code = 0;
    (void)fits_write_chksum(writer->file, &code);
    return check_code(code, writer, "checksums");
}

bb_status bb_fits_writer_close(bb_fits_writer **writer)
{
    bb_status status = BB_OK;
    int code = 0;
    BB_TRY(end_part(*writer));
    (void)fits_close_file((*writer)->file, &code);
    (*writer)->file = NULL;
    BB_TRY(check_code(code, *writer, "close it"));
done:
    bb_fits_writer_destroy(writer);
    return status;
}

void bb_fits_writer_destroy(bb_fits_writer **writer)
{
    int code = 0;
    if (*writer != NULL) {
        if ((*writer)->file != NULL) {
            (void)fits_close_file((*writer)->file, &code);
        }
        BB_RELEASE(&(*writer)->path);
    }
    BB_RELEASE(writer);
}

bb_status bb_fits_writer_image(bb_fits_writer *writer, const char *name, bb_index rows,
                               bb_index columns)
{
    bb_status status = BB_OK;
    int code = 0;
    long edges[AXES] = {(long)columns, (long)rows};
    BB_TRY(end_part(writer));
    (void)fits_create_img(writer->file, DOUBLE_IMG, AXES, edges, &code);
    BB_TRY(check_code(code, writer, name));
    BB_TRY(bb_fits_writer_text(writer, "EXTNAME", name, "name of this part"));
    (void)fits_write_date(writer->file, &code);
    BB_TRY(check_code(code, writer, "date"));
done:
    return status;
}

bb_status bb_fits_writer_pixels(bb_fits_writer *writer, const bb_matrix_source *source)
{
    bb_status status = BB_OK;
    double *panel = NULL; // [rows][columns]
    int code = 0;
    const bb_index columns = source->columns;
    const bb_index fitting = PANEL_BYTES / ((bb_index)sizeof(double) * columns);
    const bb_index tall = fitting < 1 ? 1 : fitting;
    BB_TRY(BB_ALLOCATE(tall * columns, &panel));
    for (bb_index row = 0; row < source->rows; row += tall) {
        const bb_index rows = source->rows - row < tall ? source->rows - row : tall;
        long first[AXES] = {1, (long)row + 1};
        BB_TRY(bb_matrix_source_fill(source, row, 0, bb_view_matrix(panel, rows, columns)));
        (void)fits_write_pix(writer->file, TDOUBLE, first, (LONGLONG)rows * columns, panel, &code);
        BB_TRY(check_code(code, writer, "pixels"));
    }
done:
    BB_RELEASE(&panel);
    return status;
}

static bb_status write_column(bb_fits_writer *writer, int number, bb_index rows,
                              const bb_fits_column *column)
{
    bb_status status = BB_OK;
    int code = 0;
    if (column->numbers != NULL) {
        (void)fits_write_col(writer->file, TDOUBLE, number, 1, 1, (LONGLONG)rows,
                             (void *)(uintptr_t)column->numbers, &code);
    } else {
        (void)fits_write_col(writer->file, TSTRING, number, 1, 1, (LONGLONG)rows,
                             (void *)(uintptr_t)column->texts, &code);
    }
    BB_TRY(check_code(code, writer, column->name));
done:
    return status;
}

bb_status bb_fits_writer_table(bb_fits_writer *writer, const char *name, bb_index rows,
                               const bb_fits_column *columns, int count)
{
    bb_status status = BB_OK;
    int code = 0;
    char *names[BB_FITS_COLUMNS];
    char *forms[BB_FITS_COLUMNS];
    char *units[BB_FITS_COLUMNS];
    char words[BB_FITS_COLUMNS][16];
    BB_TRY(end_part(writer));
    for (int c = 0; c < count; ++c) {
        size_t width = 1;
        for (bb_index r = 0; columns[c].texts != NULL && r < rows; ++r) {
            const size_t length = strlen(columns[c].texts[r]);
            width = length > width ? length : width;
        }
        (void)snprintf(words[c], sizeof words[c], columns[c].numbers != NULL ? "1D" : "%zuA",
                       width);
        names[c] = (char *)(uintptr_t)columns[c].name;
        forms[c] = words[c];
        units[c] = (char *)(uintptr_t)(columns[c].unit == NULL ? "" : columns[c].unit);
    }
    (void)fits_create_tbl(writer->file, BINARY_TBL, (LONGLONG)rows, count, names, forms, units,
                          name, &code);
    BB_TRY(check_code(code, writer, name));
    for (int c = 0; c < count; ++c) {
        BB_TRY(write_column(writer, c + 1, rows, &columns[c]));
    }
    (void)fits_write_date(writer->file, &code);
    BB_TRY(check_code(code, writer, "date"));
done:
    return status;
}

// Reduces a text to ASCII from space to ~. Any other UTF-8 character is replaced by one `?`. The
// caller owns `*out`.
static bb_status reduce_to_ascii(const char *text, char **out)
{
    bb_status status = BB_OK;
    size_t length = 0;
    BB_TRY(bb_memory_text(text, out));
    for (const char *rest = text; *rest != '\0'; ++rest) {
        const unsigned char c = (unsigned char)*rest;
        if ((c & 0xC0) != 0x80) {
            (*out)[length++] = c >= ' ' && c <= '~' ? *rest : '?';
        }
    }
    (*out)[length] = '\0';
done:
    return status;
}

bb_status bb_fits_writer_text(bb_fits_writer *writer, const char *keyword, const char *value,
                              const char *comment)
{
    bb_status status = BB_OK;
    int code = 0;
    char *text = NULL;
    BB_TRY(reduce_to_ascii(value, &text));
    // Texts over 68 characters continue in CONTINUE cards (FITS Standard 4.0).
    (void)fits_update_key_longstr(writer->file, keyword, text, comment, &code);
    BB_TRY(check_code(code, writer, keyword));
done:
    BB_RELEASE(&text);
    return status;
}

bb_status bb_fits_writer_number(bb_fits_writer *writer, const char *keyword, double value,
                                const char *comment)
{
    int code = 0;
    if (isfinite(value)) {
        (void)fits_update_key(writer->file, TDOUBLE, keyword, &value, comment, &code);
    }
    return check_code(code, writer, keyword);
}

bb_status bb_fits_writer_integer(bb_fits_writer *writer, const char *keyword, bb_index value,
                                 const char *comment)
{
    int code = 0;
    LONGLONG number = (LONGLONG)value;
    (void)fits_update_key(writer->file, TLONGLONG, keyword, &number, comment, &code);
    return check_code(code, writer, keyword);
}

bb_status bb_fits_writer_words(bb_fits_writer *writer, const char *words)
{
    bb_status status = BB_OK;
    int code = 0;
    char *text = NULL;
    char line[COMMENT_BYTES + 1];
    BB_TRY(reduce_to_ascii(words, &text));
    for (const char *rest = text; *rest != '\0' && code == 0;) {
        size_t length = strlen(rest);
        if (length > COMMENT_BYTES) {
            // Breaks at the last space that fits.
            length = COMMENT_BYTES;
            while (length > 1 && rest[length] != ' ') {
                --length;
            }
        }
        (void)snprintf(line, sizeof line, "%.*s", (int)length, rest);
        (void)fits_write_comment(writer->file, line, &code);
        rest += length;
        rest += *rest == ' ';
    }
    BB_TRY(check_code(code, writer, "COMMENT"));
done:
    BB_RELEASE(&text);
    return status;
}

#endif
