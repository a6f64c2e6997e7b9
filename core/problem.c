// SPDX-License-Identifier: Apache-2.0
#include "core/problem.h"

#include "core/memory.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_BYTES = 4096 };

static bb_status add_place(bb_text *lines, bb_place place)
{
    if (place.line == 0) {
        return bb_text_add(lines, "%s: ", place.origin);
    }
    return bb_text_add(lines, "%s:%td:%td: ", place.origin, place.line, place.column);
}

bb_status bb_problems_add(bb_problems *problems, bb_place place, const char *format, ...)
{
    bb_status status = BB_OK;
    char line[LINE_BYTES];
    va_list arguments;
    if (problems->count < BB_PROBLEMS_TOLD) {
        va_start(arguments, format);
        (void)vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        // A value may contain line breaks; a problem is one line.
        for (char *c = line; *c != '\0'; ++c) {
            *c = (unsigned char)*c < ' ' ? ' ' : *c;
        }
        BB_TRY(add_place(&problems->lines, place));
        BB_TRY(bb_text_add(&problems->lines, "%s\n", line));
    }
    ++problems->count;
done:
    return status;
}

void bb_problems_release(bb_problems *problems)
{
    bb_text_release(&problems->lines);
    problems->count = 0;
}
