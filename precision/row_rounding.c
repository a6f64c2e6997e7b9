// SPDX-License-Identifier: Apache-2.0
#include "precision/row_rounding.h"

#include "core/memory.h"
#include "precision/codecs/low_rank.h"
#include "precision/codecs/transform.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDINGS = 4,     // x; transformed x or t; a coefficient; a product, or one of each factor
    CHUNK = 8,         // products of a run
    SPARE = 128,       // sums of trees, blocks and parts
    DOT = 1024,        // values that the cpu sums in 16 lanes
    DOT_SUMS = 64 + 5, // of such a sum
    LANES = 32,        // of a GPU
    LANE_SUMS = 64,    // of one of them in a panel
    PANELS = 64,       // that a GPU adds at once
};

static const double widen = 1.0 + 0x1p-20; // sums below have fewer than 2^31 terms

// Norms of a row of V, scaled.
typedef struct term_norms {
    double norm_1, squares, largest;
} term_norms;

static term_norms norms_of(bb_format format, const void *words, bb_index cells)
{
    double v[BB_LOW_RANK_CELLS];
    term_norms out = {0};
    bb_format_decode(format, words, cells, v);
    for (bb_index j = 0; j < cells; ++j) {
        double size = fabs(v[j]);
        out.norm_1 += size;
        out.squares += size * size;
        out.largest = isnan(size) ? INFINITY : fmax(out.largest, size);
    }
    return out;
}

// Sums of a tile so far.
typedef struct tile_sums {
    double norm_2, largest;
} tile_sums;

// Adds |factor| times a row of V to a row of the matrix.
static void add_term(const term_norms *v, double factor, double scale, bb_index cells,
                     bb_row_rounding *rounding, tile_sums *tile)
{
    double size = fabs(factor) * scale;
    rounding->norm_1 += size * v->norm_1;
    tile->norm_2 += size * sqrt(v->squares);
    tile->largest += size * v->largest;
    rounding->underflow += size * (double)cells + fabs(factor) + 1.0;
    rounding->peak = fmax(rounding->peak, fmax(1.0, scale) * v->norm_1);
}

// U of a term of the band.
static double factor_of(const bb_low_rank_band *band, bool wide, bb_index term, bb_index row)
{
    double out = 0.0;
    if (wide) {
        return (double)band->u_wide[row * band->wide + term - band->narrow];
    }
    bb_format_decode(BB_FORMAT_FP16, band->u_narrow + row * band->narrow + term, 1, &out);
    return out;
}

static void add_tile(const bb_low_rank_band *band, const bb_low_rank_tile *tile, bb_index cells,
                     bb_row_rounding *out, tile_sums *sums)
{
    memset(sums, 0, (size_t)band->rows * sizeof *sums);
    for (int k = 0; k < tile->narrow + tile->wide; ++k) {
        bool wide = k >= tile->narrow;
        bb_index number = wide ? k - tile->narrow : k;
        bb_index term = (wide ? tile->wide_term : tile->narrow_term) + number;
        size_t place = wide ? tile->wide_v + (size_t)(4 * number * cells)
                            : tile->narrow_v + (size_t)(2 * number * cells);
        const term_norms v =
            norms_of(wide ? BB_FORMAT_FP32 : BB_FORMAT_FP16, band->v + place, cells);
        double scale = (double)band->scale[term];
        if (tile->dense) {
            add_term(&v, 1.0, scale, cells, &out[number], &sums[number]);
            continue;
        }
        for (bb_index i = 0; i < band->rows; ++i) {
            add_term(&v, factor_of(band, wide, term, i), scale, cells, &out[i], &sums[i]);
        }
    }
    for (bb_index i = 0; i < band->rows; ++i) {
        out[i].norm_2 += sums[i].norm_2 * sums[i].norm_2; // its square, until all are in
        out[i].largest = fmax(out[i].largest, sums[i].largest);
        out[i].wide = fmax(out[i].wide, (double)(tile->narrow + tile->wide));
    }
}

// Rounds up, and counts of a row what all rows have alike.
static void finish(bb_row_rounding *row, double sums, double wide)
{
    const double above = widen * widen;
    row->norm_2 = sqrt(row->norm_2) * above;
    row->norm_1 *= above;
    row->largest *= above;
    row->underflow *= above;
    row->peak = fmax(1.0, fmax(row->peak, row->norm_1)) * above;
    row->roundings = ROUNDINGS;
    row->sums = sums;
    row->wide += wide + SPARE;
    if (isnan(row->norm_1) || isnan(row->norm_2) || isnan(row->underflow)) {
        row->norm_1 = row->norm_2 = row->largest = row->underflow = row->peak = INFINITY;
    }
}

static bb_status low_rank_paths(const bb_coded_matrix *matrix, bb_index number,
                                bb_row_rounding *out)
{
    bb_status status = BB_OK;
    const bb_low_rank_mesh *mesh = bb_coded_matrix_low_rank_mesh(matrix);
    const bb_low_rank_band *band = bb_coded_matrix_low_rank_band(matrix, number);
    double terms = (double)(band->narrow + band->wide);
    tile_sums *sums = NULL;
    BB_TRY(BB_ALLOCATE(band->rows, &sums));
    for (bb_index t = 0; t < mesh->across * mesh->down; ++t) {
        const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
        add_tile(band, &band->tiles[t], place.lines * place.pitch, out, sums);
    }
    for (bb_index i = 0; i < band->rows; ++i) {
        double tiles = (double)band->dense_tiles;
        finish(&out[i], 2.0 * DOT_SUMS + (terms + tiles) / LANES + SPARE,
               2.0 * DOT_SUMS + (terms + tiles) / LANES + terms / DOT + tiles + SPARE);
        out[i].chunk = 2.0 * CHUNK; // in V x and in U t
    }
done:
    BB_RELEASE(&sums);
    return status;
}

// Of the frequencies of a block of rows.
typedef struct frequencies {
    double all[BB_TRANSFORM_ROWS];                       // sum of |q|
    double strip[BB_TRANSFORM_ROWS];                     // coefficients of a strip
    double count[BB_TRANSFORM_ROWS];                     // of all strips
    double longest;                                      // chain of sums in a strip
    double basis[BB_TRANSFORM_ROWS * BB_TRANSFORM_ROWS]; // |T_r| [frequency][row]
    double sizes[BB_TRANSFORM_VALUES];                   // |T_r|' |q| of a block [cell][row]
} frequencies;

static void fill_basis(const bb_transform_plan *plan, const bb_transform_block *block, double *out)
{
    const bb_transform_basis *lines = bb_transform_basis_of(plan, block, BB_TRANSFORM_ROW_LINES);
    const bb_transform_basis *columns =
        bb_transform_basis_of(plan, block, BB_TRANSFORM_ROW_COLUMNS);
    for (bb_index k = 0; k < block->rows; ++k) {
        for (bb_index i = 0; i < block->rows; ++i) {
            out[k * block->rows + i] =
                fabs(lines->forward[k / columns->n * lines->pitch + i / columns->n] *
                     columns->forward[k % columns->n * columns->pitch + i % columns->n]);
        }
    }
}

// Takes the coefficients of a block of the mesh; false: it is poisoned.
static bool read_block(const bb_transform_plan *plan, const bb_transform_band *band,
                       const bb_transform_block *block, bb_index number, frequencies *spectrum)
{
    bb_transform_reader reader = bb_transform_read(plan, band, block, number);
    memset(spectrum->sizes, 0, (size_t)(block->rows * block->cells) * sizeof *spectrum->sizes);
    while (bb_transform_next(&reader)) {
        for (int k = 0; k < reader.count; ++k) {
            const bb_transform_place place = reader.order[k];
            double size = fabs((double)reader.quotient[k]);
            const double *basis = spectrum->basis + place.row * block->rows;
            double *target = spectrum->sizes + place.cell * block->rows;
            spectrum->all[place.row] += size;
            spectrum->strip[place.row] += 1.0;
            for (bb_index i = 0; size > 0.0 && i < block->rows; ++i) {
                target[i] += basis[i] * size;
            }
        }
    }
    return !reader.poisoned;
}

// Where the row of a block's value lies in its band.
static bb_index row_in_band(const bb_transform_plan *plan, const bb_transform_block *block,
                            bb_index i)
{
    return i / block->size[1] * plan->extent[1] + block->first[1] + i % block->size[1];
}

// H of a block of the mesh, for every row.
static void add_block(const bb_transform_plan *plan, const bb_transform_block *block,
                      const frequencies *spectrum, bb_row_rounding *out)
{
    double squares[BB_TRANSFORM_ROWS] = {0.0};
    for (bb_index c = 0; c < block->cells; ++c) {
        for (bb_index i = 0; i < block->rows; ++i) {
            double size = spectrum->sizes[c * block->rows + i];
            squares[i] += size * size;
        }
    }
    for (bb_index i = 0; i < block->rows; ++i) {
        bb_row_rounding *rounding = &out[row_in_band(plan, block, i)];
        double size = plan->step * sqrt(squares[i]);
        rounding->norm_1 += size * sqrt((double)block->cells);
        rounding->norm_2 += size * size; // its square, until all are in
        rounding->largest = fmax(rounding->largest, size);
    }
}

static void finish_blocks(const bb_transform_plan *plan, const bb_transform_block *block,
                          const frequencies *spectrum, bool poisoned, bb_row_rounding *out)
{
    const bb_index *count = plan->count;
    double cells = (double)(plan->length[2] * plan->length[3]);
    double lengths =
        (double)(plan->length[0] + plan->length[1] + plan->length[2] + plan->length[3]);
    double sums = fmax(spectrum->longest, LANE_SUMS) + (double)count[2] + SPARE;
    double all = 0.0;
    for (bb_index k = 0; k < block->rows; ++k) {
        all = fmax(all, spectrum->all[k]);
    }
    for (bb_index i = 0; i < block->rows; ++i) {
        bb_row_rounding *rounding = &out[row_in_band(plan, block, i)];
        double products = 0.0;
        for (bb_index k = 0; k < block->rows; ++k) {
            products += spectrum->basis[k * block->rows + i] * spectrum->count[k];
        }
        rounding->underflow = plan->step * products + rounding->norm_1; // of transformed x
        rounding->peak = fmax(1.0, all) * sqrt(cells);
        rounding->norm_1 = poisoned ? NAN : rounding->norm_1;
        finish(rounding, sums,
               sums + (double)(count[2] * count[3]) / PANELS + 3.0 * lengths * sqrt(cells));
        rounding->chunk = CHUNK;
    }
}

static bb_status transform_paths(const bb_coded_matrix *matrix, bb_index number,
                                 bb_row_rounding *out)
{
    bb_status status = BB_OK;
    const bb_transform_plan *plan = bb_coded_matrix_transform_plan(matrix);
    const bb_transform_band *band = bb_coded_matrix_transform_band(matrix, number);
    bb_index columns = plan->count[BB_TRANSFORM_COLUMNS];
    bb_index blocks = plan->count[BB_TRANSFORM_LINES] * columns;
    frequencies *spectrum = NULL;
    BB_TRY(BB_ALLOCATE(1, &spectrum));
    for (bb_index across = 0; across < plan->count[BB_TRANSFORM_ROW_COLUMNS]; ++across) {
        const bb_transform_block rows = bb_transform_block_of(plan, number, across, 0);
        bool poisoned = false;
        memset(spectrum, 0, sizeof *spectrum);
        fill_basis(plan, &rows, spectrum->basis);
        for (bb_index m = 0; m < blocks; ++m) {
            const bb_transform_block block = bb_transform_block_of(plan, number, across, m);
            poisoned |= !read_block(plan, band, &block, across * blocks + m, spectrum);
            add_block(plan, &block, spectrum, out);
            for (bb_index k = 0; k < rows.rows; ++k) {
                spectrum->longest = fmax(spectrum->longest, spectrum->strip[k]);
                spectrum->count[k] += (m + 1) % columns == 0 ? spectrum->strip[k] : 0.0;
                spectrum->strip[k] = (m + 1) % columns == 0 ? 0.0 : spectrum->strip[k];
            }
        }
        finish_blocks(plan, &rows, spectrum, poisoned, out);
    }
done:
    BB_RELEASE(&spectrum);
    return status;
}

bb_status bb_row_roundings_of(const bb_coded_matrix *matrix, bb_index band, bb_row_rounding *out)
{
    bb_index step = bb_coded_matrix_band(matrix);
    bb_index rest = bb_coded_matrix_rows(matrix) - band * step;
    memset(out, 0, (size_t)(rest < step ? rest : step) * sizeof *out);
    return bb_coded_matrix_low_rank_mesh(matrix) != NULL    ? low_rank_paths(matrix, band, out)
           : bb_coded_matrix_transform_plan(matrix) != NULL ? transform_paths(matrix, band, out)
                                                            : BB_OK;
}
