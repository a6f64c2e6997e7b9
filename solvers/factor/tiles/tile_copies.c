// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_copies.h"

#include "core/memory.h"
#include "solvers/factor/tiles/tile_choice.h"

#include <math.h>

bb_status bb_tile_copies_create(const bb_tile_matrix *matrix, bb_tile_copies *out)
{
    bb_status status = BB_OK;
    bool taken[BB_OPERAND_COUNT] = {false};
    bool lacking[BB_OPERAND_COUNT] = {false};
    bb_tile_copies copies = {.matrix = matrix};
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
            taken[tile->format == BB_FORMAT_FP64 ? BB_FORMAT_FP64 : BB_FORMAT_FP32] = true;
            for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
                taken[f] = taken[f] || bb_tile_choice_takes(matrix, row, column, f);
                bool possible = row > column || f <= (bb_operand)BB_FORMAT_FP32;
                lacking[f] = lacking[f] || (possible && !bb_tile_serves(tile, f));
            }
        }
    }
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        size_t word = bb_tile_operand_bytes(f);
        bb_index items = matrix->tile_rows * matrix->tile_size * matrix->tile_size;
        for (int parity = 0; parity < 2 && taken[f] && lacking[f]; ++parity) {
            BB_TRY(bb_memory_allocate(items, word, &copies.words[parity][f]));
        }
    }
    *out = copies;
    copies = (bb_tile_copies){0};
done:
    bb_tile_copies_release(&copies);
    return status;
}

void bb_tile_copies_release(bb_tile_copies *copies)
{
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        BB_RELEASE(&copies->words[0][f]);
        BB_RELEASE(&copies->words[1][f]);
    }
}

static void *copy_at(const bb_tile_copies *copies, bb_index stage, bb_index row, bb_operand operand)
{
    char *words = copies->words[stage % 2][operand];
    const size_t items = (size_t)copies->matrix->tile_size * (size_t)copies->matrix->tile_size;
    return words == NULL ? NULL : words + (size_t)row * items * bb_tile_operand_bytes(operand);
}

bb_index bb_tile_copies_make(const bb_tile_copies *copies, bb_index stage, bb_index row,
                             bb_index column)
{
    const bb_tile *tile = bb_tile_matrix_at(copies->matrix, row, column);
    bb_index saturated = 0;
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        void *copy = copy_at(copies, stage, row, f);
        if (copy != NULL && !bb_tile_serves(tile, f) &&
            bb_tile_choice_asks(copies->matrix, row, column, f)) {
            saturated += bb_tile_convert(tile, f, copy);
        }
    }
    return saturated;
}

const void *bb_tile_copies_operand(const bb_tile_copies *copies, bb_index stage, bb_index row,
                                   bb_index column, bb_operand operand)
{
    const bb_tile *tile = bb_tile_matrix_at(copies->matrix, row, column);
    return bb_tile_serves(tile, operand) ? bb_tile_values(tile)
                                         : copy_at(copies, stage, row, operand);
}

bb_need bb_tile_copies_need(bb_index n, bb_index tile_size, int count, const bb_variant *given)
{
    bool taken[BB_OPERAND_COUNT] = {false};
    bool lacking[BB_OPERAND_COUNT] = {false};
    double words = 0.0;
    for (int v = 0; v < count; ++v) {
        const bb_tile tile = {.format = bb_variant_describe(given[v])->output};
        taken[tile.format == BB_FORMAT_FP64 ? BB_FORMAT_FP64 : BB_FORMAT_FP32] = true;
        taken[bb_tile_operand_of(given[v])] = true;
        for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
            lacking[f] = lacking[f] || !bb_tile_serves(&tile, f);
        }
    }
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        words += taken[f] && lacking[f] ? (double)bb_tile_operand_bytes(f) : 0.0;
    }
    const double size = (double)tile_size;
    return (bb_need){.host_bytes = 2.0 * ceil((double)n / size) * size * size * words};
}
