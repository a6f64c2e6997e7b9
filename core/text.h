// SPDX-License-Identifier: Apache-2.0
//
// A growing string for messages, tables and YAML.
#ifndef BB_CORE_TEXT_H
#define BB_CORE_TEXT_H

#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>

/// Zero-initialise; release with bb_text_release. `data` is NULL while empty.
typedef struct bb_text {
    char *data; ///< NUL-terminated
    bb_index length;
    bb_index capacity;
} bb_text;

/// Appends formatted text. Errors: BB_MEMORY, and the text is then unchanged.
BB_CHECKED bb_status bb_text_add(bb_text *text, const char *format, ...) BB_PRINTF(2, 3);
BB_CHECKED bb_status bb_text_add_list(bb_text *text, const char *format, va_list arguments)
    BB_PRINTF(2, 0);

/// Appends `length` bytes unchanged.
BB_CHECKED bb_status bb_text_add_bytes(bb_text *text, const char *bytes, bb_index length);

/// Writes untrusted text to a terminal or file: control characters, which could control a terminal,
/// become '?', except line ends and tabs.
void bb_text_print(const char *text, FILE *out);

/// Returns the string, "" while empty; valid until the next change.
const char *bb_text_string(const bb_text *text);

void bb_text_release(bb_text *text);

#endif
