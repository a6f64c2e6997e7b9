// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/overlay.h"

#include "core/memory.h"

#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const double NANOMETRES = 1e9;

// Pivots below this fraction of the first leave a parameter undetermined.
static const double LEAST_PIVOT = 1e-9;

// Minimum points for a field's own fit: twice the number that six parameters interpolate; for a
// cubic twice its ten coefficients per axis.
enum { LEAST_FIELD_POINTS = 12, LEAST_CUBIC_POINTS = 20 };

const char *const bb_overlay_parameter_names[BB_OVERLAY_PARAMETERS] = {
    "Tx", "Ty", "Mx", "My", "Rx", "Ry", "m", "ma", "r", "ra"};

static const char *const cubic_names[BB_OVERLAY_MOST_PARAMETERS] = {
    "k1",  "k2",  "k3",  "k4",  "k5",  "k6",  "k7",  "k8",  "k9",  "k10",
    "k11", "k12", "k13", "k14", "k15", "k16", "k17", "k18", "k19", "k20"};

static int ascending(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;
    return (first > second) - (first < second);
}

static double percentile(const double *sorted, bb_index count, double part)
{
    double position = part * (double)(count - 1);
    bb_index low = (bb_index)position;
    bb_index high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (position - (double)low) * (sorted[high] - sorted[low]);
}

// `sizes` [count] is a workspace.
static bb_overlay_axis describe(bb_index count, const double *error, double *sizes)
{
    double sum = 0.0;
    double squares = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        sum += error[i];
        sizes[i] = fabs(error[i]);
    }
    double mean = sum / (double)count;
    for (bb_index i = 0; i < count; ++i) {
        squares += (error[i] - mean) * (error[i] - mean);
    }
    qsort(sizes, (size_t)count, sizeof *sizes, ascending);
    bb_overlay_axis axis = {
        .mean = NANOMETRES * mean,
        .sigma = count > 1 ? NANOMETRES * sqrt(squares / (double)(count - 1)) : NAN,
        .max = NANOMETRES * sizes[count - 1],
        .percentile997 = NANOMETRES * percentile(sizes, count, 0.997),
    };
    axis.m3s = fabs(axis.mean) + 3.0 * axis.sigma;
    return axis;
}

bb_status bb_overlay_statistics_of(bb_index count, const double *dx, const double *dy,
                                   bb_overlay_statistics *out)
{
    bb_status status = BB_OK;
    double *sizes = NULL;
    double *lengths = NULL;
    bb_overlay_axis none = {NAN, NAN, NAN, NAN, NAN};
    *out = (bb_overlay_statistics){none, none, none, NAN, NAN};
    bool finite =
        bb_outcome_first_non_finite(dx, count) < 0 && bb_outcome_first_non_finite(dy, count) < 0;
    if (count > 0 && finite) {
        BB_TRY(BB_ALLOCATE(count, &sizes));
        BB_TRY(BB_ALLOCATE(count, &lengths));
        out->x = describe(count, dx, sizes);
        out->y = describe(count, dy, sizes);
        double squares = 0.0;
        double longest = 0.0;
        for (bb_index i = 0; i < count; ++i) {
            squares += dx[i] * dx[i] + dy[i] * dy[i];
            lengths[i] = hypot(dx[i], dy[i]);
            longest = fmax(longest, lengths[i]);
        }
        out->vector = describe(count, lengths, sizes);
        out->vector_max = NANOMETRES * longest;
        out->rms = NANOMETRES * sqrt(squares / (double)count);
    }
done:
    BB_RELEASE(&sizes);
    BB_RELEASE(&lengths);
    return status;
}

int bb_overlay_model_parameters(bb_overlay_model model)
{
    static const int counts[] = {0, 6, 10, 6, 20};
    return counts[model];
}

// Computes the rows of dx and dy for one point of a field at (x, y), k1 to k20.
static void cubic_equations(double x, double y, double in_x[BB_OVERLAY_MOST_PARAMETERS],
                            double in_y[BB_OVERLAY_MOST_PARAMETERS])
{
    enum { TERMS = BB_OVERLAY_MOST_PARAMETERS / 2 };
    const double of_x[TERMS] = {1,     x,         y,         x * x,     x * y,
                                y * y, x * x * x, x * x * y, x * y * y, y * y * y};
    const double of_y[TERMS] = {1,     y,         x,         y * y,     y * x,
                                x * x, y * y * y, y * y * x, y * x * x, x * x * x};
    for (int k = 0; k < TERMS; ++k) {
        in_x[2 * k] = of_x[k];
        in_y[2 * k] = 0.0;
        in_x[2 * k + 1] = 0.0;
        in_y[2 * k + 1] = of_y[k];
    }
}

// Computes the rows of dx and dy for one point, in the order of the model's parameters.
static void equations(bb_overlay_model model, const bb_overlay_points *points, bb_index i,
                      double in_x[BB_OVERLAY_MOST_PARAMETERS],
                      double in_y[BB_OVERLAY_MOST_PARAMETERS])
{
    if (model == BB_OVERLAY_FIELD_CUBIC) {
        cubic_equations(points->x[i] - points->field_x[i], points->y[i] - points->field_y[i], in_x,
                        in_y);
        return;
    }
    bool centred = model == BB_OVERLAY_WAFER_10;
    double x = centred ? points->field_x[i] : points->x[i];
    double y = centred ? points->field_y[i] : points->y[i];
    double u = points->x[i] - x;
    double v = points->y[i] - y;
    if (model == BB_OVERLAY_FIELD_6) {
        x -= points->field_x[i];
        y -= points->field_y[i];
    }
    const double row_x[BB_OVERLAY_PARAMETERS] = {1, 0, x, 0, -y, 0, u, u, -v, -v};
    const double row_y[BB_OVERLAY_PARAMETERS] = {0, 1, 0, y, 0, x, v, -v, u, -u};
    for (int k = 0; k < BB_OVERLAY_PARAMETERS; ++k) {
        in_x[k] = row_x[k];
        in_y[k] = row_y[k];
    }
}

// Builds the column-major design matrix [2 count] x parameters with normalised columns; scale
// receives their lengths.
static void design(bb_overlay_model model, const bb_overlay_points *points, int parameters,
                   double *matrix, double *scale)
{
    bb_index rows = 2 * points->count;
    for (bb_index i = 0; i < points->count; ++i) {
        double in_x[BB_OVERLAY_MOST_PARAMETERS];
        double in_y[BB_OVERLAY_MOST_PARAMETERS];
        equations(model, points, i, in_x, in_y);
        for (int k = 0; k < parameters; ++k) {
            matrix[k * rows + 2 * i] = in_x[k];
            matrix[k * rows + 2 * i + 1] = in_y[k];
        }
    }
    for (int k = 0; k < parameters; ++k) {
        double sum = 0.0;
        for (bb_index i = 0; i < rows; ++i) {
            sum += matrix[k * rows + i] * matrix[k * rows + i];
        }
        scale[k] = sqrt(sum);
        for (bb_index i = 0; i < rows && sum > 0.0; ++i) {
            matrix[k * rows + i] /= scale[k];
        }
    }
}

// Solves by QR with pivoting; an undetermined parameter is an outcome.
static bb_status solve(bb_index rows, int parameters, const char *const *names, double *matrix,
                       double *right, bb_overlay_fit *fit)
{
    bb_status status = BB_OK;
    lapack_int pivot[BB_OVERLAY_MOST_PARAMETERS] = {0};
    double tau[BB_OVERLAY_MOST_PARAMETERS];
    lapack_int m = (lapack_int)rows;
    lapack_int info = LAPACKE_dgeqp3(LAPACK_COL_MAJOR, m, parameters, matrix, m, pivot, tau);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dgeqp3 failed: info %d", (int)info);
    double first = fabs(matrix[0]);
    for (int k = 0; k < parameters; ++k) {
        double value = fabs(matrix[k * rows + k]);
        if (!(value > LEAST_PIVOT * first)) {
            bb_outcome_set(&fit->outcome, BB_OUTCOME_UNDERDETERMINED,
                           "%d parameters from %td points: %s is not determined", parameters,
                           rows / 2, names[pivot[k] - 1]);
            goto done;
        }
        fit->condition = first / value;
    }
    info = LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'T', m, 1, parameters, matrix, m, tau, right, m);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dormqr failed: info %d", (int)info);
    info = LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'U', 'N', 'N', parameters, 1, matrix, m, right, m);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dtrtrs failed: info %d", (int)info);
    for (int k = 0; k < parameters; ++k) {
        fit->parameter[pivot[k] - 1] = right[k];
    }
done:
    return status;
}

static void fill_residuals(bb_overlay_model model, const bb_overlay_points *points,
                           const bb_overlay_fit *fit, double *residual_x, double *residual_y)
{
    for (bb_index i = 0; i < points->count; ++i) {
        double in_x[BB_OVERLAY_MOST_PARAMETERS] = {0};
        double in_y[BB_OVERLAY_MOST_PARAMETERS] = {0};
        residual_x[i] = points->dx[i];
        residual_y[i] = points->dy[i];
        if (fit->parameter_count > 0) {
            equations(model, points, i, in_x, in_y);
        }
        for (int k = 0; k < fit->parameter_count; ++k) {
            residual_x[i] -= in_x[k] * fit->parameter[k];
            residual_y[i] -= in_y[k] * fit->parameter[k];
        }
    }
}

// Fits all points with one set of parameters.
static bb_status fit_together(bb_overlay_model model, const bb_overlay_points *points,
                              bb_overlay_fit *fit, double *residual_x, double *residual_y)
{
    bb_status status = BB_OK;
    double *matrix = NULL;
    double *right = NULL;
    double scale[BB_OVERLAY_MOST_PARAMETERS];
    const char *const *names =
        model == BB_OVERLAY_FIELD_CUBIC ? cubic_names : bb_overlay_parameter_names;
    bb_index rows = 2 * points->count;
    int parameters = bb_overlay_model_parameters(model);
    *fit = (bb_overlay_fit){.parameter_count = parameters, .condition = NAN};
    for (int k = 0; k < BB_OVERLAY_MOST_PARAMETERS; ++k) {
        fit->parameter[k] = NAN;
    }
    if (parameters > 0 && rows < parameters) {
        bb_outcome_set(&fit->outcome, BB_OUTCOME_UNDERDETERMINED, "%d parameters from %td points",
                       parameters, points->count);
    } else if (bb_outcome_first_non_finite(points->dx, points->count) >= 0 ||
               bb_outcome_first_non_finite(points->dy, points->count) >= 0) {
        bb_outcome_set(&fit->outcome, BB_OUTCOME_NON_FINITE, "an error to be fitted is not finite");
        fill_residuals(BB_OVERLAY_RAW, points, &(bb_overlay_fit){0}, residual_x, residual_y);
        goto done;
    } else if (parameters > 0) {
        BB_TRY(BB_ALLOCATE(rows * parameters, &matrix));
        BB_TRY(BB_ALLOCATE(rows, &right));
        design(model, points, parameters, matrix, scale);
        for (bb_index i = 0; i < points->count; ++i) {
            right[2 * i] = points->dx[i];
            right[2 * i + 1] = points->dy[i];
        }
        BB_TRY(solve(rows, parameters, names, matrix, right, fit));
        for (int k = 0; k < parameters; ++k) {
            fit->parameter[k] /= scale[k];
        }
    }
    fill_residuals(model, points, fit, residual_x, residual_y);
done:
    BB_RELEASE(&matrix);
    BB_RELEASE(&right);
    return status;
}

// The points of one field, from `first` on.
static bb_overlay_points one_field(const bb_overlay_points *points, bb_index first)
{
    bb_index past = first + 1;
    while (past < points->count && points->field_x[past] == points->field_x[first] &&
           points->field_y[past] == points->field_y[first]) {
        ++past;
    }
    return (bb_overlay_points){past - first,
                               points->x + first,
                               points->y + first,
                               points->field_x + first,
                               points->field_y + first,
                               points->dx + first,
                               points->dy + first};
}

// Fits one field by the largest model that its points determine.
static bb_status fit_field(bb_overlay_model model, const bb_overlay_points *field,
                           bb_overlay_fit *fit, double *residual_x, double *residual_y)
{
    bb_status status = BB_OK;
    if (model == BB_OVERLAY_FIELD_CUBIC && field->count >= LEAST_CUBIC_POINTS) {
        BB_TRY(fit_together(model, field, fit, residual_x, residual_y));
        if (fit->outcome.kind != BB_OUTCOME_UNDERDETERMINED) {
            goto done;
        }
    }
    bool enough = field->count >= LEAST_FIELD_POINTS;
    BB_TRY(fit_together(enough ? BB_OVERLAY_FIELD_6 : BB_OVERLAY_RAW, field, fit, residual_x,
                        residual_y));
done:
    return status;
}

// Verb forms for one field, and for several.
typedef struct wording {
    const char *fields, *stay, *have;
} wording;

static const wording *words_of(bb_index count)
{
    static const wording words[] = {{"field", "stays", "has"}, {"fields", "stay", "have"}};
    return &words[count == 1 ? 0 : 1];
}

// Outcome text for fields that a cubic leaves uncorrected or corrects with six parameters.
static void count_exceptions(bb_index left_alone, bb_index linear, bb_outcome *outcome)
{
    const wording *alone = words_of(left_alone);
    const wording *fitted = words_of(linear);
    if (linear > 0 && left_alone > 0) {
        bb_outcome_set(outcome, BB_OUTCOME_OK,
                       "%td %s with fewer than %d points %s uncorrected, %td %s six parameters",
                       left_alone, alone->fields, LEAST_FIELD_POINTS, alone->stay, linear,
                       fitted->have);
    } else if (linear > 0) {
        bb_outcome_set(outcome, BB_OUTCOME_OK, "%td %s %s six parameters, no cubic", linear,
                       fitted->fields, fitted->have);
    } else if (left_alone > 0) {
        bb_outcome_set(outcome, BB_OUTCOME_OK, "%td %s with fewer than %d points %s uncorrected",
                       left_alone, alone->fields, LEAST_FIELD_POINTS, alone->stay);
    }
}

// Fits field by field; the first failing field determines the outcome.
bb_status bb_overlay_fit_fields(bb_overlay_model model, const bb_overlay_points *points,
                                bb_overlay_fit *fit, double *residual_x, double *residual_y,
                                bb_overlay_fit *each)
{
    bb_status status = BB_OK;
    bb_outcome outcome = {0};
    double condition = NAN;
    bb_index left_alone = 0;
    bb_index linear = 0;
    bb_index index = 0;
    int parameters = bb_overlay_model_parameters(model);
    BB_REQUIRE(points->field_x != NULL && points->field_y != NULL, BB_INVALID,
               "the model needs the field centre of each point");
    for (bb_index first = 0; first < points->count; ++index) {
        const bb_overlay_points field = one_field(points, first);
        BB_TRY(fit_field(model, &field, fit, residual_x + first, residual_y + first));
        condition = fmax(condition, fit->condition);
        left_alone += fit->parameter_count == 0;
        linear += fit->parameter_count > 0 && fit->parameter_count < parameters;
        if (outcome.kind == BB_OUTCOME_OK) {
            outcome = fit->outcome;
        }
        if (each != NULL) {
            each[index] = *fit;
        }
        first += field.count;
    }
    if (outcome.kind == BB_OUTCOME_OK) {
        count_exceptions(left_alone, linear, &outcome);
    }
    fit->outcome = outcome;
    fit->condition = condition;
    fit->parameter_count = parameters;
done:
    return status;
}

bb_status bb_overlay_fit_model(bb_overlay_model model, const bb_overlay_points *points,
                               bb_overlay_fit *fit, double *residual_x, double *residual_y)
{
    bb_status status = BB_OK;
    bool by_field = model == BB_OVERLAY_FIELD_6 || model == BB_OVERLAY_FIELD_CUBIC;
    bool needs_fields = by_field || model == BB_OVERLAY_WAFER_10;
    BB_REQUIRE(!needs_fields || (points->field_x != NULL && points->field_y != NULL), BB_INVALID,
               "the model needs the field centre of each point");
    if (by_field && points->count > 0) {
        BB_TRY(bb_overlay_fit_fields(model, points, fit, residual_x, residual_y, NULL));
    } else {
        BB_TRY(fit_together(model, points, fit, residual_x, residual_y));
    }
done:
    return status;
}
