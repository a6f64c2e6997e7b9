// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/tilt_variance.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>

// Points with light: index in the comb's square, and weights q of tip and tilt.
typedef struct point {
    bb_index row, column;
    double light, weight[2];
} point;

static void list_points(const bb_pair_comb *comb, point *points)
{
    for (bb_index y = 0; y < comb->edge; ++y) {
        for (bb_index k = comb->first[y]; k < comb->first[y + 1]; ++k) {
            points[k] =
                (point){y, comb->column[k], comb->weight[y * comb->edge + comb->column[k]], {0}};
        }
    }
}

static double place(const bb_pair_comb *comb, const point *p, int axis)
{
    return comb->position_m[axis == 0 ? p->column : p->row];
}

// Computes q of an axis; returns m times the light.
static double weigh(const bb_pair_comb *comb, point *points, int axis)
{
    double light = 0.0;
    double mean = 0.0;
    double moment = 0.0;
    for (bb_index k = 0; k < comb->count; ++k) {
        light += points[k].light;
        mean += points[k].light * place(comb, &points[k], axis);
    }
    mean /= light;
    for (bb_index k = 0; k < comb->count; ++k) {
        const double x = place(comb, &points[k], axis) - mean;
        points[k].weight[axis] = points[k].light * x;
        moment += points[k].light * x * x;
    }
    return moment * light;
}

// Sum of q_i q_j S_ij.
static double by_commands(const bb_pair_field *field, const point *points, int axis)
{
    double sum = 0.0;
    for (bb_index a = 0; a < field->actuators; ++a) {
        double influence = 0.0;
        double twisted = 0.0;
        for (bb_index k = 0; k < field->comb->count; ++k) {
            influence += points[k].weight[axis] * field->influence[k * field->actuators + a];
            twisted += points[k].weight[axis] * field->twisted[k * field->actuators + a];
        }
        sum += influence * twisted;
    }
    return sum;
}

// Sums of q_i q_j s_ij along both axes.
static void by_turbulence(const bb_pair_field *field, const point *points, double out[2])
{
    const bb_index edge = field->comb->edge;
    out[0] = out[1] = 0.0;
    for (bb_index i = 0; i < field->comb->count; ++i) {
        double sums[2] = {0.0, 0.0};
        for (bb_index j = 0; j < i; ++j) {
            const double s = field->stationary[labs(points[i].row - points[j].row) * edge +
                                               labs(points[i].column - points[j].column)];
            sums[0] += points[j].weight[0] * s;
            sums[1] += points[j].weight[1] * s;
        }
        out[0] += 2.0 * points[i].weight[0] * sums[0];
        out[1] += 2.0 * points[i].weight[1] * sums[1];
    }
}

bb_status bb_tilt_variance(const bb_pair_field *field, double *out)
{
    bb_status status = BB_OK;
    point *points = NULL; // [count]
    double turbulence[2];
    *out = NAN;
    if (field->twisted == NULL) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(field->comb->count, &points));
    list_points(field->comb, points);
    const double scale[2] = {weigh(field->comb, points, 0), weigh(field->comb, points, 1)};
    by_turbulence(field, points, turbulence);
    *out = 0.0;
    for (int axis = 0; axis < 2; ++axis) {
        *out += (by_commands(field, points, axis) - turbulence[axis]) / scale[axis];
    }
done:
    BB_RELEASE(&points);
    return status;
}
