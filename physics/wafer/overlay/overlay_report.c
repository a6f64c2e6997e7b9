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
    BB_REQUIRE(first == points->count, BB_INVALID, "fields of %td points in all, expected %td",
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
