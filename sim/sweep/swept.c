// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/swept.h"

#include "core/memory.h"
#include "sim/output/front.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 160, LISTED_ANSWERS = 5 };

static bb_status create_key(const bb_dataset *dataset, bb_index points, bb_swept_key *out)
{
    bb_status status = BB_OK;
    out->name = dataset->name;
    out->is_text = dataset->is_text;
    BB_TRY(BB_ZEROED(dataset->count, &out->numbers));
    BB_TRY(BB_ZEROED(dataset->count, &out->texts));
    BB_TRY(BB_ZEROED(points, &out->places));
done:
    return status;
}

// Index of a point along the single axis of a key's dataset.
static bb_index along(const bb_dataset *points, bb_index point, int axis)
{
    for (int a = points->rank - 1; a > axis; --a) {
        point /= points->shape[a];
    }
    return point % points->shape[axis];
}

static bb_index find_text(const bb_swept_key *key, const char *text)
{
    bb_index i = 0;
    while (i < key->count && strcmp(key->texts[i], text) != 0) {
        ++i;
    }
    return i;
}

static void gather_values(const bb_dataset *dataset, bb_swept_key *out)
{
    for (bb_index i = 0; dataset->is_text && i < dataset->count; ++i) {
        const bb_index place = find_text(out, dataset->texts[i]);
        out->texts[place] = dataset->texts[i];
        out->numbers[place] = (double)place;
        out->count += place == out->count;
    }
    if (dataset->is_text) {
        return;
    }
    memcpy(out->numbers, dataset->numbers, (size_t)dataset->count * sizeof *out->numbers);
    gsl_sort(out->numbers, 1, (size_t)dataset->count);
    for (bb_index i = 0; i < dataset->count; ++i) {
        if (i == 0 || out->numbers[i] > out->numbers[out->count - 1]) {
            out->numbers[out->count++] = out->numbers[i];
        }
    }
}

static bb_index place_of(const bb_swept_key *key, double number)
{
    bb_index low = 0;
    bb_index high = key->count;
    while (high - low > 1) {
        const bb_index middle = (low + high) / 2;
        if (key->numbers[middle] <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static bb_status fill_key(const bb_dataset *points, const bb_dataset *dataset, bb_swept_key *out)
{
    bb_status status = BB_OK;
    int axis = 0;
    while (axis < points->rank && strcmp(points->axes[axis], dataset->axes[0]) != 0) {
        ++axis;
    }
    BB_REQUIRE(axis < points->rank && dataset->count == points->shape[axis], BB_IO,
               "collection: key %s has axis %s, expected an axis of /results/point", dataset->name,
               dataset->axes[0]);
    gather_values(dataset, out);
    out->ranges = !out->is_text && out->count > BB_SWEPT_MOST_VALUES;
    const double low = out->numbers[0];
    const double step = (out->numbers[out->count - 1] - low) / BB_SWEPT_RANGES;
    for (bb_index p = 0; p < points->count; ++p) {
        const bb_index i = along(points, p, axis);
        if (out->is_text) {
            out->places[p] = find_text(out, dataset->texts[i]);
        } else if (out->ranges) {
            const double place = floor((dataset->numbers[i] - low) / step);
            out->places[p] = (bb_index)fmin(place, BB_SWEPT_RANGES - 1.0);
        } else {
            out->places[p] = place_of(out, dataset->numbers[i]);
        }
    }
    if (out->ranges) {
        out->count = BB_SWEPT_RANGES;
        for (bb_index r = 0; r < out->count; ++r) {
            out->numbers[r] = low + ((double)r + 0.5) * step;
        }
    }
done:
    return status;
}

static bool is_key(const bb_results *results, const bb_dataset *dataset)
{
    return dataset->group[0] == '\0' && dataset->rank == 1 && dataset->count > 0 &&
           bb_results_note_text(results, dataset->name, "key") != NULL;
}

static bb_status read_keys(const bb_dataset *points, bb_swept *out)
{
    bb_status status = BB_OK;
    const bb_results *results = out->results;
    bb_index count = 0;
    for (bb_index d = 0; d < bb_results_count(results); ++d) {
        count += is_key(results, bb_results_dataset(results, d));
    }
    BB_TRY(BB_ZEROED(count, &out->keys));
    // Ordered by axes, then by names.
    for (int a = 0; a < points->rank; ++a) {
        for (bb_index d = 0; d < bb_results_count(results); ++d) {
            const bb_dataset *dataset = bb_results_dataset(results, d);
            if (is_key(results, dataset) && strcmp(dataset->axes[0], points->axes[a]) == 0) {
                bb_swept_key *key = &out->keys[out->key_count++];
                BB_TRY(create_key(dataset, out->point_count, key));
                BB_TRY(fill_key(points, dataset, key));
            }
        }
    }
done:
    return status;
}

static const double *statistic(const bb_results *results, const char *name, bb_index count)
{
    const bb_dataset *dataset = bb_results_in(results, "statistics", name);
    const bool fits = dataset != NULL && !dataset->is_text && dataset->count == count;
    return fits ? dataset->numbers : NULL;
}

// Index, among the points of the collection, of the point with a given number in the plan.
static bb_index find_point(const bb_dataset *points, double number)
{
    for (bb_index p = 0; p < points->count; ++p) {
        if (points->numbers[p] == number) {
            return p;
        }
    }
    return -1;
}

static bb_status read_choices(const bb_dataset *points, bb_swept *out)
{
    bb_status status = BB_OK;
    enum { COLUMNS = 9 };
    static const char *const names[COLUMNS] = {
        "points",    "points_failed",  "share_failed_bound", "loss_median", "loss_p99",
        "loss_most", "bits_per_value", "operator_bytes",     "worst_point"};
    const double *columns[COLUMNS];
    const bb_dataset *who = bb_results_find(out->results, "statistics/choice_pipeline");
    const bb_dataset *how = bb_results_find(out->results, "statistics/setting");
    BB_REQUIRE(who != NULL && who->is_text && how != NULL && how->is_text &&
                   how->count == who->count,
               BB_IO, "the collection has no /statistics: no point has been run");
    for (int c = 0; c < COLUMNS; ++c) {
        columns[c] = statistic(out->results, names[c], who->count);
        BB_REQUIRE(columns[c] != NULL, BB_IO, "the collection has no /statistics/%s", names[c]);
    }
    const double *without_loss = statistic(out->results, "points_without_loss", who->count);
    BB_TRY(BB_ZEROED(who->count, &out->choices));
    out->choice_count = who->count;
    for (bb_index i = 0; i < who->count; ++i) {
        bb_swept_choice *choice = &out->choices[i];
        *choice = (bb_swept_choice){.pipeline = who->texts[i],
                                    .setting = how->texts[i],
                                    .points = columns[0][i],
                                    .failed = columns[1][i],
                                    .failure_bound = columns[2][i],
                                    .without_loss = without_loss == NULL ? 0.0 : without_loss[i],
                                    .loss_median = columns[3][i],
                                    .loss_p99 = columns[4][i],
                                    .loss_most = columns[5][i],
                                    .bits = columns[6][i],
                                    .bytes = columns[7][i],
                                    .worst_point = find_point(points, columns[8][i])};
        BB_TRY(bb_memory_printf(&choice->name, "%s%s%s", choice->pipeline,
                                choice->setting[0] == '\0' ? "" : ", ", choice->setting));
        BB_TRY(bb_memory_printf(&choice->count, "%.0f/%.0f", choice->failed, choice->points));
    }
done:
    return status;
}

const char *bb_swept_partial(const bb_results *results)
{
    const char *state = bb_results_note_text(results, "", "status");
    const char *reason = bb_results_note_text(results, "", "status_reason");
    return state == NULL || strcmp(state, "partial") != 0 ? NULL
           : reason == NULL                               ? "some planned points were not run"
                                                          : reason;
}

bb_status bb_swept_read(const bb_results *results, const bb_experiment *experiment, bb_swept *out)
{
    bb_status status = BB_OK;
    *out = (bb_swept){.results = results,
                      .experiment = experiment,
                      .pipelines = bb_results_find(results, "pipeline")};
    const bb_dataset *points = bb_results_find(results, "results/point_number");
    BB_REQUIRE(experiment != NULL && points != NULL && !points->is_text && out->pipelines != NULL &&
                   out->pipelines->is_text,
               BB_IO, "the collection lacks experiment, points or pipelines");
    out->point_count = points->count;
    BB_TRY(read_keys(points, out));
    BB_TRY(read_choices(points, out));
done:
    if (status != BB_OK) {
        bb_swept_release(out);
    }
    return status;
}

void bb_swept_release(bb_swept *swept)
{
    for (bb_index k = 0; k < swept->key_count; ++k) {
        BB_RELEASE(&swept->keys[k].numbers);
        BB_RELEASE(&swept->keys[k].texts);
        BB_RELEASE(&swept->keys[k].places);
    }
    for (bb_index i = 0; swept->choices != NULL && i < swept->choice_count; ++i) {
        BB_RELEASE(&swept->choices[i].name);
        BB_RELEASE(&swept->choices[i].count);
    }
    BB_RELEASE(&swept->keys);
    BB_RELEASE(&swept->choices);
    swept->key_count = swept->choice_count = 0;
}

static bb_status add_value(const bb_swept_key *key, bb_index value, bb_text *out)
{
    return key->is_text ? bb_text_add(out, "%s", key->texts[value])
                        : bb_text_add(out, "%.4g", key->numbers[value]);
}

// Appends the swept keys of a point: "r0_m 0.12, zenith_angle_deg 20".
static bb_status describe(const bb_swept *swept, bb_index point, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index k = 0; k < swept->key_count; ++k) {
        const bb_swept_key *key = &swept->keys[k];
        BB_TRY(bb_text_add(out, "%s%s %s", k == 0 ? "" : ", ", key->name,
                           key->ranges ? "about " : ""));
        BB_TRY(add_value(key, key->places[point], out));
    }
done:
    return status;
}

// True if a choice succeeded at every point with a known loss.
static bool has_loss(const bb_swept_choice *choice)
{
    return choice->failed == 0.0 && choice->without_loss == 0.0;
}

// Safe choice with fewest bytes whose loss is at most `max_loss` everywhere, NaN: without limit; or
// -1.
static bb_index find_best(const bb_swept *swept, double max_loss)
{
    bb_index best = -1;
    for (bb_index i = 0; i < swept->choice_count; ++i) {
        const bb_swept_choice *choice = &swept->choices[i];
        const bool kept = has_loss(choice) && !(choice->loss_most > max_loss);
        const bb_swept_choice *other = best < 0 ? NULL : &swept->choices[best];
        if (kept && (other == NULL || choice->bytes < other->bytes ||
                     (choice->bytes == other->bytes && choice->loss_most < other->loss_most))) {
            best = i;
        }
    }
    return best;
}

bool bb_swept_is_front(const bb_swept *swept, bb_index choice)
{
    const bb_swept_choice *own = &swept->choices[choice];
    const double own_magnitude = bb_front_magnitude(own->loss_most, 1.0);
    bool front = has_loss(own);
    for (bb_index i = 0; i < swept->choice_count; ++i) {
        const bb_swept_choice *other = &swept->choices[i];
        const double magnitude = bb_front_magnitude(other->loss_most, 1.0);
        front = front &&
                !(has_loss(other) && magnitude <= own_magnitude && other->bytes <= own->bytes &&
                  (magnitude < own_magnitude || other->bytes < own->bytes));
    }
    return front;
}

// Lists choices whose loss is unknown at some points, which cannot be compared with a limit.
static bb_status add_unknown_losses(const bb_swept *swept, bb_text *out)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    for (bb_index i = 0; i < swept->choice_count; ++i) {
        const bb_swept_choice *choice = &swept->choices[i];
        if (choice->without_loss > 0.0) {
            BB_TRY(bb_text_add(out, "%s%s (%.0f of %.0f)", count++ == 0 ? " Loss unknown: " : ", ",
                               choice->name, choice->without_loss, choice->points));
        }
    }
    BB_TRY(bb_text_add(out, "%s", count == 0 ? "" : "."));
done:
    return status;
}

// Adds the answers of a search, one for each of the first conditions.
static bb_status add_search_answers(const bb_dataset *answers, const char *partial, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index g = 0; g < answers->count && g < LISTED_ANSWERS; ++g) {
        BB_TRY(bb_text_add(out, "%s%s.", g == 0 ? "" : " ", answers->texts[g]));
    }
    if (answers->count > LISTED_ANSWERS) {
        BB_TRY(bb_text_add(out, " /search has answers for %td more conditions.",
                           answers->count - LISTED_ANSWERS));
    }
    if (partial != NULL) {
        BB_TRY(bb_text_add(out, " Partial result: %s.", partial));
    }
done:
    return status;
}

bb_status bb_swept_answer(const bb_swept *swept, double max_loss, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_dataset *answers = bb_results_find(swept->results, "search/answer");
    const char *partial = bb_swept_partial(swept->results);
    if (answers != NULL && answers->is_text && isnan(max_loss)) {
        return add_search_answers(answers, partial, out);
    }
    const char *loss = swept->experiment->loss_name;
    const bb_index best = find_best(swept, max_loss);
    bb_index safe = 0;
    for (bb_index i = 0; i < swept->choice_count; ++i) {
        safe += swept->choices[i].failed == 0.0;
    }
    const char *ran = partial == NULL ? "" : " that was run";
    BB_TRY(bb_text_add(out, "%td of %td choices finish at every condition%s.", safe,
                       swept->choice_count, ran));
    if (partial != NULL) {
        BB_TRY(bb_text_add(out, " Partial result: %s.", partial));
    }
    BB_TRY(add_unknown_losses(swept, out));
    if (best < 0) {
        BB_TRY(isnan(max_loss) ? BB_OK
                               : bb_text_add(out, " None stays within %s %g at every condition%s.",
                                             loss, max_loss, ran));
        goto done;
    }
    const bb_swept_choice *choice = &swept->choices[best];
    BB_TRY(bb_text_add(out, " Fewest bytes"));
    if (!isnan(max_loss)) {
        BB_TRY(
            bb_text_add(out, " with %s of at most %g at every condition%s", loss, max_loss, ran));
    }
    BB_TRY(bb_text_add(out, "%s: %s, %.4g MB, %s at worst %.3g",
                       isnan(max_loss) ? " among them" : "", choice->name, 1e-6 * choice->bytes,
                       loss, choice->loss_most));
    if (choice->worst_point >= 0) {
        BB_TRY(bb_text_add(out, " ("));
        BB_TRY(describe(swept, choice->worst_point, out));
        BB_TRY(bb_text_add(out, ")"));
    }
    BB_TRY(bb_text_add(out, "."));
done:
    return status;
}

// Column: dataset of /statistics and its location in a choice.
typedef struct column {
    const char *name, *header;
    double scale;
    size_t member;
    bool for_people;
} column;

static const column grid_columns[] = {
    {"points", "points", 1.0, offsetof(bb_swept_choice, points), false},
    {"points_failed", "failed", 1.0, offsetof(bb_swept_choice, failed), false},
    {"share_failed_bound", "bound", 1.0, offsetof(bb_swept_choice, failure_bound), false},
    {"loss_median", "median", 1.0, offsetof(bb_swept_choice, loss_median), true},
    {"loss_p99", "p99", 1.0, offsetof(bb_swept_choice, loss_p99), true},
    {"loss_most", "worst", 1.0, offsetof(bb_swept_choice, loss_most), true},
    {"bits_per_value", "bits", 1.0, offsetof(bb_swept_choice, bits), true},
    {"operator_bytes", "MB", 1e-6, offsetof(bb_swept_choice, bytes), true},
};
enum { GRID_COLUMNS = sizeof grid_columns / sizeof *grid_columns };

static double value_of(const bb_swept_choice *choice, const column *about)
{
    double value;
    memcpy(&value, (const char *)choice + about->member, sizeof value);
    return value;
}

static bb_status add_column(const bb_swept *swept, const column *about, bb_grid *out)
{
    bb_status status = BB_OK;
    const bb_dataset *dataset = bb_results_in(swept->results, "statistics", about->name);
    bb_grid_column *cells = &out->columns[out->count++];
    *cells = (bb_grid_column){.name = about->name,
                              .label = "",
                              .unit = dataset->unit,
                              .long_name = dataset->long_name,
                              .scale = about->scale};
    BB_TRY(bb_memory_text(about->header, &cells->header));
    BB_TRY(BB_ALLOCATE(out->rows, &cells->numbers));
    for (bb_index i = 0; i < out->rows; ++i) {
        cells->numbers[i] = value_of(&swept->choices[i], about);
    }
done:
    return status;
}

static bb_status add_counts(const bb_swept *swept, bb_grid *out)
{
    bb_status status = BB_OK;
    bb_grid_column *cells = &out->columns[out->count++];
    *cells = (bb_grid_column){.name = "points_failed",
                              .label = "",
                              .unit = "1",
                              .long_name = "number of conditions at which it failed"};
    BB_TRY(bb_memory_text("failed", &cells->header));
    BB_TRY(BB_ZEROED(out->rows, &cells->texts));
    for (bb_index i = 0; i < out->rows; ++i) {
        cells->texts[i] = swept->choices[i].count;
    }
done:
    return status;
}

bb_status bb_swept_fill_grid(const bb_swept *swept, bool for_people, bb_grid *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(swept->choice_count, &out->names));
    BB_TRY(BB_ZEROED(swept->choice_count, &out->marked));
    BB_TRY(BB_ZEROED(GRID_COLUMNS + 1, &out->columns));
    out->rows = swept->choice_count;
    for (bb_index i = 0; i < out->rows; ++i) {
        out->names[i] = swept->choices[i].name;
        out->marked[i] = bb_swept_is_front(swept, i);
    }
    if (for_people) {
        BB_TRY(add_counts(swept, out));
    }
    for (int c = 0; c < GRID_COLUMNS; ++c) {
        if (grid_columns[c].for_people || !for_people) {
            BB_TRY(add_column(swept, &grid_columns[c], out));
        }
    }
done:
    return status;
}
