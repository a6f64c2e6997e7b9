// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/choice_statistics.h"

#include "core/memory.h"
#include "sim/config/scalar.h"
#include "sim/pipelines/failure_bound.h"
#include "sim/sweep/sweep_search.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// Number of safe choices named in a sentence.
enum { NAMED = 6 };

double bb_choice_loss(const bb_collection *collection, bb_index slot, bb_index pipeline)
{
    const bb_experiment *experiment = collection->plan->sweep->experiment;
    const char *state = bb_collection_text(collection, "status", slot, pipeline);
    double largest = NAN;
    if (state == NULL || strcmp(state, "ok") != 0) {
        return NAN;
    }
    if (bb_collection_number(collection, "draws", slot, pipeline) > 1.0) {
        return bb_collection_number(collection, "loss_worst", slot, pipeline);
    }
    for (bb_index i = 0; i < experiment->loss_count; ++i) {
        if (bb_collection_find(collection, experiment->losses[i]) != NULL) {
            const double loss =
                bb_collection_number(collection, experiment->losses[i], slot, pipeline);
            if (isnan(loss)) {
                return NAN;
            }
            largest = isnan(largest) ? loss : fmax(largest, loss);
        }
    }
    return largest;
}

bool bb_choice_owns(const bb_collection *collection, const char *path, bb_index pipeline)
{
    static const char first[] = "pipelines.";
    char part[128];
    bb_index number = -1;
    if (strcmp(path, "pipelines") == 0) { // the whole list is swept
        return true;
    }
    if (strncmp(path, first, sizeof first - 1) != 0) {
        return false;
    }
    path += sizeof first - 1;
    (void)snprintf(part, sizeof part, "%.*s", (int)strcspn(path, "."), path);
    return strcmp(part, collection->pipelines[pipeline]) == 0 ||
           (bb_scalar_integer(part, &number) && number == pipeline);
}

static bool is_own_axis(const bb_collection *collection, bb_index axis, bb_index pipeline)
{
    const bb_sweep_axis *about = &collection->plan->sweep->axes.axes[axis];
    for (bb_index k = 0; k < about->key_count; ++k) {
        if (bb_choice_owns(collection, about->keys[k].path, pipeline)) {
            return true;
        }
    }
    return false;
}

// Index of a pipeline's setting at a point: mixed radix over the pipeline's axes.
static bb_index setting_of(const bb_collection *collection, bb_index pipeline, bb_index point)
{
    const bb_sweep *sweep = collection->plan->sweep;
    bb_index setting = 0;
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        if (is_own_axis(collection, a, pipeline)) {
            setting = setting * sweep->axes.axes[a].count + bb_sweep_coordinate(sweep, point, a);
        }
    }
    return setting;
}

static bb_index count_settings(const bb_collection *collection, bb_index pipeline)
{
    const bb_sweep *sweep = collection->plan->sweep;
    bb_index count = 1;
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        count *= is_own_axis(collection, a, pipeline) ? sweep->axes.axes[a].count : 1;
    }
    return count;
}

static bb_status describe_setting(const bb_collection *collection, bb_index pipeline,
                                  bb_index point, char **out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_sweep *sweep = collection->plan->sweep;
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        const bb_sweep_axis *axis = &sweep->axes.axes[a];
        for (bb_index k = 0; is_own_axis(collection, a, pipeline) && k < axis->key_count; ++k) {
            const bb_index value = bb_sweep_coordinate(sweep, point, a);
            BB_TRY(bb_text_add(&text, "%s%s %s", text.length == 0 ? "" : ", ", axis->keys[k].name,
                               axis->keys[k].texts[value]));
        }
    }
    BB_TRY(bb_memory_text(bb_text_string(&text), out));
done:
    bb_text_release(&text);
    return status;
}

// Numbers of a choice's points while they are gathered; each array is [slots].
typedef struct gathering {
    bb_index *settings; // setting of the pipeline at each slot, -1: not part of that study
    double *losses, *bits, *bytes;
    bb_index loss_count, bit_count, byte_count;
} gathering;

static double quantile(double *values, bb_index count, double part)
{
    if (count == 0) {
        return NAN;
    }
    gsl_sort(values, 1, (size_t)count);
    return gsl_stats_quantile_from_sorted_data(values, 1, (size_t)count, part);
}

static void add(double value, double *values, bb_index *count)
{
    if (!isnan(value)) {
        values[(*count)++] = value;
    }
}

static void add_point(const bb_collection *collection, bb_index slot, bb_index p, gathering *work,
                      bb_choice *choice)
{
    const double loss = bb_choice_loss(collection, slot, p);
    const char *state = bb_collection_text(collection, "status", slot, p);
    ++choice->points;
    if (state == NULL || strcmp(state, "ok") != 0) {
        ++choice->failed;
        return;
    }
    choice->without_loss += isnan(loss);
    if (!isnan(loss) && !(loss <= choice->loss_worst)) {
        choice->loss_worst = loss;
        choice->worst_point = (double)collection->points[slot];
    }
    const double bits = 32.0 / bb_collection_number(collection, "compression_ratio", slot, p);
    add(loss, work->losses, &work->loss_count);
    add(bits, work->bits, &work->bit_count);
    add(bb_collection_number(collection, "operator_bytes", slot, p), work->bytes,
        &work->byte_count);
}

// True if the results of a point count: points that failed as a whole have no pipelines.
static bool is_done(const bb_collection *collection, bb_index slot)
{
    return collection->progress->points[collection->points[slot]].class == BB_POINT_DONE;
}

// Finds the setting at each point. Points that failed as a whole count against every choice; at
// other points a pipeline may not be part of the study.
static void find_settings(const bb_collection *collection, bb_index pipeline, gathering *work)
{
    for (bb_index s = 0; s < collection->slot_count; ++s) {
        const bool missing =
            is_done(collection, s) && bb_collection_text(collection, "status", s, pipeline) == NULL;
        work->settings[s] = missing ? -1 : setting_of(collection, pipeline, collection->points[s]);
    }
}

static bb_status fill_choice(const bb_collection *collection, bb_index pipeline, bb_index setting,
                             gathering *work, bb_choice *choice)
{
    bb_status status = BB_OK;
    work->loss_count = work->bit_count = work->byte_count = 0;
    for (bb_index s = 0; s < collection->slot_count; ++s) {
        const bb_index point = collection->points[s];
        if (work->settings[s] != setting) {
            continue;
        }
        if (choice->setting == NULL) {
            BB_TRY(describe_setting(collection, pipeline, point, &choice->setting));
        }
        add_point(collection, s, pipeline, work, choice);
    }
    choice->share_failed = choice->failed / choice->points;
    choice->failure_bound = bb_failure_bound((bb_index)choice->failed, (bb_index)choice->points);
    choice->loss_median = quantile(work->losses, work->loss_count, 0.5);
    choice->loss_p99 = quantile(work->losses, work->loss_count, 0.99);
    choice->bits_per_value = quantile(work->bits, work->bit_count, 0.5);
    choice->operator_bytes = quantile(work->bytes, work->byte_count, 0.5);
done:
    return status;
}

bb_status bb_choices_find(const bb_collection *collection, bb_choices *out)
{
    bb_status status = BB_OK;
    gathering work = {0};
    bb_index count = 0;
    const bb_index planned = bb_sweep_plan_points(collection->plan);
    const bb_index open = collection->progress->open;
    bool is_finished = open == 0;
    *out = (bb_choices){.planned = planned, .run = planned - open};
    if (collection->plan->sweep->searches) {
        BB_TRY(bb_sweep_search_is_finished(collection, &is_finished));
    }
    out->partial = !is_finished;
    for (bb_index p = 0; p < collection->pipeline_count; ++p) {
        count += count_settings(collection, p);
    }
    BB_TRY(BB_ZEROED(count, &out->choices));
    BB_TRY(BB_ALLOCATE(collection->slot_count, &work.settings));
    BB_TRY(BB_ALLOCATE(collection->slot_count, &work.losses));
    BB_TRY(BB_ALLOCATE(collection->slot_count, &work.bits));
    BB_TRY(BB_ALLOCATE(collection->slot_count, &work.bytes));
    for (bb_index p = 0; p < collection->pipeline_count; ++p) {
        const bb_index settings = count_settings(collection, p);
        find_settings(collection, p, &work);
        for (bb_index s = 0; s < settings; ++s) {
            bb_choice *choice = &out->choices[out->count];
            *choice = (bb_choice){.index = (double)out->count,
                                  .name = collection->pipelines[p],
                                  .loss_worst = NAN,
                                  .worst_point = NAN};
            BB_TRY(fill_choice(collection, p, s, &work, choice));
            choice->safe = choice->failed > 0.0 ? 0.0 : is_finished ? 1.0 : (double)NAN;
            out->count += choice->points > 0.0; // choices without points are omitted
        }
    }
done:
    BB_RELEASE(&work.bytes);
    BB_RELEASE(&work.bits);
    BB_RELEASE(&work.losses);
    BB_RELEASE(&work.settings);
    if (status != BB_OK) {
        bb_choices_release(out);
    }
    return status;
}

void bb_choices_release(bb_choices *choices)
{
    for (bb_index i = 0; choices->choices != NULL && i < choices->count; ++i) {
        BB_RELEASE(&choices->choices[i].setting);
    }
    BB_RELEASE(&choices->choices);
    choices->count = 0;
}

static const bb_output outputs[] = {
    {"choice", "choice", "1", "index of the choice", .note = "a pipeline with its own swept keys",
     .member = offsetof(bb_choice, index)},
    {"choice_pipeline", "choice", NULL, "pipeline", .note = NULL,
     .member = offsetof(bb_choice, name), .coordinate = true},
    {"setting", "choice", NULL, "values of the pipeline's swept keys",
     .note = "empty if none is swept", .member = offsetof(bb_choice, setting), .coordinate = true},
    {"points", "choice", "1", "number of conditions that were run", .note = NULL,
     .member = offsetof(bb_choice, points)},
    {"points_failed", "choice", "1", "number of conditions where it failed", .note = NULL,
     .member = offsetof(bb_choice, failed)},
    {"points_without_loss", "choice", "1",
     "number of conditions where it succeeded but its loss is unknown", .note = NULL,
     .member = offsetof(bb_choice, without_loss)},
    {"share_failed", "choice", "1", "fraction of failed conditions", .note = NULL,
     .member = offsetof(bb_choice, share_failed)},
    {"share_failed_bound", "choice", "1",
     "upper bound of the failure probability, 95 % confidence, one-sided",
     .note = "Clopper and Pearson, as if conditions were random samples",
     .member = offsetof(bb_choice, failure_bound)},
    {"safe", "choice", "1", "1 if it succeeded at every condition",
     .note = "NaN if it succeeded so far and points are pending",
     .member = offsetof(bb_choice, safe)},
    {"loss_median", "choice", "<of the loss>", "median loss over the conditions",
     .note = "over successful conditions, like the next two",
     .member = offsetof(bb_choice, loss_median)},
    {"loss_p99", "choice", "<of the loss>", "99th percentile of the loss", .note = NULL,
     .member = offsetof(bb_choice, loss_p99)},
    {"loss_most", "choice", "<of the loss>", "largest loss", .note = NULL,
     .member = offsetof(bb_choice, loss_worst)},
    {"worst_point", "choice", "1", "number of the point with the largest loss", .note = NULL,
     .member = offsetof(bb_choice, worst_point)},
    {"bits_per_value", "choice", "1", "median of 32 / compression_ratio", .note = NULL,
     .member = offsetof(bb_choice, bits_per_value)},
    {"operator_bytes", "choice", "byte", "median of the stored size of the operator", .note = NULL,
     .member = offsetof(bb_choice, operator_bytes)},
};

const bb_output_table bb_choice_outputs = {.title = "/statistics, collections of sweeps",
                                           .group = "statistics",
                                           .axes = "choice",
                                           BB_OUTPUT_ROWS(outputs)};

bb_status bb_choices_publish(const bb_choices *choices, const char *loss_unit, bb_results *results)
{
    const bb_output_fill fill = {.unit = loss_unit};
    return choices->count == 0
               ? BB_OK
               : bb_output_table_publish_records(&bb_choice_outputs, choices->choices,
                                                 sizeof *choices->choices, choices->count, &fill,
                                                 results);
}

// Adds a number as a cell, "-" if absent.
static bb_status add_number(double value, int width, bb_text *out)
{
    return isnan(value) ? bb_text_add(out, " %*s", width, "-")
                        : bb_text_add(out, " %*.4g", width, value);
}

// Lists choices whose loss is unknown at some points, which cannot be compared with a limit.
static bb_status list_unknown_losses(const bb_choices *choices, bb_text *out)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    for (bb_index i = 0; i < choices->count; ++i) {
        const bb_choice *choice = &choices->choices[i];
        if (choice->without_loss > 0) {
            BB_TRY(bb_text_add(out, "%s%s%s%s (%.0f of %.0f)",
                               count++ == 0 ? "Loss unknown: " : ", ", choice->name,
                               choice->setting[0] == '\0' ? "" : ", ", choice->setting,
                               choice->without_loss, choice->points));
        }
    }
    BB_TRY(bb_text_add(out, "%s", count == 0 ? "" : ".\n"));
done:
    return status;
}

static bb_status list_sentence(const bb_choices *choices, const bb_collection *collection,
                               double max_loss, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const char *loss = sweep->experiment->loss_name;
    const bb_choice *best = NULL;
    bb_index safe = 0;
    for (bb_index i = 0; i < choices->count; ++i) {
        const bb_choice *choice = &choices->choices[i];
        const bool kept =
            choice->failed == 0 && choice->without_loss == 0 && choice->loss_worst <= max_loss;
        safe += choice->failed == 0;
        if (kept && (best == NULL || choice->operator_bytes < best->operator_bytes)) {
            best = choice;
        }
    }
    const char *ran = choices->partial ? " that was run" : "";
    BB_TRY(bb_text_add(out, "%td of %td choices finish at every condition%s.\n", safe,
                       choices->count, ran));
    if (choices->partial) {
        BB_TRY(bb_text_add(out, "Partial result: %td of %td planned points were run.\n",
                           choices->run, choices->planned));
    }
    BB_TRY(list_unknown_losses(choices, out));
    if (isnan(max_loss)) {
        goto done;
    }
    if (best == NULL) {
        BB_TRY(bb_text_add(out, "None stays within %s %g at every condition%s.\n", loss, max_loss,
                           ran));
        goto done;
    }
    BB_TRY(bb_text_add(out,
                       "Fewest bytes with %s of at most %g at every condition%s: %s%s%s%s, at "
                       "worst %.3g (",
                       loss, max_loss, ran, best->name, best->setting[0] == '\0' ? "" : " (",
                       best->setting, best->setting[0] == '\0' ? "" : ")", best->loss_worst));
    BB_TRY(bb_sweep_describe(sweep, (bb_index)best->worst_point, sweep->axes.count, out));
    BB_TRY(bb_text_add(out, ").\n"));
done:
    return status;
}

bb_status bb_choices_list(const bb_choices *choices, const bb_collection *collection,
                          double max_loss, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(list_sentence(choices, collection, max_loss, out));
    BB_TRY(bb_text_add(out, "%-21s %-14s %9s %10s %10s %6s %6s\n", "pipeline", "setting", "failed",
                       "median", "worst", "bits", "MB"));
    for (bb_index i = 0; i < choices->count; ++i) {
        const bb_choice *choice = &choices->choices[i];
        char failed[32];
        (void)snprintf(failed, sizeof failed, "%.0f/%.0f", choice->failed, choice->points);
        BB_TRY(bb_text_add(out, "%-21.21s %-14.14s %9s", choice->name, choice->setting, failed));
        BB_TRY(add_number(choice->loss_median, 10, out));
        BB_TRY(add_number(choice->loss_worst, 10, out));
        BB_TRY(add_number(choice->bits_per_value, 6, out));
        BB_TRY(add_number(1e-6 * choice->operator_bytes, 6, out));
        BB_TRY(bb_text_add(out, "\n"));
    }
done:
    return status;
}
