// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/pair_strehl.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirror_shape.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS = 128 }; // of a block of pairs

// The points that stand for the pupil, and what the residual does there.
typedef struct sample {
    const bb_deformable_mirror *mirror;
    bb_index count;
    bb_index *column;   // [count] on the pupil's points
    bb_index *row;      // [count]
    double *weight;     // [count] transmission
    double *influence;  // F [count][actuators]
    double *correlated; // F Cvv [count][actuators]
    double *variance;   // [count]
    bb_index wavelength_count;
    const double *wavelengths_m;
    double *sums; // [blocks][wavelengths]
    const double *voltages;
    const double *terms; // [pixels][pixels] or NULL
    bb_index pixels;
} sample;

// Half of a structure function that is stationary, between two points.
static double term(const sample *of, bb_index a, bb_index b)
{
    const bb_index x = labs(of->column[a] - of->column[b]);
    const bb_index y = labs(of->row[a] - of->row[b]);
    return of->terms != NULL ? of->terms[y * of->pixels + x] : 0.0;
}

static void release(sample *of)
{
    BB_RELEASE(&of->column);
    BB_RELEASE(&of->row);
    BB_RELEASE(&of->weight);
    BB_RELEASE(&of->influence);
    BB_RELEASE(&of->correlated);
    BB_RELEASE(&of->variance);
    BB_RELEASE(&of->sums);
}

// The points of a comb of every `step`-th one, the middle of the pupil among them.
static bb_status place(const bb_point_spread *spread, bb_index points_per_lenslet, sample *of)
{
    bb_status status = BB_OK;
    const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
    const double *pupil = bb_point_spread_transmission(spread);
    const bb_index points = grid->pupil_points;
    const bb_index step = (grid->pixels_per_lenslet + points_per_lenslet - 1) / points_per_lenslet;
    const bb_index first = points / 2 % step;
    double *position = NULL;
    bb_mirror_shape shape = {0};
    BB_TRY(BB_ALLOCATE(points, &position));
    const bb_index middle = points / 2;
    for (bb_index i = 0; i < points; ++i) {
        position[i] = grid->pixel_m * (double)(i - middle);
    }
    BB_TRY(bb_mirror_shape_create(of->mirror, points, position, &shape));
    const bb_index most = (points / step + 1) * (points / step + 1);
    BB_TRY(BB_ALLOCATE(most, &of->column));
    BB_TRY(BB_ALLOCATE(most, &of->row));
    BB_TRY(BB_ALLOCATE(most, &of->weight));
    BB_TRY(BB_ALLOCATE(most * of->mirror->actuator_count, &of->influence));
    for (bb_index j = first; j < points; j += step) {
        for (bb_index i = first; i < points; i += step) {
            if (pupil[j * points + i] <= 0.0) {
                continue;
            }
            double *row = of->influence + of->count * of->mirror->actuator_count;
            for (bb_index k = 0; k < of->mirror->actuator_count; ++k) {
                row[k] = bb_mirror_shape_influence(&shape, k, i, j);
            }
            of->column[of->count] = i;
            of->row[of->count] = j;
            of->weight[of->count++] = pupil[j * points + i];
        }
    }
done:
    BB_RELEASE(&position);
    bb_mirror_shape_release(&shape);
    return status;
}

static bb_status correlate(void *context, bb_index begin, bb_index end)
{
    sample *of = context;
    const int actuators = (int)of->mirror->actuator_count;
    const double *rows = of->influence + begin * actuators;
    double *out = of->correlated + begin * actuators;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - begin), actuators, actuators,
                1.0, rows, actuators, of->voltages, actuators, 0.0, out, actuators);
    for (bb_index i = begin; i < end; ++i) {
        of->variance[i] = cblas_ddot(actuators, of->influence + i * actuators, 1,
                                     of->correlated + i * actuators, 1);
    }
    return BB_OK;
}

// Sums the pairs of points begin..end with all points up to themselves.
static bb_status sum_pairs(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    sample *of = context;
    const int actuators = (int)of->mirror->actuator_count;
    const bb_index rows = end - begin;
    double *covariance = NULL; // [rows][end]
    BB_TRY(BB_ALLOCATE(rows * end, &covariance));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)end, actuators, 1.0,
                of->correlated + begin * actuators, actuators, of->influence, actuators, 0.0,
                covariance, (int)end);
    for (bb_index w = 0; w < of->wavelength_count; ++w) {
        const double wavenumber = 2.0 * BB_PI / of->wavelengths_m[w];
        double sum = 0.0;
        for (bb_index i = begin; i < end; ++i) {
            double line = 0.0;
            for (bb_index j = 0; j < i; ++j) {
                const double half = 0.5 * (of->variance[i] + of->variance[j]) -
                                    covariance[(i - begin) * end + j] + term(of, i, j);
                line += of->weight[j] * exp(-wavenumber * wavenumber * half);
            }
            sum += of->weight[i] * (of->weight[i] + 2.0 * line);
        }
        of->sums[begin / ROWS * of->wavelength_count + w] = sum;
    }
done:
    BB_RELEASE(&covariance);
    return status;
}

bb_status bb_pair_strehl(const bb_point_spread *spread, const double *voltages, const double *terms,
                         bb_index points_per_lenslet, bb_index wavelength_count,
                         const double *wavelengths_m, double *strehl)
{
    bb_status status = BB_OK;
    sample of = {.mirror = bb_point_spread_mirror(spread),
                 .voltages = voltages,
                 .terms = terms,
                 .pixels = bb_point_spread_layout(spread)->pixels,
                 .wavelength_count = wavelength_count,
                 .wavelengths_m = wavelengths_m};
    double weight = 0.0;
    BB_TRY(place(spread, points_per_lenslet, &of));
    const bb_index blocks = (of.count + ROWS - 1) / ROWS;
    BB_TRY(BB_ALLOCATE(of.count * of.mirror->actuator_count, &of.correlated));
    BB_TRY(BB_ALLOCATE(of.count, &of.variance));
    BB_TRY(BB_ALLOCATE(blocks * wavelength_count, &of.sums));
    BB_TRY(bb_parallel_ranges(of.count, ROWS, correlate, &of));
    BB_TRY(bb_parallel_ranges(of.count, ROWS, sum_pairs, &of));
    for (bb_index i = 0; i < of.count; ++i) {
        weight += of.weight[i];
    }
    for (bb_index w = 0; w < wavelength_count; ++w) {
        strehl[w] = 0.0;
        for (bb_index b = 0; b < blocks; ++b) {
            strehl[w] += of.sums[b * wavelength_count + w] / (weight * weight);
        }
    }
done:
    release(&of);
    return status;
}
