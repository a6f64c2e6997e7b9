// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/kernels/tuning/tuning.h"

#include <string.h>

enum { MOST_GROUP = 1024, MOST_POINTS = 16, MOST_TILE = 65536, MOST_LINES = 256, LINE_TILE = 4096 };

// Lists end with 0.
typedef struct lists {
    const bb_index (*groups)[BB_PROGRAM_DIMENSIONS];
    const int *points, *rows;
    int splits, locals; ///< 1: never, 2: also
} lists;

typedef struct listing {
    bb_device_kind kind;
    const bb_program *program;
    const bb_candidate_wish *wish;
    bb_candidates *out;
} listing;

// Compares choices member by member, like bb_choice_equal, because there are many.
static bool is_same(const bb_choice *a, const bb_choice *b)
{
    return a->group[0] == b->group[0] && a->group[1] == b->group[1] && a->points == b->points &&
           a->rows == b->rows && a->distribution == b->distribution && a->is_split == b->is_split &&
           a->is_local == b->is_local && a->tile == b->tile && a->order.lanes == b->order.lanes &&
           a->order.chunk == b->order.chunk;
}

// Adds a choice if it is legal and new.
static bb_status add(const listing *list, const bb_choice *choice)
{
    bb_status status = BB_OK;
    char why[160];
    bb_candidates *out = list->out;
    const bb_index items = choice->group[0] * choice->group[1];
    if (!bb_choice_is_legal(choice, list->kind, list->program, why, sizeof why) ||
        (list->wish->group_items > 0 && items > list->wish->group_items)) {
        goto done;
    }
    for (int i = 0; i < out->count; ++i) {
        if (is_same(&out->choices[i], choice)) {
            goto done;
        }
    }
    if (out->count == out->capacity) {
        const int capacity = 2 * out->capacity + 32;
        BB_TRY(bb_memory_resize(capacity, sizeof *out->choices, (void **)&out->choices));
        out->capacity = capacity;
    }
    out->choices[out->count++] = *choice;
done:
    return status;
}

// Adds a group with all distributions, splits and local memories.
static bb_status add_forms(const listing *list, const lists *what, bb_choice choice)
{
    bb_status status = BB_OK;
    const bool shares = choice.points > 1 || bb_choice_form(list->program) != BB_FORM_POINTS;
    for (int k = 0; k < (shares ? 2 : 1) * what->splits * what->locals; ++k) {
        const int blocked = k / (what->splits * what->locals);
        choice.distribution = blocked ? BB_DISTRIBUTION_BLOCKED : BB_DISTRIBUTION_INTERLEAVED;
        choice.is_split = k % what->splits == 1;
        choice.is_local = k / what->splits % what->locals == 1;
        BB_TRY(add(list, &choice));
    }
done:
    return status;
}

static bb_status add_product(const listing *list, const lists *what)
{
    bb_status status = BB_OK;
    for (int g = 0; what->groups[g][0] > 0; ++g) {
        for (int p = 0; what->points[p] > 0; ++p) {
            for (int r = 0; what->rows[r] > 0; ++r) {
                bb_choice choice = {.points = what->points[p], .rows = what->rows[r]};
                memcpy(choice.group, what->groups[g], sizeof choice.group);
                BB_TRY(add_forms(list, what, choice));
            }
        }
    }
done:
    return status;
}

// Adds work-groups of powers of two, all products up to the limit.
static bb_status add_exhaustive(const listing *list)
{
    bb_status status = BB_OK;
    static const int powers[] = {1, 2, 4, 8, MOST_POINTS, 0};
    bb_index group[2][BB_PROGRAM_DIMENSIONS] = {{0}};
    const lists what = {(const bb_index(*)[BB_PROGRAM_DIMENSIONS])group, powers, powers, 2, 2};
    for (group[0][0] = 1; group[0][0] <= MOST_GROUP; group[0][0] *= 2) {
        for (group[0][1] = 1; group[0][0] * group[0][1] <= MOST_GROUP; group[0][1] *= 2) {
            BB_TRY(add_product(list, &what));
        }
    }
done:
    return status;
}

static bb_status add_points(const listing *list)
{
    static const bb_index lines[][2] = {{256, 1}, {128, 1}, {64, 1}, {512, 1}, {0, 0}};
    static const bb_index planes[][2] = {{64, 4}, {64, 1}, {64, 2}, {32, 8}, {0, 0}};
    static const bb_index squares[][2] = {{16, 16}, {16, 8}, {32, 8}, {0, 0}};
    static const bb_index few[][2] = {{64, 1}, {0, 0}};
    static const int four[] = {1, 2, 4, 0};
    static const int eight[] = {1, 2, 4, 8, 0};
    static const int wide[] = {1, 4, 8, 0};
    static const int large[] = {4, 8, 0};
    static const int octets[] = {8, 0};
    static const int one[] = {1, 0};
    const bool is_plane = list->program->space.dimensions > 1;
    const bool sums = list->program->iterator_count > 0;
    const lists what = list->wish->is_processor ? (lists){few, octets, one, 1, 1}
                       : is_plane && sums       ? (lists){squares, large, wide, 1, 2}
                       : is_plane               ? (lists){planes, four, four, 1, 1}
                       : sums                   ? (lists){lines, four, one, 2, 1}
                                                : (lists){lines, eight, one, 1, 1};
    return add_product(list, &what);
}

// Adds lanes of a sum: as many work-items as lanes, half as many, ...; several sums side by side.
static bb_status add_lanes(const listing *list, bb_index lanes)
{
    bb_status status = BB_OK;
    static const int one[] = {1, 0};
    const bool is_space = list->program->has_reduction;
    const lists what = {NULL, one, one, is_space || list->wish->is_processor ? 1 : 2, 1};
    const bb_index least = lanes >= 128 ? lanes / 8 : 1;
    const bb_index first = list->wish->is_processor ? least : lanes;
    for (bb_index items = first; items >= least; items /= 2) {
        for (bb_index total = items; total <= 256; total *= 2) {
            const bool is_usual = total == items || total >= 64;
            if (is_usual && (total == items || total == 256 || !list->wish->is_processor)) {
                bb_choice choice = {.group = {items, total / items}, .points = 1, .rows = 1};
                BB_TRY(add_forms(list, &what, choice));
            }
        }
    }
done:
    return status;
}

// Adds loops. Combining lines pays off if an item has all of a line, or much of it.
static bb_status add_tiles(const listing *list)
{
    bb_status status = BB_OK;
    const bool takes_lines = list->program->iterator_count == 0;
    const int factor = list->wish->is_exhaustive ? 2 : 4;
    for (bb_index tile = 1; tile <= MOST_TILE; tile *= factor) {
        for (int rows = 1; rows <= MOST_LINES; rows *= factor) {
            const bb_choice choice = {.group = {1, 1}, .points = 1, .rows = rows, .tile = tile};
            if (list->wish->is_exhaustive || rows == 1 || (takes_lines && tile == LINE_TILE)) {
                BB_TRY(add(list, &choice));
            }
        }
    }
done:
    return status;
}

// Adds the listed candidates in other orders of sums.
static bb_status add_orders(const listing *list)
{
    bb_status status = BB_OK;
    const bb_index least = list->wish->is_exhaustive ? 2 : 32;
    const int known = list->out->count;
    for (bb_index lanes = BB_PROGRAM_LANES; lanes >= least; lanes /= 2) {
        for (bb_index chunk = 65536; chunk >= 1024; chunk /= list->wish->is_exhaustive ? 2 : 8) {
            for (int i = 0; i < (list->wish->is_exhaustive ? known : 1); ++i) {
                bb_choice choice = list->out->choices[i];
                choice.order = (bb_reduction_order){lanes, chunk};
                if (list->kind != BB_DEVICE_CPU && choice.group[0] > lanes) {
                    choice.group[0] = lanes;
                }
                BB_TRY(add(list, &choice));
            }
        }
    }
done:
    return status;
}

bb_status bb_candidates_create(bb_device_kind kind, const bb_program *program,
                               const bb_candidate_wish *wish, bb_candidates *out)
{
    bb_status status = BB_OK;
    bb_candidates made = {0};
    const listing list = {kind, program, wish, &made};
    const bb_choice first = kind == BB_DEVICE_OPENCL && wish->is_processor
                                ? bb_choice_default_processor(program)
                                : bb_choice_default(kind, program);
    const bb_candidate_wish any = {.is_exhaustive = wish->is_exhaustive};
    const listing defaults = {kind, program, &any, &made};
    // Even if the device does not support such a group: the trial reports that.
    BB_TRY(add(&defaults, &first));
    if (kind == BB_DEVICE_CPU || (kind == BB_DEVICE_OPENCL && wish->is_processor)) {
        BB_TRY(add_tiles(&list));
    }
    if (kind != BB_DEVICE_CPU && bb_choice_form(program) == BB_FORM_POINTS) {
        BB_TRY(add_points(&list));
    } else if (kind != BB_DEVICE_CPU) {
        BB_TRY(add_lanes(&list, bb_choice_lanes(program)));
    }
    if (wish->is_exhaustive && kind != BB_DEVICE_CPU) {
        BB_TRY(add_exhaustive(&list));
    }
    if (wish->may_reorder) {
        BB_TRY(add_orders(&list));
    }
    *out = made;
    made = (bb_candidates){0};
done:
    bb_candidates_release(&made);
    return status;
}

void bb_candidates_release(bb_candidates *candidates)
{
    BB_RELEASE(&candidates->choices);
    *candidates = (bb_candidates){0};
}
