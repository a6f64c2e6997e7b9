// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/displacement_table.h"

#include "core/memory.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/edge_average_core.h"

bool bb_displacement_table_applies(const bb_sensor *first, const bb_sensor *second,
                                   bb_index layer_count)
{
    bool same = first->lenslets == second->lenslets && first->size_m == second->size_m &&
                bb_sensor_averages(first) == bb_sensor_averages(second) &&
                first->frame.cosine == second->frame.cosine &&
                first->frame.sine == second->frame.sine;
    for (bb_index l = 0; l < layer_count; ++l) {
        same = same && first->layer[l].scale == second->layer[l].scale;
    }
    return same;
}

// Separations of the points of two sensors, weighted over the layers.
typedef struct separations {
    const bb_atmosphere *atmosphere;
    const bb_sensor *first, *second;
    bb_index edge; // number of displacements along one axis
    double start;  // the lowest one, in lenslets
    double *u, *v; // [edge], scratch
} separations;

static void sum_row(const separations *s, const bb_edge_pair *edges, double weight, double *sums)
{
    const bb_structure_table table = s->atmosphere->structure;
    if (bb_sensor_averages(s->first)) {
        bb_edge_average_add(table, edges, weight, 0.0, 0.0, s->u, s->v, s->edge, sums);
    } else {
        bb_structure_table_add(table, weight, 0.0, 0.0, s->u, s->v, s->edge, sums);
    }
}

static void sum_layer(const separations *s, const int axes[2], bb_index l, double *sums)
{
    const bb_sensor *a = s->first;
    const bb_sensor *b = s->second;
    const bb_sensor_layer *layer = &a->layer[l];
    const double angle = BB_R0_WAVELENGTH_M * BB_ARCSEC_PER_RADIAN / (2.0 * BB_PI);
    const double unit = angle * angle / (a->size_m * b->size_m);
    const double pitch = layer->scale * a->size_m;
    const double h = s->atmosphere->height_m[l];
    const double u0 = layer->scale * (a->frame.shift_x_m - b->frame.shift_x_m) +
                      h * (a->star.x_rad - b->star.x_rad) +
                      (layer->drift_x_m - b->layer[l].drift_x_m);
    const double v0 = layer->scale * (a->frame.shift_y_m - b->frame.shift_y_m) +
                      h * (a->star.y_rad - b->star.y_rad) +
                      (layer->drift_y_m - b->layer[l].drift_y_m);
    double ax, ay, bx, factor;
    bb_sensor_frame_edge(&a->frame, layer, axes[0], &ax, &ay);
    bb_sensor_frame_edge(&b->frame, layer, axes[1], &bx, &factor);
    const bb_edge_pair edges =
        bb_edge_pair_make(ax, ay, bx, factor); // point differences do not use it
    for (bb_index j = 0; j < s->edge; ++j) {
        for (bb_index i = 0; i < s->edge; ++i) {
            double u, v;
            bb_sensor_frame_turn(&a->frame, pitch * (s->start + (double)i),
                                 pitch * (s->start + (double)j), &u, &v);
            s->u[i] = u0 + u;
            s->v[i] = v0 + v;
        }
        sum_row(s, &edges, unit * s->atmosphere->strength[l], sums + j * s->edge);
    }
}

// sums [edge][edge]: D over all layers, or its average over the edges that define slopes along two
// axes; the displacement along x is the fast index.
static void sum_layers(const separations *s, int first_axis, int second_axis, double *sums)
{
    const int axes[2] = {first_axis, second_axis};
    for (bb_index i = 0; i < s->edge * s->edge; ++i) {
        sums[i] = 0.0;
    }
    for (bb_index l = 0; l < s->atmosphere->layer_count; ++l) {
        if (s->first->layer[l].scale > 0.0) {
            sum_layer(s, axes, l, sums);
        }
    }
}

// `corner` is D at a displacement minus half a lenslet along both axes, on a grid of 2 n.
static void difference_crossed(bb_index edge, const double *corner, double *out)
{
    const bb_index wide = edge + 1;
    for (bb_index j = 0; j < edge; ++j) {
        for (bb_index i = 0; i < edge; ++i) {
            const double *cursor = corner + j * wide + i;
            // The separation of a+ and b+ is (+1/2, -1/2): x slopes end along x, y slopes along y.
            out[j * edge + i] = bb_structure_function_difference(cursor[1], cursor[wide + 1],
                                                                 cursor[0], cursor[wide]);
        }
    }
}

// `centre` is D at whole displacements, on a grid of 2 n + 1.
static void difference_parallel(bb_index edge, const double *all_values, bb_index step, double *out)
{
    const bb_index wide = edge + 2;
    for (bb_index j = 0; j < edge; ++j) {
        for (bb_index i = 0; i < edge; ++i) {
            const double *cursor = all_values + (j + 1) * wide + i + 1;
            out[j * edge + i] =
                bb_structure_function_difference(cursor[0], cursor[step], cursor[-step], cursor[0]);
        }
    }
}

bb_status bb_displacement_table_create(const bb_atmosphere *atmosphere, const bb_sensor *first,
                                       const bb_sensor *second, bb_displacement_table *out)
{
    bb_status status = BB_OK;
    const bb_index n = first->lenslets;
    const bb_index edge = 2 * n - 1;
    const bb_index wide = edge + 2;
    bb_displacement_table table = {.edge = edge, .centre = (n - 1) * edge + n - 1};
    separations s = {.atmosphere = atmosphere, .first = first, .second = second};
    double *sums = NULL; // [wide][wide]
    BB_TRY(BB_ALLOCATE(wide, &s.u));
    BB_TRY(BB_ALLOCATE(wide, &s.v));
    BB_TRY(BB_ALLOCATE(wide * wide, &sums));
    BB_TRY(BB_ALLOCATE(edge * edge, &table.parallel[BB_AXIS_X]));
    BB_TRY(BB_ALLOCATE(edge * edge, &table.parallel[BB_AXIS_Y]));
    BB_TRY(BB_ALLOCATE(edge * edge, &table.crossed));
    s.edge = wide;
    s.start = -(double)n;
    sum_layers(&s, BB_AXIS_X, BB_AXIS_X, sums);
    difference_parallel(edge, sums, 1, table.parallel[BB_AXIS_X]);
    if (bb_sensor_averages(first)) {
        sum_layers(&s, BB_AXIS_Y, BB_AXIS_Y, sums);
    }
    difference_parallel(edge, sums, wide, table.parallel[BB_AXIS_Y]);
    s.edge = edge + 1;
    s.start = 0.5 - (double)n;
    sum_layers(&s, BB_AXIS_X, BB_AXIS_Y, sums);
    difference_crossed(edge, sums, table.crossed);
    *out = table;
    table = (bb_displacement_table){0};
done:
    BB_RELEASE(&s.u);
    BB_RELEASE(&s.v);
    BB_RELEASE(&sums);
    bb_displacement_table_release(&table);
    return status;
}

bb_need bb_displacement_table_resident(bb_index lenslets)
{
    const double edge = 2.0 * (double)lenslets - 1.0;
    return (bb_need){.host_bytes = 3.0 * edge * edge * sizeof(double)};
}

bb_need bb_displacement_table_need(bb_index lenslets, bb_index layers)
{
    const double wide = 2.0 * (double)lenslets + 1.0;
    const bb_need making = {.host_bytes = (wide * wide + 2.0 * wide) * sizeof(double)};
    return bb_need_together(
        bb_need_together(bb_displacement_table_resident(lenslets), making),
        bb_structure_table_add_need(2.0 * (double)layers * wide * wide)); // for two grids
}

void bb_displacement_table_release(bb_displacement_table *table)
{
    BB_RELEASE(&table->parallel[BB_AXIS_X]);
    BB_RELEASE(&table->parallel[BB_AXIS_Y]);
    BB_RELEASE(&table->crossed);
}
