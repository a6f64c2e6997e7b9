// SPDX-License-Identifier: Apache-2.0
//
// Strict numbers: what is read here is read as the same number by any YAML 1.1 or 1.2 reader, or is
// refused. `4x`, `010`, `1_000`, `0x10`, `12:30`, `1,5`, `.5`, `nan`, `inf` and `1e999` are
// refused; `1e-3` (a text to PyYAML) is taken, and written back as `1.0e-03`.
#ifndef BB_SIM_CONFIG_SCALAR_H
#define BB_SIM_CONFIG_SCALAR_H

#include "core/status.h"

#include <stdbool.h>

enum { BB_SCALAR_BYTES = 40 };

/// Reads the whole of `text` as a finite number.
bool bb_scalar_double(const char *text, double *out);

/// Reads the whole of `text` as digits with an optional minus sign.
bool bb_scalar_integer(const char *text, bb_index *out);

/// Writes the shortest decimal that reads back to the same bits, with a point, as `600.0e-09`.
void bb_scalar_print(double value, char out[BB_SCALAR_BYTES]);

/// Guesses the number that a refused text meant; false where nothing sensible comes to mind.
bool bb_scalar_guess(const char *text, char out[BB_SCALAR_BYTES]);

/// True when a YAML reader takes the plain text for a text, so that it needs no quotes.
bool bb_scalar_plain(const char *text);

#endif
