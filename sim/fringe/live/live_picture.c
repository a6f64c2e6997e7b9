// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_picture.h"

#include "core/memory.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    MOST_PIXELS = 1024,
    BLOCK_BYTES = 65535, // of stored deflate
    BLOCK_HEADER = 5,
    CHUNK_BYTES = 12, // length, name and checksum of a chunk
    IHDR_BYTES = 13,
    PALETTE = BB_LIVE_COLOURS + 1, // and one that is transparent
    NOTHING = BB_LIVE_COLOURS,
    CHECKSUM_RUN = 5552 // bytes that Adler's sums hold without a remainder
};

typedef struct picture {
    unsigned char *bytes;
    size_t length;
    uint32_t table[256]; // of the checksum of chunks
} picture;

void bb_live_picture_colour(int colour, unsigned char rgb[3])
{
    static const double ends[3][3] = {
        {38.0, 70.0, 150.0}, {245.0, 245.0, 240.0}, {165.0, 30.0, 38.0}};
    const double place = 2.0 * colour / (BB_LIVE_COLOURS - 1);
    const int low = place < 1.0 ? 0 : 1;
    for (int c = 0; c < 3; ++c) {
        rgb[c] =
            (unsigned char)rint(ends[low][c] + (place - low) * (ends[low + 1][c] - ends[low][c]));
    }
}

static void fill_table(uint32_t table[256])
{
    for (uint32_t n = 0; n < 256; ++n) {
        uint32_t value = n;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value & 1U) != 0 ? 0xEDB88320U ^ (value >> 1) : value >> 1;
        }
        table[n] = value;
    }
}

static void put(picture *out, const void *bytes, size_t length)
{
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

static void put_number(picture *out, uint32_t value)
{
    const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                    (unsigned char)(value >> 8), (unsigned char)value};
    put(out, bytes, sizeof bytes);
}

// Length and name; returns where the name stands.
static size_t begin_chunk(picture *out, const char *name, size_t length)
{
    put_number(out, (uint32_t)length);
    put(out, name, 4);
    return out->length - 4;
}

static void end_chunk(picture *out, size_t begin)
{
    uint32_t sum = 0xFFFFFFFFU;
    for (size_t i = begin; i < out->length; ++i) {
        sum = out->table[(sum ^ out->bytes[i]) & 0xFFU] ^ (sum >> 8);
    }
    put_number(out, ~sum);
}

static uint32_t adler(const unsigned char *bytes, size_t length)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < length;) {
        const size_t end = length - i < CHECKSUM_RUN ? length : i + CHECKSUM_RUN;
        for (; i < end; ++i) {
            a += bytes[i];
            b += a;
        }
        a %= 65521U;
        b %= 65521U;
    }
    return b << 16 | a;
}

static void put_head(picture *out, bb_index columns, bb_index rows)
{
    static const unsigned char mark[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    static const unsigned char layout[] = {8, 3, 0, 0, 0}; // bits, palette, plain in all else
    put(out, mark, sizeof mark);
    size_t begin = begin_chunk(out, "IHDR", IHDR_BYTES);
    put_number(out, (uint32_t)columns);
    put_number(out, (uint32_t)rows);
    put(out, layout, sizeof layout);
    end_chunk(out, begin);
    begin = begin_chunk(out, "PLTE", (size_t)3 * PALETTE);
    for (int colour = 0; colour < PALETTE; ++colour) {
        unsigned char rgb[3] = {255, 255, 255};
        if (colour < BB_LIVE_COLOURS) {
            bb_live_picture_colour(colour, rgb);
        }
        put(out, rgb, sizeof rgb);
    }
    end_chunk(out, begin);
    begin = begin_chunk(out, "tRNS", PALETTE);
    memset(out->bytes + out->length, 255, PALETTE);
    out->length += PALETTE;
    out->bytes[out->length - 1] = 0;
    end_chunk(out, begin);
}

// Blocks of stored bytes.
static void put_pixels(picture *out, const unsigned char *pixels, size_t length)
{
    static const unsigned char zlib[] = {0x78, 0x01};
    const size_t blocks = (length + BLOCK_BYTES - 1) / BLOCK_BYTES;
    const size_t begin = begin_chunk(out, "IDAT", sizeof zlib + length + blocks * BLOCK_HEADER + 4);
    put(out, zlib, sizeof zlib);
    for (size_t block = 0; block < blocks; ++block) {
        const size_t first = block * BLOCK_BYTES;
        const size_t size = length - first < BLOCK_BYTES ? length - first : BLOCK_BYTES;
        const unsigned char header[BLOCK_HEADER] = {
            block + 1 == blocks, (unsigned char)size, (unsigned char)(size >> 8),
            (unsigned char)~size, (unsigned char)(~size >> 8)};
        put(out, header, sizeof header);
        put(out, pixels + first, size);
    }
    put_number(out, adler(pixels, length));
    end_chunk(out, begin);
    end_chunk(out, begin_chunk(out, "IEND", 0));
}

// Lines of a filter byte (none) and a colour a pixel.
static void fill_lines(bb_index columns, bb_index width, bb_index height, bb_index stride,
                       const double *values, double low, double scale, unsigned char *lines)
{
    for (bb_index y = 0; y < height; ++y) {
        unsigned char *line = lines + y * (width + 1);
        line[0] = 0;
        for (bb_index x = 0; x < width; ++x) {
            const double value = (values[y * stride * columns + x * stride] - low) * scale;
            line[x + 1] = isnan(value)               ? NOTHING
                          : value <= 0.0             ? 0
                          : value >= BB_LIVE_COLOURS ? BB_LIVE_COLOURS - 1
                                                     : (unsigned char)value;
        }
    }
}

bb_status bb_live_picture_draw(bb_index columns, bb_index rows, const double *values, double low,
                               double high, unsigned char **png, bb_index *bytes)
{
    bb_status status = BB_OK;
    const bb_index longer = columns > rows ? columns : rows;
    const bb_index stride = (longer + MOST_PIXELS - 1) / MOST_PIXELS;
    const bb_index width = (columns + stride - 1) / stride;
    const bb_index height = (rows + stride - 1) / stride;
    const bb_index length = height * (width + 1);
    const double scale = high > low ? BB_LIVE_COLOURS / (high - low) : 0.0;
    picture out = {0};
    unsigned char *lines = NULL;
    BB_TRY(BB_ALLOCATE(length, &lines));
    BB_TRY(BB_ALLOCATE(length + (length / BLOCK_BYTES + 1) * BLOCK_HEADER + 8 * CHUNK_BYTES +
                           IHDR_BYTES + 4 * PALETTE,
                       &out.bytes));
    fill_table(out.table);
    fill_lines(columns, width, height, stride, values, low, scale, lines);
    put_head(&out, width, height);
    put_pixels(&out, lines, (size_t)length);
    *png = out.bytes;
    *bytes = (bb_index)out.length;
    out.bytes = NULL;
done:
    BB_RELEASE(&lines);
    BB_RELEASE(&out.bytes);
    return status;
}
