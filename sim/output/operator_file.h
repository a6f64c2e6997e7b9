// SPDX-License-Identifier: Apache-2.0
//
// One operator of a result file: /operators/<name> [rows][columns] in fp64 with its axes
// <name>_row and <name>_column (with zfp storage [rows][lines][mesh columns], <name>_line between
// them, a chunk a row and the attribute `tolerance`), written panel by panel from its source. The
// attribute `digest` is the XXH3-128 of the values row by row, which readers hold the values to.
#ifndef BB_SIM_OUTPUT_OPERATOR_FILE_H
#define BB_SIM_OUTPUT_OPERATOR_FILE_H

#include "sim/output/results.h"

#include <stdint.h>

/// Writes an operator into the open file `file` (a hid_t). Errors: BB_IO, BB_MEMORY, the source's.
BB_CHECKED bb_status bb_operator_write(int64_t file, const bb_operator *matrix);

/// Reads the operator back from a closed file and compares its digest. Errors: BB_IO.
BB_CHECKED bb_status bb_operator_verify(const char *path, const bb_operator *matrix);

#endif
