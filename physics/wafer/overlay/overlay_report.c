// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/overlay_report.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>

const char *const bb_overlay_part_names[BB_OVERLAY_PARTS] = {"centre", "edge", "up", "down"};

bool bb_overlay_field_in(const bb_overlay_field *field, bb_overlay_part part)
{
    const bool input[BB_OVERLAY_PARTS] = {field->full, !field->full, field->up, !field->up};
    return input[part];
}

// fmax would hide a NaN.
static double headline_of(const bb_overlay_statistics *statistics)
{
    double x = statistics->x.m3s;
    double y = statistics->y.m3s;
    return isnan(x) || isnan(y) ? NAN : fmax(x, y);
}

static int ascending(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;
    return (first > second) - (first < second);
}

static bb_status rank_fields(bb_overlay_report *report)
{
    bb_status status = BB_OK;
    double *known = NULL;
    bb_index count = 0;
    BB_TRY(BB_ALLOCATE(report->field_count, &known));
    for (bb_index f = 0; f < report->field_count; ++f) {
        double value = report->field_headlines[f];
        if (!isnan(value)) {
            known[count++] = value;
            if (report->worst_field < 0 || value > report->worst) {
                report->worst_field = f;
                report->worst = value;
            }
        }
    }
    if (count > 0) {
        qsort(known, (size_t)count, sizeof *known, ascending);
        report->median = 0.5 * (known[(count - 1) / 2] + known[count / 2]);
    }
done:
    BB_RELEASE(&known);
    return status;
}

static bb_status describe_fields(const bb_overlay_points *points, const bb_overlay_field *fields,
                                 bb_overlay_report *report)
{
    bb_status status = BB_OK;
    bb_index first = 0;
    for (bb_index f = 0; f < report->field_count; ++f) {
        BB_TRY(bb_overlay_statistics_of(fields[f].count, points->dx + first, points->dy + first,
                                        &report->fields[f]));
        report->field_headlines[f] = headline_of(&report->fields[f]);
        first += fields[f].count;
    }
    BB_REQUIRE(first == points->count, BB_INVALID, "fields have %td points in total, expected %td",
               first, points->count);
    BB_TRY(rank_fields(report));
done:
    return status;
}

// dx and dy [points] are scratch.
static bb_status describe_parts(const bb_overlay_points *points, const bb_overlay_field *fields,
                                double *dx, double *dy, bb_overlay_report *report)
{
    bb_status status = BB_OK;
    for (int part = 0; part < BB_OVERLAY_PARTS; ++part) {
        bb_index first = 0;
        bb_index count = 0;
        for (bb_index f = 0; f < report->field_count; ++f) {
            bool is_inside = bb_overlay_field_in(&fields[f], (bb_overlay_part)part);
            for (bb_index i = first; is_inside && i < first + fields[f].count; ++i, ++count) {
                dx[count] = points->dx[i];
                dy[count] = points->dy[i];
            }
            first += fields[f].count;
        }
        BB_TRY(bb_overlay_statistics_of(count, dx, dy, &report->parts[part]));
    }
done:
    return status;
}

static bb_status describe_models(const bb_overlay_points *points, double *dx, double *dy,
                                 bb_overlay_report *report)
{
    bb_status status = BB_OK;
    double raw = report->wafer.rms * report->wafer.rms;
    double rest = 1.0; // after the last model that the points determine
    for (int m = 0; m < BB_OVERLAY_MODELS; ++m) {
        if (m == (int)BB_OVERLAY_FIELD_6) {
            BB_TRY(bb_overlay_fit_fields(BB_OVERLAY_FIELD_6, points, &report->fits[m], dx, dy,
                                         report->corrections));
        } else {
            BB_TRY(bb_overlay_fit_model((bb_overlay_model)m, points, &report->fits[m], dx, dy));
        }
        BB_TRY(bb_overlay_statistics_of(points->count, dx, dy, &report->nce[m]));
        double rms = report->nce[m].rms;
        report->removed[m] = rest - rms * rms / raw;
        rest = isnan(rms) ? rest : rms * rms / raw;
    }
done:
    return status;
}

bb_status bb_overlay_report_create(const bb_overlay_points *points, bb_index field_count,
                                   const bb_overlay_field *fields, bb_overlay_report **out)
{
    bb_status status = BB_OK;
    bb_overlay_report *report = NULL;
    double *dx = NULL;
    double *dy = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &report));
    report->field_count = field_count;
    report->worst = report->median = NAN;
    report->worst_field = -1;
    BB_TRY(BB_ZEROED(field_count, &report->fields));
    BB_TRY(BB_ZEROED(field_count, &report->field_headlines));
    BB_TRY(BB_ZEROED(field_count, &report->corrections));
    BB_TRY(BB_ALLOCATE(points->count, &dx));
    BB_TRY(BB_ALLOCATE(points->count, &dy));
    BB_TRY(bb_overlay_statistics_of(points->count, points->dx, points->dy, &report->wafer));
    report->headline = headline_of(&report->wafer);
    BB_TRY(describe_fields(points, fields, report));
    BB_TRY(describe_parts(points, fields, dx, dy, report));
    BB_TRY(describe_models(points, dx, dy, report));
    *out = report;
    report = NULL;
done:
    bb_overlay_report_destroy(&report);
    BB_RELEASE(&dx);
    BB_RELEASE(&dy);
    return status;
}

void bb_overlay_report_destroy(bb_overlay_report **report)
{
    if (report == NULL || *report == NULL) {
        return;
    }
    BB_RELEASE(&(*report)->fields);
    BB_RELEASE(&(*report)->field_headlines);
    BB_RELEASE(&(*report)->corrections);
    BB_RELEASE(report);
}

static const double NANOMETRES = 1e9;

// Computes the variance with n - 1 of `count` values with a stride; NaN for fewer than two.
static double variance(bb_index count, bb_index stride, const double *values)
{
    double mean = 0.0;
    double sum = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        mean += values[i * stride] / (double)count;
    }
    for (bb_index i = 0; i < count; ++i) {
        sum += (values[i * stride] - mean) * (values[i * stride] - mean);
    }
    return count < 2 ? NAN : sum / (double)(count - 1);
}

// Computes the variance over wafers of their means, by Welford's recurrence.
static double variance_of_means(bb_index wafers, bb_index points, const double *e)
{
    double mean = 0.0;
    double sum = 0.0;
    for (bb_index w = 0; w < wafers; ++w) {
        double of_wafer = 0.0;
        for (bb_index k = 0; k < points; ++k) {
            of_wafer += e[w * points + k];
        }
        of_wafer /= (double)points;
        const double away = of_wafer - mean;
        mean += away / (double)(w + 1);
        sum += away * (of_wafer - mean);
    }
    return wafers < 2 ? NAN : sum / (double)(wafers - 1);
}

// fmax would hide a NaN.
static double larger(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

bb_status bb_overlay_spread_of(bb_index wafers, bb_index points, const double *dx, const double *dy,
                               bb_overlay_spread *out)
{
    bb_status status = BB_OK;
    bb_overlay_statistics all;
    double sum_x = 0.0;
    double sum_y = 0.0;
    double most_x = points > 0 ? 0.0 : NAN;
    double most_y = most_x;
    double maximum = most_x;
    BB_TRY(bb_overlay_statistics_of(wafers * points, dx, dy, &all));
    for (bb_index k = 0; k < points; ++k) {
        const double x = variance(wafers, points, dx + k);
        const double y = variance(wafers, points, dy + k);
        sum_x += x;
        sum_y += y;
        most_x = larger(most_x, x);
        most_y = larger(most_y, y);
        maximum = larger(maximum, x + y);
    }
    const double mean_x = variance_of_means(wafers, points, dx);
    const double mean_y = variance_of_means(wafers, points, dy);
    const double n = (double)points;
    *out = (bb_overlay_spread){
        .x = {NANOMETRES * sqrt(mean_x), NANOMETRES * sqrt(sum_x / n), NANOMETRES * sqrt(most_x),
              all.x.m3s},
        .y = {NANOMETRES * sqrt(mean_y), NANOMETRES * sqrt(sum_y / n), NANOMETRES * sqrt(most_y),
              all.y.m3s},
        .vector = {NANOMETRES * sqrt(mean_x + mean_y), NANOMETRES * sqrt((sum_x + sum_y) / n),
                   NANOMETRES * sqrt(maximum), all.vector.m3s},
    };
done:
    return status;
}
