// SPDX-License-Identifier: Apache-2.0
//
// A table of variants from a text file: one line a tile row, the i-th (from 1) with the i variants
// of its lower tiles, separated by blanks; "hp1*20" stands for 20 of them. A # starts a comment,
// lines with nothing else are passed over.
#ifndef BB_SIM_INPUT_POLICY_TABLE_H
#define BB_SIM_INPUT_POLICY_TABLE_H

#include "precision/variant.h"

typedef struct bb_policy_table {
    bb_index tile_rows;
    bb_variant *variants; ///< [tile_rows (tile_rows + 1) / 2], row by row
} bb_policy_table;

/// Errors: BB_IO (the file cannot be read), BB_INVALID (file and line are named: an unknown
/// variant, a wrong number of them), BB_MEMORY. Release with bb_policy_table_release.
BB_CHECKED bb_status bb_policy_table_read(const char *file, bb_policy_table *out);
void bb_policy_table_release(bb_policy_table *table);

#endif
