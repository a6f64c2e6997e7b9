// SPDX-License-Identifier: Apache-2.0
#include "sim/report/plane.h"

#include "core/memory.h"
#include "core/suggestion.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char pipeline_axis[] = "pipeline";

void bb_plane_release(bb_plane *set)
{
    bb_text_release(&set->note);
    BB_RELEASE(&set->worst);
    BB_RELEASE(&set->runs);
    BB_RELEASE(&set->fails);
    bb_swept_release(&set->swept);
}

static bb_status find_key(const bb_swept *swept, const char *option, const char *name,
                          const bb_swept_key **out)
{
    bb_status status = BB_OK;
    bb_suggestion near = {.word = name};
    const bb_index found = bb_swept_find_key(swept, name);
    for (bb_index k = 0; k < swept->key_count; ++k) {
        bb_suggestion_add(&near, swept->keys[k].name);
    }
    BB_REQUIRE(found >= 0, BB_INVALID, "--%s %s: not a swept key%s", option, name,
               bb_suggestion_text(&near));
    *out = &swept->keys[found];
done:
    return status;
}

// Key with most values other than `other`; conditions precede keys of pipelines.
static const bb_swept_key *choose_key(const bb_swept *swept, const bb_swept_key *other)
{
    const bb_swept_key *best = NULL;
    for (bb_index k = 0; k < swept->key_count; ++k) {
        const bb_swept_key *key = &swept->keys[k];
        const bool better =
            best == NULL || (bb_swept_is_own(best) && !bb_swept_is_own(key)) ||
            (bb_swept_is_own(best) == bb_swept_is_own(key) && key->count > best->count);
        best = key != other && key->count > 1 && better ? key : best;
    }
    return best;
}

static bb_status choose_keys(const bb_plot_scene *scene, bb_plane *set)
{
    bb_status status = BB_OK;
    const bb_swept *swept = &set->swept;
    const bool pipelines = scene->y != NULL && strcmp(scene->y, pipeline_axis) == 0;
    if (scene->y != NULL && !pipelines) {
        BB_TRY(find_key(swept, "y", scene->y, &set->y));
    }
    if (scene->x != NULL) {
        BB_TRY(find_key(swept, "x", scene->x, &set->x));
    } else {
        set->x = choose_key(swept, set->y);
    }
    BB_REQUIRE(set->x != NULL, BB_INVALID, "a sweep of one point has no axis to plot");
    if (scene->y == NULL) {
        set->y = choose_key(swept, set->x);
    }
    BB_REQUIRE(set->x != set->y, BB_INVALID,
               "--x and --y are both %s; use two different swept keys", set->x->name);
    set->columns = set->x->count;
    set->rows = set->y == NULL ? swept->pipelines->count : set->y->count;
done:
    return status;
}

static bb_index find_pipeline(const bb_swept *swept, const char *name, size_t bytes)
{
    for (bb_index p = 0; p < swept->pipelines->count; ++p) {
        const char *other = swept->pipelines->texts[p];
        if (strlen(other) == bytes && memcmp(other, name, bytes) == 0) {
            return p;
        }
    }
    return -1;
}

// Pipeline whose key is drawn, else that of the safe choice with fewest bytes and nonzero loss,
// else the first choice that failed.
static bb_index default_pipeline(const bb_plane *set)
{
    const bb_swept_key *keys[] = {set->x, set->y};
    const bb_swept *swept = &set->swept;
    const bb_swept_choice *best = NULL;
    for (int k = 0; k < 2; ++k) {
        if (keys[k] != NULL && bb_swept_is_own(keys[k])) {
            const char *name = strchr(keys[k]->path, '.') + 1;
            const bb_index found = find_pipeline(swept, name, strcspn(name, "."));
            if (found >= 0) {
                return found;
            }
        }
    }
    for (bb_index i = 0; i < swept->choice_count; ++i) {
        const bb_swept_choice *choice = &swept->choices[i];
        if (choice->failed == 0.0 && choice->loss_most > 0.0 &&
            (best == NULL || choice->bytes < best->bytes)) {
            best = choice;
        }
    }
    for (bb_index i = 0; best == NULL && i < swept->choice_count; ++i) {
        best = swept->choices[i].failed > 0.0 ? &swept->choices[i] : NULL;
    }
    const bb_index found =
        best == NULL ? 0 : find_pipeline(swept, best->pipeline, strlen(best->pipeline));
    return found < 0 ? 0 : found;
}

static bb_status choose_pipeline(const bb_plot_scene *scene, bb_plane *set)
{
    bb_status status = BB_OK;
    bb_suggestion near = {.word = scene->pipeline};
    const bb_dataset *names = set->swept.pipelines;
    if (scene->pipeline == NULL) {
        set->pipeline = default_pipeline(set);
        goto done;
    }
    set->pipeline = find_pipeline(&set->swept, scene->pipeline, strlen(scene->pipeline));
    for (bb_index p = 0; p < names->count; ++p) {
        bb_suggestion_add(&near, names->texts[p]);
    }
    BB_REQUIRE(set->pipeline >= 0, BB_INVALID, "--pipeline %s: not a pipeline of this file%s",
               scene->pipeline, bb_suggestion_text(&near));
    BB_REQUIRE(
        set->y != NULL, BB_INVALID,
        "--pipeline selects one pipeline, but each has a row; add --y KEY or remove --pipeline");
done:
    return status;
}

static bb_status choose_value(const bb_plot_scene *scene, bb_plane *set)
{
    bb_status status = BB_OK;
    // Quantities for which larger is better.
    static const char *const merits[] = {"strehl", "compression_ratio"};
    char path[BB_PLANE_NAME];
    set->value = scene->value == NULL ? "loss" : scene->value;
    BB_REQUIRE(bb_swept_has(&set->swept, set->value), BB_INVALID,
               "--value %s: use 'loss' or a numeric dataset of /results whose axes are only the "
               "sweep's and pipelines",
               set->value);
    for (size_t m = 0; m < sizeof merits / sizeof *merits; ++m) {
        set->less = set->less || strcmp(merits[m], set->value) == 0;
    }
    (void)snprintf(path, sizeof path, "results/%s", set->value);
    const bb_dataset *dataset = bb_results_find(scene->results, path);
    if (dataset == NULL) {
        (void)snprintf(set->name, sizeof set->name, "%s", scene->experiment->loss_name);
    } else {
        (void)snprintf(set->name, sizeof set->name, "%s%s%s%s", set->value,
                       strcmp(dataset->unit, "1") == 0 ? "" : " [",
                       strcmp(dataset->unit, "1") == 0 ? "" : dataset->unit,
                       strcmp(dataset->unit, "1") == 0 ? "" : "]");
    }
done:
    return status;
}

static void add_value(bb_plane *set, bb_index row, bb_index point, bb_index pipeline)
{
    const bb_index cell = row * set->columns + set->x->places[point];
    const bool finished = bb_swept_finished(&set->swept, point, pipeline);
    const double number = bb_swept_number(&set->swept, set->value, point, pipeline);
    ++set->runs[cell];
    set->fails[cell] += !finished;
    const bool worse = set->less ? number < set->worst[cell] : number > set->worst[cell];
    if (!isnan(number) && (isnan(set->worst[cell]) || worse)) {
        set->worst[cell] = number;
    }
}

static void find_ranges(bb_plane *set)
{
    double least = INFINITY;
    set->low = INFINITY;
    set->high = -INFINITY;
    for (bb_index i = 0; i < set->rows * set->columns; ++i) {
        if (isfinite(set->worst[i])) {
            set->low = fmin(set->low, set->worst[i]);
            set->high = fmax(set->high, set->worst[i]);
            least = set->worst[i] > 0.0 ? fmin(least, set->worst[i]) : least;
        }
    }
    if (!isfinite(set->low)) {
        set->low = set->high = NAN;
    }
    set->logarithmic = isfinite(least) && set->low >= 0.0 && set->high > 5.0 * least;
    set->low = set->logarithmic ? least : set->low;
}

static bb_status list_rest(const bb_plane *set, bb_text *out)
{
    bb_status status = BB_OK;
    bool first = true;
    for (bb_index k = 0; k < set->swept.key_count; ++k) {
        const bb_swept_key *key = &set->swept.keys[k];
        if (key != set->x && key != set->y && key->count > 1) {
            BB_TRY(bb_text_add(out, "%s%s", first ? "" : ", ", key->name));
            first = false;
        }
    }
done:
    return status;
}

static bb_status write_note(bb_plane *set)
{
    bb_status status = BB_OK;
    bb_text rest = {0};
    const bb_swept_key *keys[] = {set->x, set->y};
    BB_TRY(list_rest(set, &rest));
    if (set->y != NULL) {
        BB_TRY(
            bb_text_add(&set->note, "Pipeline %s. ", set->swept.pipelines->texts[set->pipeline]));
    }
    if (rest.length > 0) {
        BB_TRY(bb_text_add(&set->note, "Worst value (%s) over %s. ",
                           set->less ? "least" : "largest", rest.data));
    }
    for (int k = 0; k < 2; ++k) {
        if (keys[k] != NULL && keys[k]->ranges) {
            BB_TRY(bb_text_add(&set->note, "%s in %td equal ranges, labelled by their centres. ",
                               keys[k]->name, keys[k]->count));
        }
    }
done:
    bb_text_release(&rest);
    return status;
}

bb_status bb_plane_gather(const bb_plot_scene *scene, bb_plane *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_swept_read(scene->results, scene->experiment, &out->swept));
    BB_TRY(choose_keys(scene, out));
    BB_TRY(choose_pipeline(scene, out));
    BB_TRY(choose_value(scene, out));
    const bb_index cells = out->rows * out->columns;
    BB_TRY(BB_ALLOCATE(cells, &out->worst));
    BB_TRY(BB_ZEROED(cells, &out->runs));
    BB_TRY(BB_ZEROED(cells, &out->fails));
    for (bb_index i = 0; i < cells; ++i) {
        out->worst[i] = NAN;
    }
    for (bb_index p = 0; p < out->swept.point_count; ++p) {
        for (bb_index row = 0; out->y == NULL && row < out->rows; ++row) {
            add_value(out, row, p, row);
        }
        if (out->y != NULL) {
            add_value(out, out->y->places[p], p, out->pipeline);
        }
    }
    find_ranges(out);
    BB_TRY(write_note(out));
done:
    return status;
}

const char *bb_plane_y_name(const bb_plane *set)
{
    return set->y == NULL ? pipeline_axis : set->y->name;
}

// Adds the unit to a key unless its name ends with it.
void bb_plane_name_key(const bb_swept_key *key, char out[BB_PLANE_NAME])
{
    const size_t length = strlen(key->name);
    const size_t tail = strlen(key->unit);
    const bool plain = tail == 0 || strcmp(key->unit, "1") == 0 ||
                       (length > tail && key->name[length - tail - 1] == '_' &&
                        strcmp(key->name + length - tail, key->unit) == 0);
    (void)snprintf(out, BB_PLANE_NAME, "%s%s%s%s", key->name, plain ? "" : " [",
                   plain ? "" : key->unit, plain ? "" : "]");
}

bb_status bb_plane_add_row_name(const bb_plane *set, bb_index row, bb_text *out)
{
    return set->y == NULL ? bb_text_add(out, "%s", set->swept.pipelines->texts[row])
                          : bb_swept_add_value(set->y, row, out);
}

// Text shown over a cell or a mark: "hp3, r0_m 0.1, width 2: Strehl loss 0.01, failed at 1 of 3".
bb_status bb_plane_add_hover(const bb_plane *set, bb_index row, bb_index column,
                             bb_figure_box place, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_index cell = row * set->columns + column;
    BB_TRY(bb_text_add(&text, "%s %s", set->x->name, set->x->ranges ? "about " : ""));
    BB_TRY(bb_swept_add_value(set->x, column, &text));
    BB_TRY(bb_text_add(&text, ", %s ", bb_plane_y_name(set)));
    BB_TRY(bb_plane_add_row_name(set, row, &text));
    if (isfinite(set->worst[cell])) {
        BB_TRY(bb_text_add(&text, ": %s %.4g", set->name, set->worst[cell]));
    }
    if (set->runs[cell] == 0) {
        BB_TRY(bb_text_add(&text, ": not run"));
    } else if (set->fails[cell] > 0) {
        BB_TRY(bb_text_add(&text, ", failed at %td of %td", set->fails[cell], set->runs[cell]));
    }
    BB_TRY(bb_figure_hover(figure, place, bb_text_string(&text)));
done:
    bb_text_release(&text);
    return status;
}

// Adds names of rows or columns as tics, as many as fit.
bb_status bb_plane_add_tics(const bb_plane *set, bool rows, double length_cm, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_text name = {0};
    const bb_index count = rows ? set->rows : set->columns;
    double room = rows ? 0.35 : 0.0;
    for (bb_index i = 0; !rows && i < count; ++i) {
        BB_TRY(bb_swept_add_value(set->x, i, &name));
        room = fmax(room, bb_figure_text_cm(bb_text_string(&name), BB_FIGURE_POINTS) + 0.2);
        bb_text_release(&name);
    }
    const bb_index limit = (bb_index)fmax(1.0, length_cm / room);
    const bb_index step = (count + limit - 1) / limit;
    BB_TRY(bb_text_add(&figure->script, "set %stics nomirror scale 0.4 (", rows ? "y" : "x"));
    for (bb_index i = 0; i < count; i += step) {
        bb_text_release(&name);
        BB_TRY(rows ? bb_plane_add_row_name(set, i, &name) : bb_swept_add_value(set->x, i, &name));
        BB_TRY(bb_figure_add_text(figure, i == 0 ? "" : ", ", bb_text_string(&name),
                                  BB_FIGURE_POINTS, ""));
        BB_TRY(bb_text_add(&figure->script, " %td", i));
    }
    BB_TRY(bb_text_add(&figure->script, ")\n"));
done:
    bb_text_release(&name);
    return status;
}
