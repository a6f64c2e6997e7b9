// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/overlay/wafer_overlay.h"

#include "core/memory.h"
#include "physics/wafer/overlay/overlay_report.h"

#include <math.h>

static const double NANOMETRES = 1e9;
static const double MICRO = 1e6; // ppm and urad

enum { RAW, RESIDUAL, NUMERICAL, ERRORS = BB_WAFER_ERRORS };
static const char *const error_names[ERRORS] = {"raw", "residual", "numerical"};

enum { MEAN, SIGMA, M3S, PERCENTILE, MAXIMUM, STATISTICS };
static const char *const statistic_names[STATISTICS] = {"mean", "sigma", "m3s", "percentile997",
                                                        "max"};

enum { DIRECTIONS = 3 };
static const char *const direction_names[DIRECTIONS] = {"x", "y", "vector"};

static const char *const model_names[BB_OVERLAY_MODELS] = {"raw", "wafer_6", "wafer_10", "field_6",
                                                           "field_cubic"};

static const char *const parameter_units[BB_OVERLAY_PARAMETERS] = {
    "nm", "nm", "ppm", "ppm", "urad", "urad", "ppm", "ppm", "urad", "urad"};

typedef struct scoring {
    const bb_wafer_overlay *of;
    bb_results *results;
    bb_index pipelines, fields;
    bb_overlay_field *field;     // [fields]
    bb_overlay_report **reports; // [pipelines][ERRORS]; raw ones are all the first
    double *dx, *dy;             // [points], scratch
    double reference_rms;        // nm
} scoring;

static void release(scoring *all)
{
    for (bb_index i = 0; all->reports != NULL && i < all->pipelines * ERRORS; ++i) {
        if (i % ERRORS != RAW || i == RAW) {
            bb_overlay_report_destroy(&all->reports[i]);
        }
    }
    BB_RELEASE(&all->reports);
    BB_RELEASE(&all->field);
    BB_RELEASE(&all->dx);
    BB_RELEASE(&all->dy);
}

void bb_wafer_overlay_error(const bb_wafer_overlay *overlay, const bb_wafer_evaluation *evaluation,
                            bb_index wafer, int error, int axis, double *out)
{
    const double *truth = overlay->reference->wafers[wafer].mean[axis];
    const double *residual = evaluation->wafers[wafer].residual[axis];
    const double *mean = evaluation->wafers[wafer].mean[axis];
    for (bb_index i = 0; i < overlay->problem->point_count; ++i) {
        const double values[ERRORS] = {truth[i], residual[i], mean[i] - truth[i]};
        out[i] = values[error];
    }
}

// One error of one pipeline at the scored points of the last wafer.
static void fill_error(const scoring *all, const bb_wafer_evaluation *evaluation, int error,
                       int axis, double *out)
{
    bb_wafer_overlay_error(all->of, evaluation, evaluation->wafer_count - 1, error, axis, out);
}

static bb_status score(scoring *all)
{
    bb_status status = BB_OK;
    const bb_overlay_points points = {all->of->problem->point_count,
                                      all->of->x,
                                      all->of->y,
                                      all->of->field_x,
                                      all->of->field_y,
                                      all->dx,
                                      all->dy};
    for (bb_index p = 0; p < all->pipelines; ++p) {
        for (int error = 0; error < ERRORS; ++error) {
            bb_overlay_report **report = &all->reports[p * ERRORS + error];
            if (error == RAW && p > 0) {
                *report = all->reports[RAW];
                continue;
            }
            fill_error(all, &all->of->evaluations[p], error, BB_AXIS_X, all->dx);
            fill_error(all, &all->of->evaluations[p], error, BB_AXIS_Y, all->dy);
            BB_TRY(bb_overlay_report_create(&points, all->fields, all->field, report));
        }
    }
    all->reference_rms = all->reports[RAW]->wafer.rms;
done:
    return status;
}

static double pick(const bb_overlay_statistics *statistics, bb_index direction, bb_index statistic)
{
    const bb_overlay_axis *axes[DIRECTIONS] = {&statistics->x, &statistics->y, &statistics->vector};
    const bb_overlay_axis *axis = axes[direction];
    const double values[STATISTICS] = {axis->mean, axis->sigma, axis->m3s, axis->percentile997,
                                       axis->max};
    return values[statistic];
}

// Readings of a report: item `i` of a dataset's inner axes.
typedef double (*reading)(const scoring *all, const bb_overlay_report *report, bb_index i);

static double read_statistic(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    return pick(&report->wafer, i / STATISTICS, i % STATISTICS);
}

static double read_percent(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    return 100.0 * read_statistic(all, report, i) / all->reference_rms;
}

static double read_headline(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    (void)i;
    return report->headline;
}

static double read_worst(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    (void)i;
    return report->worst;
}

static double read_worst_field(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)i;
    return report->worst_field < 0 ? NAN : (double)all->of->problem->scored[report->worst_field];
}

static double read_median(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    (void)i;
    return report->median;
}

static double read_field_headline(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    return report->field_headlines[i];
}

#define READ_FIELD(name, statistic)                                                                \
    static double name(const scoring *all, const bb_overlay_report *report, bb_index i)            \
    {                                                                                              \
        (void)all;                                                                                 \
        return pick(&report->fields[i / DIRECTIONS], i % DIRECTIONS, (statistic));                 \
    }
READ_FIELD(read_field_mean, MEAN)
READ_FIELD(read_field_sigma, SIGMA)
READ_FIELD(read_field_m3s, M3S)
READ_FIELD(read_field_percentile, PERCENTILE)
READ_FIELD(read_field_max, MAXIMUM)

static double read_part(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    return pick(&report->parts[i / DIRECTIONS], i % DIRECTIONS, M3S);
}

static double read_nce(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    return pick(&report->nce[i / DIRECTIONS], i % DIRECTIONS, M3S);
}

static double read_removed(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    return report->removed[i];
}

static double parameter(const bb_overlay_fit *fit, bb_index i)
{
    return i < fit->parameter_count ? (i < 2 ? NANOMETRES : MICRO) * fit->parameter[i] : NAN;
}

static double read_wafer_6(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    return parameter(&report->fits[BB_OVERLAY_WAFER_6], i);
}

static double read_wafer_10(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    return parameter(&report->fits[BB_OVERLAY_WAFER_10], i);
}

static double read_correction(const scoring *all, const bb_overlay_report *report, bb_index i)
{
    (void)all;
    return parameter(&report->corrections[i / BB_OVERLAY_PARAMETERS], i % BB_OVERLAY_PARAMETERS);
}

// Items of an inner axis; `fields` are known only at run time.
enum { PER_FIELD = -1 };

// clang-format off
static const struct entry {
    const char *path, *unit, *long_name, *axes;
    bb_index outer, inner; // sizes of the axes after pipeline and error; 1 for none
    reading read;
} entries[] = {
    {"results/overlay_headline_nm", "nm", "larger |mean| + 3 sigma of x and y", "pipeline, error",
     1, 1, read_headline},
    {"results/overlay_statistics_nm", "nm", "statistics of an error over the scored points",
     "pipeline, error, direction, statistic", DIRECTIONS, STATISTICS, read_statistic},
    {"results/overlay_statistics_percent", "percent",
     "the same in percent of overlay_reference_rms_nm",
     "pipeline, error, direction, statistic", DIRECTIONS, STATISTICS, read_percent},
    {"results/worst_field_nm", "nm", "largest field_headline_nm", "pipeline, error", 1, 1,
     read_worst},
    {"results/worst_field", "1", "exposure index of that field", "pipeline, error", 1, 1,
     read_worst_field},
    {"results/median_field_nm", "nm", "median of field_headline_nm", "pipeline, error", 1, 1,
     read_median},
    {"results/field_headline_nm", "nm", "larger |mean| + 3 sigma of x and y of a field",
     "pipeline, error, field", PER_FIELD, 1, read_field_headline},
    {"results/field_mean_nm", "nm", "mean of a field", "pipeline, error, field, direction",
     PER_FIELD, DIRECTIONS, read_field_mean},
    {"results/field_sigma_nm", "nm", "standard deviation of a field",
     "pipeline, error, field, direction", PER_FIELD, DIRECTIONS, read_field_sigma},
    {"results/field_m3s_nm", "nm", "|mean| + 3 sigma of a field",
     "pipeline, error, field, direction", PER_FIELD, DIRECTIONS, read_field_m3s},
    {"results/field_percentile997_nm", "nm", "99.7 percentile of the size in a field",
     "pipeline, error, field, direction", PER_FIELD, DIRECTIONS, read_field_percentile},
    {"results/field_max_nm", "nm", "largest size in a field", "pipeline, error, field, direction",
     PER_FIELD, DIRECTIONS, read_field_max},
    {"results/part_m3s_nm", "nm", "|mean| + 3 sigma of a part of the fields",
     "pipeline, error, part, direction", BB_OVERLAY_PARTS, DIRECTIONS, read_part},
    {"results/nce_nm", "nm", "non-correctable error: |mean| + 3 sigma after a model",
     "pipeline, error, model, direction", BB_OVERLAY_MODELS, DIRECTIONS, read_nce},
    {"results/variance_removed", "1",
     "share of the mean square that a model removes beyond those before it",
     "pipeline, error, model", BB_OVERLAY_MODELS, 1, read_removed},
    {"results/wafer_6_parameter", "see parameter_unit", "parameters of the wafer",
     "pipeline, error, parameter", BB_OVERLAY_PARAMETERS, 1, read_wafer_6},
    {"results/wafer_10_parameter", "see parameter_unit", "parameters of the wafer and of fields",
     "pipeline, error, parameter", BB_OVERLAY_PARAMETERS, 1, read_wafer_10},
    {"results/field_6_parameter", "see parameter_unit",
     "parameters of a field by itself, about its centre",
     "pipeline, error, field, parameter", PER_FIELD, BB_OVERLAY_PARAMETERS, read_correction},
};
// clang-format on

static bb_status publish_readings(const scoring *all)
{
    bb_status status = BB_OK;
    double *values = NULL; // [pipelines][ERRORS][outer][inner]
    for (size_t e = 0; e < sizeof entries / sizeof *entries; ++e) {
        const struct entry *entry = &entries[e];
        bb_index inner = (entry->outer == PER_FIELD ? all->fields : entry->outer) * entry->inner;
        BB_TRY(BB_ALLOCATE(all->pipelines * ERRORS * inner, &values));
        for (bb_index i = 0; i < all->pipelines * ERRORS * inner; ++i) {
            values[i] = entry->read(all, all->reports[i / inner], i % inner);
        }
        BB_TRY(bb_results_values(all->results, entry->path, entry->unit, entry->long_name,
                                 entry->axes, values));
        BB_RELEASE(&values);
    }
done:
    BB_RELEASE(&values);
    return status;
}

// How the fits of models went; their conditions and exceptions are those of the points alone.
static bb_status publish_fits(const scoring *all)
{
    bb_status status = BB_OK;
    const char **states = NULL; // [pipelines][ERRORS][BB_OVERLAY_MODELS]
    const char *details[BB_OVERLAY_MODELS];
    double conditions[BB_OVERLAY_MODELS];
    bb_index count = all->pipelines * ERRORS * BB_OVERLAY_MODELS;
    BB_TRY(BB_ALLOCATE(count, &states));
    for (bb_index i = 0; i < count; ++i) {
        const bb_overlay_report *report = all->reports[i / BB_OVERLAY_MODELS];
        states[i] = bb_outcome_name(report->fits[i % BB_OVERLAY_MODELS].outcome.kind);
    }
    for (int m = 0; m < BB_OVERLAY_MODELS; ++m) {
        details[m] = all->reports[RAW]->fits[m].outcome.detail;
        conditions[m] = all->reports[RAW]->fits[m].condition;
    }
    BB_TRY(bb_results_texts(all->results, "results/model_status",
                            "ok, underdetermined by the scored points, or non_finite",
                            "pipeline, error, model", states));
    BB_TRY(bb_results_texts(all->results, "results/model_detail",
                            "why a model is not determined, and its exceptions", "model", details));
    BB_TRY(bb_results_values(all->results, "results/model_condition", "1",
                             "largest over smallest pivot of the model's scaled columns", "model",
                             conditions));
done:
    BB_RELEASE(&states);
    return status;
}

static bb_status publish_axes(const scoring *all)
{
    const struct {
        const char *path, *long_name;
        bb_index count;
        const char *const *names;
    } axes[] = {
        {"results/error", "error of placement", ERRORS, error_names},
        {"results/direction", "x, y, or length of the vector", DIRECTIONS, direction_names},
        {"results/statistic", "statistic of an error", STATISTICS, statistic_names},
        {"results/part", "part of the fields", BB_OVERLAY_PARTS, bb_overlay_part_names},
        {"results/model", "model taken out before the statistics", BB_OVERLAY_MODELS, model_names},
        {"results/parameter", "parameter of a model", BB_OVERLAY_PARAMETERS,
         bb_overlay_parameter_names},
    };
    bb_status status = BB_OK;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; ++i) {
        BB_TRY(bb_results_text_axis(all->results, axes[i].path, axes[i].long_name, axes[i].count,
                                    axes[i].names));
    }
    BB_TRY(bb_results_texts(all->results, "results/parameter_unit", "unit of the parameter",
                            "parameter", parameter_units));
    BB_TRY(bb_results_values(all->results, "results/overlay_reference_rms_nm", "nm",
                             "rms length of the reference's displacement", "",
                             &all->reference_rms));
done:
    return status;
}

// What fields and parts are.
static bb_status publish_fields(const scoring *all)
{
    static const struct {
        const char *path, *unit, *long_name;
    } columns[] = {
        {"results/field", "1", "exposure index of the scored field"},
        {"results/field_x_mm", "mm", "x of the field's centre on the wafer"},
        {"results/field_y_mm", "mm", "y of the field's centre on the wafer"},
        {"results/field_full", "1", "1 where it is wholly inside the usable radius"},
        {"results/field_up", "1", "1 where it is scanned to greater y"},
        {"results/field_points", "1", "its scored points"},
        {"results/field_start_s", "s", "start of its first light step since that of all"},
    };
    enum { COLUMNS = sizeof columns / sizeof *columns };
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = all->of->problem;
    double *values = NULL; // [COLUMNS][fields]
    double points[BB_OVERLAY_PARTS] = {0};
    BB_TRY(BB_ALLOCATE(COLUMNS * all->fields, &values));
    for (bb_index f = 0; f < all->fields; ++f) {
        const bb_field *field = &problem->dwells[f]->field;
        const double row[COLUMNS] = {(double)problem->scored[f],
                                     1e3 * field->x,
                                     1e3 * field->y,
                                     field->full,
                                     field->up,
                                     (double)all->field[f].count,
                                     (double)field->first_step * problem->scan->step};
        for (int c = 0; c < COLUMNS; ++c) {
            values[c * all->fields + f] = row[c];
        }
        for (int part = 0; part < BB_OVERLAY_PARTS; ++part) {
            bool is_inside = bb_overlay_field_in(&all->field[f], (bb_overlay_part)part);
            points[part] += is_inside ? (double)all->field[f].count : 0.0;
        }
    }
    BB_TRY(bb_results_axis(all->results, columns[0].path, columns[0].unit, columns[0].long_name,
                           all->fields, values));
    for (int c = 1; c < COLUMNS; ++c) {
        BB_TRY(bb_results_values(all->results, columns[c].path, columns[c].unit,
                                 columns[c].long_name, "field", values + c * all->fields));
    }
    BB_TRY(bb_results_values(all->results, "results/part_points", "1", "scored points of a part",
                             "part", points));
done:
    BB_RELEASE(&values);
    return status;
}

// What the delivery of corrections came to over the scored fields.
static bb_status publish_delivery(const scoring *all)
{
    enum { LATE, MISSED, HELD, UNCORRECTED, COUNTS };
    static const struct {
        const char *path, *long_name;
    } columns[COUNTS] = {
        {"results/delivery_late_steps", "light steps by which corrections arrive late"},
        {"results/delivery_missed_steps", "light steps whose correction never arrived"},
        {"results/delivery_held_steps", "light steps in which an older one was in force"},
        {"results/delivery_uncorrected_steps", "light steps in which none was in force"},
    };
    bb_status status = BB_OK;
    const bb_product_pipeline *pipelines = all->of->study->pipelines.items;
    bb_index steps = all->of->problem->scan->light_steps;
    bb_index *in_force = NULL;
    double *values = NULL; // [COUNTS][pipelines]
    BB_TRY(BB_ALLOCATE(steps, &in_force));
    BB_TRY(BB_ZEROED(COUNTS * all->pipelines, &values));
    for (bb_index p = 0; p < all->pipelines; ++p) {
        const bb_delivery_config *delivery = &pipelines[p].delivery;
        values[LATE * all->pipelines + p] = (double)delivery->late_steps;
        for (bb_index f = 0; f < all->fields; ++f) {
            bb_index exposure = all->of->problem->scored[f];
            bb_delivery_plan(delivery, exposure, steps, in_force);
            for (bb_index n = 0; n < steps; ++n) {
                values[MISSED * all->pipelines + p] +=
                    bb_delivery_misses(delivery, exposure, steps, n);
                values[HELD * all->pipelines + p] += in_force[n] >= 0 && in_force[n] < n;
                values[UNCORRECTED * all->pipelines + p] += in_force[n] < 0;
            }
        }
    }
    for (int c = 0; c < COUNTS; ++c) {
        BB_TRY(bb_results_values(all->results, columns[c].path, "1", columns[c].long_name,
                                 "pipeline", values + c * all->pipelines));
    }
done:
    BB_RELEASE(&in_force);
    BB_RELEASE(&values);
    return status;
}

// The headline of the residual where some corrections are not on time: it, not the numerical error,
// is what such a pipeline costs.
static bb_status publish_residual(const scoring *all)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *pipelines = all->of->study->pipelines.items;
    bool on_time = true;
    double *values = NULL; // [pipelines]
    BB_TRY(BB_ALLOCATE(all->pipelines, &values));
    for (bb_index p = 0; p < all->pipelines; ++p) {
        on_time = on_time && bb_delivery_on_time(&pipelines[p].delivery);
        values[p] = all->reports[p * ERRORS + RESIDUAL]->headline;
    }
    if (!on_time) {
        BB_TRY(bb_results_values(all->results, "results/overlay_residual_nm", "nm",
                                 "larger |mean| + 3 sigma of x and y of the feed-forward residual",
                                 "pipeline", values));
    }
done:
    BB_RELEASE(&values);
    return status;
}

bb_status bb_wafer_overlay_publish(const bb_wafer_overlay *overlay, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = overlay->problem;
    scoring all = {.of = overlay,
                   .results = results,
                   .pipelines = overlay->study->pipelines.count,
                   .fields = problem->scored_count};
    BB_TRY(BB_ZEROED(all.fields, &all.field));
    BB_TRY(BB_ZEROED(all.pipelines * ERRORS, &all.reports));
    BB_TRY(BB_ALLOCATE(problem->point_count, &all.dx));
    BB_TRY(BB_ALLOCATE(problem->point_count, &all.dy));
    for (bb_index f = 0; f < all.fields; ++f) {
        const bb_dwell *dwell = problem->dwells[f];
        all.field[f] = (bb_overlay_field){dwell->count, dwell->field.full, dwell->field.up};
    }
    BB_TRY(score(&all));
    BB_TRY(publish_axes(&all));
    BB_TRY(publish_fields(&all));
    BB_TRY(publish_readings(&all));
    BB_TRY(publish_fits(&all));
    BB_TRY(publish_delivery(&all));
    BB_TRY(publish_residual(&all));
done:
    release(&all);
    return status;
}
