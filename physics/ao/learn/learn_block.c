// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/learn/learn_block.h"

#include "physics/ao/covariance/displacement_table.h"

#include <math.h>

enum { OWN = 3, MUTUAL = 4 }; // blocks of a sensor and itself, and of two

bb_index bb_learn_block_count(const bb_sensor_array *guides)
{
    const bb_index sensors = guides->sensor_count;
    return OWN * sensors + MUTUAL * sensors * (sensors - 1) / 2;
}

bb_learn_block bb_learn_block_at(const bb_sensor_array *guides, bb_index index)
{
    const bb_sensor *sensors = guides->sensors;
    bb_index row = 0;
    bb_index column = 0;
    bb_index blocks = OWN;
    while (index >= blocks) {
        index -= blocks;
        blocks = MUTUAL;
        if (++column == guides->sensor_count) {
            column = ++row;
            blocks = OWN;
        }
    }
    // xx, xy, yy of a sensor and itself: yx is the mirror image of xy.
    const int axes = blocks == OWN && index == 2 ? 3 : (int)index;
    return (bb_learn_block){&sensors[row], &sensors[column], axes / 2, axes % 2};
}

static bool lacks_tilt(const bb_sensor *sensor)
{
    return sensor->star.kind->tilt_unknown;
}

static bool averages(const bb_learn_block *block)
{
    return !lacks_tilt(block->row_sensor) && !lacks_tilt(block->column_sensor) &&
           bb_displacement_table_serves(block->row_sensor, block->column_sensor, 1);
}

static bb_index displacements(const bb_learn_block *block)
{
    const bb_index edge = 2 * block->row_sensor->lenslets - 1;
    return edge * edge;
}

bb_index bb_learn_block_values(const bb_learn_block *block)
{
    return averages(block) ? displacements(block)
                           : block->row_sensor->count * block->column_sensor->count;
}

// Sum over entries of equal displacement over the root of their number, `counts`. The noise stands
// where a sensor's slopes have displacement 0.
static void average(const bb_learn_block *block, const double *entries, double *counts, double *out)
{
    const bb_sensor *row = block->row_sensor;
    const bb_sensor *column = block->column_sensor;
    const bb_index edge = 2 * row->lenslets - 1;
    const bb_index centre = (row->lenslets - 1) * (edge + 1);
    const bb_index count = displacements(block);
    for (bb_index k = 0; k < count; ++k) {
        out[k] = counts[k] = 0.0;
    }
    for (bb_index i = 0; i < row->count; ++i) {
        for (bb_index j = 0; j < column->count; ++j) {
            const bb_index index = centre + row->site[i] - column->site[j];
            out[index] += entries[i * column->count + j];
            counts[index] += 1.0;
        }
    }
    if (row == column) {
        out[centre] = 0.0;
    }
    for (bb_index k = 0; k < count; ++k) {
        out[k] = counts[k] > 0.0 ? out[k] / sqrt(counts[k]) : 0.0;
    }
}

static double row_sum(const double *entries, bb_index columns, bb_index i)
{
    double sum = 0.0;
    for (bb_index j = 0; j < columns; ++j) {
        sum += entries[i * columns + j];
    }
    return sum;
}

static double column_sum(const double *entries, bb_index rows, bb_index columns, bb_index j)
{
    double sum = 0.0;
    for (bb_index i = 0; i < rows; ++i) {
        sum += entries[i * columns + j];
    }
    return sum;
}

// A common slope of the row's subapertures adds v_j to every row: the mean over rows goes.
static void remove_row_tilt(bb_index rows, bb_index columns, double *entries)
{
    for (bb_index j = 0; j < columns; ++j) {
        const double mean = column_sum(entries, rows, columns, j) / (double)rows;
        for (bb_index i = 0; i < rows; ++i) {
            entries[i * columns + j] -= mean;
        }
    }
}

static void remove_column_tilt(bb_index rows, bb_index columns, double *entries)
{
    for (bb_index i = 0; i < rows; ++i) {
        const double mean = row_sum(entries, columns, i) / (double)columns;
        for (bb_index j = 0; j < columns; ++j) {
            entries[i * columns + j] -= mean;
        }
    }
}

// Least squares of u_i + v_j over a square block without its diagonal, and what they leave. With
// row sums r, column sums c and sum u = sum v = S = sum r/(2 (n - 1)):
//   (n - 1) u_i - v_i = r_i - S,   (n - 1) v_i - u_i = c_i - S.
// `sums` [2 n] is scratch. Three subapertures are the least that leave anything.
static void remove_own_tilt(bb_index n, double *entries, double *sums)
{
    const double wide = (double)n - 1.0;
    double total = 0.0;
    for (bb_index i = 0; i < n; ++i) {
        entries[i * n + i] = 0.0;
    }
    for (bb_index i = 0; i < n; ++i) {
        sums[i] = row_sum(entries, n, i);
        sums[n + i] = column_sum(entries, n, n, i);
        total += sums[i];
    }
    const double share = total / (2.0 * wide);
    for (bb_index i = 0; i < n; ++i) {
        const double row = sums[i] - share;
        const double column = sums[n + i] - share;
        sums[i] = (wide * row + column) / (wide * wide - 1.0);
        sums[n + i] = (wide * column + row) / (wide * wide - 1.0);
    }
    for (bb_index k = 0; k < n * n; ++k) {
        entries[k] = k % (n + 1) == 0 || n < 3 ? 0.0 : entries[k] - sums[k / n] - sums[n + k % n];
    }
}

static void remove_tilts(const bb_learn_block *block, double *entries, double *sums)
{
    const bb_index rows = block->row_sensor->count;
    const bb_index columns = block->column_sensor->count;
    if (block->row_sensor == block->column_sensor) {
        if (lacks_tilt(block->row_sensor)) {
            remove_own_tilt(rows, entries, sums);
        }
        return;
    }
    if (lacks_tilt(block->row_sensor)) {
        remove_row_tilt(rows, columns, entries);
    }
    if (lacks_tilt(block->column_sensor)) {
        remove_column_tilt(rows, columns, entries);
    }
}

bb_index bb_learn_block_scratch(const bb_learn_block *block)
{
    const bb_index rows = block->row_sensor->count;
    const bb_index columns = block->column_sensor->count;
    return rows * columns + (averages(block) ? displacements(block) : rows + columns);
}

bb_status bb_learn_block_reduce(const bb_learn_block *block, const bb_matrix_source *source,
                                double *scratch, double *out)
{
    const bb_sensor *row = block->row_sensor;
    const bb_sensor *column = block->column_sensor;
    const bb_index entries = row->count * column->count;
    // Blocks that stand for their mirror image count twice.
    const bool once = row == column && block->row_axis == block->column_axis;
    const double weight = once ? 1.0 : sqrt(2.0);
    BB_RETURN_IF_FAILED(bb_matrix_source_fill(source, row->first + block->row_axis * row->count,
                                              column->first + block->column_axis * column->count,
                                              bb_view_matrix(scratch, row->count, column->count)));
    if (averages(block)) {
        average(block, scratch, scratch + entries, out);
    } else {
        remove_tilts(block, scratch, scratch + entries);
        for (bb_index k = 0; k < entries; ++k) {
            out[k] = scratch[k];
        }
    }
    for (bb_index k = 0; k < bb_learn_block_values(block); ++k) {
        out[k] *= weight;
    }
    return BB_OK;
}
