// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/phase_slope_covariance.h"

#include "core/device/device.h"
#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/edge_average_core.h"

#include <string.h>

enum { GRAIN = 8, NODES = 3 };

// Gauss's rule on [-1, 1], as a mean.
static const double node[NODES] = {-0.77459666924148337704, 0.0, 0.77459666924148337704};
static const double share[NODES] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};

// Edges whose midpoint is closer than this many half lengths are affected by the cusp of D.
static const double close = 8.0;

typedef struct filling {
    const bb_atmosphere *atmosphere;
    const bb_phase_points *points;
    const bb_sensor_array *guides;
    double weight;
    bb_index first;
    double *out;
} filling;

static bb_index most_ends(const bb_sensor_array *guides)
{
    bb_index most = 0;
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        for (int axis = 0; axis < 2; ++axis) {
            const bb_index count = guides->sensors[s].ends[axis].count;
            most = count > most ? count : most;
        }
    }
    return most;
}

// Computes the mean of D over the edge of half (ex, ey) at midpoint distance (u, v).
static double far_mean(bb_structure_table table, double ex, double ey, double u, double v)
{
    double sum = 0.0;
    for (int k = 0; k < NODES; ++k) {
        const double du = u - node[k] * ex;
        const double dv = v - node[k] * ey;
        sum += share[k] * bb_structure_table_value(table, du * du + dv * dv);
    }
    return sum;
}

// Adds the strength times the mean of D from (x, y) to the edges around all ends of a layer.
static void add_edges(bb_structure_table table, double strength, const bb_edge_pair *edge, double x,
                      double y, const double *to_x, const double *to_y, bb_index count,
                      double *sums)
{
    const double near2 = close * close * (edge->bx * edge->bx + edge->by * edge->by);
    for (int k = 0; k < NODES; ++k) {
        bb_structure_table_add(table, strength * share[k], x - node[k] * edge->bx,
                               y - node[k] * edge->by, to_x, to_y, count, sums);
    }
    for (bb_index j = 0; j < count; ++j) {
        const double u = x - to_x[j];
        const double v = y - to_y[j];
        if (u * u + v * v < near2) {
            sums[j] += strength * (bb_edge_average_inner(table, edge, u, v) -
                                   far_mean(table, edge->bx, edge->by, u, v));
        }
    }
}

// Computes the covariances of one point with the slopes of a sensor along an axis; `sums` [ends] is
// scratch.
static void fill_axis(const filling *work, bb_index point, const bb_sensor *sensor, int axis,
                      double *sums, double *out)
{
    const bb_atmosphere *atmosphere = work->atmosphere;
    const bb_slope_ends *ends = &sensor->ends[axis];
    const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    const double unit =
        0.5 * work->weight * wave_m * wave_m * BB_ARCSEC_PER_RADIAN / sensor->size_m;
    memset(sums, 0, (size_t)ends->count * sizeof *sums);
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        const bb_sensor_layer *seen = &work->points->layer[l];
        const double x = seen->scale * work->points->x_m[point] + seen->offset_x_m;
        const double y = seen->scale * work->points->y_m[point] + seen->offset_y_m;
        const double *to_x = ends->layer_x_m + l * ends->count;
        const double *to_y = ends->layer_y_m + l * ends->count;
        if (sensor->layer[l].scale <= 0.0) {
            continue;
        }
        if (bb_sensor_averages(sensor)) {
            bb_edge_pair edge = {0};
            bb_sensor_frame_edge(&sensor->frame, &sensor->layer[l], axis, &edge.bx, &edge.by);
            add_edges(atmosphere->structure, atmosphere->strength[l], &edge, x, y, to_x, to_y,
                      ends->count, sums);
        } else {
            bb_structure_table_add(atmosphere->structure, atmosphere->strength[l], x, y, to_x, to_y,
                                   ends->count, sums);
        }
    }
    for (bb_index i = 0; i < sensor->count; ++i) {
        out[i] += unit * (sums[ends->minus[i]] - sums[ends->plus[i]]);
    }
}

static bb_status fill_rows(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const filling *work = context;
    const bb_sensor_array *guides = work->guides;
    double *sums = NULL; // [ends]
    BB_TRY(BB_ALLOCATE(most_ends(guides), &sums));
    for (bb_index row = begin; row < end; ++row) {
        double *out = work->out + row * guides->measurement_count;
        for (bb_index s = 0; s < guides->sensor_count; ++s) {
            const bb_sensor *sensor = &guides->sensors[s];
            for (int axis = 0; axis < 2; ++axis) {
                fill_axis(work, work->first + row, sensor, axis, sums,
                          out + sensor->first + axis * sensor->count);
            }
        }
    }
done:
    BB_RELEASE(&sums);
    return status;
}

bb_status bb_phase_slope_covariance_add(const bb_atmosphere *atmosphere,
                                        const bb_phase_points *points,
                                        const bb_sensor_array *guides, double weight,
                                        bb_index first, bb_index count, double *out)
{
    filling work = {atmosphere, points, guides, weight, first, out};
    return bb_thread_ranges(count, GRAIN, fill_rows, &work);
}

static bb_status fill_source(const bb_matrix_source *source, bb_index row, bb_index column,
                             bb_view out)
{
    bb_status status = BB_OK;
    const bb_phase_looks *looks = source->context;
    const bb_index layers = looks->atmosphere->layer_count;
    double *line = NULL; // [measurements]
    BB_TRY(BB_ALLOCATE(source->columns, &line));
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        memset(line, 0, (size_t)source->columns * sizeof *line);
        for (bb_index k = 0; k < looks->count; ++k) {
            bb_phase_points points = looks->points;
            points.layer += k * layers;
            BB_TRY(bb_phase_slope_covariance_add(looks->atmosphere, &points, looks->guides,
                                                 looks->weight[k], row + i, 1, line));
        }
        memcpy(bb_view_row(out, i), line + column, (size_t)out.shape[1] * sizeof *line);
    }
done:
    BB_RELEASE(&line);
    return status;
}

bb_matrix_source bb_phase_slope_covariance_source(const bb_phase_looks *looks)
{
    return (bb_matrix_source){.rows = looks->points.count,
                              .columns = looks->guides->measurement_count,
                              .name = "phase and slopes",
                              .unit = "m arcsec",
                              .fill = fill_source,
                              .twin = BB_CUDA_TWIN(bb_phase_slope_covariance_twin),
                              .context = looks};
}

bb_need bb_phase_slope_covariance_need(double points, const bb_sensor_array *guides, double threads)
{
    double ends = 0.0; // times the nodes of averaged ones
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        const double nodes = bb_sensor_averages(sensor) ? NODES : 1.0;
        ends += nodes * (double)(sensor->ends[0].count + sensor->ends[1].count);
    }
    bb_need need = bb_structure_table_add_need(points * ends * (double)guides->layer_count);
    need.host_bytes = threads * (double)most_ends(guides) * sizeof(double);
    return bb_need_shared(need, threads);
}
