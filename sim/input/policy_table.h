// SPDX-License-Identifier: Apache-2.0
//
// Table of variants from a text file: one line for each tile row, the i-th (from 1) with the i
// variants of its lower tiles, separated by blanks; "hp1*20" repeats a variant 20 times. A # starts
// a comment; empty lines are skipped.
#ifndef BB_SIM_INPUT_POLICY_TABLE_H
#define BB_SIM_INPUT_POLICY_TABLE_H

#include "precision/variant.h"

typedef struct bb_policy_table {
    bb_index tile_rows;
    bb_variant *variants; ///< [tile_rows (tile_rows + 1) / 2], row by row
} bb_policy_table;

/// Reads the table of a file. Errors: BB_IO (the file cannot be read), BB_INVALID (an unknown
/// variant or a wrong number of variants; names file and line), BB_MEMORY. Release with
/// bb_policy_table_release.
BB_CHECKED bb_status bb_policy_table_read(const char *file, bb_policy_table *out);
void bb_policy_table_release(bb_policy_table *table);

#endif
