// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_pgm.h"

#include "core/disk_file.h"
#include "core/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct image_header {
    bb_index columns, rows, largest;
} image_header;

// A number after blanks and comments; -1 where there is none.
static bb_index read_number(FILE *file)
{
    bb_index value = -1;
    int next = fgetc(file);
    while (next == '#' || (next != EOF && isspace(next) != 0)) {
        while (next == '#' && next != EOF && next != '\n') {
            next = fgetc(file);
            next = next == '\n' || next == EOF ? next : '#';
        }
        next = next == EOF ? EOF : fgetc(file);
    }
    for (; next != EOF && isdigit(next) != 0 && value < BB_LIVE_EDGE * 8; next = fgetc(file)) {
        value = (value < 0 ? 0 : value) * 10 + (next - '0');
    }
    return next != EOF && isspace(next) != 0 ? value : -1; // one blank ends a number
}

// `*found` is false where the file ends instead; blanks before that end are a shell's.
static bb_status read_header(FILE *file, const char *path, image_header *out, bool *found)
{
    bb_status status = BB_OK;
    char mark[2] = "";
    int blank = fgetc(file);
    while (blank != EOF && isspace(blank) != 0) {
        blank = fgetc(file);
    }
    (void)ungetc(blank, file);
    const size_t length = fread(mark, 1, sizeof mark, file);
    *found = length == sizeof mark;
    BB_REQUIRE(length == 0 || (*found && memcmp(mark, "P5", sizeof mark) == 0), BB_INVALID,
               "'%s' is no binary PGM: an image does not begin with P5", path);
    if (*found) {
        *out = (image_header){.columns = read_number(file)};
        out->rows = read_number(file);
        out->largest = read_number(file);
        BB_REQUIRE(out->columns >= 1 && out->columns <= BB_LIVE_EDGE && out->rows >= 1 &&
                       out->rows <= BB_LIVE_EDGE && out->largest >= 1 && out->largest <= 65535,
                   BB_INVALID,
                   "'%s': a PGM of %td x %td pixels up to %td, expected 1..%d a side and 1..65535",
                   path, out->columns, out->rows, out->largest, BB_LIVE_EDGE);
    }
done:
    return status;
}

static bb_status read_pixels(FILE *file, const char *path, const image_header *header,
                             unsigned char *bytes, uint16_t *counts)
{
    bb_status status = BB_OK;
    const bb_index points = header->columns * header->rows;
    const size_t width = header->largest > 255 ? 2 : 1;
    const size_t length = fread(bytes, width, (size_t)points, file);
    BB_REQUIRE(length == (size_t)points, BB_INVALID, "'%s' ends after %zu of %td pixels", path,
               length, points);
    for (bb_index p = 0; p < points; ++p) {
        const int value = width == 1 ? bytes[p] : 256 * bytes[2 * p] + bytes[2 * p + 1];
        BB_REQUIRE(value <= header->largest, BB_INVALID,
                   "'%s' has a pixel of %d, expected at most %td", path, value, header->largest);
        counts[p] = (uint16_t)value;
    }
done:
    return status;
}

static bb_index bits_of(bb_index largest)
{
    bb_index bits = 1;
    while ((1 << bits) - 1 < largest) {
        ++bits;
    }
    return bits;
}

// Room for one frame more than there are; it doubles where it is short.
static bb_status grow(const image_header *header, bb_live_frames *out)
{
    bb_status status = BB_OK;
    const bb_index points = header->columns * header->rows, held = out->count;
    bb_live_frames grown = {0};
    if (out->room < (held + 1) * points) {
        BB_TRY(
            bb_live_frames_shape(&grown, held == 0 ? 1 : 2 * held, header->columns, header->rows));
        if (held > 0) {
            memcpy(grown.counts, out->counts, (size_t)(held * points) * sizeof *grown.counts);
        }
        grown.count = held;
        grown.bits = out->bits;
        bb_live_frames_release(out);
        *out = grown;
    }
done:
    return status;
}

// Appends an image to those there are.
static bb_status add_image(FILE *file, const char *path, const image_header *header,
                           bb_live_frames *out)
{
    bb_status status = BB_OK;
    const bb_index points = header->columns * header->rows;
    const bb_index bits = bits_of(header->largest);
    unsigned char *bytes = NULL;
    BB_REQUIRE(out->count == 0 || (header->columns == out->columns && header->rows == out->rows),
               BB_INVALID, "'%s' has images of %td x %td and of %td x %td pixels", path,
               out->columns, out->rows, header->columns, header->rows);
    BB_TRY(bb_live_source_check_length(file, path,
                                       (header->largest > 255 ? 2.0 : 1.0) * (double)points));
    BB_TRY(BB_ALLOCATE(2 * points, &bytes));
    BB_TRY(grow(header, out));
    BB_TRY(read_pixels(file, path, header, bytes, out->counts + out->count * points));
    ++out->count;
    out->bits = bits;
done:
    BB_RELEASE(&bytes);
    return status;
}

bb_status bb_live_pgm_read(const char *path, bb_live_frames *out)
{
    bb_status status = BB_OK;
    image_header header = {0};
    bool found = true;
    *out = (bb_live_frames){0};
    FILE *file = NULL;
    BB_TRY(bb_disk_file_open(path, true, &file));
    while (found) {
        BB_TRY(read_header(file, path, &header, &found));
        if (found) {
            BB_TRY(add_image(file, path, &header, out));
        }
    }
    BB_REQUIRE(out->count > 0, BB_INVALID, "'%s' is no binary PGM: it is empty", path);
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    if (status != BB_OK) {
        bb_live_frames_release(out);
    }
    return status;
}
