// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/slot_table.h"

#include <stdio.h>

void bb_slot_table_describe(const bb_slot_table *table, const int *state,
                            char out[BB_SLOT_TABLE_STATE])
{
    size_t length = 0;
    out[0] = '\0';
    for (int slot = 0; slot < table->slot_count && length < BB_SLOT_TABLE_STATE; ++slot) {
        length += (size_t)snprintf(out + length, BB_SLOT_TABLE_STATE - length, "%s%s %s",
                                   slot == 0 ? "" : ", ", table->slots[slot],
                                   table->numbers[state[slot]]);
    }
}
