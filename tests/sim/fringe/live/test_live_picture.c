// SPDX-License-Identifier: Apache-2.0
//
// Decodes the PNG according to its format.
#include "core/memory.h"
#include "sim/fringe/live/live_view.h"
#include "tests/check.h"

#include <stdbool.h>

static uint32_t number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// CRC bit by bit, as defined in the standard.
static uint32_t checksum(const unsigned char *bytes, size_t length)
{
    uint32_t sum = 0xFFFFFFFFU;
    for (size_t i = 0; i < 8 * length; ++i) {
        const uint32_t bit = (bytes[i / 8] >> (i % 8)) & 1U;
        sum = ((sum ^ bit) & 1U) != 0 ? 0xEDB88320U ^ (sum >> 1) : sum >> 1;
    }
    return ~sum;
}

// Finds the first chunk of a name and checks the checksums on the way.
static const unsigned char *find_chunk(const unsigned char *png, bb_index bytes, const char *name,
                                       size_t *length)
{
    const unsigned char *found = NULL;
    bb_index place = 8;
    while (place < bytes) {
        const size_t size = number_at(png + place);
        assert_true(place + (bb_index)size + 12 <= bytes);
        assert_int_equal(number_at(png + place + 8 + size), checksum(png + place + 4, size + 4));
        if (found == NULL && memcmp(png + place + 4, name, 4) == 0) {
            found = png + place + 8;
            *length = size;
        }
        place += (bb_index)size + 12;
    }
    assert_int_equal(place, bytes);
    return found;
}

// Bytes of a picture's stored blocks, checked against Adler-32. Owner: the caller.
static unsigned char *unpack(const unsigned char *png, bb_index png_bytes, size_t *out)
{
    size_t place = 2, length = 0;
    const unsigned char *data = find_chunk(png, png_bytes, "IDAT", &length);
    unsigned char *bytes = new_array(unsigned char, (bb_index)length);
    uint32_t a = 1, b = 0;
    bool last = false;
    *out = 0;
    assert_int_equal((data[0] * 256 + data[1]) % 31, 0);
    while (!last) {
        const size_t size = data[place + 1] + 256U * data[place + 2];
        last = data[place] == 1;
        assert_int_equal(size ^ 0xFFFFU, data[place + 3] + 256U * data[place + 4]);
        memcpy(bytes + *out, data + place + 5, size);
        *out += size;
        place += size + 5;
    }
    for (size_t i = 0; i < *out; ++i) {
        a = (a + bytes[i]) % 65521U;
        b = (b + a) % 65521U;
    }
    assert_int_equal(number_at(data + place), b << 16 | a);
    assert_int_equal(place + 4, length);
    return bytes;
}

TEST(values_become_colours)
{
    const double values[2][3] = {{-1.0, 0.0, 0.5}, {1.0, NAN, 7.0}};
    autofree unsigned char *png = NULL;
    bb_index bytes = 0;
    size_t length = 0, size = 0;
    check_ok(bb_live_view_draw(3, 2, values[0], 0.0, 1.0, &png, &bytes));
    const unsigned char *head = find_chunk(png, bytes, "IHDR", &length);
    assert_memory_equal(png, "\x89PNG\r\n\x1A\n", 8);
    assert_true(number_at(head) == 3 && number_at(head + 4) == 2 && head[8] == 8 && head[9] == 3);
    const unsigned char *palette = find_chunk(png, bytes, "PLTE", &length);
    assert_int_equal(length, 3 * 256);
    assert_true(palette[2] > palette[0] && palette[3 * 254] > palette[3 * 254 + 2]); // blue to red
    const unsigned char *clear = find_chunk(png, bytes, "tRNS", &length);
    assert_true(length == 256 && clear[254] == 255 && clear[255] == 0);
    autofree unsigned char *lines = unpack(png, bytes, &size);
    const unsigned char expected[8] = {0, 0, 0, 127, 0, 254, 255, 254};
    assert_int_equal(size, 8);
    assert_memory_equal(lines, expected, 8);
}

TEST(flat_maps_and_empty_ones_are_drawn)
{
    const double values[2] = {3.0, NAN};
    for (int i = 0; i < 2; ++i) {
        autofree unsigned char *png = NULL;
        bb_index bytes = 0;
        size_t size = 0;
        check_ok(
            bb_live_view_draw(2, 1, values, i == 0 ? 3.0 : NAN, i == 0 ? 3.0 : NAN, &png, &bytes));
        autofree unsigned char *lines = unpack(png, bytes, &size);
        assert_true(size == 3 && lines[2] == 255);
    }
}

TEST(large_maps_are_thinned)
{
    enum { COLUMNS = 2050, ROWS = 700 };
    static double values[COLUMNS * ROWS];
    unsigned char *png = NULL;
    bb_index bytes = 0;
    size_t length = 0, size = 0;
    fill_array(values, COLUMNS * ROWS, i, i % COLUMNS % 255);
    check_ok(bb_live_view_draw(COLUMNS, ROWS, values, 0.0, 255.0, &png, &bytes));
    const unsigned char *head = find_chunk(png, bytes, "IHDR", &length);
    assert_true(number_at(head) == 684 && number_at(head + 4) == 234); // every third pixel
    unsigned char *lines = unpack(png, bytes, &size);
    assert_int_equal(size, 685 * 234); // three deflate blocks
    for (int x = 0; x < 684; ++x) {
        assert_int_equal(lines[685 * 233 + 1 + x], 3 * x % 255);
    }
    BB_RELEASE(&lines);
    BB_RELEASE(&png);
    for (bb_index k = 1; k <= 2; ++k) {
        bb_memory_fail_at(k);
        assert_int_equal(bb_live_view_draw(COLUMNS, ROWS, values, 0.0, 1.0, &png, &bytes),
                         BB_MEMORY);
        bb_memory_fail_at(0);
        assert_null(png);
    }
    assert_int_equal(bb_memory_blocks(), 0);
}
