// SPDX-License-Identifier: Apache-2.0
#ifndef BB_SIM_REPORT_ESCAPE_H
#define BB_SIM_REPORT_ESCAPE_H

#include "core/text.h"

/// Appends a text that may be another's as HTML and XML show it, inside elements and between
/// quotes: markup as references, '?' for control characters and for bytes that are no UTF-8.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_escape_add(const char *text, bb_text *out);

#endif
