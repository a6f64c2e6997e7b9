// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/transform_product.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

typedef struct product {
    const bb_coded_matrix *matrix;
    const bb_transform_plan *plan;
    bb_gemv_arithmetic arithmetic;
    bb_index band, bands;    // bands with requested rows
    bb_index strips, across; // blocks down the mesh, and blocks per line of rows
    bb_index row, rows;      // requested rows
    bb_index block_rows;     // rows of a whole block
    const double *x;
    double *transformed; // [columns] transform of x, block by block
    bool *finite;        // [strips]
    double *sums;        // [bands][across][strips][block_rows]
    double *y;
} product;

// Offset in x^ of a block of the mesh: strips are consecutive, and so are their blocks.
static bb_index place_of(const product *work, const bb_transform_block *block)
{
    return block->first[BB_TRANSFORM_LINES] * work->plan->extent[BB_TRANSFORM_COLUMNS] +
           block->first[BB_TRANSFORM_COLUMNS] * block->size[BB_TRANSFORM_LINES];
}

static void transform_strip(const product *work, bb_index strip)
{
    const bb_transform_plan *plan = work->plan;
    bb_index count = plan->count[BB_TRANSFORM_COLUMNS];
    bb_index pitch = plan->extent[BB_TRANSFORM_COLUMNS];
    double values[BB_TRANSFORM_CELLS];
    double room[BB_TRANSFORM_CELLS];
    bool finite = true;
    for (bb_index m = strip * count; m < (strip + 1) * count; ++m) {
        const bb_transform_block block = bb_transform_block_of(plan, 0, 0, m);
        const bb_index *size = block.size;
        double *out = work->transformed + place_of(work, &block);
        for (bb_index line = 0; line < size[2]; ++line) {
            memcpy(values + line * size[3],
                   work->x + (block.first[2] + line) * pitch + block.first[3],
                   (size_t)size[3] * sizeof *values);
        }
        bb_transform_cells(plan, &block, false, 1, values, room);
        for (bb_index i = 0; i < block.cells; ++i) {
            finite = finite && isfinite(values[i]);
            out[i] =
                work->arithmetic.multiply == BB_FORMAT_FP64 ? values[i] : (double)(float)values[i];
        }
    }
    work->finite[strip] = finite;
}

static bb_status transform_strips(bb_queue *queue, bb_index begin, bb_index end, void *context)
{
    (void)queue;
    for (bb_index strip = begin; strip < end; ++strip) {
        transform_strip(context, strip);
    }
    return BB_OK;
}

// Adds the coefficients of one group, each to its frequency of the rows.
static void add_group(const bb_gemv_arithmetic *how, const bb_transform_reader *group,
                      const double *x, double *sums)
{
    for (int i = 0; i < group->count; ++i) {
        const bb_transform_place place = group->order[i];
        if (how->multiply == BB_FORMAT_FP64) {
            sums[place.row] += (double)group->quotient[i] * x[place.cell];
        } else {
            float term = (float)group->quotient[i] * (float)x[place.cell];
            sums[place.row] = how->accumulate == BB_FORMAT_FP32
                                  ? (double)((float)sums[place.row] + term)
                                  : sums[place.row] + (double)term;
        }
    }
}

// Multiplies one block of rows by one strip of the mesh.
static void multiply_strip(const product *work, bb_index index)
{
    const bb_transform_plan *plan = work->plan;
    bb_index strip = index % work->strips;
    bb_index across = index / work->strips % work->across;
    bb_index number = work->band + index / work->strips / work->across;
    bb_index count = plan->count[BB_TRANSFORM_COLUMNS];
    const bb_transform_band *band = bb_coded_matrix_transform_band(work->matrix, number);
    double *sums = work->sums + index * work->block_rows;
    for (bb_index m = strip * count; m < (strip + 1) * count; ++m) {
        const bb_transform_block block = bb_transform_block_of(plan, number, across, m);
        bb_transform_reader reader =
            bb_transform_read(plan, band, &block, across * work->strips * count + m);
        const double *x = work->transformed + place_of(work, &block);
        for (bb_index i = 0; reader.poisoned && i < block.rows; ++i) {
            sums[i] = NAN;
        }
        while (bb_transform_next(&reader)) {
            add_group(&work->arithmetic, &reader, x, sums);
        }
    }
}

static bb_status multiply_strips(bb_queue *queue, bb_index begin, bb_index end, void *context)
{
    (void)queue;
    for (bb_index i = begin; i < end; ++i) {
        multiply_strip(context, i);
    }
    return BB_OK;
}

// Sums the strips of a block of rows and transforms back; requested rows are written to y.
static void finish(const product *work, bb_index index)
{
    const bb_transform_plan *plan = work->plan;
    bb_index number = work->band + index / work->across;
    const bb_transform_block block = bb_transform_block_of(plan, number, index % work->across, 0);
    bool single = work->arithmetic.accumulate == BB_FORMAT_FP32;
    double sums[BB_TRANSFORM_ROWS] = {0.0};
    double room[BB_TRANSFORM_ROWS];
    for (bb_index strip = 0; strip < work->strips; ++strip) {
        const double *source = work->sums + (index * work->strips + strip) * work->block_rows;
        for (bb_index i = 0; i < block.rows; ++i) {
            sums[i] = single ? (double)((float)sums[i] + (float)source[i]) : sums[i] + source[i];
        }
    }
    bb_transform_rows(plan, &block, true, 1, sums, room);
    for (bb_index i = 0; i < block.rows; ++i) {
        bb_index line = block.first[0] + i / block.size[1];
        bb_index row = line * plan->extent[1] + block.first[1] + i % block.size[1];
        if (row >= work->row && row < work->row + work->rows) {
            work->y[row - work->row] = sums[i] * plan->step;
        }
    }
}

static bb_status finish_blocks(bb_queue *queue, bb_index begin, bb_index end, void *context)
{
    (void)queue;
    for (bb_index i = begin; i < end; ++i) {
        finish(context, i);
    }
    return BB_OK;
}

static void poison_unless_finite(const product *work)
{
    bool finite = true;
    for (bb_index strip = 0; strip < work->strips; ++strip) {
        finite = finite && work->finite[strip];
    }
    for (bb_index i = 0; !finite && i < work->rows; ++i) {
        work->y[i] = NAN;
    }
}

bb_status bb_transform_product_multiply(bb_device *device, const bb_coded_matrix *matrix,
                                        bb_gemv_arithmetic arithmetic, bb_index row, bb_index rows,
                                        const double *x, double *y)
{
    static const bb_kernel of_x = {
        .name = "transform_x", .grain = 2, .run[BB_DEVICE_CPU] = transform_strips};
    static const bb_kernel of_strips = {
        .name = "transform_strips", .grain = 4, .run[BB_DEVICE_CPU] = multiply_strips};
    static const bb_kernel of_rows = {
        .name = "transform_rows", .grain = 4, .run[BB_DEVICE_CPU] = finish_blocks};
    bb_status status = BB_OK;
    const bb_transform_plan *plan = bb_coded_matrix_transform_plan(matrix);
    bb_index step = bb_coded_matrix_band(matrix);
    product work = {.matrix = matrix,
                    .plan = plan,
                    .arithmetic = arithmetic,
                    .strips = plan->count[BB_TRANSFORM_LINES],
                    .across = plan->count[BB_TRANSFORM_ROW_COLUMNS],
                    .row = row,
                    .rows = rows,
                    .block_rows = plan->length[BB_TRANSFORM_ROW_LINES] *
                                  plan->length[BB_TRANSFORM_ROW_COLUMNS],
                    .x = x,
                    .y = y};
    if (rows == 0) {
        goto done;
    }
    work.band = row / step;
    work.bands = (row + rows - 1) / step - work.band + 1;
    bb_index blocks = work.bands * work.across;
    BB_TRY(BB_ALLOCATE(bb_coded_matrix_columns(matrix), &work.transformed));
    BB_TRY(BB_ALLOCATE(work.strips, &work.finite));
    BB_TRY(BB_ZEROED(blocks * work.strips * work.block_rows, &work.sums));
    BB_TRY(bb_device_launch(device, &of_x, work.strips, &work));
    BB_TRY(bb_device_launch(device, &of_strips, blocks * work.strips, &work));
    BB_TRY(bb_device_launch(device, &of_rows, blocks, &work));
    poison_unless_finite(&work);
done:
    BB_RELEASE(&work.transformed);
    BB_RELEASE(&work.finite);
    BB_RELEASE(&work.sums);
    return status;
}

double bb_transform_product_flops(const bb_coded_matrix *matrix, bb_index row, bb_index rows)
{
    const bb_transform_plan *plan = bb_coded_matrix_transform_plan(matrix);
    bb_index step = bb_coded_matrix_band(matrix);
    bb_index across = plan->count[BB_TRANSFORM_ROW_COLUMNS];
    bb_index blocks = plan->count[BB_TRANSFORM_LINES] * plan->count[BB_TRANSFORM_COLUMNS];
    double of_x = (double)(plan->length[BB_TRANSFORM_LINES] + plan->length[BB_TRANSFORM_COLUMNS]);
    double of_rows =
        (double)(plan->length[BB_TRANSFORM_ROW_LINES] + plan->length[BB_TRANSFORM_ROW_COLUMNS]);
    double total = rows > 0 ? 2.0 * of_x * (double)bb_coded_matrix_columns(matrix) : 0.0;
    for (bb_index b = row / step; rows > 0 && b * step < row + rows; ++b) {
        const bb_transform_band *band = bb_coded_matrix_transform_band(matrix, b);
        for (bb_index i = 0; i < across * blocks; ++i) {
            const bb_transform_block block = bb_transform_block_of(plan, b, i / blocks, i % blocks);
            bb_transform_reader reader = bb_transform_read(plan, band, &block, i);
            while (bb_transform_next(&reader)) {
                total += 2.0 * reader.count;
            }
        }
        total += 2.0 * of_rows * (double)band->rows;
    }
    return total;
}
