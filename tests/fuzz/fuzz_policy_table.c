// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a table of variants. The table is refused, or has every
// variant of its tile rows.
#include "sim/input/policy_table.h"
#include "tests/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bb_policy_table table = {0};
    const char *path = fuzz_path(".txt");
    fuzz_write(path, data, size);
    const bb_status status = bb_policy_table_read(path, &table);
    fuzz_demand((status == BB_OK) == (table.tile_rows > 0), "rows where it is taken");
    for (bb_index i = 0; i < table.tile_rows * (table.tile_rows + 1) / 2; ++i) {
        fuzz_demand(table.variants[i] >= 0 && table.variants[i] < BB_VARIANT_COUNT, "a variant");
    }
    bb_policy_table_release(&table);
    fuzz_settle(status);
    return 0;
}
