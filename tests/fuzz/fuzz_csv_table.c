// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a table with named columns. The table is refused, or every
// cell is a text with its position in the file.
#include "sim/input/csv_table.h"
#include "tests/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bb_csv_table *table = NULL;
    const char *path = fuzz_path(".csv");
    fuzz_write(path, data, size);
    const bb_status status = bb_csv_table_read(path, &table);
    fuzz_demand((status == BB_OK) == (table != NULL), "a table where it is taken");
    for (bb_index i = 0; table != NULL && i < table->column_count; ++i) {
        fuzz_demand(bb_csv_table_column(table, table->names[i].text) == i, "names that differ");
        for (bb_index row = 0; row < table->row_count; ++row) {
            const bb_csv_cell *cell = bb_csv_table_cell(table, row, i);
            fuzz_demand(strlen(cell->text) <= size && cell->line > 1 && cell->column > 0,
                        "a text of the file");
        }
    }
    bb_csv_table_destroy(&table);
    fuzz_settle(status);
    return 0;
}
