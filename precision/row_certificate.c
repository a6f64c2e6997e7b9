// SPDX-License-Identifier: Apache-2.0
#include "precision/row_certificate.h"

#include "core/memory.h"
#include "core/portable.h"
#include "precision/codecs/low_rank.h"
#include "precision/codecs/transform.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDINGS = 4,     // x; transformed x or t; a coefficient; a product, or one per factor
    CHUNK = 8,         // products of a run
    SPARE = 128,       // margin for sums over trees, blocks and parts
    DOT = 1024,        // values summed by the cpu in 16 lanes
    DOT_SUMS = 64 + 5, // additions of such a sum
    GPU_LANES = 32,    // lanes of a GPU's warp
    LANE_SUMS = 64,    // additions of one lane in a panel
    PANELS = 64,       // panels added at once on a GPU
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

// Partial sums of a tile.
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
        out[i].norm_2 += sums[i].norm_2 * sums[i].norm_2; // squared until all are added
        out[i].largest = fmax(out[i].largest, sums[i].largest);
        out[i].wide = fmax(out[i].wide, (double)(tile->narrow + tile->wide));
    }
}

// Rounds the bounds up and sets the counts common to all rows.
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
        finish(&out[i], 2.0 * DOT_SUMS + (terms + tiles) / GPU_LANES + SPARE,
               2.0 * DOT_SUMS + (terms + tiles) / GPU_LANES + terms / DOT + tiles + SPARE);
        out[i].chunk = 2.0 * CHUNK; // in V x and in U t
    }
done:
    BB_RELEASE(&sums);
    return status;
}

// Norms by frequency for a block of rows.
typedef struct frequencies {
    bb_transform_spectrum sums;
    double strip[BB_TRANSFORM_ROWS];                     // coefficients of a strip
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

// Reads the coefficients of a block of the mesh; false: it is poisoned.
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
            spectrum->sums.all[place.row] += size;
            spectrum->strip[place.row] += 1.0;
            for (bb_index i = 0; size > 0.0 && i < block->rows; ++i) {
                target[i] += basis[i] * size;
            }
        }
    }
    return !reader.poisoned;
}

// Adds H of a block of the mesh, for every row.
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
        bb_row_rounding *rounding = &out[bb_transform_row_in_band(plan, block, i)];
        double size = plan->step * sqrt(squares[i]);
        rounding->norm_1 += size * sqrt((double)block->cells);
        rounding->norm_2 += size * size; // squared until all are added
        rounding->largest = fmax(rounding->largest, size);
    }
}

void bb_row_roundings_of_blocks(const bb_transform_plan *plan, const bb_transform_block *block,
                                const bb_transform_spectrum *spectrum, bb_row_rounding *out)
{
    const bb_index *count = plan->count;
    double basis[BB_TRANSFORM_ROWS * BB_TRANSFORM_ROWS];
    double cells = (double)(plan->length[2] * plan->length[3]);
    double lengths =
        (double)(plan->length[0] + plan->length[1] + plan->length[2] + plan->length[3]);
    double sums = fmax(spectrum->longest, LANE_SUMS) + (double)count[2] + SPARE;
    double all = 0.0;
    fill_basis(plan, block, basis);
    for (bb_index k = 0; k < block->rows; ++k) {
        all = fmax(all, spectrum->all[k]);
    }
    for (bb_index i = 0; i < block->rows; ++i) {
        bb_row_rounding *rounding = &out[bb_transform_row_in_band(plan, block, i)];
        double products = 0.0;
        for (bb_index k = 0; k < block->rows; ++k) {
            products += basis[k * block->rows + i] * spectrum->count[k];
        }
        rounding->underflow = plan->step * products + rounding->norm_1; // of transformed x
        rounding->peak = fmax(1.0, all) * sqrt(cells);
        rounding->norm_1 = spectrum->poisoned ? NAN : rounding->norm_1;
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
        memset(spectrum, 0, sizeof *spectrum);
        fill_basis(plan, &rows, spectrum->basis);
        for (bb_index m = 0; m < blocks; ++m) {
            const bb_transform_block block = bb_transform_block_of(plan, number, across, m);
            spectrum->sums.poisoned |=
                !read_block(plan, band, &block, across * blocks + m, spectrum);
            add_block(plan, &block, spectrum, out);
            for (bb_index k = 0; k < rows.rows; ++k) {
                spectrum->sums.longest = fmax(spectrum->sums.longest, spectrum->strip[k]);
                spectrum->sums.count[k] += (m + 1) % columns == 0 ? spectrum->strip[k] : 0.0;
                spectrum->strip[k] = (m + 1) % columns == 0 ? 0.0 : spectrum->strip[k];
            }
        }
        bb_row_roundings_of_blocks(plan, &rows, &spectrum->sums, out);
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

enum { LANES = 16 };

bb_row_certificate bb_row_certificate_start(double scale)
{
    return (bb_row_certificate){.norms = bb_error_norms_start(), .scale = scale};
}

typedef struct lanes {
    double error_1[LANES], stored_1[LANES], squares[LANES];
} lanes;

static inline void add_pair(lanes *sums, int l, double exact, double stored)
{
    sums->error_1[l] += fabs(stored - exact);
    sums->stored_1[l] += fabs(stored);
    sums->squares[l] += stored * stored;
}

BB_CLONES static void add_all(const double *exact, const double *stored, bb_index count, lanes *out)
{
    lanes sums = {{0.0}, {0.0}, {0.0}};
    bb_index multiple = count / LANES * LANES;
    for (bb_index i = 0; i < multiple; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            add_pair(&sums, l, exact[i + l], stored[i + l]);
        }
    }
    for (bb_index i = multiple; i < count; ++i) {
        add_pair(&sums, (int)(i - multiple), exact[i], stored[i]);
    }
    *out = sums;
}

void bb_row_certificate_add(bb_row_certificate *row, const bb_error_norms *norms,
                            const double *exact, const double *stored, bb_index count)
{
    lanes sums;
    add_all(exact, stored, count, &sums);
    for (int l = 0; l < LANES; ++l) {
        row->error_1 += sums.error_1[l];
        row->stored_1 += sums.stored_1[l];
        row->stored_squares += sums.squares[l];
    }
    bb_error_norms_merge(&row->norms, norms);
}

// Returns the relative error bound of a sum of n terms in fp64, relative to the sum of magnitudes.
static double slack(double count)
{
    return 0x1p-52 * (count + 4.0);
}

// Returns the square root of a sum of squares, enlarged by the possible underflow of terms and
// partial sums.
static double root(double squares, double count)
{
    return sqrt(squares * (1.0 + slack(count)) + count * 0x1p-1073) * (1.0 + 0x1p-50);
}

double bb_row_certificate_error_2(const bb_row_certificate *row)
{
    return scalbn(root(row->norms.sum_squares, row->norms.count), row->norms.exponent) *
               (1.0 + 0x1p-50) +
           0x1p-1074; // a bound below the smallest normal number is itself rounded
}

double bb_row_certificate_mean(const bb_row_certificate *row)
{
    return bb_error_norms_bias(&row->norms);
}

bb_vector_norms bb_vector_norms_of(const double *x, bb_index count)
{
    const double n = (double)count;
    bb_vector_norms out = {.count = n};
    double sum = 0.0;
    double squares = 0.0;
    double about_mean = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        sum += x[i];
        out.norm_1 += fabs(x[i]);
        squares += x[i] * x[i];
        out.maximum = fmax(out.maximum, fabs(x[i]));
    }
    const double mean = sum / n;
    for (bb_index i = 0; i < count; ++i) {
        about_mean += (x[i] - mean) * (x[i] - mean); // minimal about the exact mean
    }
    out.norm_1 *= 1.0 + slack(n);
    out.norm_2 = root(squares, n);
    out.deviation_2 = root(about_mean, n);
    out.sum = fabs(sum) + slack(n) * out.norm_1;
    return out;
}

// A NaN is not a bound.
static double or_infinity(double bound)
{
    return isnan(bound) ? INFINITY : bound;
}

// Returns an upper bound of ||E - mu||_2; infinite if squares overflow or underflow.
static double deviation_of_errors(double error_2, double count, double least_mean)
{
    if (!(error_2 > 0x1p-400 && error_2 < 0x1p400)) {
        return INFINITY;
    }
    return sqrt(fmax(error_2 * error_2 - count * least_mean * least_mean, 0.0));
}

double bb_row_certificate_coding(const bb_row_certificate *row, const bb_vector_norms *x)
{
    const double n = row->norms.count;
    const double error_1 = row->error_1 * (1.0 + slack(n));
    const double error_2 = bb_row_certificate_error_2(row);
    const double unsure = slack(n) * error_1 / n; // of the mean
    const double mean = fabs(bb_row_certificate_mean(row));
    const double minimum = fmax(mean - unsure, 0.0);
    const double deviation = deviation_of_errors(error_2, n, minimum);
    const double largest = row->norms.max_error * (1.0 + 0x1p-50);
    if (!(isfinite(error_1) && isfinite(error_2) && isfinite(x->norm_1))) {
        return INFINITY;
    }
    const double about_means =
        (mean + unsure) * x->sum + deviation * (1.0 + 0x1p-50) * x->deviation_2;
    return or_infinity(fmin(fmin(largest * x->norm_1, error_1 * x->maximum),
                            fmin(error_2 * x->norm_2, about_means)) *
                       (1.0 + 0x1p-50));
}

// Returns the rounding bound for a row that is multiplied in factored form.
static double path_rounding(const bb_row_rounding *path, const bb_vector_norms *x,
                            const bb_sum_rounding *rounding)
{
    const double exponent =
        (path->roundings + (rounding->in_runs ? path->chunk : 0.0)) * rounding->multiply_unit +
        path->sums * rounding->sum_unit + path->wide * 0x1p-53;
    const double relative = expm1(exponent) * (1.0 + 0x1p-50);
    const double magnitudes =
        fmin(fmin(path->norm_1 * x->maximum, path->largest * x->norm_1), path->norm_2 * x->norm_2);
    if (!(isfinite(x->norm_1) && isfinite(path->norm_1) &&
          path->peak * x->maximum * (1.0 + relative) < rounding->largest)) {
        return INFINITY;
    }
    const double underflow = 2.0 * rounding->subnormal * (path->underflow + path->norm_1);
    return or_infinity((relative * magnitudes + (1.0 + relative) * underflow) * (1.0 + 0x1p-50));
}

double bb_row_certificate_rounding(const bb_row_certificate *row, const bb_vector_norms *x,
                                   const bb_sum_rounding *rounding)
{
    // Blocks are summed as integers of up to 32 bits times x before their unit is multiplied.
    enum { INTEGER_BITS = 32 };
    if (row->path.wide > 0.0) {
        return path_rounding(&row->path, x, rounding);
    }
    const double n = row->norms.count;
    const double stored_1 = row->stored_1 * (1.0 + slack(n));
    const double largest = fmax(fabs(row->norms.minimum), fabs(row->norms.maximum)) +
                           row->norms.max_error * (1.0 + 0x1p-50);
    const double magnitudes = fmin(fmin(stored_1 * x->maximum, largest * x->norm_1),
                                   root(row->stored_squares, n) * x->norm_2);
    const double maximum =
        fmax(ldexp(x->norm_1, INTEGER_BITS), row->scale * stored_1 * x->maximum) *
        (1.0 + rounding->relative);
    if (!(isfinite(x->norm_1) && maximum < rounding->largest &&
          row->scale * stored_1 < rounding->largest)) {
        return INFINITY;
    }
    const double underflow =
        2.0 * rounding->subnormal * (x->norm_1 + row->scale * stored_1 + 2.0 * n) / row->scale;
    const double changed = rounding->of_largest * stored_1 * x->maximum;
    return or_infinity(
        (rounding->relative * magnitudes + (1.0 + rounding->relative) * (changed + underflow)) *
        (1.0 + 0x1p-50));
}
