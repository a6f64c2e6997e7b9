// SPDX-License-Identifier: Apache-2.0
//
// Bases, coefficient orders and positions of blocks, and packing of their words.
#include "precision/codecs/transform.h"

#include "core/memory.h"
#include "core/portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 8, AXES = BB_TRANSFORM_AXES }; // STEP: values kept in registers by one pass

static const double pi = 3.14159265358979323846;

bb_transform_block bb_transform_block_of(const bb_transform_plan *plan, bb_index row_line,
                                         bb_index row_column, bb_index mesh_block)
{
    const bb_index indices[AXES] = {row_line, row_column, mesh_block / plan->count[3],
                                    mesh_block % plan->count[3]};
    bb_transform_block block = {.rows = 1, .cells = 1};
    for (int axis = 0; axis < AXES; ++axis) {
        block.first[axis] = indices[axis] * plan->length[axis];
        bb_index remainder = plan->extent[axis] - block.first[axis];
        bool rest = remainder < plan->length[axis];
        block.size[axis] = rest ? remainder : plan->length[axis];
        block.kind |= (unsigned)rest << axis;
        bb_index *product = axis < BB_TRANSFORM_LINES ? &block.rows : &block.cells;
        *product *= block.size[axis];
    }
    return block;
}

const bb_transform_basis *bb_transform_basis_of(const bb_transform_plan *plan,
                                                const bb_transform_block *block,
                                                bb_transform_axis axis)
{
    return &plan->basis[axis][block->kind >> axis & 1U];
}

// out [n][after] = M in [n][after], M [n][pitch].
BB_CLONES static void along(const double *m, bb_index n, bb_index pitch, bb_index after,
                            const double *input, double *out)
{
    for (bb_index b = 0; b < after; b += STEP) {
        bb_index here = after - b < STEP ? after - b : STEP;
        for (bb_index k = 0; k < n; ++k) {
            double sum[STEP] = {0.0};
            if (here == STEP) {
                for (bb_index j = 0; j < n; ++j) {
                    for (int i = 0; i < STEP; ++i) {
                        sum[i] += m[k * pitch + j] * input[j * after + b + i];
                    }
                }
            } else {
                for (bb_index j = 0; j < n; ++j) {
                    for (bb_index i = 0; i < here; ++i) {
                        sum[i] += m[k * pitch + j] * input[j * after + b + i];
                    }
                }
            }
            for (bb_index i = 0; i < here; ++i) {
                out[k * after + b + i] = sum[i];
            }
        }
    }
}

// out [before][n] = in [before][n] M, M [n][pitch].
BB_CLONES static void across(const double *m, bb_index n, bb_index pitch, bb_index before,
                             const double *input, double *out)
{
    for (bb_index a = 0; a < before; ++a, input += n, out += n) {
        for (bb_index k = 0; k < n; k += STEP) {
            double sum[STEP] = {0.0};
            for (bb_index j = 0; j < n; ++j) {
                for (int i = 0; i < STEP; ++i) {
                    sum[i] += input[j] * m[j * pitch + k + i];
                }
            }
            for (bb_index i = 0; i < STEP && k + i < n; ++i) {
                out[k + i] = sum[i];
            }
        }
    }
}

void bb_transform_along(const bb_transform_basis *basis, bool back, bb_index before, bb_index after,
                        const double *input, double *out)
{
    if (after == 1) {
        across(back ? basis->forward : basis->inverse, basis->n, basis->pitch, before, input, out);
        return;
    }
    for (bb_index a = 0; a < before; ++a) {
        bb_index index = a * basis->n * after;
        along(back ? basis->inverse : basis->forward, basis->n, basis->pitch, after, input + index,
              out + index);
    }
}

// Transforms two adjacent axes.
static void transform_two(const bb_transform_plan *plan, const bb_transform_block *block,
                          bb_transform_axis axis, bool back, bb_index before, bb_index after,
                          double *values, double *room)
{
    const bb_transform_basis *first = bb_transform_basis_of(plan, block, axis);
    const bb_transform_basis *second = bb_transform_basis_of(plan, block, axis + 1);
    bb_transform_along(first, back, before, second->n * after, values, room);
    bb_transform_along(second, back, before * first->n, after, room, values);
}

void bb_transform_cells(const bb_transform_plan *plan, const bb_transform_block *block, bool back,
                        bb_index before, double *values, double *room)
{
    transform_two(plan, block, BB_TRANSFORM_LINES, back, before, 1, values, room);
}

void bb_transform_rows(const bb_transform_plan *plan, const bb_transform_block *block, bool back,
                       bb_index after, double *values, double *room)
{
    transform_two(plan, block, BB_TRANSFORM_ROW_LINES, back, 1, after, values, room);
}

static bb_status make_basis(bb_index n, bb_transform_basis *out)
{
    bb_status status = BB_OK;
    out->n = n;
    out->pitch = (n + STEP - 1) / STEP * STEP;
    BB_TRY(BB_ZEROED(n * out->pitch, &out->forward));
    BB_TRY(BB_ZEROED(n * out->pitch, &out->inverse));
    for (bb_index k = 0; k < n; ++k) {
        double norm = sqrt((k == 0 ? 1.0 : 2.0) / (double)n);
        for (bb_index j = 0; j < n; ++j) {
            double phase = (double)(k * (2 * j + 1) % (4 * n)) / (double)(2 * n);
            out->forward[k * out->pitch + j] = norm * cos(pi * phase);
            out->inverse[j * out->pitch + k] = norm * cos(pi * phase);
        }
    }
done:
    return status;
}

typedef struct rank {
    bb_index product, total, place;
} rank;

static int compare(const void *first, const void *second)
{
    const rank *a = first;
    const rank *b = second;
    bb_index factor = a->product != b->product ? a->product - b->product
                      : a->total != b->total   ? a->total - b->total
                                               : a->place - b->place;
    return factor < 0 ? -1 : factor > 0;
}

static bb_status make_order(const bb_index size[AXES], bb_transform_place **out)
{
    bb_status status = BB_OK;
    bb_index cells = size[2] * size[3];
    bb_index count = size[0] * size[1] * cells;
    rank *ranks = NULL;
    BB_TRY(BB_ALLOCATE(count, out));
    BB_TRY(BB_ZEROED(count, &ranks));
    for (bb_index i = 0; i < count; ++i) {
        ranks[i].place = i;
        ranks[i].product = 1;
        for (bb_index axis = AXES - 1, rest = i; axis >= 0; rest /= size[axis], --axis) {
            bb_index k = rest % size[axis];
            ranks[i].product *= k + 1;
            ranks[i].total += k;
        }
    }
    qsort(ranks, (size_t)count, sizeof *ranks, compare);
    for (bb_index i = 0; i < count; ++i) {
        (*out)[i] = (bb_transform_place){(uint16_t)(ranks[i].place / cells),
                                         (uint16_t)(ranks[i].place % cells)};
    }
done:
    BB_RELEASE(&ranks);
    return status;
}

bb_status bb_transform_plan_make(bb_transform_plan *plan)
{
    bb_status status = BB_OK;
    for (int axis = 0; axis < AXES; ++axis) {
        bb_index rest = plan->extent[axis] % plan->length[axis];
        plan->count[axis] = (plan->extent[axis] + plan->length[axis] - 1) / plan->length[axis];
        BB_TRY(make_basis(plan->length[axis], &plan->basis[axis][0]));
        if (rest > 0) {
            BB_TRY(make_basis(rest, &plan->basis[axis][1]));
        }
    }
    for (unsigned kind = 0; kind < 1U << AXES; ++kind) {
        bb_index size[AXES];
        bool present = true;
        for (int axis = 0; axis < AXES; ++axis) {
            size[axis] = plan->basis[axis][kind >> axis & 1U].n;
            present = present && size[axis] > 0;
        }
        if (present) {
            BB_TRY(make_order(size, &plan->order[kind]));
        }
    }
done:
    return status;
}

void bb_transform_plan_release(bb_transform_plan *plan)
{
    for (int axis = 0; axis < AXES; ++axis) {
        for (int rest = 0; rest < 2; ++rest) {
            BB_RELEASE(&plan->basis[axis][rest].forward);
            BB_RELEASE(&plan->basis[axis][rest].inverse);
        }
    }
    for (unsigned kind = 0; kind < 1U << AXES; ++kind) {
        BB_RELEASE(&plan->order[kind]);
    }
}

static int bits_of(uint32_t magnitudes)
{
    int bits = 0;
    while (bits < 32 && magnitudes >> bits != 0) {
        ++bits;
    }
    return bits;
}

static void pack_group(const int32_t *values, int count, int width, uint32_t *words)
{
    memset(words, 0, (size_t)width * sizeof *words);
    for (int i = 0; i < count; ++i) {
        uint64_t value = (uint32_t)values[i] & (width == 32 ? UINT32_MAX : (1U << width) - 1U);
        int bit = i * width;
        uint64_t shifted = value << (bit & 31);
        words[bit >> 5] |= (uint32_t)shifted;
        if (shifted >> 32 != 0) {
            words[(bit >> 5) + 1] |= (uint32_t)(shifted >> 32);
        }
    }
}

bb_index bb_transform_pack(const bb_transform_plan *plan, const bb_transform_block *block,
                           const int32_t *quotients, uint32_t *out)
{
    const bb_transform_place *order = plan->order[block->kind];
    int values = (int)(block->rows * block->cells);
    int groups = (values + BB_TRANSFORM_GROUP - 1) / BB_TRANSFORM_GROUP;
    int codes[BB_TRANSFORM_GROUPS];
    int active = 0;
    int32_t sorted[BB_TRANSFORM_VALUES];
    uint32_t map[BB_TRANSFORM_MAP] = {0};
    for (int g = 0; g < groups; ++g) {
        uint32_t any = 0;
        uint32_t magnitudes = 0;
        for (int i = g * BB_TRANSFORM_GROUP; i < values && i < (g + 1) * BB_TRANSFORM_GROUP; ++i) {
            int32_t q = quotients[order[i].row * block->cells + order[i].cell];
            sorted[i] = q;
            any |= (uint32_t)q;
            magnitudes |= (uint32_t)(q < 0 ? ~q : q);
        }
        if (any != 0) {
            map[g / 32] |= 1U << (g % 32);
            codes[active++] = bb_transform_code(bits_of(magnitudes) + 1);
        }
    }
    if (active == 0) {
        return 0;
    }
    bb_index of_map = (groups + 31) / 32;
    bb_index words = of_map + (active + 7) / 8;
    memcpy(out, map, (size_t)of_map * sizeof *map);
    memset(out + of_map, 0, (size_t)(words - of_map) * sizeof *out);
    for (int g = 0, n = 0; g < groups; ++g) {
        if (map[g / 32] >> (g % 32) & 1U) {
            int width = bb_transform_width(codes[n]);
            int rest = values - g * BB_TRANSFORM_GROUP;
            out[of_map + n / 8] |= (uint32_t)codes[n] << (4 * (n % 8));
            pack_group(sorted + (ptrdiff_t)g * BB_TRANSFORM_GROUP,
                       rest < BB_TRANSFORM_GROUP ? rest : BB_TRANSFORM_GROUP, width, out + words);
            words += width;
            ++n;
        }
    }
    return words;
}

bb_transform_reader bb_transform_read(const bb_transform_plan *plan, const bb_transform_band *band,
                                      const bb_transform_block *block, bb_index number)
{
    uint32_t words = band->first[number + 1] - band->first[number];
    bb_transform_reader reader = {.poisoned = words == 1};
    if (words < 2) {
        return reader;
    }
    reader.first_order = plan->order[block->kind];
    reader.values = (int)(block->rows * block->cells);
    reader.groups = (reader.values + BB_TRANSFORM_GROUP - 1) / BB_TRANSFORM_GROUP;
    reader.map = band->words + band->first[number];
    reader.codes = reader.map + (reader.groups + 31) / 32;
    int active = 0;
    for (const uint32_t *map = reader.map; map < reader.codes; ++map) {
        active += bb_transform_ones(*map);
    }
    reader.words = reader.codes + (active + 7) / 8;
    return reader;
}

bool bb_transform_next(bb_transform_reader *reader)
{
    int group = reader->group;
    while (group < reader->groups) {
        const uint32_t rest = reader->map[group / 32] >> (group % 32);
        if (rest != 0) {
            group += bb_transform_ones((rest & (0U - rest)) - 1U); // zeros below the lowest one
            break;
        }
        group = (group / 32 + 1) * 32;
    }
    reader->group = group + 1;
    if (group >= reader->groups) {
        return false;
    }
    int width = bb_transform_width(bb_transform_code_at(reader->codes, reader->taken++));
    int rest = reader->values - group * BB_TRANSFORM_GROUP;
    reader->count = rest < BB_TRANSFORM_GROUP ? rest : BB_TRANSFORM_GROUP;
    reader->order = reader->first_order + (ptrdiff_t)group * BB_TRANSFORM_GROUP;
    for (int i = 0; i < reader->count; ++i) {
        reader->quotient[i] = bb_transform_quotient(reader->words, width, i);
    }
    reader->words += width;
    return true;
}
