// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/slope_covariance.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/edge_average_core.h"
#include "physics/ao/covariance/slope_covariance_pairs.h"

#include <math.h>
#include <stdbool.h>

bb_measurement bb_measurement_locate(const bb_sensor_array *array, bb_index index)
{
    const bb_sensor *sensor = array->sensors;
    while (index >= sensor->first + 2 * sensor->count) {
        ++sensor;
    }
    const bb_index inside = index - sensor->first;
    return (bb_measurement){.sensor = sensor,
                            .axis = inside < sensor->count ? BB_AXIS_X : BB_AXIS_Y,
                            .subaperture = inside % sensor->count};
}

double bb_slope_covariance_unit(const bb_sensor *first, const bb_sensor *second)
{
    const double angle = BB_R0_WAVELENGTH_M * BB_ARCSEC_PER_RADIAN / (2.0 * BB_PI);
    return angle * angle / (first->size_m * second->size_m);
}

// Limits of a block: rows and columns of one sensor and axis each. The edge bounds the values of D
// stored by a fill.
enum { BLOCK_EDGE = 256 };

typedef struct block {
    bb_measurement row, column; // the first row and column
    bb_view out;
} block;

// Counts the subapertures from `first` on with its sensor and axis, at most `wanted`.
static bb_index extent(const bb_measurement *first, bb_index wanted)
{
    const bb_index rest = first->sensor->count - first->subaperture;
    const bb_index limit = rest < BLOCK_EDGE ? rest : BLOCK_EDGE;
    return wanted < limit ? wanted : limit;
}

// D summed over the layers between the ends of a block's rows and of its columns.
typedef struct spans {
    bb_slope_ends_part rows, columns;
    double *x, *y; // [layers][columns.count]
    double *sums;  // [rows.count][columns.count]
} spans;

static void release_spans(spans *s)
{
    bb_slope_ends_part_release(&s->rows);
    bb_slope_ends_part_release(&s->columns);
    BB_RELEASE(&s->x);
    BB_RELEASE(&s->y);
    BB_RELEASE(&s->sums);
}

static bb_status start_spans(const block *b, bb_index layers, spans *out)
{
    bb_status status = BB_OK;
    const bb_slope_ends *rows = &b->row.sensor->ends[b->row.axis];
    const bb_slope_ends *columns = &b->column.sensor->ends[b->column.axis];
    spans s = {0};
    BB_TRY(bb_slope_ends_part_create(rows, b->row.subaperture, b->out.shape[0], &s.rows));
    BB_TRY(bb_slope_ends_part_create(columns, b->column.subaperture, b->out.shape[1], &s.columns));
    BB_TRY(BB_ALLOCATE(layers * s.columns.count, &s.x));
    BB_TRY(BB_ALLOCATE(layers * s.columns.count, &s.y));
    BB_TRY(BB_ZEROED(s.rows.count * s.columns.count, &s.sums));
    for (bb_index l = 0; l < layers; ++l) {
        for (bb_index j = 0; j < s.columns.count; ++j) {
            const bb_index point = l * columns->count + s.columns.point[j];
            s.x[l * s.columns.count + j] = columns->layer_x_m[point];
            s.y[l * s.columns.count + j] = columns->layer_y_m[point];
        }
    }
    *out = s;
    s = (spans){0};
done:
    release_spans(&s);
    return status;
}

bool bb_slope_covariance_averages(const bb_sensor *first, const bb_sensor *second)
{
    return bb_sensor_averages(first) || bb_sensor_averages(second);
}

// Edges of rows and columns on a layer, in canonical order.
bb_edge_pair bb_slope_covariance_edges(const bb_measurement *row, const bb_measurement *column,
                                       bool swapped, bb_index layer)
{
    const bb_measurement *first = swapped ? column : row;
    const bb_measurement *second = swapped ? row : column;
    double ax, ay, bx, factor;
    bb_sensor_frame_edge(&first->sensor->frame, &first->sensor->layer[layer], first->axis, &ax,
                         &ay);
    bb_sensor_frame_edge(&second->sensor->frame, &second->sensor->layer[layer], second->axis, &bx,
                         &factor);
    return bb_edge_pair_make(ax, ay, bx, factor);
}

// D is evaluated once per pair of ends, which up to four entries of a block share.
static void sum_layer(const bb_slope_covariance *covariance, const block *b, bool swapped,
                      bb_index l, const spans *s)
{
    const bb_atmosphere *atmosphere = covariance->parts.atmosphere;
    const bb_slope_ends *rows = &b->row.sensor->ends[b->row.axis];
    const bb_index count = s->columns.count;
    const bool averaged = bb_slope_covariance_averages(b->row.sensor, b->column.sensor);
    const double weight =
        bb_slope_covariance_unit(b->row.sensor, b->column.sensor) * atmosphere->strength[l];
    bb_edge_pair edges = {0};
    if (averaged) {
        edges = bb_slope_covariance_edges(&b->row, &b->column, swapped, l);
    }
    for (bb_index i = 0; i < s->rows.count; ++i) {
        const bb_index point = l * rows->count + s->rows.point[i];
        const double x = rows->layer_x_m[point];
        const double y = rows->layer_y_m[point];
        double *sums = s->sums + i * count;
        if (averaged) {
            bb_edge_average_add(atmosphere->structure, &edges, weight, x, y, s->x + l * count,
                                s->y + l * count, count, sums);
        } else {
            bb_structure_table_add(atmosphere->structure, weight, x, y, s->x + l * count,
                                   s->y + l * count, count, sums);
        }
    }
}

static bb_status fill_directly(const bb_slope_covariance *covariance, const block *b, bool swapped)
{
    bb_status status = BB_OK;
    const bb_index layers = covariance->parts.atmosphere->layer_count;
    spans s = {0};
    BB_TRY(start_spans(b, layers, &s));
    for (bb_index l = 0; l < layers; ++l) {
        if (b->row.sensor->layer[l].scale > 0.0 && b->column.sensor->layer[l].scale > 0.0) {
            sum_layer(covariance, b, swapped, l, &s);
        }
    }
    for (bb_index i = 0; i < b->out.shape[0]; ++i) {
        const double *plus = s.sums + s.rows.plus[i] * s.columns.count;
        const double *minus = s.sums + s.rows.minus[i] * s.columns.count;
        double *out = bb_view_row(b->out, i);
        for (bb_index j = 0; j < b->out.shape[1]; ++j) {
            const bb_index to_plus = s.columns.plus[j];
            const bb_index to_minus = s.columns.minus[j];
            out[j] = bb_structure_function_difference(plus[to_plus], plus[to_minus], minus[to_plus],
                                                      minus[to_minus]);
        }
    }
done:
    release_spans(&s);
    return status;
}

const bb_displacement_table *bb_slope_covariance_table(const bb_slope_covariance *covariance,
                                                       const bb_sensor *row,
                                                       const bb_sensor *column, bool *swapped)
{
    const bb_slope_covariance_parts *parts = &covariance->parts;
    const bb_index i = row - parts->rows->sensors;
    const bb_index j = column - parts->columns->sensors;
    *swapped = covariance->source.symmetric && i > j;
    const bb_index place =
        *swapped ? j * parts->columns->sensor_count + i : i * parts->columns->sensor_count + j;
    const bb_displacement_table *table = &covariance->tables[place];
    return table->crossed != NULL ? table : NULL;
}

static void fill_from_table(const bb_displacement_table *table, bool swapped, const block *b)
{
    const double *values =
        b->row.axis == b->column.axis ? table->parallel[b->row.axis] : table->crossed;
    const bb_index *sites = b->column.sensor->site + b->column.subaperture;
    for (bb_index i = 0; i < b->out.shape[0]; ++i) {
        const bb_index site = b->row.sensor->site[b->row.subaperture + i];
        double *out = bb_view_row(b->out, i);
        for (bb_index j = 0; j < b->out.shape[1]; ++j) {
            const bb_index displacement = swapped ? sites[j] - site : site - sites[j];
            out[j] = values[table->centre + displacement];
        }
    }
}

// Noise couples only the two slopes of one subaperture.
static void add_noise(const bb_measurement_noise *noise, const block *b)
{
    const bb_sensor *sensor = b->row.sensor;
    for (bb_index i = 0; sensor == b->column.sensor && i < b->out.shape[0]; ++i) {
        const bb_index subaperture = b->row.subaperture + i;
        const bb_index j = subaperture - b->column.subaperture;
        if (j < 0 || j >= b->out.shape[1]) {
            continue;
        }
        const bb_slope_noise *slope_noise = &noise->subaperture[sensor->first / 2 + subaperture];
        if (b->row.axis != b->column.axis) {
            bb_view_row(b->out, i)[j] += slope_noise->xy;
        } else {
            bb_view_row(b->out, i)[j] +=
                b->row.axis == BB_AXIS_X ? slope_noise->xx : slope_noise->yy;
        }
    }
}

double bb_slope_covariance_tilt(const bb_slope_covariance *covariance, const bb_measurement *row,
                                const bb_measurement *column)
{
    const bb_star *star = &row->sensor->star;
    const bool own = covariance->parts.tilt_blocks && row->sensor == column->sensor &&
                     row->axis == column->axis && star->kind->tilt_unknown;
    return own ? star->tilt_variance_arcsec2 : 0.0;
}

static void add_tilt(double tilt, const block *b)
{
    for (bb_index i = 0; i < b->out.shape[0]; ++i) {
        double *out = bb_view_row(b->out, i);
        for (bb_index j = 0; j < b->out.shape[1]; ++j) {
            out[j] += tilt;
        }
    }
}

static bb_status fill_block(const bb_slope_covariance *covariance, const block *b)
{
    const bb_slope_covariance_parts *parts = &covariance->parts;
    bool swapped = false;
    const bb_displacement_table *table =
        bb_slope_covariance_table(covariance, b->row.sensor, b->column.sensor, &swapped);
    if (table != NULL) {
        fill_from_table(table, swapped, b);
    } else {
        BB_RETURN_IF_FAILED(fill_directly(covariance, b, swapped));
    }
    if (parts->noise != NULL) {
        add_noise(parts->noise, b);
    }
    const double tilt = bb_slope_covariance_tilt(covariance, &b->row, &b->column);
    if (tilt != 0.0) {
        add_tilt(tilt, b);
    }
    return BB_OK;
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    const bb_slope_covariance *covariance = source->context;
    const bb_slope_covariance_parts *parts = &covariance->parts;
    bb_index rows = 0;
    for (bb_index i = 0; i < out.shape[0]; i += rows) {
        block b = {.row = bb_measurement_locate(parts->rows, row + i)};
        rows = extent(&b.row, out.shape[0] - i);
        bb_index columns = 0;
        for (bb_index j = 0; j < out.shape[1]; j += columns) {
            b.column = bb_measurement_locate(parts->columns, column + j);
            columns = extent(&b.column, out.shape[1] - j);
            b.out = bb_view_block(out, i, rows, j, columns);
            BB_RETURN_IF_FAILED(fill_block(covariance, &b));
        }
    }
    return BB_OK;
}

static bool has_table(const bb_sensor_array *rows, const bb_sensor_array *columns, bb_index row,
                      bb_index column)
{
    return bb_displacement_table_applies(&rows->sensors[row], &columns->sensors[column],
                                         rows->layer_count);
}

double bb_slope_covariance_entries(const bb_sensor_array *rows, const bb_sensor_array *columns)
{
    return (double)rows->measurement_count * (double)columns->measurement_count;
}

// Counts the entries without a table, with those of averaged gradients weighted by their cost.
static double count_direct(const bb_sensor_array *rows, const bb_sensor_array *columns,
                           double averaged)
{
    double entries = 0.0;
    for (bb_index i = 0; i < rows->sensor_count; ++i) {
        for (bb_index j = 0; j < columns->sensor_count; ++j) {
            const double both_axes =
                4.0 * (double)rows->sensors[i].count * (double)columns->sensors[j].count;
            const double weight =
                bb_slope_covariance_averages(&rows->sensors[i], &columns->sensors[j]) ? averaged
                                                                                      : 1.0;
            entries += has_table(rows, columns, i, j) ? 0.0 : weight * both_axes;
        }
    }
    return entries;
}

double bb_slope_covariance_direct_entries(const bb_sensor_array *rows,
                                          const bb_sensor_array *columns)
{
    return count_direct(rows, columns, 1.0);
}

bb_need bb_slope_covariance_need(const bb_sensor_array *rows, const bb_sensor_array *columns,
                                 double threads)
{
    bb_need need = {.host_bytes = sizeof(bb_slope_covariance) +
                                  (double)(rows->sensor_count * columns->sensor_count) *
                                      sizeof(bb_displacement_table)};
    double making = 0.0; // bytes for building the largest table, beyond itself
    double tables = 0.0;
    for (bb_index i = 0; i < rows->sensor_count; ++i) {
        for (bb_index j = rows == columns ? i : 0; j < columns->sensor_count; ++j) {
            const bb_index lenslets = rows->sensors[i].lenslets;
            if (has_table(rows, columns, i, j)) {
                const bb_need table = bb_displacement_table_need(lenslets, rows->layer_count);
                const double held = bb_displacement_table_resident(lenslets).host_bytes;
                need.host_bytes += held;
                need.seconds += table.seconds;
                making = fmax(making, table.host_bytes - held);
                tables += 1.0;
            }
        }
    }
    const double busy = fmax(1.0, fmin(threads, tables));
    need.host_bytes += busy * making;
    return bb_need_shared(need, busy);
}

// Seconds of one core per entry that is looked up, scaled and rounded.
static const double seconds_per_entry = 5.0e-9;

// Cost of an entry of averaged gradients, in evaluations of D.
static const double averaged_evaluations = 20.0;

bb_need bb_slope_covariance_fill_need(const bb_sensor_array *rows, const bb_sensor_array *columns,
                                      double threads)
{
    const double direct = count_direct(rows, columns, averaged_evaluations);
    const double layers = (double)rows->layer_count;
    bb_need need = bb_structure_table_add_need(direct * layers); // ends that blocks do not share
    double edge = 0.0;
    for (bb_index s = 0; s < rows->sensor_count + columns->sensor_count; ++s) {
        const bb_sensor *sensor =
            s < rows->sensor_count ? &rows->sensors[s] : &columns->sensors[s - rows->sensor_count];
        const double slopes = fmin(BLOCK_EDGE, (double)sensor->count);
        edge = fmax(edge, fmin(2.0 * slopes, slopes + 2.0 * (double)sensor->lenslets)); // in ends
    }
    // Memory of the ends of rows and columns (bb_slope_ends_part), x and y on each layer, and of
    // the sums.
    const double ends =
        8.0 * edge * sizeof(bb_index) + (edge * edge + 2.0 * layers * edge) * sizeof(double);
    need.host_bytes = direct > 0.0 ? threads * ends : 0.0;
    need.seconds += seconds_per_entry * bb_slope_covariance_entries(rows, columns);
    return bb_need_shared(need, threads);
}

static bb_status make_table(void *context, bb_index index)
{
    const bb_slope_covariance *covariance = context;
    const bb_slope_covariance_parts *parts = &covariance->parts;
    const bb_index row = index / parts->columns->sensor_count;
    const bb_index column = index % parts->columns->sensor_count;
    if ((covariance->source.symmetric && row > column) ||
        !has_table(parts->rows, parts->columns, row, column)) {
        return BB_OK;
    }
    return bb_displacement_table_create(parts->atmosphere, &parts->rows->sensors[row],
                                        &parts->columns->sensors[column],
                                        &covariance->tables[index]);
}

bb_status bb_slope_covariance_create(const bb_slope_covariance_parts *parts,
                                     bb_slope_covariance **out)
{
    bb_status status = BB_OK;
    bb_slope_covariance *covariance = NULL;
    const bool symmetric = parts->rows == parts->columns;
    const bb_index layers = parts->atmosphere->layer_count;
    BB_REQUIRE(symmetric || (parts->noise == NULL && !parts->tilt_blocks), BB_INVALID,
               "covariance %s: noise and tilts require a symmetric matrix", parts->name);
    BB_REQUIRE(parts->rows->layer_count == layers && parts->columns->layer_count == layers,
               BB_INVALID, "covariance %s: sensors have %td and %td layers, the atmosphere has %td",
               parts->name, parts->rows->layer_count, parts->columns->layer_count, layers);
    BB_REQUIRE(parts->noise == NULL || 2 * parts->noise->count == parts->rows->measurement_count,
               BB_INVALID, "covariance %s: noise of %td subapertures for %td measurements",
               parts->name, parts->noise->count, parts->rows->measurement_count);
    BB_TRY(BB_ZEROED(1, &covariance));
    covariance->parts = *parts;
    covariance->source = (bb_matrix_source){
        .rows = parts->rows->measurement_count,
        .columns = parts->columns->measurement_count,
        .symmetric = symmetric,
        .name = parts->name,
        .unit = "arcsec^2",
        .fill = fill,
        .twin = BB_CUDA_TWIN(bb_slope_covariance_twin),
        .context = covariance,
    };
    covariance->pair_count = parts->rows->sensor_count * parts->columns->sensor_count;
    BB_TRY(BB_ZEROED(covariance->pair_count, &covariance->tables));
    BB_TRY(bb_thread_for(covariance->pair_count, make_table, covariance));
    *out = covariance;
    covariance = NULL;
done:
    bb_slope_covariance_destroy(&covariance);
    return status;
}

void bb_slope_covariance_destroy(bb_slope_covariance **covariance)
{
    bb_slope_covariance *slope_covariance = *covariance;
    if (slope_covariance == NULL) {
        return;
    }
    for (bb_index p = 0; slope_covariance->tables != NULL && p < slope_covariance->pair_count;
         ++p) {
        bb_displacement_table_release(&slope_covariance->tables[p]);
    }
    BB_RELEASE(&slope_covariance->tables);
    BB_RELEASE(covariance);
}

const bb_matrix_source *bb_slope_covariance_source(const bb_slope_covariance *covariance)
{
    return &covariance->source;
}
