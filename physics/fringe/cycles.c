// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/cycles.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// Number of occurrences of a k in a part; count 0: a free slot.
typedef struct tally {
    bb_index count;
    int64_t k;
    bb_index part;
} tally;

// Open addressing, at most half full; pixels in a row mostly share a slot.
typedef struct histogram {
    tally *slots; // [capacity], a power of two
    bb_index capacity;
    bb_index used;
    bb_index latest;
} histogram;

static bb_index slot_of(const histogram *h, bb_index part, int64_t k)
{
    uint64_t mixed = (uint64_t)k * 0x9e3779b97f4a7c15U ^ (uint64_t)part * 0xc2b2ae3d27d4eb4fU;
    mixed ^= mixed >> 29;
    bb_index slot = (bb_index)(mixed & (uint64_t)(h->capacity - 1));
    while (h->slots[slot].count > 0 && (h->slots[slot].k != k || h->slots[slot].part != part)) {
        slot = (slot + 1) & (h->capacity - 1);
    }
    return slot;
}

static bb_status grow(histogram *h)
{
    bb_status status = BB_OK;
    histogram larger = {.capacity = h->capacity == 0 ? 1024 : 2 * h->capacity, .used = h->used};
    BB_TRY(BB_ZEROED(larger.capacity, &larger.slots));
    for (bb_index s = 0; s < h->capacity; ++s) {
        if (h->slots[s].count > 0) {
            larger.slots[slot_of(&larger, h->slots[s].part, h->slots[s].k)] = h->slots[s];
        }
    }
    BB_RELEASE(&h->slots);
    *h = larger;
done:
    return status;
}

static bb_status add(histogram *h, bb_index part, int64_t k)
{
    bb_status status = BB_OK;
    const tally *latest = &h->slots[h->latest];
    if (latest->count == 0 || latest->k != k || latest->part != part) {
        h->latest = slot_of(h, part, k);
    }
    if (h->slots[h->latest].count == 0) {
        if (2 * (h->used + 1) > h->capacity) {
            BB_TRY(grow(h));
            h->latest = slot_of(h, part, k);
        }
        h->slots[h->latest] = (tally){.k = k, .part = part};
        ++h->used;
    }
    ++h->slots[h->latest].count;
done:
    return status;
}

static bb_status fill(bb_index pixels, const double *phase, const double *truth,
                      const int32_t *labels, bb_index parts, histogram *h, bb_part_cycles *counted)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < pixels; ++i) {
        const bb_index part = labels == NULL ? 0 : labels[i];
        BB_REQUIRE(part < parts, BB_INVALID, "pixel %td has label %td, expected less than %td", i,
                   part, parts);
        if (part < 0 || isnan(truth[i])) {
            continue;
        }
        const double k = rint((phase[i] - truth[i]) / (2.0 * M_PI));
        ++counted[part].cycles.scored;
        counted[part].cycles.missing += !isfinite(phase[i]);
        if (fabs(k) < 1e15) {
            BB_TRY(add(h, part, (int64_t)k));
        }
    }
done:
    return status;
}

static bool is_better(const tally *slot, bb_index count, bb_index piston)
{
    const int64_t distance = slot->k < 0 ? -slot->k : slot->k;
    const bb_index best = piston < 0 ? -piston : piston;
    return slot->count > count ||
           (slot->count == count && (distance < best || (distance == best && slot->k > piston)));
}

// Finds the piston of each part and counts the wrong pixels.
static void choose(const histogram *h, bb_index parts, bb_index *count, bb_part_cycles *counted)
{
    for (bb_index s = 0; s < h->capacity; ++s) {
        const tally *slot = &h->slots[s];
        const bb_index part = slot->part;
        if (slot->count > 0 && is_better(slot, count[part], counted[part].piston)) {
            count[part] = slot->count;
            counted[part].piston = (bb_index)slot->k;
        }
    }
    for (bb_index p = 0; p < parts; ++p) {
        counted[p].cycles.wrong = counted[p].cycles.scored - count[p];
    }
}

bb_status bb_cycles_count(bb_index pixels, const double *phase, const double *truth,
                          const int32_t *labels, bb_index parts, bb_part_cycles *by_part,
                          bb_cycles *out)
{
    bb_status status = BB_OK;
    histogram h = {0};
    bb_part_cycles *counted = NULL;
    bb_index *count = NULL;
    *out = (bb_cycles){0};
    BB_REQUIRE(labels != NULL || parts == 1, BB_INVALID, "%td parts without labels, expected 1",
               parts);
    BB_TRY(BB_ZEROED(parts, &counted));
    BB_TRY(BB_ZEROED(parts, &count));
    BB_TRY(grow(&h));
    BB_TRY(fill(pixels, phase, truth, labels, parts, &h, counted));
    choose(&h, parts, count, counted);
    for (bb_index p = 0; p < parts; ++p) {
        out->scored += counted[p].cycles.scored;
        out->missing += counted[p].cycles.missing;
        out->wrong += counted[p].cycles.wrong;
    }
    if (by_part != NULL && parts > 0) {
        memcpy(by_part, counted, (size_t)parts * sizeof *counted);
    }
done:
    BB_RELEASE(&h.slots);
    BB_RELEASE(&counted);
    BB_RELEASE(&count);
    return status;
}
