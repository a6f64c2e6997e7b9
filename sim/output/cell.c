// SPDX-License-Identifier: Apache-2.0
#include "sim/output/cell.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// One character: number of bytes and columns, and whether it can be printed.
typedef struct character {
    int bytes, columns;
    bool shown; // printed unchanged; else as '?'
} character;

typedef struct range {
    uint32_t first, last;
} range;

// Unicode combining and format characters, drawn over the previous character.
static const range combining[] = {{0x300, 0x36F},   {0x483, 0x489},    {0x591, 0x5BD},
                                  {0x610, 0x61A},   {0x64B, 0x65F},    {0x1AB0, 0x1AFF},
                                  {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF},  {0xFE00, 0xFE0F},
                                  {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}};
// East Asian wide and fullwidth characters, and emoji.
static const range doubled[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                                {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                                {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                                {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
// Characters that control a terminal or change the direction of text: C0, DEL and C1, zero-width
// spaces, direction marks, line separators, byte order mark.
static const range steering[] = {{0x0, 0x1F},       {0x7F, 0x9F},     {0x200B, 0x200F},
                                 {0x2028, 0x202E},  {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
                                 {0xE0000, 0xE007F}};

#define IS_IN(ranges, point) is_in((ranges), sizeof(ranges) / sizeof *(ranges), (point))

static bool is_in(const range *ranges, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; ++i) {
        if (point >= ranges[i].first && point <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

// Decodes the first character of a non-empty text.
static character read_character(const char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text;
    const character foreign = {1, 1, false};
    const int bytes = byte[0] < 0x80   ? 1
                      : byte[0] < 0xC0 ? 0
                      : byte[0] < 0xE0 ? 2
                      : byte[0] < 0xF0 ? 3
                      : byte[0] < 0xF8 ? 4
                                       : 0;
    if (bytes == 0) {
        return foreign;
    }
    uint32_t point = bytes == 1 ? byte[0] : byte[0] & (0x7Fu >> bytes);
    for (int i = 1; i < bytes; ++i) {
        if ((byte[i] & 0xC0) != 0x80) {
            return foreign;
        }
        point = point << 6 | (byte[i] & 0x3Fu);
    }
    if (point < least[bytes] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        return foreign;
    }
    if (IS_IN(steering, point)) {
        return (character){bytes, 1, false};
    }
    return (character){bytes, IS_IN(combining, point) ? 0 : IS_IN(doubled, point) ? 2 : 1, true};
}

int bb_cell_width(const char *text)
{
    int width = 0;
    while (*text != '\0') {
        const character next = read_character(text);
        width += next.columns;
        text += next.bytes;
    }
    return width;
}

static bb_status add_spaces(int count, bb_text *out)
{
    return count > 0 ? bb_text_add(out, "%*s", count, "") : BB_OK;
}

// Adds the start of a text that fits into `columns`.
static bb_status add_start(const char *text, int columns, bb_text *out)
{
    bb_status status = BB_OK;
    while (*text != '\0') {
        const character next = read_character(text);
        columns -= next.columns;
        if (columns < 0) {
            break;
        }
        BB_TRY(next.shown ? bb_text_add_bytes(out, text, next.bytes) : bb_text_add(out, "?"));
        text += next.bytes;
    }
done:
    return status;
}

bb_status bb_cell_add(const char *text, int width, bb_text *out)
{
    bb_status status = BB_OK;
    const int gap = abs(width) - bb_cell_width(text);
    BB_TRY(add_spaces(width < 0 ? gap : 0, out));
    BB_TRY(add_start(text, bb_cell_width(text), out));
    BB_TRY(add_spaces(width > 0 ? gap : 0, out));
done:
    return status;
}

bb_status bb_cell_add_cut(const char *text, int columns, int end, bb_text *out)
{
    bb_status status = BB_OK;
    const char *rest = text;
    int width = bb_cell_width(text);
    if (width <= columns) {
        return bb_cell_add(text, columns, out);
    }
    while (width > end) {
        const character next = read_character(rest);
        width -= next.columns;
        rest += next.bytes;
    }
    const bb_index start = out->length;
    BB_TRY(add_start(text, columns - 1 - end, out));
    BB_TRY(bb_text_add(out, "\xE2\x80\xA6"));
    BB_TRY(add_start(rest, end, out));
    BB_TRY(add_spaces(columns - bb_cell_width(bb_text_string(out) + start), out));
done:
    return status;
}

bb_status bb_cell_add_lines(const char *text, int width, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text word = {0};
    int used = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        bb_text_release(&word);
        BB_TRY(bb_text_add_bytes(&word, text, (bb_index)length));
        const int columns = bb_cell_width(bb_text_string(&word));
        if (used > 0) {
            const bool fits = used + 1 + columns <= width;
            BB_TRY(bb_text_add(out, fits ? " " : "\n"));
            used = fits ? used + 1 : 0;
        }
        BB_TRY(bb_cell_add(bb_text_string(&word), 0, out));
        used += columns;
        text += length;
        text += strspn(text, " ");
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    bb_text_release(&word);
    return status;
}

void bb_cell_number(double value, char out[BB_CELL_BYTES])
{
    double size = fabs(value);
    if (isnan(value)) {
        (void)snprintf(out, BB_CELL_BYTES, "-");
    } else if (value == 0.0) {
        (void)snprintf(out, BB_CELL_BYTES, "0");
    } else if (size >= 1e-3 && size < 1e6) {
        int digits = 3 - (int)floor(log10(size));
        (void)snprintf(out, BB_CELL_BYTES, "%.*f", digits < 0 ? 0 : digits, value);
    } else {
        (void)snprintf(out, BB_CELL_BYTES, "%.3e", value);
    }
}

void bb_cell_exact(double value, char out[BB_CELL_BYTES])
{
    (void)snprintf(out, BB_CELL_BYTES, "%.15g", value);
    if (strtod(out, NULL) != value) {
        (void)snprintf(out, BB_CELL_BYTES, isnan(value) ? "nan" : "%.17g", value);
    }
}

bb_status bb_cell_add_field(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    if (text[strcspn(text, ",\"\r\n")] == '\0' && text[0] != ' ') {
        return bb_text_add(out, "%s", text);
    }
    BB_TRY(bb_text_add(out, "\""));
    for (const char *c = text; *c != '\0'; ++c) {
        BB_TRY(*c == '"' ? bb_text_add(out, "\"\"") : bb_text_add_bytes(out, c, 1));
    }
    BB_TRY(bb_text_add(out, "\""));
done:
    return status;
}

bb_status bb_cell_add_quoted(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "'"));
    for (const char *c = text; *c != '\0'; ++c) {
        BB_TRY(bb_text_add(out, *c == '\'' ? "'\\''" : "%c", *c));
    }
    BB_TRY(bb_text_add(out, "'"));
done:
    return status;
}

bool bb_cell_is_count(const char *unit, const double *numbers, bb_index count)
{
    bool whole = unit == NULL || unit[0] == '\0' || strcmp(unit, "1") == 0;
    for (bb_index i = 0; whole && i < count; ++i) {
        whole = isnan(numbers[i]) || numbers[i] == rint(numbers[i]);
    }
    return whole;
}

void bb_cell_item(const char *unit, double scale, const double *numbers, bb_index count,
                  bb_index item, char out[BB_CELL_BYTES])
{
    const double value = scale * numbers[item];
    if (fabs(value) < 1e6 && scale == 1.0 && bb_cell_is_count(unit, numbers, count)) {
        (void)snprintf(out, BB_CELL_BYTES, "%.0f", value);
    } else {
        bb_cell_number(value, out);
    }
}
