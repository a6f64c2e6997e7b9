// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"

#include "core/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bb_status reserve(bb_text *text, bb_index more)
{
    bb_status status = BB_OK;
    bb_index wanted = text->length + more + 1;
    if (wanted > text->capacity) {
        bb_index capacity = 2 * wanted + 120;
        BB_TRY(bb_memory_resize(capacity, 1, (void **)&text->data));
        text->capacity = capacity;
    }
done:
    return status;
}

bb_status bb_text_add_bytes(bb_text *text, const char *bytes, bb_index length)
{
    bb_status status = BB_OK;
    BB_TRY(reserve(text, length));
    memcpy(text->data + text->length, bytes, (size_t)length);
    text->length += length;
    text->data[text->length] = '\0';
done:
    return status;
}

bb_status bb_text_add_list(bb_text *text, const char *format, va_list arguments)
{
    bb_status status = BB_OK;
    va_list measured;
    va_copy(measured, arguments);
    int length = vsnprintf(NULL, 0, format, measured);
    va_end(measured);
    BB_REQUIRE(length >= 0, BB_INTERNAL, "cannot format '%s'", format);
    BB_TRY(reserve(text, length));
    (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    text->length += length;
done:
    return status;
}

bb_status bb_text_add(bb_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const bb_status status = bb_text_add_list(text, format, arguments);
    va_end(arguments);
    return status;
}

const char *bb_text_string(const bb_text *text)
{
    return text->data == NULL ? "" : text->data;
}

void bb_text_release(bb_text *text)
{
    BB_RELEASE(&text->data);
    text->length = 0;
    text->capacity = 0;
}

// Returns the length of the control character at `text`: C0, DEL, or C1 in UTF-8; 0 if there is
// none.
static int control_bytes(const unsigned char *text)
{
    if (text[0] == 0xC2 && text[1] >= 0x80 && text[1] < 0xA0) {
        return 2;
    }
    const bool plain = text[0] >= 0x20 || text[0] == '\n' || text[0] == '\t';
    return plain && text[0] != 0x7F ? 0 : 1;
}

void bb_text_print(const char *text, FILE *out)
{
    const unsigned char *rest = (const unsigned char *)text;
    while (*rest != '\0') {
        const int skipped = control_bytes(rest);
        (void)fputc(skipped > 0 ? '?' : *rest, out);
        rest += skipped > 0 ? skipped : 1;
    }
}
