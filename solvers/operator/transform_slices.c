// SPDX-License-Identifier: Apache-2.0
//
// Layout on a device of the nonzero coefficients of a transform matrix: by panel, and in slices
// that a warp reads (transform_stream.h).
#include "core/memory.h"
#include "solvers/operator/transform_stream.h"

#include <stdlib.h>
#include <string.h>

enum {
    LANES = BB_TRANSFORM_LANES,
    DEPTH = 4, // target number of chunks per lane
    CHUNK_WORDS = BB_TRANSFORM_CHUNK_WORDS,
    NARROW_LEAST = -32,
    NARROW_MOST = 31,
    WIDE_MOST = (1 << 21) - 1,
};

typedef struct entry {
    uint32_t row, cell;
    int32_t quotient;
} entry;

// One frequency of a block of rows: its entries, narrow ones first, and its lanes.
typedef struct frequency {
    const entry *entries;
    uint32_t narrow, others; // entries
    bb_transform_lane lane;
} frequency;

// Builder for some panels of a band, on one thread.
typedef struct builder {
    const bb_coded_matrix *matrix;
    const bb_transform_plan *plan;
    const bb_transform_shape *shape;
    bb_transform_part *part;
    entry *found, *sorted; // entries of one block of rows and a panel
} builder;

static bb_status extend(bb_transform_list *names, bb_index count, void **out)
{
    bb_status status = BB_OK;
    if (names->count + count > names->capacity) {
        bb_index capacity = names->count + count + names->capacity / 2 + 64;
        BB_TRY(bb_memory_resize(capacity, names->item, &names->items));
        names->capacity = capacity;
    }
    *out = (unsigned char *)names->items + (size_t)names->count * names->item;
    memset(*out, 0, (size_t)count * names->item);
    names->count += count;
done:
    return status;
}

static bool is_narrow(int32_t quotient)
{
    return quotient >= NARROW_LEAST && quotient <= NARROW_MOST;
}

// Finds the nonzero coefficients of a block of rows and a panel; -1: one of its blocks is poisoned.
static bb_index find(const builder *work, bb_index band, bb_index across, bb_index panel)
{
    const bb_transform_shape *shape = work->shape;
    const bb_transform_plan *plan = work->plan;
    bb_index blocks = plan->count[BB_TRANSFORM_LINES] * plan->count[BB_TRANSFORM_COLUMNS];
    bb_index count = 0;
    for (bb_index j = 0, m = panel; m < blocks; ++j, m += shape->panels) {
        const bb_transform_block block = bb_transform_block_of(plan, band, across, m);
        bb_transform_reader reader = bb_transform_read(
            plan, bb_coded_matrix_transform_band(work->matrix, band), &block, across * blocks + m);
        if (reader.poisoned) {
            return -1;
        }
        while (bb_transform_next(&reader)) {
            // Avoids a branch: most coefficients are 0, so it would be mispredicted.
            for (int i = 0; i < reader.count; ++i) {
                work->found[count] =
                    (entry){reader.order[i].row, (uint32_t)j * shape->cells + reader.order[i].cell,
                            reader.quotient[i]};
                count += reader.quotient[i] != 0;
            }
        }
    }
    return count;
}

static int compare(const void *first, const void *second)
{
    const frequency *a = first;
    const frequency *b = second;
    int lanes = (int)b->lane.log_lanes - (int)a->lane.log_lanes;
    int chunks = (int)(b->lane.narrow + b->lane.others) - (int)(a->lane.narrow + a->lane.others);
    return lanes != 0 ? lanes : chunks != 0 ? chunks : (int)a->lane.row - (int)b->lane.row;
}

// Sorts the entries found by frequency and width. Frequencies with more lanes come first, so that
// each starts at a multiple of its number of lanes.
static bb_index sort(const builder *work, bb_index count, frequency *out)
{
    uint32_t first[2 * BB_TRANSFORM_ROWS + 1] = {0};
    bool is_long[BB_TRANSFORM_ROWS] = {false};
    bb_index rows = 0;
    for (bb_index i = 0; i < count; ++i) {
        const entry *record = &work->found[i];
        ++first[2 * record->row + !is_narrow(record->quotient) + 1];
        is_long[record->row] |= record->quotient > WIDE_MOST || record->quotient < -WIDE_MOST - 1;
    }
    for (int k = 0; k < 2 * BB_TRANSFORM_ROWS; ++k) {
        first[k + 1] += first[k];
    }
    for (uint32_t row = 0; row < BB_TRANSFORM_ROWS; ++row) {
        const uint32_t *source = first + (size_t)2 * row;
        frequency *mode = &out[rows];
        if (source[2] == source[0]) {
            continue;
        }
        *mode = (frequency){work->sorted + source[0],
                            source[1] - source[0],
                            source[2] - source[1],
                            {.row = row, .present = 1, .is_long = is_long[row]}};
        uint32_t step = is_long[row] ? BB_TRANSFORM_LONG : BB_TRANSFORM_WIDER;
        mode->lane.narrow = (mode->narrow + BB_TRANSFORM_NARROW - 1) / BB_TRANSFORM_NARROW;
        mode->lane.others = (mode->others + step - 1) / step;
        uint32_t chunks = mode->lane.narrow + mode->lane.others;
        while (mode->lane.log_lanes < 5 && chunks > (uint32_t)DEPTH << mode->lane.log_lanes) {
            ++mode->lane.log_lanes;
        }
        ++rows;
    }
    for (bb_index i = 0; i < count; ++i) {
        const entry *record = &work->found[i];
        work->sorted[first[2 * record->row + !is_narrow(record->quotient)]++] = *record;
    }
    qsort(out, (size_t)rows, sizeof *out, compare);
    return rows;
}

// Chunk `number` of a frequency.
static void write_chunk(const frequency *mode, uint32_t number, uint32_t out[CHUNK_WORDS])
{
    if (number < mode->lane.narrow) {
        uint32_t first = number * BB_TRANSFORM_NARROW;
        for (uint32_t i = first; i < mode->narrow && i < first + BB_TRANSFORM_NARROW; ++i) {
            uint32_t word =
                mode->entries[i].cell |
                ((uint32_t)mode->entries[i].quotient << BB_TRANSFORM_CELL_BITS & 0xffffU);
            out[(i - first) / 2] |= word << 16 * (i % 2);
        }
        return;
    }
    uint32_t step = mode->lane.is_long ? BB_TRANSFORM_LONG : BB_TRANSFORM_WIDER;
    uint32_t first = (number - mode->lane.narrow) * step;
    for (uint32_t i = first; i < mode->others && i < first + step; ++i) {
        const entry *record = &mode->entries[mode->narrow + i];
        if (mode->lane.is_long) {
            out[2 * (i - first)] = record->cell;
            out[2 * (i - first) + 1] = (uint32_t)record->quotient;
        } else {
            out[i - first] = record->cell | (uint32_t)record->quotient << BB_TRANSFORM_CELL_BITS;
        }
    }
}

// Builds one slice: the lanes of `count` frequencies, and their chunks in the order of the warp's
// reads.
static bb_status add_slice(builder *work, uint32_t group, const frequency *mode, bb_index count)
{
    bb_status status = BB_OK;
    const frequency *takes[LANES] = {NULL};
    bb_transform_slice *slice = NULL;
    uint32_t *lanes = NULL;
    uint32_t *chunk = NULL;
    bool any = true;
    BB_TRY(extend(&work->part->slices, 1, (void **)&slice));
    BB_TRY(extend(&work->part->lanes, LANES, (void **)&lanes));
    *slice = (bb_transform_slice){(uint32_t)work->part->chunks.count, group};
    for (bb_index k = 0, lane = 0; k < count; ++k) {
        for (bb_index end = lane + ((bb_index)1 << mode[k].lane.log_lanes); lane < end; ++lane) {
            takes[lane] = &mode[k];
            lanes[lane] = bb_transform_lane_word(&mode[k].lane);
        }
    }
    for (uint32_t step = 0; any; ++step) {
        any = false;
        for (uint32_t lane = 0; lane < LANES && takes[lane] != NULL; ++lane) {
            const bb_transform_lane *how = &takes[lane]->lane;
            uint32_t number = bb_transform_lane_chunk(how, lane, step);
            if (number < how->narrow + how->others) {
                any = true;
                BB_TRY(extend(&work->part->chunks, 1, (void **)&chunk));
                write_chunk(takes[lane], number, chunk);
            }
        }
    }
done:
    return status;
}

// Builds the slices of a block of rows and a panel.
static bb_status add_group(builder *work, bb_index band, bb_index across, bb_index panel)
{
    bb_status status = BB_OK;
    uint32_t group = (uint32_t)(band * work->shape->count[1] + across);
    frequency mode[BB_TRANSFORM_ROWS];
    bb_index count = find(work, band, across, panel);
    if (count < 0) {
        mode[0] = (frequency){.lane = {.present = 1, .poisoned = 1}};
        BB_TRY(add_slice(work, group, mode, 1));
        goto done;
    }
    bb_index rows = sort(work, count, mode);
    for (bb_index first = 0, past = 0; first < rows; first = past) {
        for (uint32_t lanes = 0; past < rows && lanes < LANES; ++past) {
            lanes += 1U << mode[past].lane.log_lanes;
        }
        BB_TRY(add_slice(work, group, mode + first, past - first));
    }
done:
    return status;
}

bb_status bb_transform_part_build(const bb_coded_matrix *matrix, const bb_transform_shape *shape,
                                  bb_index band, bb_index panel, bb_transform_part *out)
{
    bb_status status = BB_OK;
    builder work = {.matrix = matrix,
                    .plan = bb_coded_matrix_transform_plan(matrix),
                    .shape = shape,
                    .part = out};
    const bb_index limit = (bb_index)shape->panel_blocks * shape->cells * shape->block_rows;
    *out = (bb_transform_part){.chunks = {.item = CHUNK_WORDS * sizeof(uint32_t)},
                               .slices = {.item = sizeof(bb_transform_slice)},
                               .lanes = {.item = sizeof(uint32_t)}};
    BB_TRY(BB_ALLOCATE(limit, &work.found));
    BB_TRY(BB_ALLOCATE(limit, &work.sorted));
    for (bb_index p = panel; p < panel + BB_TRANSFORM_PART_PANELS; ++p) {
        for (bb_index across = 0; p < shape->panels && across < shape->count[1]; ++across) {
            BB_TRY(add_group(&work, band, across, p));
        }
        out->firsts[p - panel + 1] = (uint32_t)out->slices.count;
    }
done:
    BB_RELEASE(&work.found);
    BB_RELEASE(&work.sorted);
    return status;
}

void bb_transform_part_release(bb_transform_part *part)
{
    BB_RELEASE(&part->chunks.items);
    BB_RELEASE(&part->slices.items);
    BB_RELEASE(&part->lanes.items);
}
