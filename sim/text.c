// SPDX-License-Identifier: Apache-2.0
#include "sim/text.h"

#include "core/memory.h"

#include <stdarg.h>
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

bb_status bb_text_add(bb_text *text, const char *format, ...)
{
    bb_status status = BB_OK;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    BB_REQUIRE(length >= 0, BB_INTERNAL, "cannot format '%s'", format);
    BB_TRY(reserve(text, length));
    va_start(arguments, format);
    (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += length;
done:
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
