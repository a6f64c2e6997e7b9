// SPDX-License-Identifier: Apache-2.0
//
// The levels of convergence studies as a table, on the terminal and in the file.
#ifndef BB_SIM_WAFER_CONVERGENCE_TABLE_H
#define BB_SIM_WAFER_CONVERGENCE_TABLE_H

#include "core/text.h"
#include "sim/output/output_table.h"

enum { BB_CONVERGENCE_ROWS = 64, BB_CONVERGENCE_NAME = 64 };

extern const bb_output_table bb_convergence_table_outputs;

/// One level.
typedef struct bb_convergence_row {
    const char *study; ///< copied when the row is added
    double spacing_mm;
    double step_ms;
    double error; ///< relative
    double order; ///< from the level before it; NaN for a first
} bb_convergence_row;

/// Zero-initialise; release.
typedef struct bb_convergence_table {
    bb_index count;
    bb_convergence_row rows[BB_CONVERGENCE_ROWS];
    char *names[BB_CONVERGENCE_ROWS];
} bb_convergence_table;

/// Adds a row. Errors: BB_INTERNAL (full), BB_MEMORY.
BB_CHECKED bb_status bb_convergence_table_add(bb_convergence_table *table,
                                              const bb_convergence_row *row);
BB_CHECKED bb_status bb_convergence_table_print(const bb_convergence_table *table, bb_text *out);
BB_CHECKED bb_status bb_convergence_table_publish(const bb_convergence_table *table,
                                                  bb_results *results);
void bb_convergence_table_release(bb_convergence_table *table);

#endif
