// SPDX-License-Identifier: Apache-2.0
//
// Strict numbers: an accepted number has the same value for every YAML 1.1 or 1.2 reader. `4x`,
// `010`, `1_000`, `0x10`, `12:30`, `1,5`, `.5`, `nan`, `inf` and `1e999` are refused; `1e-9` (a
// text to PyYAML) is accepted and written back as `1.0e-09`.
#ifndef BB_SIM_CONFIG_SCALAR_H
#define BB_SIM_CONFIG_SCALAR_H

#include "core/status.h"

#include <stdbool.h>

enum { BB_SCALAR_BYTES = 40 };

/// Reads all of `text` as a finite number.
bool bb_scalar_double(const char *text, double *out);

/// Reads all of `text` as digits with an optional minus sign.
bool bb_scalar_integer(const char *text, bb_index *out);

/// Writes the shortest decimal that reads back to the same bits, with a point, as `600.0e-09`.
void bb_scalar_print(double value, char out[BB_SCALAR_BYTES]);

/// Guesses the number meant by a refused text; false if there is no sensible guess.
bool bb_scalar_guess(const char *text, char out[BB_SCALAR_BYTES]);

/// True if YAML readers interpret the plain text as a text, so that it needs no quotes.
bool bb_scalar_plain(const char *text);

#endif
