// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_choice.h"

#include "core/memory.h"
#include "precision/light_tiles.h"

#include <math.h>

bool bb_tile_choice_is_open(const bb_tile_matrix *matrix, bb_index row, bb_index column)
{
    return matrix->product_bound > 0.0 && (row != column || matrix->diagonal_follows);
}

bb_variant bb_tile_choice_variant(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                                  double row_norm, double column_norm)
{
    double size = row_norm * column_norm;
    double roundoff = bb_variant_unit_roundoff(matrix->product_variant);
    return bb_tile_choice_is_open(matrix, row, column) &&
                   2.0 * roundoff * size <= matrix->product_bound
               ? matrix->product_variant
               : bb_tile_matrix_at(matrix, row, column)->variant;
}

bool bb_tile_choice_allows(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                           bb_operand operand)
{
    return bb_tile_operand_of(bb_tile_matrix_at(matrix, row, column)->variant) == operand ||
           (bb_tile_choice_is_open(matrix, row, column) &&
            bb_tile_operand_of(matrix->product_variant) == operand);
}

bool bb_tile_choice_needs(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                          bb_operand operand)
{
    bool is_asked = false;
    if (row == column) {
        for (bb_index r = row + 1; r < matrix->tile_rows && !is_asked; ++r) {
            const bool wide = bb_tile_matrix_at(matrix, r, column)->format == BB_FORMAT_FP64;
            is_asked = operand == (bb_operand)(wide ? BB_FORMAT_FP64 : BB_FORMAT_FP32);
        }
        return is_asked;
    }
    for (bb_index j = column + 1; j <= row && !is_asked; ++j) {
        is_asked = bb_tile_choice_allows(matrix, row, j, operand);
    }
    for (bb_index r = row + 1; r < matrix->tile_rows && !is_asked; ++r) {
        is_asked = bb_tile_choice_allows(matrix, r, row, operand);
    }
    return is_asked;
}

static double energy_of(const bb_tile *tile)
{
    double sum = 0.0;
    const bool is_here = tile->f64 != NULL || tile->f32 != NULL;
    for (bb_index i = 0; is_here && i < tile->rows * tile->columns; ++i) {
        const double value = tile->f64 != NULL ? tile->f64[i] : (double)tile->f32[i];
        sum += value * value;
    }
    return sum;
}

bb_status bb_tile_choice_energies(const bb_tile_matrix *matrix, double *out)
{
    bb_status status = BB_OK;
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            BB_TRY(bb_tile_matrix_acquire(matrix, row, column, false));
            out[row * (row + 1) / 2 + column] = energy_of(bb_tile_matrix_at(matrix, row, column));
            bb_tile_matrix_release(matrix, row, column, row);
        }
    }
done:
    return status;
}

bb_status bb_tile_choice_light(bb_tile_matrix *matrix, const double *energies)
{
    bb_status status = BB_OK;
    const bb_index tile_rows = matrix->tile_rows;
    BB_RELEASE(&matrix->light);
    BB_TRY(BB_ZEROED(tile_rows * tile_rows, &matrix->light));
    BB_TRY(bb_light_tiles(tile_rows, energies, matrix->sweep_energy, matrix->light));
done:
    return status;
}

// Upper bound of the contribution to ||round(L) - L||_F of values below a format's normal range:
// each value contributes half a subnormal spacing. e4m3 is scaled by the tile, whose norm is at
// least its largest value.
static double underflow(bb_variant variant, const bb_tile *tile)
{
    const bb_variant_info *info = bb_variant_describe(variant);
    bb_format format = info->operand;
    double step = bb_format_smallest_subnormal(format);
    double items = (double)tile->rows * (double)tile->columns;
    if (!info->rounds) {
        return 0.0;
    }
    if (info->products == 3) {
        step *= 0x1p-11; // scale of the low plane
    }
    if (format == BB_FORMAT_E4M3) {
        step *= tile->norm / 224.0;
    }
    return 0.5 * step * sqrt(items);
}

void bb_tile_updates_add(bb_tile_updates *updates, bb_variant variant, const bb_tile *row_tile,
                         const bb_tile *column_tile)
{
    double items = (double)row_tile->rows * (double)column_tile->rows;
    double row_lost = underflow(variant, row_tile);
    double column_lost = underflow(variant, column_tile);
    double flops = 2.0 * items * (double)row_tile->columns;
    updates->flops[variant] += row_tile == column_tile ? 0.5 * flops : flops;
    updates->bound += bb_variant_product_error(variant) * row_tile->norm * column_tile->norm +
                      row_lost * column_tile->norm + row_tile->norm * column_lost +
                      row_lost * column_lost;
    if (bb_variant_describe(variant)->output == BB_FORMAT_FP16) {
        updates->bound = NAN;
    }
}

bb_tile_work bb_tile_updates_sum(const bb_tile_matrix *matrix, const bb_tile_updates *updates)
{
    bb_tile_work work = {.factored = matrix->n};
    double squared = 0.0;
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_tile_updates *tile_updates = &updates[row * (row + 1) / 2 + column];
            squared += (row == column ? 1.0 : 2.0) * tile_updates->bound * tile_updates->bound;
            for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
                work.flops[v] += tile_updates->flops[v];
            }
        }
    }
    work.certificate = sqrt(squared) / matrix->norm;
    return work;
}
