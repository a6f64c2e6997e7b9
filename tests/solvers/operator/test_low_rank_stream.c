// SPDX-License-Identifier: Apache-2.0
//
// Device layout, created in the memory of the CPU device, and both launches replayed on it lane by
// lane with the same index arithmetic.
#include "precision/format_core.h"
#include "solvers/operator/low_rank_stream.h"
#include "tests/cpu_device.h"
#include "tests/precision/codecs/low_rank_problem.h"
#include "tests/solvers/dense.h"

enum { LANES = 32, STEPS = BB_LOW_RANK_CELLS / 8 / LANES };

static double value_at(const bb_low_rank_job *job, const bb_low_rank_item *item, bb_index chunks,
                       bb_index row, bb_index index, int value)
{
    const unsigned char *v = job->v + 16 * (size_t)item->v;
    if (item->wide != 0) {
        const float *words = (const float *)(const void *)v;
        return (double)words[4 * (2 * (row * chunks + index) + value / 4) + value % 4];
    }
    return (double)bb_format_decode_fp16(
        ((const uint16_t *)(const void *)v)[8 * (row * chunks + index) + value]);
}

// One warp of the first launch; x of the tile as in shared memory.
static void project(const bb_low_rank_job *job, const bb_low_rank_item *item)
{
    double x[BB_LOW_RANK_CELLS] = {0.0};
    bb_index pitch = (item->columns + 7) / 8 * 8;
    bb_index chunks = pitch / 8 * item->lines;
    assert_true(item->rows > 0 &&
                item->rows <= (item->wide ? BB_LOW_RANK_ITEM_WIDE : BB_LOW_RANK_ITEM_NARROW));
    assert_true(chunks <= (bb_index)STEPS * LANES);
    for (bb_index line = 0; line < item->lines; ++line) {
        for (bb_index column = 0; column < item->columns; ++column) {
            x[line * pitch + column] =
                job->x[(item->line + line) * job->mesh_columns + item->column + column];
        }
    }
    for (bb_index row = 0; row < item->rows; ++row) {
        double sum = 0.0;
        for (bb_index index = 0; index < chunks; ++index) {
            for (int value = 0; value < 8; ++value) {
                sum += value_at(job, item, chunks, row, index, value) * x[8 * index + value];
            }
        }
        ((double *)job->terms)[item->term + row] = sum * (double)job->scale[item->term + row];
    }
}

static double expand(const bb_low_rank_job *job, uint32_t index)
{
    uint32_t row = job->row + index;
    const bb_low_rank_band_place *band = &job->bands[row / job->band_rows];
    uint32_t i = row % job->band_rows;
    const uint16_t *narrow = job->u_narrow + band->u_narrow + (size_t)i * band->narrow;
    const float *wide = job->u_wide + band->u_wide + (size_t)i * band->wide;
    const double *terms = (const double *)job->terms + band->term;
    double sum = 0.0;
    assert_true(i < band->rows && band->term % 8 == 0 && band->narrow % 8 == 0);
    assert_true((uintptr_t)narrow % 16 == 0 && (uintptr_t)wide % 16 == 0);
    for (uint32_t k = 0; k < band->narrow; ++k) {
        sum += (double)bb_format_decode_fp16(narrow[k]) * terms[k];
    }
    for (uint32_t k = 0; k < band->wide; ++k) {
        sum += (double)wide[k] * terms[band->narrow + k];
    }
    for (uint32_t d = 0; d < band->dense_tiles; ++d) {
        sum += terms[band->narrow + band->wide + d * band->rows + i];
    }
    return sum;
}

static void replay(const bb_low_rank_stream *stream, const double *x, bb_index row, bb_index rows,
                   double *y)
{
    while (rows > 0) {
        bb_low_rank_job job;
        bb_index taken = bb_low_rank_stream_job(stream, row, rows, &job);
        assert_true(taken > 0 && taken <= rows);
        job.x = x;
        for (uint32_t i = 0; i < job.item_count; ++i) {
            assert_int_equal(((uintptr_t)job.v + 16 * (size_t)job.items[i].v) % 16, 0);
            project(&job, &job.items[i]);
        }
        for (bb_index i = 0; i < taken; ++i) {
            y[i] = expand(&job, (uint32_t)i);
        }
        row += taken;
        rows -= taken;
        y += taken;
    }
}

static void compare(const response *rows, const bb_codec_config *config)
{
    autoptr(bb_coded_matrix) matrix = low_rank_encode(rows, config);
    autofree double *x = dense_new(rows->layout.columns);
    autofree double *row = dense_new(rows->layout.columns);
    autofree double *y = dense_new(rows->layout.rows);
    dense_random(rows->layout.columns, 5, x);
    autoptr(bb_low_rank_stream) stream = new_object(bb_low_rank_stream, cpu, matrix);
    size_t bytes = bb_low_rank_stream_bytes(stream);
    size_t padding = 28 * (size_t)bb_coded_matrix_low_rank_bands(matrix);
    assert_true(bytes >= bb_coded_matrix_bytes(matrix) &&
                bytes <= bb_coded_matrix_bytes(matrix) + padding);
    for (bb_index first = 0; first < rows->layout.rows; first += 23) {
        replay(stream, x, first, rows->layout.rows - first, y);
        for (bb_index i = 0; i < rows->layout.rows - first; ++i) {
            double exact = 0.0;
            double magnitude = 0.0;
            bb_coded_matrix_decode(matrix, first + i, 0, rows->layout.columns, row);
            for (bb_index j = 0; j < rows->layout.columns; ++j) {
                exact += row[j] * x[j];
                magnitude += fabs(row[j] * x[j]);
            }
            check_close(y[i], exact, 1e-12, magnitude + 1e-30);
        }
    }
}

TEST(launches_replayed_give_the_product)
{
    static const bb_index meshes[][2] = {{64, 40}, {61, 47}, {33, 3}, {500, 1}};
    for (int m = 0; m < 4; ++m) {
        autorelease(response) rows = response_make(7, 13, meshes[m][0], meshes[m][1], 1.0);
        rows.layout.mesh_columns = m == 3 ? 0 : rows.layout.mesh_columns;
        for (double tolerance = 1e-8; tolerance < 1e-2; tolerance *= 1e3) {
            bb_codec_config config = low_rank(tolerance);
            compare(&rows, &config);
            config.band_lines = 1; // more bands than in one job
            compare(&rows, &config);
            config.tile_columns = 64;
            config.tile_rows = 16; // maximum number of cells of a tile
            compare(&rows, &config);
        }
    }
}

TEST(zeros_and_noise_are_products_too)
{
    autorelease(response) rows = response_make(5, 6, 61, 47, 0.0);
    bb_codec_config config = low_rank(1e-3);
    compare(&rows, &config);
    dense_random(rows.layout.rows * rows.layout.columns, 6, rows.values);
    compare(&rows, &config);
    config.tolerance = 1e-7;
    config.band_lines = 4;
    compare(&rows, &config);
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu);
