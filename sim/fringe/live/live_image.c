// SPDX-License-Identifier: Apache-2.0
//
// Frames in FITS files: the primary array [frames][rows][columns], NAXIS 2 or 3, of integers from 0
// to 65535 (BITPIX 8, 16 or 32, with BZERO, BSCALE 1). The camera has 8 bits for BITPIX 8, else 16,
// unless a BITS card gives them. The first pixel of the file belongs to row 0.
//
// Unlike fits_image.h this reader needs no child process: it reads one plain array and checks every
// access against the length of the file.
//
// Images of binary PGM files: "P5", width, height, maximum value, then pixels of one byte, or of
// two big-endian bytes if the maximum exceeds 255. A file may contain several images of one shape
// and end with white space.
#include "core/disk_file.h"
#include "core/memory.h"
#include "sim/fringe/live/live_source.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CARD_BYTES = 80,
    CARDS = 36,
    BLOCK_BYTES = CARDS * CARD_BYTES,
    MOST_BLOCKS = 100,
    KEYWORD_BYTES = 8,
    BYTE_BITS = 8,
    MOST_BITS = 16
};

typedef struct fits_header {
    bool is_simple, ends;
    bool has_checksum;
    int blocks;
    double bitpix, axes, edges[3], zero, scale, bits;
    double blank, data_sum; // NaN if absent
} fits_header;

// Reads the number after a keyword and "= "; DATASUM has it in quotes.
static void read_card(const char card[CARD_BYTES], fits_header *out)
{
    char text[CARD_BYTES + 1];
    const struct {
        const char *name;
        double *place;
    } keys[] = {{"BITPIX  ", &out->bitpix},   {"NAXIS   ", &out->axes},
                {"NAXIS1  ", &out->edges[0]}, {"NAXIS2  ", &out->edges[1]},
                {"NAXIS3  ", &out->edges[2]}, {"BZERO   ", &out->zero},
                {"BSCALE  ", &out->scale},    {"BITS    ", &out->bits},
                {"BLANK   ", &out->blank},    {"DATASUM ", &out->data_sum}};
    memcpy(text, card, CARD_BYTES);
    text[CARD_BYTES] = '\0';
    out->is_simple = out->is_simple || strncmp(text, "SIMPLE  =", KEYWORD_BYTES + 1) == 0;
    out->ends = out->ends || strncmp(text, "END     ", KEYWORD_BYTES) == 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        if (strncmp(text, keys[i].name, KEYWORD_BYTES) == 0 && text[KEYWORD_BYTES] == '=') {
            const char *value = text + KEYWORD_BYTES + 1;
            value += strspn(value, " '");
            char *end = NULL;
            const double number = strtod(value, &end);
            *keys[i].place = end == value ? *keys[i].place : number; // a blank value is undefined
        }
    }
    if (strncmp(text, "CHECKSUM=", KEYWORD_BYTES + 1) == 0) {
        const char *value = text + KEYWORD_BYTES + 1;
        value += strspn(value, " '");
        out->has_checksum = *value != '\0' && *value != '/'; // a blank value is undefined
    }
}

static bb_status read_header(FILE *file, const char *path, fits_header *out)
{
    bb_status status = BB_OK;
    char cards[CARDS][CARD_BYTES];
    *out = (fits_header){.edges = {0.0, 0.0, 1.0}, .scale = 1.0, .blank = NAN, .data_sum = NAN};
    for (int block = 0; !out->ends; ++block) {
        out->blocks = block + 1;
        const size_t length = fread(cards, 1, sizeof cards, file);
        BB_REQUIRE(length == sizeof cards && block < MOST_BLOCKS, BB_INVALID,
                   "'%s' is not a FITS file: its header has no END", path);
        for (int i = 0; i < CARDS && !out->ends; ++i) {
            read_card(cards[i], out);
        }
        BB_REQUIRE(out->is_simple, BB_INVALID, "'%s' is not a FITS file: it has no SIMPLE", path);
    }
    if (out->bits == 0.0) {
        out->bits = out->bitpix == 8.0 ? 8.0 : MOST_BITS;
    }
done:
    return status;
}

static bb_status check_header(const char *path, const fits_header *header)
{
    bb_status status = BB_OK;
    bool has_edges = true;
    for (int i = 0; i < 3; ++i) {
        has_edges =
            has_edges && header->edges[i] >= 1.0 && header->edges[i] == floor(header->edges[i]);
    }
    BB_REQUIRE((header->axes == 2.0 || header->axes == 3.0) && has_edges &&
                   header->edges[0] <= BB_LIVE_EDGE && header->edges[1] <= BB_LIVE_EDGE &&
                   header->edges[2] < 1U << 31,
               BB_INVALID,
               "'%s': an array of %g axes, %g x %g x %g, expected columns and rows of 1..%d", path,
               header->axes, header->edges[0], header->edges[1], header->edges[2], BB_LIVE_EDGE);
    BB_REQUIRE((header->bitpix == 8.0 || header->bitpix == 16.0 || header->bitpix == 32.0) &&
                   header->scale == 1.0 && fabs(header->zero) <= 2147483648.0,
               BB_INVALID,
               "'%s': BITPIX %g, BSCALE %g, BZERO %g, expected integers of 8, 16 or 32 bits", path,
               header->bitpix, header->scale, header->zero);
    BB_REQUIRE(header->bits >= 1.0 && header->bits <= MOST_BITS &&
                   header->bits == floor(header->bits),
               BB_INVALID, "'%s': BITS %g, expected 1..%d", path, header->bits, MOST_BITS);
done:
    return status;
}

// FITS checksum of `count` blocks from the current position: sum of big-endian 32-bit words with
// end-around carry (FITS 4.0, appendix J.1).
static uint32_t add_blocks(FILE *file, bb_index count)
{
    unsigned char bytes[BLOCK_BYTES];
    uint64_t sum = 0;
    for (bb_index block = 0; block < count; ++block) {
        memset(bytes, 0, sizeof bytes);
        if (fread(bytes, 1, sizeof bytes, file) == 0) {
            break; // the rest of the file is missing
        }
        for (size_t i = 0; i < sizeof bytes; i += 4) {
            sum += (uint32_t)bytes[i] << 24 | (uint32_t)bytes[i + 1] << 16 |
                   (uint32_t)bytes[i + 2] << 8 | bytes[i + 3];
        }
        sum = (sum & UINT32_MAX) + (sum >> 32);
    }
    return (uint32_t)((sum & UINT32_MAX) + (sum >> 32));
}

// Verifies DATASUM and CHECKSUM if the file has them, then seeks back to the first pixel.
static bb_status verify_sums(FILE *file, const char *path, const fits_header *header,
                             double data_bytes)
{
    bb_status status = BB_OK;
    if (!header->has_checksum && isnan(header->data_sum)) {
        goto done;
    }
    rewind(file);
    const uint64_t head = add_blocks(file, header->blocks);
    const uint64_t data = add_blocks(file, (bb_index)ceil(data_bytes / BLOCK_BYTES));
    const uint64_t all = (head + data) % UINT32_MAX; // 0 if intact: the FITS sum is then all ones
    BB_REQUIRE(isnan(header->data_sum) ||
                   fmod(header->data_sum, UINT32_MAX) == (double)(data % UINT32_MAX),
               BB_IO, "'%s': damaged: its data do not match its DATASUM", path);
    BB_REQUIRE(!header->has_checksum || all == 0, BB_IO,
               "'%s': damaged: header and data do not match its CHECKSUM", path);
    BB_REQUIRE(fseek(file, (long)header->blocks * BLOCK_BYTES, SEEK_SET) == 0, BB_IO,
               "'%s': cannot seek back to its pixels", path);
done:
    return status;
}

// A big-endian pixel of the file; unsigned if it has one byte.
static double read_pixel(const unsigned char *bytes, size_t width)
{
    const uint32_t high = (uint32_t)bytes[0] << 8 | bytes[width > 1 ? 1 : 0];
    return width == 1   ? bytes[0]
           : width == 2 ? (double)(int16_t)(uint16_t)high
                        : (double)(int32_t)(high << 16 | (uint32_t)bytes[2] << 8 | bytes[3]);
}

static bb_status read_pixels(FILE *file, const char *path, const fits_header *header,
                             bb_live_frames *out)
{
    bb_status status = BB_OK;
    const size_t width = (size_t)header->bitpix / BYTE_BITS;
    const bb_index line = out->columns;
    const double limit = ldexp(1.0, (int)header->bits) - 1.0;
    unsigned char *bytes = NULL;
    BB_TRY(BB_ALLOCATE(line * (bb_index)width, &bytes));
    for (bb_index y = 0; y < out->count * out->rows; ++y) {
        BB_REQUIRE(fread(bytes, width, (size_t)line, file) == (size_t)line, BB_INVALID,
                   "'%s' ends after %td of %td rows", path, y, out->count * out->rows);
        for (bb_index x = 0; x < line; ++x) {
            const double stored = read_pixel(bytes + x * (bb_index)width, width);
            const double value = stored + header->zero;
            BB_REQUIRE(stored != header->blank, BB_INVALID,
                       "'%s': frame %td, row %td, column %td is undefined: it has the BLANK value "
                       "%g",
                       path, y / out->rows, y % out->rows, x, stored);
            BB_REQUIRE(value >= 0.0 && value <= limit && value == floor(value), BB_INVALID,
                       "'%s' has a pixel of %g, expected 0..%g for a camera of %g bits", path,
                       value, limit, header->bits);
            out->counts[y * line + x] = (uint16_t)value;
        }
    }
done:
    BB_RELEASE(&bytes);
    return status;
}

static bb_status read_fits(FILE *file, const char *path, bb_live_frames *out)
{
    bb_status status = BB_OK;
    fits_header header;
    BB_TRY(read_header(file, path, &header));
    BB_TRY(check_header(path, &header));
    const double data_bytes =
        header.edges[0] * header.edges[1] * header.edges[2] * header.bitpix / BYTE_BITS;
    BB_TRY(bb_live_source_check_length(file, path, data_bytes));
    BB_TRY(verify_sums(file, path, &header, data_bytes));
    BB_TRY(bb_live_frames_shape(out, (bb_index)header.edges[2], (bb_index)header.edges[0],
                                (bb_index)header.edges[1]));
    out->bits = (bb_index)header.bits;
    BB_TRY(read_pixels(file, path, &header, out));
done:
    return status;
}

typedef struct pgm_header {
    bb_index columns, rows, largest;
} pgm_header;

// Reads a number after white space and comments; -1 if there is none.
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
    return next != EOF && isspace(next) != 0 ? value : -1; // one white space ends a number
}

// Reads the header of the next image. `*found` is false at the end of the file, with or without
// trailing white space.
static bb_status read_pgm_header(FILE *file, const char *path, pgm_header *out, bool *found)
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
               "'%s' is not a binary PGM: an image does not begin with P5", path);
    if (*found) {
        *out = (pgm_header){.columns = read_number(file)};
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

static bb_status read_pgm_pixels(FILE *file, const char *path, const pgm_header *header,
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

// Makes room for one more frame, doubling the capacity when it is full.
static bb_status grow(const pgm_header *header, bb_live_frames *out)
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

// Appends an image to the frames.
static bb_status add_image(FILE *file, const char *path, const pgm_header *header,
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
    BB_TRY(read_pgm_pixels(file, path, header, bytes, out->counts + out->count * points));
    ++out->count;
    out->bits = bits;
done:
    BB_RELEASE(&bytes);
    return status;
}

static bb_status read_pgm(FILE *file, const char *path, bb_live_frames *out)
{
    bb_status status = BB_OK;
    pgm_header header = {0};
    bool found = true;
    while (found) {
        BB_TRY(read_pgm_header(file, path, &header, &found));
        if (found) {
            BB_TRY(add_image(file, path, &header, out));
        }
    }
    BB_REQUIRE(out->count > 0, BB_INVALID, "'%s' is not a binary PGM: it is empty", path);
done:
    return status;
}

bb_status bb_live_frames_read(const char *path, bool is_fits, bb_live_frames *out)
{
    bb_status status = BB_OK;
    FILE *file = NULL;
    *out = (bb_live_frames){0};
    BB_TRY(bb_disk_file_open(path, true, &file));
    BB_TRY((is_fits ? read_fits : read_pgm)(file, path, out));
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    if (status != BB_OK) {
        bb_live_frames_release(out);
    }
    return status;
}
