// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/pair_strehl.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirrors/mirror_surface.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 32 }; // with separate sums

// An influence function is ignored where it has decreased to this fraction of its peak.
static const double reach = 1.0e-20;

// The comb, the residual on it, and its sums.
typedef struct pair_survey {
    const bb_deformable_mirror *mirror;
    const double *voltages;     // of a mirror's shapes
    const bb_pair_field *field; // instead of the voltages
    bb_pair_strehl *out;
    const bb_pair_comb *comb;
    bb_mirror_shape shape; // on the comb, for voltages
    double *variance;      // C_ii [edge][edge]
    double *sums;          // [tasks][wavelengths + 1][edge][2 edge - 1]; the first of P_i P_j
    double *covariances;   // [tasks] sum of P_i P_j C_ij
    bb_index rows;         // rows of the comb per task
} pair_survey;

// Workspace of one thread.
typedef struct scratch {
    double *reached; // [corners] [corners][corners]: by row of b, columns of a and b; for a field
                     // [points][corners]
    double *half;    // G T [edge][corners]; for a field G of points with light
    double *block;   // T [corners][corners]; for a field F z [points][points] of two rows
    double *turned;  // for a field, F z with the rows swapped
    double *covariance; // [edge][edge] between two rows of the comb
} scratch;

static bb_index displacements(const bb_pair_strehl *pairs)
{
    return pairs->edge * (2 * pairs->edge - 1);
}

// Transmission of the square of `step` points around (i, j); for an even number half of the outer
// ones.
static double find_weight(const bb_point_spread *spread, bb_index step, bb_index i, bb_index j)
{
    const double *pupil = bb_point_spread_transmission(spread);
    const bb_index points = bb_point_spread_layout(spread)->pupil_points;
    const bb_index radius = step / 2;
    double sum = 0.0;
    for (bb_index y = -radius; y <= radius; ++y) {
        for (bb_index x = -radius; x <= radius; ++x) {
            const bool inside = i + x >= 0 && i + x < points && j + y >= 0 && j + y < points;
            const double columns = step % 2 == 0 && labs(x) == radius ? 0.5 : 1.0;
            const double rows = step % 2 == 0 && labs(y) == radius ? 0.5 : 1.0;
            sum += inside ? columns * rows * pupil[(j + y) * points + i + x] : 0.0;
        }
    }
    return sum;
}

// Points of the comb: the centre of the pupil, and as many on either side as needed for the last
// point.
static bb_index comb_edge(bb_index pupil_points, bb_index step)
{
    return 2 * ((pupil_points / 2 + step / 2) / step) + 1;
}

// Lists the points with light, row by row.
static bb_status list_lit(bb_pair_comb *comb)
{
    bb_status status = BB_OK;
    const bb_index edge = comb->edge;
    BB_TRY(BB_ZEROED(edge + 1, &comb->first));
    BB_TRY(BB_ALLOCATE(edge * edge, &comb->column));
    for (bb_index k = 0; k < edge * edge; ++k) {
        if (comb->weight[k] > 0.0) {
            comb->column[comb->count++] = k % edge;
        }
        comb->first[k / edge + 1] = comb->count;
    }
done:
    return status;
}

bb_status bb_pair_comb_create(const bb_point_spread *spread, bb_index step, bb_pair_comb *out)
{
    bb_status status = BB_OK;
    const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
    const bb_index middle = grid->pupil_points / 2;
    const bb_index edge = comb_edge(grid->pupil_points, step);
    const bb_index side = edge / 2;
    bb_pair_comb comb = {.edge = edge, .step = step};
    BB_TRY(BB_ALLOCATE(edge, &comb.position_m));
    BB_TRY(BB_ALLOCATE(edge * edge, &comb.weight));
    for (bb_index j = 0; j < edge; ++j) {
        comb.position_m[j] = grid->pixel_m * (double)((j - side) * step);
        for (bb_index i = 0; i < edge; ++i) {
            comb.weight[j * edge + i] =
                find_weight(spread, step, middle + (i - side) * step, middle + (j - side) * step);
        }
    }
    BB_TRY(list_lit(&comb));
    *out = comb;
    comb = (bb_pair_comb){0};
done:
    bb_pair_comb_release(&comb);
    return status;
}

void bb_pair_comb_release(bb_pair_comb *comb)
{
    BB_RELEASE(&comb->position_m);
    BB_RELEASE(&comb->weight);
    BB_RELEASE(&comb->first);
    BB_RELEASE(&comb->column);
}

typedef struct influence_rows {
    const bb_pair_comb *comb;
    const bb_mirror_shape *shape;
    double *out;
} influence_rows;

// Computes the influences at the points of rows begin..end of the comb.
static bb_status fill_influence(void *context, bb_index begin, bb_index end)
{
    const influence_rows *work = context;
    const bb_pair_comb *comb = work->comb;
    for (bb_index j = begin; j < end; ++j) {
        for (bb_index k = comb->first[j]; k < comb->first[j + 1]; ++k) {
            bb_mirror_shape_influences(work->shape, comb->column[k], j,
                                       work->out + k * work->shape->mirror->actuator_count);
        }
    }
    return BB_OK;
}

bb_status bb_pair_comb_influence(const bb_pair_comb *comb, const bb_mirror_shape *shape,
                                 double **out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(comb->count * shape->mirror->actuator_count, out));
    influence_rows work = {comb, shape, *out};
    BB_TRY(bb_thread_ranges(comb->edge, 1, fill_influence, &work));
done:
    return status;
}

static bb_status prepare(const pair_survey *survey, scratch *out)
{
    bb_status status = BB_OK;
    const bb_index corners = survey->mirror->lenslets + 1;
    const bb_index edge = survey->out->edge;
    const bool shapes = survey->field == NULL;
    BB_TRY(BB_ALLOCATE(shapes ? corners * corners * corners : edge * corners, &out->reached));
    BB_TRY(BB_ALLOCATE(edge * corners, &out->half));
    BB_TRY(BB_ALLOCATE(shapes ? corners * corners : edge * edge, &out->block));
    BB_TRY(BB_ALLOCATE(shapes ? 0 : edge * edge, &out->turned));
    BB_TRY(BB_ZEROED(edge * edge, &out->covariance));
done:
    return status;
}

static void release_scratch(scratch *work)
{
    BB_RELEASE(&work->reached);
    BB_RELEASE(&work->block);
    BB_RELEASE(&work->turned);
    BB_RELEASE(&work->half);
    BB_RELEASE(&work->covariance);
}

// Sums Cvv over the rows of actuators that influence row j of the comb.
static void reach_row(const pair_survey *survey, bb_index j, scratch *work)
{
    const bb_deformable_mirror *mirror = survey->mirror;
    const bb_index actuators = mirror->actuator_count;
    const bb_index corners = mirror->lenslets + 1;
    if (survey->field != NULL) {
        return;
    }
    memset(work->reached, 0, (size_t)(corners * corners * corners) * sizeof *work->reached);
    for (bb_index a = 0; a < actuators; ++a) {
        const double fall = survey->shape.fall[j * corners + mirror->row[a]];
        const double *line = survey->voltages + a * actuators;
        double *column = work->reached + mirror->column[a] * corners;
        for (bb_index b = 0; fall > reach && b < actuators; ++b) {
            column[mirror->row[b] * corners * corners + mirror->column[b]] += fall * line[b];
        }
    }
}

// Computes C [edge][edge] between the current row and row k of the comb, m^2.
static void cross_shapes(const pair_survey *survey, bb_index k, scratch *work)
{
    const int corners = (int)survey->mirror->lenslets + 1;
    const int edge = (int)survey->out->edge;
    const bb_index items = (bb_index)corners * corners;
    const double peak = bb_deformable_mirror_influence(survey->mirror, 0.0);
    memset(work->block, 0, (size_t)items * sizeof *work->block);
    for (bb_index row = 0; row < corners; ++row) {
        const double fall = survey->shape.fall[k * corners + row];
        if (fall > reach) {
            cblas_daxpy((int)items, fall, work->reached + row * items, 1, work->block, 1);
        }
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, edge, corners, corners, peak * peak,
                survey->shape.fall, corners, work->block, corners, 0.0, work->half, corners);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, edge, edge, corners, 1.0, work->half,
                corners, survey->shape.fall, corners, 0.0, work->covariance, edge);
}

// Sums a field's z at point `q` over the actuators of each column, weighted for row j of the comb.
static void reach_point(const bb_pair_field *field, bb_index j, bb_index q, double *columns)
{
    const bb_deformable_mirror *mirror = field->shape->mirror;
    const bb_index corners = mirror->lenslets + 1;
    const double *falls = field->shape->fall + j * corners;
    const double *twisted = field->twisted + q * field->actuators;
    memset(columns, 0, (size_t)corners * sizeof *columns);
    for (bb_index row = 0; row < corners; ++row) {
        const bb_index end = falls[row] > reach ? field->shape->first[row + 1] : 0;
        for (bb_index a = field->shape->first[row]; a < end; ++a) {
            columns[mirror->column[a]] += falls[row] * twisted[a];
        }
    }
}

// Computes F z [points of row j][points of row k], the points with light.
static void twist_rows(const pair_survey *survey, bb_index j, bb_index k, scratch *work,
                       double *out)
{
    const bb_pair_field *field = survey->field;
    const bb_pair_comb *comb = survey->comb;
    const int from = (int)comb->first[j];
    const int to = (int)comb->first[k];
    const int rows = (int)comb->first[j + 1] - from;
    const int columns = (int)comb->first[k + 1] - to;
    const int corners = (int)survey->mirror->lenslets + 1;
    const int actuators = (int)field->actuators;
    if (field->shape == NULL) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, actuators, 1.0,
                    field->influence + (bb_index)from * actuators, actuators,
                    field->twisted + (bb_index)to * actuators, actuators, 0.0, out, columns);
        return;
    }
    for (bb_index q = 0; q < columns; ++q) {
        reach_point(field, j, to + q, work->reached + q * corners);
    }
    for (bb_index i = 0; i < rows; ++i) {
        memcpy(work->half + i * corners, field->shape->fall + comb->column[from + i] * corners,
               (size_t)corners * sizeof *work->half);
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, corners,
                bb_deformable_mirror_influence(survey->mirror, 0.0), work->half, corners,
                work->reached, corners, 0.0, out, columns);
}

// S minus the stationary part, [edge][edge] between rows j and k of the comb, at points with light.
static void cross_fields(const pair_survey *survey, bb_index j, bb_index k, scratch *work)
{
    const bb_pair_field *field = survey->field;
    const bb_pair_comb *comb = survey->comb;
    const bb_index edge = comb->edge;
    const bb_index *from = comb->column + comb->first[j];
    const bb_index *to = comb->column + comb->first[k];
    const bb_index rows = comb->first[j + 1] - comb->first[j];
    const bb_index columns = comb->first[k + 1] - comb->first[k];
    const double *stationary = field->stationary + labs(j - k) * edge;
    if (rows == 0 || columns == 0) {
        return;
    }
    twist_rows(survey, j, k, work, work->block);
    twist_rows(survey, k, j, work, work->turned);
    for (bb_index i = 0; i < rows; ++i) {
        for (bb_index l = 0; l < columns; ++l) {
            work->covariance[from[i] * edge + to[l]] =
                0.5 * (work->block[i * columns + l] + work->turned[l * rows + i]) -
                stationary[labs(from[i] - to[l])];
        }
    }
}

// Computes C between rows j and k of the comb; reach_row has been called for row j.
static void cross(const pair_survey *survey, bb_index j, bb_index k, scratch *work)
{
    if (survey->field != NULL) {
        cross_fields(survey, j, k, work);
    } else {
        cross_shapes(survey, k, work);
    }
}

static bb_status find_variances(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    pair_survey *survey = context;
    const bb_index edge = survey->out->edge;
    scratch work = {0};
    BB_TRY(prepare(survey, &work));
    for (bb_index j = begin; j < end; ++j) {
        reach_row(survey, j, &work);
        cross(survey, j, j, &work);
        for (bb_index i = 0; i < edge; ++i) {
            survey->variance[j * edge + i] = work.covariance[i * edge + i];
        }
    }
done:
    release_scratch(&work);
    return status;
}

// Adds the pairs of rows j and k of the comb; `sums` is at the displacement's row, of 2 edge - 1.
static double add_rows(const pair_survey *survey, bb_index j, bb_index k, const double *covariance,
                       double *sums)
{
    const bb_pair_strehl *out = survey->out;
    const bb_index edge = out->edge;
    const double *variance = survey->variance + k * edge;
    const double *weights = survey->comb->weight + k * edge;
    double sum = 0.0;
    for (bb_index i = 0; i < edge; ++i) {
        const double weight = survey->comb->weight[j * edge + i];
        const double *line = covariance + i * edge;
        const bb_index zero = edge - 1 + i; // displacement i - l
        for (bb_index l = 0; weight > 0.0 && l < edge; ++l) {
            sums[zero - l] += weight * weights[l];
            sum += weight * weights[l] * line[l];
        }
        for (bb_index w = 0; weight > 0.0 && w < out->wavelength_count; ++w) {
            const double wavenumber = 2.0 * BB_PI / out->wavelengths_m[w];
            const double square = wavenumber * wavenumber;
            double *add = sums + (w + 1) * displacements(out) + zero;
            for (bb_index l = 0; l < edge; ++l) {
                if (weights[l] > 0.0) {
                    const double half =
                        0.5 * (survey->variance[j * edge + i] + variance[l]) - line[l];
                    add[-l] += weight * weights[l] * exp(-square * half);
                }
            }
        }
    }
    return sum;
}

static bool is_lit(const pair_survey *survey, bb_index row)
{
    return survey->comb->first[row + 1] > survey->comb->first[row];
}

// Sums the pairs of rows begin..end of the comb with all rows up to and including themselves.
static bb_status sum_pairs(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    pair_survey *survey = context;
    const bb_index edge = survey->out->edge;
    const bb_index task = begin / survey->rows;
    double *sums =
        survey->sums + task * (survey->out->wavelength_count + 1) * displacements(survey->out);
    scratch work = {0};
    BB_TRY(prepare(survey, &work));
    for (bb_index j = begin; j < end; ++j) {
        if (!is_lit(survey, j)) {
            continue;
        }
        reach_row(survey, j, &work);
        for (bb_index k = 0; k <= j; ++k) {
            if (!is_lit(survey, k)) {
                continue;
            }
            cross(survey, j, k, &work);
            const double sum =
                add_rows(survey, j, k, work.covariance, sums + (j - k) * (2 * edge - 1));
            survey->covariances[task] += j > k ? 2.0 * sum : sum;
        }
    }
done:
    release_scratch(&work);
    return status;
}

// The last rows first: they have the most pairs, so short tasks remain to balance the threads.
static bb_status sum_task(void *context, bb_index index)
{
    const pair_survey *survey = context;
    const bb_index edge = survey->out->edge;
    const bb_index begin = ((edge - 1) / survey->rows - index) * survey->rows;
    return sum_pairs(context, begin, begin + survey->rows < edge ? begin + survey->rows : edge);
}

// Arrays of the sums computed on a device.
typedef struct device_sums {
    int32_t *place, *first, *column;
    double *light, *squares, *covariances, *variances;
} device_sums;

static void release_device_sums(device_sums *work)
{
    BB_RELEASE(&work->place);
    BB_RELEASE(&work->first);
    BB_RELEASE(&work->column);
    BB_RELEASE(&work->light);
    BB_RELEASE(&work->squares);
    BB_RELEASE(&work->covariances);
    BB_RELEASE(&work->variances);
}

static bb_status list_points(const pair_survey *survey, device_sums *out)
{
    bb_status status = BB_OK;
    const bb_pair_comb *comb = survey->comb;
    const bb_index edge = comb->edge;
    BB_TRY(BB_ALLOCATE(edge * edge, &out->place));
    BB_TRY(BB_ZEROED(edge + 1, &out->first));
    BB_TRY(BB_ALLOCATE(comb->count, &out->column));
    BB_TRY(BB_ALLOCATE(comb->count, &out->light));
    BB_TRY(BB_ALLOCATE(comb->count, &out->variances));
    BB_TRY(BB_ALLOCATE(survey->out->wavelength_count, &out->squares));
    BB_TRY(BB_ALLOCATE(displacements(survey->out), &out->covariances));
    for (bb_index k = 0, point = 0; k < edge * edge; ++k) {
        const bool lit = comb->weight[k] > 0.0;
        out->place[k] = lit ? (int32_t)point : -1;
        if (lit) {
            out->column[point] = (int32_t)(k % edge);
            out->light[point++] = comb->weight[k];
        }
        out->first[k / edge + 1] = (int32_t)point;
    }
    for (bb_index w = 0; w < survey->out->wavelength_count; ++w) {
        const double wavenumber = 2.0 * BB_PI / survey->out->wavelengths_m[w];
        out->squares[w] = wavenumber * wavenumber;
    }
done:
    return status;
}

// Sums of a field as a single task on a device. Each displacement also represents its negative.
static bb_status sum_on_device(pair_survey *survey)
{
    bb_status status = BB_OK;
    const bb_pair_field *field = survey->field;
    const bb_pair_comb *comb = survey->comb;
    const bb_index width = 2 * comb->edge - 1;
    device_sums work = {0};
    BB_TRY(list_points(survey, &work));
    const bb_pair_sums task = {.edge = comb->edge,
                               .count = comb->count,
                               .actuators = field->actuators,
                               .wavelength_count = survey->out->wavelength_count,
                               .place = work.place,
                               .first = work.first,
                               .column = work.column,
                               .light = work.light,
                               .influence = field->influence,
                               .known = field->known,
                               .stationary = field->stationary,
                               .squares = work.squares,
                               .sums = survey->sums,
                               .covariances = work.covariances,
                               .variances = work.variances,
                               .source = field->source,
                               .commands = field->commands};
    BB_TRY(field->sum(field->context, &task));
    for (bb_index k = 0; k < displacements(survey->out); ++k) {
        survey->covariances[0] += (k < width ? 1.0 : 2.0) * work.covariances[k];
    }
    for (bb_index k = 0; k < comb->edge * comb->edge; ++k) {
        survey->variance[k] = work.place[k] >= 0 ? work.variances[work.place[k]] : 0.0;
    }
done:
    release_device_sums(&work);
    return status;
}

static bb_status sum_on_host(pair_survey *survey)
{
    bb_status status = BB_OK;
    const bb_index edge = survey->out->edge;
    BB_TRY(bb_thread_ranges(edge, survey->rows, find_variances, survey));
    BB_TRY(bb_thread_for((edge - 1) / survey->rows + 1, sum_task, survey));
done:
    return status;
}

// g of one wavelength; for a displacement without a pair, the value of the next one inwards.
static void divide(const pair_survey *survey, const double *weights, const double *sums,
                   double *ratio)
{
    const bb_index edge = survey->out->edge;
    const bb_index width = 2 * edge - 1;
    for (bb_index y = 0; y < edge; ++y) {
        for (bb_index away = 0; away < edge; ++away) {
            for (int side = -1; side <= 1; side += 2) {
                const bb_index k = y * width + edge - 1 + side * away;
                const bb_index inwards = away > 0 ? k - side : k - width;
                ratio[k] = weights[k] > 0.0 ? sums[k] / weights[k] : ratio[inwards];
            }
        }
    }
}

// Adds up the sums of all tasks, in their order.
static bb_status gather(pair_survey *survey)
{
    bb_status status = BB_OK;
    bb_pair_strehl *out = survey->out;
    const bb_index items = displacements(out);
    const bb_index planes = out->wavelength_count + 1;
    const bb_index tasks = (out->edge + survey->rows - 1) / survey->rows;
    double weight = 0.0;
    double variance = 0.0;
    double piston = 0.0;
    BB_TRY(BB_ALLOCATE(out->wavelength_count * items, &out->attenuation));
    for (bb_index t = 0; t < tasks; ++t) {
        piston += survey->covariances[t];
        for (bb_index k = 0; t > 0 && k < planes * items; ++k) {
            survey->sums[k] += survey->sums[t * planes * items + k];
        }
    }
    for (bb_index w = 0; w < out->wavelength_count; ++w) {
        divide(survey, survey->sums, survey->sums + (w + 1) * items, out->attenuation + w * items);
    }
    for (bb_index k = 0; k < out->edge * out->edge; ++k) {
        weight += survey->comb->weight[k];
        variance += survey->comb->weight[k] * survey->variance[k];
    }
    out->variance_m2 = variance / weight - piston / (weight * weight);
done:
    return status;
}

bb_index bb_pair_strehl_step(bb_index lenslets, bb_index pixels_per_lenslet)
{
    enum { PER_LENSLET = 3, ACROSS = 45 };
    const bb_index across = (ACROSS + lenslets - 1) / lenslets;
    const bb_index wanted = across > PER_LENSLET ? across : PER_LENSLET;
    const bb_index nearest = (2 * pixels_per_lenslet + wanted) / (2 * wanted);
    return nearest > 1 ? nearest : 1;
}

static bb_status sum_all(pair_survey *survey)
{
    bb_status status = BB_OK;
    bb_pair_strehl *pairs = survey->out;
    const bb_index planes = pairs->wavelength_count + 1;
    pairs->edge = survey->comb->edge;
    pairs->step = survey->comb->step;
    if (survey->field == NULL) {
        BB_TRY(bb_mirror_shape_create(survey->mirror, pairs->edge, survey->comb->position_m,
                                      &survey->shape));
    }
    survey->rows = (pairs->edge + TASKS - 1) / TASKS;
    BB_TRY(BB_ALLOCATE(pairs->edge * pairs->edge, &survey->variance));
    BB_TRY(BB_ZEROED(TASKS, &survey->covariances));
    BB_TRY(BB_ZEROED(TASKS * planes * displacements(pairs), &survey->sums));
    const bool elsewhere = survey->field != NULL && survey->field->sum != NULL;
    BB_TRY(elsewhere ? sum_on_device(survey) : sum_on_host(survey));
    BB_TRY(gather(survey));
done:
    bb_mirror_shape_release(&survey->shape);
    BB_RELEASE(&survey->variance);
    BB_RELEASE(&survey->sums);
    BB_RELEASE(&survey->covariances);
    return status;
}

static bb_status create(const bb_point_spread *spread, const bb_pair_comb *comb,
                        const double *voltages, const bb_pair_field *field,
                        bb_index wavelength_count, const double *wavelengths_m, bb_pair_strehl *out)
{
    bb_status status = BB_OK;
    bb_pair_strehl pairs = {
        .spread = spread, .wavelength_count = wavelength_count, .wavelengths_m = wavelengths_m};
    pair_survey survey = {.mirror = bb_point_spread_mirror(spread),
                          .voltages = voltages,
                          .field = field,
                          .out = &pairs,
                          .comb = comb};
    BB_TRY(sum_all(&survey));
    *out = pairs;
    pairs = (bb_pair_strehl){0};
done:
    bb_pair_strehl_release(&pairs);
    return status;
}

bb_status bb_pair_strehl_create(const bb_point_spread *spread, const double *voltages,
                                bb_index step, bb_index wavelength_count,
                                const double *wavelengths_m, bb_pair_strehl *out)
{
    bb_status status = BB_OK;
    bb_pair_comb comb = {0};
    BB_TRY(bb_pair_comb_create(spread, step, &comb));
    BB_TRY(create(spread, &comb, voltages, NULL, wavelength_count, wavelengths_m, out));
done:
    bb_pair_comb_release(&comb);
    return status;
}

bb_status bb_pair_strehl_create_field(const bb_point_spread *spread, const bb_pair_field *field,
                                      bb_index wavelength_count, const double *wavelengths_m,
                                      bb_pair_strehl *out)
{
    return create(spread, field->comb, NULL, field, wavelength_count, wavelengths_m, out);
}

void bb_pair_strehl_release(bb_pair_strehl *pairs)
{
    BB_RELEASE(&pairs->attenuation);
}

// g at a displacement of the comb; it is even: (-x, -y) equals (x, y).
static double at(const bb_pair_strehl *pairs, const double *ratio, bb_index x, bb_index y)
{
    const bb_index last = pairs->edge - 1;
    const bb_index column = y < 0 ? -x : x;
    const bb_index row = labs(y) < last ? labs(y) : last;
    const bb_index inside = column < -last ? -last : (column > last ? last : column);
    return ratio[row * (2 * pairs->edge - 1) + last + inside];
}

// Lagrange weights of the four points -1, 0, 1 and 2 at `t`.
static void lagrange_weights(double t, double out[4])
{
    out[0] = -t * (t - 1.0) * (t - 2.0) / 6.0;
    out[1] = (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0;
    out[2] = -(t + 1.0) * t * (t - 2.0) / 2.0;
    out[3] = (t + 1.0) * t * (t - 1.0) / 6.0;
}

static double interpolate(const bb_pair_strehl *pairs, const double *ratio, bb_index x, bb_index y)
{
    const bb_index step = pairs->step;
    const bb_index column = x >= 0 ? x / step : -((step - 1 - x) / step);
    const bb_index row = y / step; // y is not negative
    double along_x[4];
    double along_y[4];
    double sum = 0.0;
    lagrange_weights((double)(x - column * step) / (double)step, along_x);
    lagrange_weights((double)(y - row * step) / (double)step, along_y);
    for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < 4; ++i) {
            const double weight = along_x[i] * along_y[j];
            sum += weight != 0.0 ? weight * at(pairs, ratio, column - 1 + i, row - 1 + j) : 0.0;
        }
    }
    return sum;
}

typedef struct expansion {
    const bb_pair_strehl *pairs;
    bb_index wavelength;
    double *correlation;
} expansion;

// Row y of displacements and its mirror image.
static bb_status expand_row(void *context, bb_index y)
{
    const expansion *work = context;
    const bb_pair_strehl *pairs = work->pairs;
    const bb_index n = bb_point_spread_layout(pairs->spread)->pixels;
    const double *ratio = pairs->attenuation + work->wavelength * displacements(pairs);
    const double length = pairs->wavelengths_m[work->wavelength] / (2.0 * BB_PI);
    static const double minimum = 1.0e-300; // keeps the logarithm finite
    for (bb_index x = -(n / 2); x < n - n / 2; ++x) {
        const double value = interpolate(pairs, ratio, x, y);
        const double half = length * length * log(value < minimum ? minimum : value);
        work->correlation[y * n + (x + n) % n] = half;
        work->correlation[(n - y) % n * n + (n - x) % n] = half;
    }
    return BB_OK;
}

bb_status bb_pair_strehl_correlation(const bb_pair_strehl *pairs, bb_index wavelength,
                                     double *correlation)
{
    expansion work = {pairs, wavelength, correlation};
    return bb_thread_for(bb_point_spread_layout(pairs->spread)->pixels / 2 + 1, expand_row, &work);
}

bb_index bb_pair_comb_edge(bb_index lenslets, bb_index pixels_per_lenslet, bb_index step)
{
    return comb_edge(bb_pupil_points(lenslets * pixels_per_lenslet), step);
}

bb_need bb_pair_comb_need(bb_index edge, bb_index wavelength_count, double threads)
{
    static const double seconds_per_exponential = 1.0e-8; // of one core, including its sum
    const double points = (double)(edge * edge);
    const double waves = (double)wavelength_count;
    const double lit = 0.25 * BB_PI * points;
    const double displaced = (double)edge * (2.0 * (double)edge - 1.0);
    const double sums = (TASKS * (waves + 1.0) + waves) * displaced; // and g of them
    // Weights, their columns and variances; three planes per thread.
    const double comb = (3.0 + 3.0 * fmin(threads, TASKS)) * points;
    return (bb_need){.host_bytes = sizeof(double) * (sums + comb),
                     .seconds = 0.5 * lit * lit * waves * seconds_per_exponential / threads};
}

bb_need bb_pair_strehl_need(bb_index lenslets, bb_index wavelength_count, double threads)
{
    static const double seconds_per_flop = 3.0e-10; // of one core, small products
    const bb_index fine = bb_point_spread_pixels_per_lenslet(lenslets);
    const bb_index points = bb_pair_comb_edge(lenslets, fine, bb_pair_strehl_step(lenslets, fine));
    const double edge = (double)points;
    const double corners = (double)lenslets + 1.0;
    const double flops = edge * edge * edge * corners * (corners + edge);
    // The mirror's shape; per thread, the sums for a row.
    const double own = corners * corners * (corners + 1.0) + edge * corners;
    const bb_need shapes = {.host_bytes =
                                sizeof(double) * (edge * corners + fmin(threads, TASKS) * own),
                            .seconds = flops * seconds_per_flop / threads};
    return bb_need_together(bb_pair_comb_need(points, wavelength_count, threads), shapes);
}
