// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/learn/learn_triangle.h"

#include "core/memory.h"
#include "core/outcome.h"
#include "core/thread.h"
#include "physics/ao/covariance/displacement_table.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

static bb_status create_layer(const bb_ao_config *config, double height_m, double outer_scale_m,
                              bb_learn_layer *layer)
{
    bb_status status = BB_OK;
    bb_layer_config unit = {
        .height_m = height_m, .strength = 1.0, .cn2_m13 = NAN, .wind_m_per_s = NAN};
    const bb_atmosphere_config alone = {.profile = -1,
                                        .layers = {.items = &unit, .count = 1},
                                        .outer_scale_m = outer_scale_m,
                                        .r0_m = NAN,
                                        .seeing_arcsec = NAN};
    BB_TRY(bb_atmosphere_create(&alone, config->telescope->zenith_angle_deg, &layer->atmosphere));
    BB_TRY(bb_sensor_array_create_guides(config, &layer->atmosphere, &layer->guides));
    const bb_slope_covariance_parts parts = {.name = "covariance of a layer",
                                             .atmosphere = &layer->atmosphere,
                                             .rows = &layer->guides,
                                             .columns = &layer->guides};
    BB_TRY(bb_slope_covariance_create(&parts, &layer->covariance));
done:
    return status;
}

bb_status bb_learn_layers_create(const bb_ao_config *config, bb_index count, const double *height_m,
                                 double outer_scale_m, bb_learn_layers *out)
{
    bb_status status = BB_OK;
    bb_learn_layers layers = {.count = count};
    BB_TRY(BB_ZEROED(count, &layers.items));
    for (bb_index l = 0; l < count; ++l) {
        BB_TRY(create_layer(config, height_m[l], outer_scale_m, &layers.items[l]));
    }
    *out = layers;
    layers = (bb_learn_layers){0};
done:
    bb_learn_layers_release(&layers);
    return status;
}

void bb_learn_layers_release(bb_learn_layers *layers)
{
    for (bb_index l = 0; layers->items != NULL && l < layers->count; ++l) {
        bb_slope_covariance_destroy(&layers->items[l].covariance);
        bb_sensor_array_release(&layers->items[l].guides);
        bb_atmosphere_release(&layers->items[l].atmosphere);
    }
    BB_RELEASE(&layers->items);
    layers->count = 0;
}

enum { OWN = 3, MUTUAL = 4 }; // blocks of a sensor with itself, and of two

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
    // xx, xy, yy of a sensor with itself: yx is the mirror image of xy.
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
           bb_displacement_table_applies(block->row_sensor, block->column_sensor, 1);
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

// Sum over entries of equal displacement over the square root of their number, `counts`.
// Displacement 0 within a sensor is excluded because of the noise.
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

// A common slope of the row's subapertures adds v_j to every row: subtracts the mean over rows.
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

// Least-squares fit of u_i + v_j to a square block without its diagonal, replaced by the remainder.
// With row sums r, column sums c and sum u = sum v = S = sum r/(2 (n - 1)):
//   (n - 1) u_i - v_i = r_i - S,   (n - 1) v_i - u_i = c_i - S.
// `sums` [2 n] is scratch. Needs at least three subapertures for a nonzero remainder.
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
    // Blocks that also represent their mirror image count twice.
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

// One block of all columns, below the triangle of the previous blocks.
typedef struct stack {
    bb_learn_block block;
    const bb_matrix_source *const *columns;
    bb_index count, height; // height: of the stack, triangle and block
    double *values;         // [height][count], column-major
} stack;

static bb_status fill_column(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const stack *s = context;
    double *scratch = NULL;
    BB_TRY(BB_ALLOCATE(bb_learn_block_scratch(&s->block), &scratch));
    BB_TRY(bb_learn_block_reduce(&s->block, s->columns[index], scratch,
                                 s->values + index * s->height + s->count));
done:
    BB_RELEASE(&scratch);
    return status;
}

static void move_triangle(bb_index count, const double *source, bb_index from_height,
                          double *target, bb_index to_height)
{
    for (bb_index j = 0; j < count; ++j) {
        for (bb_index i = 0; i < count; ++i) {
            target[j * to_height + i] = i <= j ? source[j * from_height + i] : 0.0;
        }
    }
}

bb_status bb_learn_triangle_make(const bb_sensor_array *guides, bb_index count,
                                 const bb_matrix_source *const *columns, double *t, double *rows)
{
    bb_status status = BB_OK;
    stack s = {.columns = columns, .count = count};
    double *reflectors = NULL;
    BB_TRY(BB_ALLOCATE(count, &reflectors));
    memset(t, 0, (size_t)(count * count) * sizeof *t);
    *rows = 0.0;
    for (bb_index b = 0; b < bb_learn_block_count(guides); ++b) {
        s.block = bb_learn_block_at(guides, b);
        s.height = count + bb_learn_block_values(&s.block);
        *rows += (double)(s.height - count);
        BB_RELEASE(&s.values);
        BB_TRY(BB_ALLOCATE(s.height * count, &s.values));
        move_triangle(count, t, count, s.values, s.height);
        BB_TRY(bb_thread_for(count, fill_column, &s));
        if (bb_outcome_first_non_finite(s.values, s.height * count) >= 0) {
            memset(t, 0, (size_t)(count * count) * sizeof *t);
            *rows = NAN;
            goto done;
        }
        const lapack_int info =
            LAPACKE_dgeqrf(LAPACK_COL_MAJOR, (lapack_int)s.height, (lapack_int)count, s.values,
                           (lapack_int)s.height, reflectors);
        BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgeqrf failed for %td x %td values: info %d",
                   s.height, count, (int)info);
        move_triangle(count, s.values, s.height, t, count);
    }
done:
    BB_RELEASE(&s.values);
    BB_RELEASE(&reflectors);
    return status;
}

bb_status bb_learn_triangle_least_squares(bb_index rows, bb_index unknowns, const double *a,
                                          const double *b, double *x)
{
    bb_status status = BB_OK;
    double *copy = NULL;
    double *side = NULL;
    if (unknowns == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(rows * unknowns, &copy));
    BB_TRY(BB_ALLOCATE(rows, &side));
    memcpy(copy, a, (size_t)(rows * unknowns) * sizeof *a);
    memcpy(side, b, (size_t)rows * sizeof *b);
    const lapack_int info =
        LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', (lapack_int)rows, (lapack_int)unknowns, 1, copy,
                      (lapack_int)rows, side, (lapack_int)rows);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgels failed for %td unknowns: info %d", unknowns,
               (int)info);
    memcpy(x, side, (size_t)unknowns * sizeof *x);
done:
    BB_RELEASE(&copy);
    BB_RELEASE(&side);
    return status;
}

// State of the Lawson-Hanson iteration.
typedef struct active {
    bb_index rows, unknowns, free_count;
    const double *a, *b;
    bool *is_free;    // [unknowns] may be positive
    double *x;        // [unknowns]
    double *residual; // [rows] b - A x
    double *part;     // [rows][free] the free columns
    double *solution; // [free]
} active;

static void find_residual(active *s)
{
    memcpy(s->residual, s->b, (size_t)s->rows * sizeof *s->b);
    for (bb_index j = 0; j < s->unknowns; ++j) {
        for (bb_index i = 0; i < s->rows; ++i) {
            s->residual[i] -= s->x[j] * s->a[j * s->rows + i];
        }
    }
}

// The bound unknown along which the residual decreases fastest, -1 if none does beyond rounding.
static bb_index steepest(const active *s)
{
    bb_index best = -1;
    double maximum = 0.0;
    for (bb_index j = 0; j < s->unknowns; ++j) {
        double slope = 0.0;
        double size = 0.0;
        for (bb_index i = 0; i < s->rows; ++i) {
            slope += s->a[j * s->rows + i] * s->residual[i];
            size += fabs(s->a[j * s->rows + i] * s->b[i]);
        }
        if (!s->is_free[j] && slope > 1e-14 * size && slope > maximum) {
            best = j;
            maximum = slope;
        }
    }
    return best;
}

static bb_status solve_free(active *s)
{
    bb_index count = 0;
    for (bb_index j = 0; j < s->unknowns; ++j) {
        if (s->is_free[j]) {
            memcpy(s->part + count++ * s->rows, s->a + j * s->rows, (size_t)s->rows * sizeof *s->a);
        }
    }
    s->free_count = count;
    return bb_learn_triangle_least_squares(s->rows, count, s->part, s->b, s->solution);
}

// Moves from x towards the solution until an unknown would become negative, and binds it; true if
// the solution was reached.
static bool step(active *s)
{
    double share = 1.0;
    bb_index tightest = -1;
    bb_index k = 0;
    for (bb_index j = 0; j < s->unknowns; ++j) {
        if (!s->is_free[j]) {
            continue;
        }
        const double end = s->solution[k++];
        if (end <= 0.0 && (tightest < 0 || s->x[j] / (s->x[j] - end) < share)) {
            share = s->x[j] > end ? s->x[j] / (s->x[j] - end) : 0.0;
            tightest = j;
        }
    }
    k = 0;
    for (bb_index j = 0; j < s->unknowns; ++j) {
        if (s->is_free[j]) {
            s->x[j] += share * (s->solution[k++] - s->x[j]);
        }
    }
    if (tightest >= 0) {
        s->x[tightest] = 0.0;
        s->is_free[tightest] = false;
    }
    return tightest < 0;
}

bb_status bb_learn_triangle_non_negative(bb_index rows, bb_index unknowns, const double *a,
                                         const double *b, double *x, double *residual)
{
    bb_status status = BB_OK;
    active s = {.rows = rows, .unknowns = unknowns, .a = a, .b = b, .x = x};
    BB_TRY(BB_ZEROED(unknowns, &s.is_free));
    BB_TRY(BB_ALLOCATE(rows, &s.residual));
    BB_TRY(BB_ALLOCATE(rows * unknowns, &s.part));
    BB_TRY(BB_ALLOCATE(unknowns, &s.solution));
    memset(x, 0, (size_t)unknowns * sizeof *x);
    find_residual(&s);
    // Each round frees one unknown, so the loop ends; rounding may only cut the last rounds short.
    for (bb_index round = 0; round < 3 * unknowns; ++round) {
        const bb_index freed = steepest(&s);
        if (freed < 0) {
            break;
        }
        s.is_free[freed] = true;
        do {
            BB_TRY(solve_free(&s));
        } while (!step(&s));
        find_residual(&s);
    }
    double sum = 0.0;
    for (bb_index i = 0; i < rows; ++i) {
        sum += s.residual[i] * s.residual[i];
    }
    *residual = sqrt(sum);
done:
    BB_RELEASE(&s.is_free);
    BB_RELEASE(&s.residual);
    BB_RELEASE(&s.part);
    BB_RELEASE(&s.solution);
    return status;
}

bb_status bb_learn_triangle_condition(bb_index rows, bb_index unknowns, const double *a,
                                      double *inverse_diagonal, double *condition)
{
    bb_status status = BB_OK;
    double *copy = NULL;
    double *values = NULL;
    double *modes = NULL; // V^T [unknowns][unknowns], column-major
    double *rest = NULL;
    double unused = 0.0;
    BB_TRY(BB_ALLOCATE(rows * unknowns, &copy));
    BB_TRY(BB_ALLOCATE(unknowns, &values));
    BB_TRY(BB_ALLOCATE(unknowns * unknowns, &modes));
    BB_TRY(BB_ALLOCATE(unknowns, &rest));
    memcpy(copy, a, (size_t)(rows * unknowns) * sizeof *a);
    const lapack_int n = (lapack_int)unknowns;
    const lapack_int info = LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'N', 'A', (lapack_int)rows, n, copy,
                                           (lapack_int)rows, values, &unused, 1, modes, n, rest);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgesvd failed for %td columns: info %d", unknowns,
               (int)info);
    const double ratio = values[0] / values[unknowns - 1];
    *condition = ratio * ratio;
    for (bb_index j = 0; j < unknowns; ++j) {
        inverse_diagonal[j] = 0.0;
        for (bb_index k = 0; k < unknowns; ++k) {
            const double part = modes[j * unknowns + k] / values[k];
            inverse_diagonal[j] += part * part;
        }
    }
done:
    BB_RELEASE(&copy);
    BB_RELEASE(&values);
    BB_RELEASE(&modes);
    BB_RELEASE(&rest);
    return status;
}
