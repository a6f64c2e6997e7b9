// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/slope_covariance.h"

#include "core/memory.h"
#include "core/portable.h"
#include "physics/ao/ao_constants.h"

#include <stdbool.h>
#include <string.h>

struct bb_slope_covariance {
    bb_slope_covariance_parts parts;
    bb_matrix_source source;
};

enum { AXIS_X, AXIS_Y };

// One measurement: the sensor, the axis and the subaperture behind a row or column.
typedef struct measurement {
    const bb_sensor *sensor;
    int axis;
    bb_index subaperture;
} measurement;

static measurement locate(const bb_sensor_array *array, bb_index index)
{
    const bb_sensor *sensor = array->sensors;
    while (index >= sensor->first + 2 * sensor->count) {
        ++sensor;
    }
    const bb_index inside = index - sensor->first;
    return (measurement){.sensor = sensor,
                         .axis = inside < sensor->count ? AXIS_X : AXIS_Y,
                         .subaperture = inside % sensor->count};
}

// Consecutive columns of one sensor and axis, seen from one row.
typedef struct run {
    measurement row;
    measurement column; // the first
    bb_index count;
    double *out; // [count]
} run;

// Position on a layer of subaperture `index` along an axis.
static const double *on_layer(const bb_sensor *sensor, bb_index layer, int axis, bb_index index)
{
    const double *plane = axis == AXIS_X ? sensor->layer_x_m : sensor->layer_y_m;
    return plane + layer * sensor->count + index;
}

// Columns worked on at a time: into a local array, which the compiler knows apart from the table.
enum { CHUNK = 64 };

// How one row meets one chunk of columns on a layer: separations are from - to.
typedef struct meeting {
    double from_along, from_across;
    const double *to_along, *to_across;
    double s1, s2;
} meeting;

BB_CLONES static void difference_parallel(const bb_structure_table table, const meeting *m,
                                          bb_index count, double values[CHUNK])
{
    const double s1 = m->s1;
    const double s2 = m->s2;
    double chunk[CHUNK];
    for (bb_index j = 0; j < count; ++j) {
        chunk[j] = bb_slope_parallel(table, m->from_along - m->to_along[j],
                                     m->from_across - m->to_across[j], s1, s2);
    }
    memcpy(values, chunk, (size_t)count * sizeof *values);
}

BB_CLONES static void difference_crossed(const bb_structure_table table, const meeting *m,
                                         bb_index count, double values[CHUNK])
{
    const double s1 = m->s1;
    const double s2 = m->s2;
    double chunk[CHUNK];
    for (bb_index j = 0; j < count; ++j) {
        chunk[j] = bb_slope_crossed(table, m->from_along - m->to_along[j],
                                    m->from_across - m->to_across[j], s1, s2);
    }
    memcpy(values, chunk, (size_t)count * sizeof *values);
}

static void add_layer(const bb_structure_table table, double weight, bool parallel, meeting m,
                      bb_index count, double *out)
{
    for (bb_index done = 0; done < count; done += CHUNK) {
        const bb_index now = count - done < CHUNK ? count - done : CHUNK;
        double values[CHUNK];
        (parallel ? difference_parallel : difference_crossed)(table, &m, now, values);
        for (bb_index j = 0; j < now; ++j) {
            out[done + j] += weight * values[j];
        }
        m.to_along += now;
        m.to_across += now;
    }
}

// Turbulence. The first coordinate is that of the row's axis: the y formulas are the x formulas
// with the axes swapped.
static void fill_turbulence(const bb_atmosphere *atmosphere, const run *r)
{
    const bb_sensor *a = r->row.sensor;
    const bb_sensor *b = r->column.sensor;
    const int along = r->row.axis;
    const int across = 1 - along;
    const double angle = BB_R0_WAVELENGTH_M * BB_ARCSEC_PER_RADIAN / (2.0 * BB_PI);
    const double unit = angle * angle / (a->size_m * b->size_m);
    for (bb_index j = 0; j < r->count; ++j) {
        r->out[j] = 0.0;
    }
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        if (a->scale[l] <= 0.0 || b->scale[l] <= 0.0) {
            continue;
        }
        const meeting m = {.from_along = *on_layer(a, l, along, r->row.subaperture),
                           .from_across = *on_layer(a, l, across, r->row.subaperture),
                           .to_along = on_layer(b, l, along, r->column.subaperture),
                           .to_across = on_layer(b, l, across, r->column.subaperture),
                           .s1 = 0.5 * a->size_m * a->scale[l],
                           .s2 = 0.5 * b->size_m * b->scale[l]};
        add_layer(atmosphere->structure, unit * atmosphere->strength[l],
                  r->row.axis == r->column.axis, m, r->count, r->out);
    }
}

// Noise couples the two slopes of one subaperture only.
static void add_noise(const bb_measurement_noise *noise, const run *r)
{
    const bb_index j = r->row.subaperture - r->column.subaperture;
    if (r->row.sensor != r->column.sensor || j < 0 || j >= r->count) {
        return;
    }
    const bb_slope_noise *own = &noise->subaperture[r->row.sensor->first / 2 + r->row.subaperture];
    if (r->row.axis != r->column.axis) {
        r->out[j] += own->xy;
    } else {
        r->out[j] += r->row.axis == AXIS_X ? own->xx : own->yy;
    }
}

static void add_tilt(const run *r)
{
    const bb_star *star = &r->row.sensor->star;
    if (r->row.sensor != r->column.sensor || r->row.axis != r->column.axis ||
        star->kind != BB_GUIDE_STAR_LGS) {
        return;
    }
    for (bb_index j = 0; j < r->count; ++j) {
        r->out[j] += star->tilt_variance_arcsec2;
    }
}

static void fill_run(const bb_slope_covariance_parts *parts, const run *r)
{
    fill_turbulence(parts->atmosphere, r);
    if (parts->noise != NULL) {
        add_noise(parts->noise, r);
    }
    if (parts->tilt_blocks) {
        add_tilt(r);
    }
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    const bb_slope_covariance *covariance = source->context;
    const bb_slope_covariance_parts *parts = &covariance->parts;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        run r = {.row = locate(parts->rows, row + i), .out = bb_view_row(out, i)};
        bb_index left = out.shape[1];
        while (left > 0) {
            r.column = locate(parts->columns, column + out.shape[1] - left);
            r.count = r.column.sensor->count - r.column.subaperture;
            r.count = r.count < left ? r.count : left;
            fill_run(parts, &r);
            r.out += r.count;
            left -= r.count;
        }
    }
    return BB_OK;
}

bb_status bb_slope_covariance_create(const bb_slope_covariance_parts *parts,
                                     bb_slope_covariance **out)
{
    bb_status status = BB_OK;
    bb_slope_covariance *covariance = NULL;
    const bool symmetric = parts->rows == parts->columns;
    const bb_index layers = parts->atmosphere->layer_count;
    BB_REQUIRE(symmetric || (parts->noise == NULL && !parts->tilt_blocks), BB_INVALID,
               "covariance %s: noise and tilts belong to a symmetric matrix", parts->name);
    BB_REQUIRE(parts->rows->layer_count == layers && parts->columns->layer_count == layers,
               BB_INVALID, "covariance %s: sensors of %td and %td layers, an atmosphere of %td",
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
        .context = covariance,
    };
    *out = covariance;
    covariance = NULL;
done:
    bb_slope_covariance_destroy(&covariance);
    return status;
}

void bb_slope_covariance_destroy(bb_slope_covariance **covariance)
{
    BB_RELEASE(covariance);
}

const bb_matrix_source *bb_slope_covariance_source(const bb_slope_covariance *covariance)
{
    return &covariance->source;
}
