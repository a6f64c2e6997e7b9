// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/slot_search.h"

#include <stdio.h>
#include <string.h>

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

// A change of one slot; slot -1: none.
typedef struct change {
    int slot, numbers;
    double bytes; // of the whole state with it
} change;

typedef struct work {
    bb_slot_search *search;
    bool is_rejected[BB_SLOT_SEARCH_SLOTS][BB_SLOT_SEARCH_NUMBERS];
} work;

// The change that saves most and was not rejected.
static bb_status find_change(const work *self, change *out)
{
    bb_status status = BB_OK;
    const bb_slot_search *search = self->search;
    int state[BB_SLOT_SEARCH_SLOTS];
    *out = (change){.slot = -1};
    memcpy(state, search->state, sizeof state);
    BB_TRY(search->weigh(search->context, state, &out->bytes));
    for (int slot = 0; slot < search->slots; ++slot) {
        for (int numbers = 0; numbers < search->numbers; ++numbers) {
            double bytes = 0.0;
            if (self->is_rejected[slot][numbers]) {
                continue;
            }
            state[slot] = numbers;
            BB_TRY(search->weigh(search->context, state, &bytes));
            if (bytes < out->bytes) {
                *out = (change){slot, numbers, bytes};
            }
        }
        state[slot] = search->state[slot];
    }
done:
    return status;
}

static bb_status attempt(work *self, const change *next)
{
    bb_status status = BB_OK;
    bb_slot_search *search = self->search;
    int *const numbers = &search->state[next->slot];
    const int before = *numbers;
    bool holds = false;
    *numbers = next->numbers;
    ++search->trials;
    status = search->attempt(search->context, search->state, next->slot, &holds);
    if (status == BB_OK && holds) {
        search->kept[search->steps++] = (bb_slot_step){next->slot, before};
    } else {
        *numbers = before;
        self->is_rejected[next->slot][next->numbers] = true;
    }
    BB_TRY(status);
done:
    return status;
}

bb_status bb_slot_search_run(bb_slot_search *search, bool *holds)
{
    bb_status status = BB_OK;
    work self = {.search = search};
    change next = {.slot = 0};
    *holds = false;
    BB_REQUIRE(search->slots > 0 && search->slots <= BB_SLOT_SEARCH_SLOTS && search->numbers > 0 &&
                   search->numbers <= BB_SLOT_SEARCH_NUMBERS,
               BB_INVALID, "%d slots of %d numbers, expected at most %d of %d", search->slots,
               search->numbers, BB_SLOT_SEARCH_SLOTS, BB_SLOT_SEARCH_NUMBERS);
    memset(search->state, 0, sizeof search->state);
    search->steps = 0;
    search->trials = 1;
    BB_TRY(search->attempt(search->context, search->state, -1, holds));
    while (*holds) {
        BB_TRY(find_change(&self, &next));
        if (next.slot < 0) {
            break;
        }
        BB_TRY(attempt(&self, &next));
    }
done:
    return status;
}

int bb_slot_search_most(int slots, int numbers)
{
    return 1 + slots * (numbers - 1);
}

bool bb_slot_search_retreat(bb_slot_search *search)
{
    if (search->steps == 0) {
        return false;
    }
    const bb_slot_step *last = &search->kept[--search->steps];
    search->state[last->slot] = last->before;
    return true;
}
