// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/low_rank_product.h"

#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"

#include <string.h>

enum { LANES = 16 };

typedef struct product {
    const bb_coded_matrix *matrix;
    const bb_low_rank_mesh *mesh;
    bb_gemv_arithmetic arithmetic;
    bb_index band, bands; // bands with requested rows
    bb_index row;
    const double *x;
    bb_index *first; // [bands] offset of each band's terms
    double *terms;
    double *y;
} product;

BB_CLONES static void add_wide(const double *a, const double *b, bb_index count, double *lanes)
{
    for (bb_index j = 0; j + LANES <= count; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += a[j + l] * b[j + l];
        }
    }
}

BB_CLONES static void add_mixed(const double *a, const double *b, bb_index count, double *lanes)
{
    for (bb_index j = 0; j + LANES <= count; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += (double)((float)a[j + l] * (float)b[j + l]);
        }
    }
}

BB_CLONES static void add_narrow(const double *a, const double *b, bb_index count, float *lanes)
{
    for (bb_index j = 0; j + LANES <= count; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += (float)a[j + l] * (float)b[j + l];
        }
    }
}

// Dot product of a and b; both are padded with zeros to whole lanes.
static double dot(const bb_gemv_arithmetic *how, const double *a, const double *b, bb_index count)
{
    double wide[LANES] = {0.0};
    float narrow[LANES] = {0.0F};
    double ends[2][LANES] = {{0.0}};
    bb_index multiple = count / LANES * LANES;
    size_t rest = (size_t)(count - multiple) * sizeof *a;
    memcpy(ends[0], a + multiple, rest);
    memcpy(ends[1], b + multiple, rest);
    bool single = how->accumulate == BB_FORMAT_FP32;
    for (int end = 0; end < 2; ++end) {
        const double *source = end ? ends[0] : a;
        const double *with = end ? ends[1] : b;
        bb_index values = end ? LANES : multiple;
        if (how->multiply == BB_FORMAT_FP64) {
            add_wide(source, with, values, wide);
        } else if (single) {
            add_narrow(source, with, values, narrow);
        } else {
            add_mixed(source, with, values, wide);
        }
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            wide[l] += wide[l + half];
            narrow[l] += narrow[l + half];
        }
    }
    return single ? (double)narrow[0] : wide[0];
}

static double rounded(const bb_gemv_arithmetic *how, double value)
{
    return how->multiply == BB_FORMAT_FP64 ? value : (double)(float)value;
}

// x of a tile, lines padded with zeros.
static void gather(const product *work, const bb_low_rank_place *place, double *out)
{
    for (bb_index line = 0; line < place->lines; ++line, out += place->pitch) {
        const double *source = work->x + (place->line + line) * work->mesh->columns + place->column;
        memset(out + place->columns, 0, (size_t)(place->pitch - place->columns) * sizeof *out);
        memcpy(out, source, (size_t)place->columns * sizeof *out);
    }
}

static bb_status multiply_tile(void *context, bb_index index)
{
    const product *work = context;
    bb_index tiles = work->mesh->across * work->mesh->down;
    bb_index number = index / tiles;
    const bb_low_rank_band *band = bb_coded_matrix_low_rank_band(work->matrix, work->band + number);
    const bb_low_rank_tile *tile = &band->tiles[index % tiles];
    const bb_low_rank_place rank_place = bb_low_rank_place_of(work->mesh, index % tiles);
    bb_index cells = rank_place.lines * rank_place.pitch;
    if (tile->wide + tile->narrow == 0) {
        return BB_OK; // terms may be NULL
    }
    double *terms = work->terms + work->first[number];
    double x[BB_LOW_RANK_CELLS];
    double v[BB_LOW_RANK_CELLS];
    gather(work, &rank_place, x);
    for (int k = 0; k < tile->wide + tile->narrow; ++k) {
        bool wide = k < tile->wide;
        bb_index term = wide ? tile->wide_term + k : tile->narrow_term + k - tile->wide;
        size_t place = wide ? tile->wide_v + (size_t)(4 * k * cells)
                            : tile->narrow_v + (size_t)(2 * (k - tile->wide) * cells);
        bb_format_decode(wide ? BB_FORMAT_FP32 : BB_FORMAT_FP16, band->v + place, cells, v);
        terms[term] = rounded(&work->arithmetic,
                              dot(&work->arithmetic, v, x, cells) * (double)band->scale[term]);
    }
    return BB_OK;
}

enum { CHUNK = 1024 };

// Multiplies row i of `count` columns of U by its terms; U is NULL if there are none.
static double multiply_part(const product *work, bb_format format, const void *words, bb_index i,
                            bb_index count, const double *terms)
{
    double sum = 0.0;
    double u[CHUNK];
    const unsigned char *source = words;
    bb_index word = bb_format_describe(format)->bytes;
    for (bb_index j = 0; j < count; j += CHUNK) {
        bb_index here = count - j < CHUNK ? count - j : CHUNK;
        bb_format_decode(format, source + (i * count + j) * word, here, u);
        sum += dot(&work->arithmetic, u, terms + j, here);
    }
    return sum;
}

static bb_status multiply_row(void *context, bb_index index)
{
    const product *work = context;
    bb_index row = work->row + index;
    const bb_low_rank_band *band =
        bb_coded_matrix_low_rank_band(work->matrix, row / bb_coded_matrix_band(work->matrix));
    bb_index i = row - band->row;
    if (band->terms == 0) { // the terms of all bands may be NULL
        work->y[index] = 0.0;
        return BB_OK;
    }
    const double *terms =
        work->terms + work->first[row / bb_coded_matrix_band(work->matrix) - work->band];
    double sum = multiply_part(work, BB_FORMAT_FP16, band->u_narrow, i, band->narrow, terms);
    sum += multiply_part(work, BB_FORMAT_FP32, band->u_wide, i, band->wide, terms + band->narrow);
    for (bb_index d = band->narrow + band->wide; d < band->terms; d += band->rows) {
        sum += terms[d + i];
    }
    work->y[index] = sum;
    return BB_OK;
}

static bb_status multiply_tiles(bb_queue *queue, bb_index begin, bb_index end, void *context)
{
    (void)queue;
    for (bb_index i = begin; i < end; ++i) {
        (void)multiply_tile(context, i);
    }
    return BB_OK;
}

static bb_status multiply_rows(bb_queue *queue, bb_index begin, bb_index end, void *context)
{
    (void)queue;
    for (bb_index i = begin; i < end; ++i) {
        (void)multiply_row(context, i);
    }
    return BB_OK;
}

bb_status bb_low_rank_product_multiply(bb_device *device, const bb_coded_matrix *matrix,
                                       bb_gemv_arithmetic arithmetic, bb_index row, bb_index rows,
                                       const double *x, double *y)
{
    static const bb_kernel of_tiles = {
        .name = "low_rank_tiles", .grain = 16, .run[BB_DEVICE_CPU] = multiply_tiles};
    static const bb_kernel of_rows = {
        .name = "low_rank_rows", .grain = 16, .run[BB_DEVICE_CPU] = multiply_rows};
    bb_status status = BB_OK;
    product work = {.matrix = matrix,
                    .mesh = bb_coded_matrix_low_rank_mesh(matrix),
                    .arithmetic = arithmetic,
                    .row = row,
                    .x = x,
                    .y = y};
    bb_index step = bb_coded_matrix_band(matrix);
    bb_index terms = 0;
    if (rows == 0) {
        goto done;
    }
    work.band = row / step;
    work.bands = (row + rows - 1) / step - work.band + 1;
    BB_TRY(BB_ALLOCATE(work.bands, &work.first));
    for (bb_index b = 0; b < work.bands; ++b) {
        work.first[b] = terms;
        terms += bb_coded_matrix_low_rank_band(matrix, work.band + b)->terms;
    }
    BB_TRY(BB_ZEROED(terms, &work.terms));
    BB_TRY(bb_device_launch(device, &of_tiles, work.bands * work.mesh->across * work.mesh->down,
                            &work));
    BB_TRY(bb_device_launch(device, &of_rows, rows, &work));
done:
    BB_RELEASE(&work.first);
    BB_RELEASE(&work.terms);
    return status;
}

double bb_low_rank_product_flops(const bb_coded_matrix *matrix, bb_index row, bb_index rows)
{
    const bb_low_rank_mesh *mesh = bb_coded_matrix_low_rank_mesh(matrix);
    bb_index step = bb_coded_matrix_band(matrix);
    double total = 0.0;
    for (bb_index b = row / step; rows > 0 && b * step < row + rows; ++b) {
        const bb_low_rank_band *band = bb_coded_matrix_low_rank_band(matrix, b);
        bb_index first = row > band->row ? row : band->row;
        bb_index past = row + rows < band->row + band->rows ? row + rows : band->row + band->rows;
        for (bb_index t = 0; t < mesh->across * mesh->down; ++t) {
            const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
            const bb_low_rank_tile *tile = &band->tiles[t];
            double terms = (double)(tile->wide + tile->narrow);
            total += 2.0 * terms * (double)(place.lines * place.columns);
            total += tile->dense ? 0.0 : 2.0 * terms * (double)(past - first);
        }
    }
    return total;
}
