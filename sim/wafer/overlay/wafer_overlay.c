// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/overlay/wafer_overlay.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>

enum { RAW = BB_WAFER_RAW, RESIDUAL = BB_WAFER_RESIDUAL, ERRORS = BB_WAFER_ERRORS };
static const char *const error_names[ERRORS] = {"raw", "residual", "numerical"};

enum { STATISTICS = 5 };
static const char *const statistic_names[STATISTICS] = {"mean", "sigma", "m3s", "percentile997",
                                                        "max"};

enum { DIRECTIONS = BB_WAFER_DIRECTIONS };
static const char *const direction_names[DIRECTIONS] = {"x", "y", "vector"};

enum { MODELS = BB_OVERLAY_MODELS };
static const char *const model_names[MODELS] = {"raw", "wafer_6", "wafer_10", "field_6",
                                                "field_cubic"};

enum { PARAMETERS = BB_OVERLAY_PARAMETERS };
static const char *const parameter_units[PARAMETERS] = {"nm",   "nm",  "ppm", "ppm",  "urad",
                                                        "urad", "ppm", "ppm", "urad", "urad"};

typedef struct scoring {
    const bb_wafer_work *work;
    bb_index pipelines, fields;
    bb_overlay_field *field;      // [fields]
    bb_overlay_report **reports;  // [pipelines][ERRORS]; RAW only for the first
    double *residuals;            // [pipelines] residual headlines, nm
    const double *late_residuals; // residuals if any pipeline has late corrections, else NULL
    double reference_rms;         // nm
    double part_points[BB_OVERLAY_PARTS];
    const char *details[MODELS];
    double conditions[MODELS];
} scoring;

// Results of a field.
typedef struct field_row {
    double exposure, x, y, full, up, points, start; // x, y in m; start in s
} field_row;

// Results of an error of a pipeline, nm.
typedef struct error_row {
    double headline, worst, worst_field, median;
    double statistics[DIRECTIONS][STATISTICS], percent[DIRECTIONS][STATISTICS];
    double parts[BB_OVERLAY_PARTS][DIRECTIONS], nce[MODELS][DIRECTIONS];
    const double *removed; // [MODELS]
    const char *states[MODELS];
    double wafer_6[PARAMETERS], wafer_10[PARAMETERS];
} error_row;

// Results of an error of a pipeline in a field.
typedef struct field_error_row {
    bb_wafer_statistics statistics;
    double parameters[PARAMETERS];
} field_error_row;

static const char title[] = "/results, wafer: the overlay report";

static const bb_output rows[] = {
    {"error", "error", NULL, "placement error", BB_OUTPUT_NAMES(error_names)},
    {"direction", "direction", NULL, "direction of an error", .note = "`vector`: length",
     BB_OUTPUT_NAMES(direction_names)},
    {"statistic", "statistic", NULL, "statistic of an error",
     .note = "`sigma` with n - 1, `m3s` = abs(mean) + 3 sigma, the last two of the magnitude",
     BB_OUTPUT_NAMES(statistic_names)},
    {"overlay_reference_rms_nm", "", "nm", "rms length of the reference's displacement",
     BB_MEMBER(scoring, reference_rms)},
    {"overlay_residual_nm", "pipeline", "nm",
     "larger abs(mean) + 3 sigma of x and y of the feed-forward residual",
     .note = "only if corrections of a pipeline are late or missed; then part of the loss",
     BB_MEMBER(scoring, late_residuals)},
    {"part", "part", NULL, "subset of the fields",
     .note = "`centre`: full fields; `up`, `down`: scan direction",
     BB_OUTPUT_NAMES(bb_overlay_part_names)},
    {"part_points", "part", "1", "number of scored points in a part",
     .note = "a point is in one of the first two and in one of the last two",
     BB_ARRAY(scoring, part_points)},
    {"model", "model", NULL, "model removed before the statistics", BB_OUTPUT_NAMES(model_names)},
    {"model_detail", "model", NULL, "reason why a model is not determined, and its exceptions",
     BB_ARRAY(scoring, details)},
    {"model_condition", "model", "1",
     "ratio of the largest to the smallest pivot of the model's "
     "scaled columns",
     .note = "over all fields", BB_ARRAY(scoring, conditions)},
    {"parameter", "parameter", NULL, "parameter of a model",
     BB_OUTPUT_NAMES(bb_overlay_parameter_names)},
    {"parameter_unit", "parameter", NULL, "unit of the parameter", .note = "nm, ppm or urad",
     BB_OUTPUT_NAMES(parameter_units), .coordinate = true},
};
static const bb_output_table outputs = {title, NULL, "results", NULL, BB_OUTPUT_ROWS(rows)};

static const bb_output field_rows[] = {
    {"field", "field", "1", "exposure index of the scored field", BB_MEMBER(field_row, exposure)},
    {"field_x_mm", "field", "mm", "x of the field's centre on the wafer", BB_MEMBER(field_row, x),
     .scale = 1e3, .coordinate = true},
    {"field_y_mm", "field", "mm", "y of the field's centre on the wafer", BB_MEMBER(field_row, y),
     .scale = 1e3, .coordinate = true},
    {"field_full", "field", "1", "1 if the field is wholly inside the usable radius",
     BB_MEMBER(field_row, full)},
    {"field_up", "field", "1", "1 if the field is scanned towards larger y",
     BB_MEMBER(field_row, up)},
    {"field_points", "field", "1", "number of scored points of the field",
     BB_MEMBER(field_row, points)},
    {"field_start_s", "field", "s",
     "start of the field's first light step after the first of the "
     "scan",
     BB_MEMBER(field_row, start)},
};
static const bb_output_table field_outputs = {title, NULL, "results", "field",
                                              BB_OUTPUT_ROWS(field_rows)};

#define BY_ERROR "pipeline, error"

static const bb_output error_rows[] = {
    {"overlay_statistics_nm", BY_ERROR ", direction, statistic", "nm",
     "statistics of an error over the scored points", BB_ARRAY(error_row, statistics)},
    {"overlay_statistics_percent", BY_ERROR ", direction, statistic", "percent",
     "statistics of an error in percent of overlay_reference_rms_nm", BB_ARRAY(error_row, percent)},
    {"overlay_headline_nm", BY_ERROR, "nm", "larger abs(mean) + 3 sigma of x and y",
     BB_MEMBER(error_row, headline)},
    {"worst_field_nm", BY_ERROR, "nm", "largest field_headline_nm", BB_MEMBER(error_row, worst)},
    {"worst_field", BY_ERROR, "1", "exposure index of that field",
     BB_MEMBER(error_row, worst_field)},
    {"median_field_nm", BY_ERROR, "nm", "median of field_headline_nm",
     BB_MEMBER(error_row, median)},
    {"part_m3s_nm", BY_ERROR ", part, direction", "nm",
     "abs(mean) + 3 sigma of a part of the fields", BB_ARRAY(error_row, parts)},
    {"nce_nm", BY_ERROR ", model, direction", "nm",
     "non-correctable error: abs(mean) + 3 sigma after a model", BB_ARRAY(error_row, nce)},
    {"variance_removed", BY_ERROR ", model", "1",
     "fraction of the mean square that a model removes in addition to earlier models",
     BB_MEMBER(error_row, removed)},
    {"model_status", BY_ERROR ", model", NULL,
     "ok, underdetermined by the scored points, or non_finite", BB_ARRAY(error_row, states)},
    {"wafer_6_parameter", BY_ERROR ", parameter", "see parameter_unit", "parameters of the wafer",
     .note = "NaN if the model does not have it", BB_ARRAY(error_row, wafer_6)},
    {"wafer_10_parameter", BY_ERROR ", parameter", "see parameter_unit",
     "parameters of the wafer and of fields", BB_ARRAY(error_row, wafer_10)},
};
static const bb_output_table error_outputs = {title, NULL, "results", BY_ERROR,
                                              BB_OUTPUT_ROWS(error_rows)};

#define BY_FIELD BY_ERROR ", field"

static const bb_output field_error_rows[] = {
    {"field_headline_nm", BY_FIELD, "nm", "larger abs(mean) + 3 sigma of x and y of a field",
     .note = "NaN for a single point", BB_MEMBER(field_error_row, statistics.headline)},
    {"field_mean_nm", BY_FIELD ", direction", "nm", "mean of a field",
     BB_ARRAY(field_error_row, statistics.mean)},
    {"field_sigma_nm", BY_FIELD ", direction", "nm", "standard deviation of a field",
     BB_ARRAY(field_error_row, statistics.sigma)},
    {"field_m3s_nm", BY_FIELD ", direction", "nm", "abs(mean) + 3 sigma of a field",
     BB_ARRAY(field_error_row, statistics.m3s)},
    {"field_percentile997_nm", BY_FIELD ", direction", "nm",
     "99.7th percentile of the magnitude in a field",
     BB_ARRAY(field_error_row, statistics.percentile997)},
    {"field_max_nm", BY_FIELD ", direction", "nm", "largest magnitude in a field",
     BB_ARRAY(field_error_row, statistics.max)},
    {"field_6_parameter", BY_FIELD ", parameter", "see parameter_unit",
     "parameters fitted to a single field, about its centre", .note = "the correction per exposure",
     BB_ARRAY(field_error_row, parameters)},
};
static const bb_output_table field_error_outputs = {title, NULL, "results", BY_FIELD,
                                                    BB_OUTPUT_ROWS(field_error_rows)};

static void release(scoring *scores)
{
    for (bb_index i = 0; scores->reports != NULL && i < scores->pipelines * ERRORS; ++i) {
        if (i % ERRORS != RAW || i == RAW) {
            bb_overlay_report_destroy(&scores->reports[i]);
        }
    }
    BB_RELEASE(&scores->reports);
    BB_RELEASE(&scores->field);
    BB_RELEASE(&scores->residuals);
}

void bb_wafer_overlay_error(const bb_wafer_work *work, const bb_wafer_evaluation *evaluation,
                            bb_index wafer, int error, int axis, double *out)
{
    const double *truth = work->reference->wafers[wafer].mean[axis];
    const double *residual = evaluation->wafers[wafer].residual[axis];
    const double *mean = evaluation->wafers[wafer].mean[axis];
    for (bb_index i = 0; i < work->problem->point_count; ++i) {
        const double values[ERRORS] = {truth[i], residual[i], mean[i] - truth[i]};
        out[i] = values[error];
    }
}

// Fills one error of one pipeline at the scored points of the last wafer.
static void fill_error(const scoring *scores, const bb_wafer_evaluation *evaluation, int error,
                       int axis, double *out)
{
    bb_wafer_overlay_error(scores->work, evaluation, evaluation->wafer_count - 1, error, axis, out);
}

// Scores one error of one pipeline; the raw error is the same for all and is scored once.
static bb_status score_error(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const scoring *scores = context;
    const bb_index count = scores->work->problem->point_count;
    const bb_wafer_evaluation *evaluation = &scores->work->evaluations[index / ERRORS];
    const int error = (int)(index % ERRORS);
    double *dx = NULL; // [2 points]: dx, then dy
    if (error == RAW && index > RAW) {
        return BB_OK;
    }
    BB_TRY(BB_ALLOCATE(2 * count, &dx));
    double *dy = dx + count;
    const bb_overlay_points points = {
        count, scores->work->x, scores->work->y, scores->work->field_x, scores->work->field_y, dx,
        dy};
    fill_error(scores, evaluation, error, BB_AXIS_X, dx);
    fill_error(scores, evaluation, error, BB_AXIS_Y, dy);
    BB_TRY(
        bb_overlay_report_create(&points, scores->fields, scores->field, &scores->reports[index]));
done:
    BB_RELEASE(&dx);
    return status;
}

static bb_status score(scoring *scores)
{
    bb_status status = BB_OK;
    BB_TRY(bb_thread_for(scores->pipelines * ERRORS, score_error, scores));
    for (bb_index p = 1; p < scores->pipelines; ++p) {
        scores->reports[p * ERRORS + RAW] = scores->reports[RAW];
    }
done:
    return status;
}

bb_wafer_statistics bb_wafer_overlay_statistics(const bb_overlay_statistics *statistics)
{
    const bb_overlay_axis *const axes[DIRECTIONS] = {&statistics->x, &statistics->y,
                                                     &statistics->vector};
    const bool known = !isnan(statistics->x.m3s) && !isnan(statistics->y.m3s);
    bb_wafer_statistics out = {.headline =
                                   known ? fmax(statistics->x.m3s, statistics->y.m3s) : NAN};
    for (int d = 0; d < DIRECTIONS; ++d) {
        out.mean[d] = axes[d]->mean;
        out.sigma[d] = axes[d]->sigma;
        out.m3s[d] = axes[d]->m3s;
        out.percentile997[d] = axes[d]->percentile997;
        out.max[d] = axes[d]->max;
    }
    return out;
}

// Converts parameters to nm and to ppm or urad.
static void fill_parameters(const bb_overlay_fit *fit, double out[PARAMETERS])
{
    for (int i = 0; i < PARAMETERS; ++i) {
        out[i] = i < fit->parameter_count ? (i < 2 ? 1e9 : 1e6) * fit->parameter[i] : NAN;
    }
}

static void fill_statistics(const scoring *scores, const bb_overlay_report *report, error_row *out)
{
    const bb_wafer_statistics wafer = bb_wafer_overlay_statistics(&report->wafer);
    for (int d = 0; d < DIRECTIONS; ++d) {
        const double values[STATISTICS] = {wafer.mean[d], wafer.sigma[d], wafer.m3s[d],
                                           wafer.percentile997[d], wafer.max[d]};
        for (int s = 0; s < STATISTICS; ++s) {
            out->statistics[d][s] = values[s];
            out->percent[d][s] = 100.0 * values[s] / scores->reference_rms;
        }
        for (int part = 0; part < BB_OVERLAY_PARTS; ++part) {
            out->parts[part][d] = bb_wafer_overlay_statistics(&report->parts[part]).m3s[d];
        }
        for (int m = 0; m < MODELS; ++m) {
            out->nce[m][d] = bb_wafer_overlay_statistics(&report->nce[m]).m3s[d];
        }
    }
}

static void fill_error_row(const scoring *scores, const bb_overlay_report *report, error_row *out)
{
    const bb_index worst = report->worst_field;
    out->headline = report->headline;
    out->worst = report->worst;
    out->worst_field = worst < 0 ? NAN : (double)scores->work->problem->scored[worst];
    out->median = report->median;
    out->removed = report->removed;
    for (int m = 0; m < MODELS; ++m) {
        out->states[m] = bb_outcome_name(report->fits[m].outcome.kind);
    }
    fill_statistics(scores, report, out);
    fill_parameters(&report->fits[BB_OVERLAY_WAFER_6], out->wafer_6);
    fill_parameters(&report->fits[BB_OVERLAY_WAFER_10], out->wafer_10);
}

static bb_status publish_errors(const scoring *scores, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index count = scores->pipelines * ERRORS;
    error_row *errors = NULL;       // [pipelines][ERRORS]
    field_error_row *fields = NULL; // [pipelines][ERRORS][fields]
    BB_TRY(BB_ZEROED(count, &errors));
    BB_TRY(BB_ZEROED(count * scores->fields, &fields));
    for (bb_index i = 0; i < count; ++i) {
        fill_error_row(scores, scores->reports[i], &errors[i]);
        for (bb_index f = 0; f < scores->fields; ++f) {
            field_error_row *field = &fields[i * scores->fields + f];
            field->statistics = bb_wafer_overlay_statistics(&scores->reports[i]->fields[f]);
            fill_parameters(&scores->reports[i]->corrections[f], field->parameters);
        }
    }
    BB_TRY(bb_output_table_publish_records(&error_outputs, errors, sizeof *errors, count, NULL,
                                           results));
    BB_TRY(bb_output_table_publish_records(&field_error_outputs, fields, sizeof *fields,
                                           count * scores->fields, NULL, results));
done:
    BB_RELEASE(&errors);
    BB_RELEASE(&fields);
    return status;
}

static bb_status publish_fields(const scoring *scores, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = scores->work->problem;
    field_row *fields = NULL; // [fields]
    BB_TRY(BB_ALLOCATE(scores->fields, &fields));
    for (bb_index f = 0; f < scores->fields; ++f) {
        const bb_field *field = &problem->dwells[f]->field;
        fields[f] = (field_row){.exposure = (double)problem->scored[f],
                                .x = field->x,
                                .y = field->y,
                                .full = field->full,
                                .up = field->up,
                                .points = (double)scores->field[f].count,
                                .start = (double)field->first_step * problem->scan->step};
    }
    BB_TRY(bb_output_table_publish_records(&field_outputs, fields, sizeof *fields, scores->fields,
                                           NULL, results));
done:
    BB_RELEASE(&fields);
    return status;
}

// True if corrections of any pipeline are late or missed.
static bool is_late(const bb_wafer_study *study)
{
    bool late = false;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_product_pipeline *pipeline =
            (const bb_product_pipeline *)study->pipelines.items + p;
        late = late || !bb_delivery_on_time(&pipeline->delivery);
    }
    return late;
}

// Summarises all fields together. Condition numbers and exceptions of the models depend only on the
// points. With late corrections the headline of the residual is part of a pipeline's loss.
static void summarise(scoring *scores)
{
    for (bb_index f = 0; f < scores->fields; ++f) {
        for (int part = 0; part < BB_OVERLAY_PARTS; ++part) {
            bool is_inside = bb_overlay_field_in(&scores->field[f], (bb_overlay_part)part);
            scores->part_points[part] += is_inside ? (double)scores->field[f].count : 0.0;
        }
    }
    for (int m = 0; m < MODELS; ++m) {
        scores->details[m] = scores->reports[RAW]->fits[m].outcome.detail;
        scores->conditions[m] = scores->reports[RAW]->fits[m].condition;
    }
    for (bb_index p = 0; p < scores->pipelines; ++p) {
        scores->residuals[p] = scores->reports[p * ERRORS + RESIDUAL]->headline;
    }
    scores->late_residuals = is_late(&scores->work->study) ? scores->residuals : NULL;
    scores->reference_rms = scores->reports[RAW]->wafer.rms;
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_work *work = all;
    const bb_wafer_problem *problem = work->problem;
    scoring scores = {
        .work = work, .pipelines = work->study.pipelines.count, .fields = problem->scored_count};
    BB_TRY(BB_ZEROED(scores.fields, &scores.field));
    BB_TRY(BB_ZEROED(scores.pipelines * ERRORS, &scores.reports));
    BB_TRY(BB_ALLOCATE(scores.pipelines, &scores.residuals));
    for (bb_index f = 0; f < scores.fields; ++f) {
        const bb_dwell *dwell = problem->dwells[f];
        scores.field[f] = (bb_overlay_field){dwell->count, dwell->field.full, dwell->field.up};
    }
    BB_TRY(score(&scores));
    summarise(&scores);
    BB_TRY(bb_output_table_publish(&outputs, &scores, NULL, results));
    BB_TRY(publish_fields(&scores, results));
    BB_TRY(publish_errors(&scores, results));
done:
    release(&scores);
    return status;
}

// Each pipeline has 3 errors, with 86 numbers for the wafer and 26 for a field.
static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    const double pipelines = (double)((const bb_wafer_study *)study)->pipelines.count;
    const double fields = ((const bb_wafer_extent *)extent)->scored;
    plan->output_bytes += 8.0 * (3.0 * pipelines * (86.0 + 26.0 * fields) + 7.0 * fields);
    return BB_OK;
}

const bb_part bb_wafer_overlay_part = {
    .name = "overlay",
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&outputs, &field_outputs, &error_outputs, &field_error_outputs),
};

typedef struct loss_task {
    const bb_wafer_work *work;
    bool late;       // true if any pipeline has late corrections
    double *dx, *dy; // [points] components of an error
} loss_task;

// Larger |mean| + 3 sigma of x and y, nm; NaN if either is undetermined.
static bb_status size_of(const loss_task *task, const bb_wafer_evaluation *evaluation, int error,
                         double *out)
{
    bb_status status = BB_OK;
    const bb_index last = evaluation->wafer_count - 1;
    bb_overlay_statistics statistics;
    bb_wafer_overlay_error(task->work, evaluation, last, error, BB_AXIS_X, task->dx);
    bb_wafer_overlay_error(task->work, evaluation, last, error, BB_AXIS_Y, task->dy);
    BB_TRY(bb_overlay_statistics_of(task->work->problem->point_count, task->dx, task->dy,
                                    &statistics));
    *out = bb_wafer_overlay_statistics(&statistics).headline;
done:
    return status;
}

static bb_status add(const loss_task *task, const bb_wafer_evaluation *evaluation, bb_draws *draws)
{
    bb_status status = BB_OK;
    double loss = NAN;
    double residual = NAN;
    BB_TRY(size_of(task, evaluation, BB_WAFER_NUMERICAL, &loss));
    if (task->late) {
        BB_TRY(size_of(task, evaluation, BB_WAFER_RESIDUAL, &residual));
        loss = isnan(loss) || isnan(residual) ? NAN : fmax(loss, residual);
    }
    bb_draws_add(draws, &evaluation->common.outcome, loss);
done:
    return status;
}

bb_status bb_wafer_overlay_headline(const bb_wafer_work *work,
                                    const bb_wafer_evaluation *evaluation, double *out)
{
    bb_status status = BB_OK;
    const bb_index points = work->problem->point_count;
    loss_task task = {.work = work};
    *out = NAN;
    if (evaluation->common.outcome.kind != BB_OUTCOME_OK) {
        return BB_OK;
    }
    BB_TRY(BB_ALLOCATE(points, &task.dx));
    BB_TRY(BB_ALLOCATE(points, &task.dy));
    BB_TRY(size_of(&task, evaluation, BB_WAFER_NUMERICAL, out));
done:
    BB_RELEASE(&task.dx);
    BB_RELEASE(&task.dy);
    return status;
}

bb_status bb_wafer_overlay_draws(const bb_wafer_work *work, const bb_wafer_evaluation *evaluation,
                                 bb_draws *draws)
{
    bb_status status = BB_OK;
    const bb_index points = work->problem->point_count;
    loss_task task = {.work = work, .late = is_late(&work->study)};
    BB_TRY(BB_ALLOCATE(points, &task.dx));
    BB_TRY(BB_ALLOCATE(points, &task.dy));
    BB_TRY(add(&task, evaluation, draws));
    for (bb_index d = 0; d < evaluation->drawn_count; ++d) {
        BB_TRY(add(&task, &evaluation->drawn[d], draws));
    }
done:
    BB_RELEASE(&task.dx);
    BB_RELEASE(&task.dy);
    return status;
}
