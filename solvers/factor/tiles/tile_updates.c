// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_updates.h"

#include <math.h>

// Largest ||round(L) - L||_F that values below a format's normal range can add: half a subnormal
// spacing each. e4m3 is scaled by the tile, whose norm is at least its largest value.
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
        step *= 0x1p-11; // the lower plane
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
