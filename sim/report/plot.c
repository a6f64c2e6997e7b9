// SPDX-License-Identifier: Apache-2.0
#include "sim/report/plot.h"

#include "core/suggestion.h"
#include "sim/report/swept.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 160 };

static const bb_plot_kind *const kinds[] = {
    &bb_plot_pareto,        &bb_plot_loss_against_bits,
    &bb_plot_draws,         &bb_plot_psf,
    &bb_plot_spectrum,      &bb_plot_tiles,
    &bb_plot_budget,        &bb_plot_night,
    &bb_plot_staleness,     &bb_plot_overlay,
    &bb_plot_field,         &bb_plot_heat,
    &bb_plot_probes,        &bb_plot_latency,
    &bb_plot_roofline,      &bb_plot_kernels,
    &bb_plot_machines,      &bb_plot_choices,
    &bb_plot_interferogram, &bb_plot_wrapped,
    &bb_plot_unwrapped,     &bb_plot_phase_error,
    &bb_plot_parts,         &bb_plot_heatmap,
    &bb_plot_lines,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

bb_index bb_plot_kinds(const bb_plot_kind *const **out)
{
    *out = kinds;
    return KINDS;
}

static bool is_of_sweeps(const bb_plot_kind *kind)
{
    return (kind->traits & BB_PLOT_OF_SWEEPS) != 0;
}

// Finds a kind by name. A name may denote a picture of a run and one of a sweep: the latter if
// `of_sweeps` and if it exists.
static const bb_plot_kind *find_kind(const char *name, bool of_sweeps)
{
    const bb_plot_kind *found = NULL;
    for (int k = 0; k < KINDS; ++k) {
        if (strcmp(kinds[k]->name, name) == 0 &&
            (found == NULL || is_of_sweeps(kinds[k]) == of_sweeps)) {
            found = kinds[k];
        }
    }
    return found;
}

bb_status bb_plot_check(const char *kind)
{
    bb_status status = BB_OK;
    bb_suggestion near = {.word = kind};
    for (int k = 0; k < KINDS; ++k) {
        bb_suggestion_add(&near, kinds[k]->name);
    }
    BB_REQUIRE(find_kind(kind, false) != NULL, BB_INVALID,
               "unknown kind of picture '%s'%s; 'bitbudget plot --list FILE' lists the kinds", kind,
               bb_suggestion_text(&near));
done:
    return status;
}

static bool has_values(const bb_dataset *dataset)
{
    bool found = dataset != NULL && dataset->is_text && dataset->count > 0;
    for (bb_index i = 0; dataset != NULL && !dataset->is_text && i < dataset->count; ++i) {
        found = found || !isnan(dataset->numbers[i]);
    }
    return found;
}

// Dataset required by a kind of picture but missing, or NULL.
static const char *missing(const bb_plot_kind *kind, const bb_results *results)
{
    if (is_of_sweeps(kind) != bb_swept_is(results)) {
        return is_of_sweeps(kind) ? "statistics" : "results over pipelines only";
    }
    for (int n = 0; n < BB_PLOT_NEEDS && kind->needs[n] != NULL; ++n) {
        if (!has_values(bb_results_find(results, kind->needs[n]))) {
            return kind->needs[n];
        }
    }
    return NULL;
}

// Refuses options that the kind of picture does not use.
static bb_status check_scene(const bb_plot_kind *kind, const bb_plot_scene *scene)
{
    bb_status status = BB_OK;
    const struct {
        const char *option, *kind_names;
        bool named;
        unsigned trait;
    } options[] = {
        {"--x", "heatmap and lines", scene->x != NULL, BB_PLOT_TAKES_KEYS},
        {"--y", "heatmap and lines", scene->y != NULL, BB_PLOT_TAKES_KEYS},
        {"--pipeline", "heatmap and lines", scene->pipeline != NULL, BB_PLOT_TAKES_KEYS},
        {"--value", "heatmap and lines", scene->value != NULL, BB_PLOT_TAKES_KEYS},
        {"--exposure", "heat", scene->exposure != NULL, BB_PLOT_TAKES_STEP},
        {"--step", "heat", scene->step > 0, BB_PLOT_TAKES_STEP},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        BB_REQUIRE(!options[i].named || (kind->traits & options[i].trait) != 0, BB_INVALID,
                   "%s is valid only for %s, not for '%s'", options[i].option,
                   options[i].kind_names, kind->name);
    }
    BB_REQUIRE(scene->more_count == 0 || (kind->traits & BB_PLOT_TAKES_FILES) != 0, BB_INVALID,
               "several files need --kind kernels; '%s' draws one file", kind->name);
done:
    return status;
}

bb_status bb_plot_draw(const bb_plot_scene *scene, const char *kind, bb_figure *figure)
{
    bb_status status = BB_OK;
    BB_TRY(bb_plot_check(kind));
    const bb_plot_kind *row = find_kind(kind, bb_swept_is(scene->results));
    const char *missing_dataset = missing(row, scene->results);
    BB_REQUIRE(missing_dataset == NULL, BB_INVALID,
               "picture '%s' is not available for this file: it has no numbers in /%s; use %s",
               kind, missing_dataset, row->remedy);
    BB_TRY(check_scene(row, scene));
    BB_TRY(row->draw(scene, figure));
done:
    return status;
}

bool bb_plot_supports(const bb_plot_scene *scene, int index, const char **name, const char **shows)
{
    const bool exists = index < KINDS;
    *name = exists ? kinds[index]->name : NULL;
    *shows = exists ? kinds[index]->shows : NULL;
    return exists && missing(kinds[index], scene->results) == NULL;
}

bb_status bb_plot_list(const bb_plot_scene *scene, bb_text *out)
{
    bb_status status = BB_OK;
    for (int k = 0; k < KINDS; ++k) {
        if (missing(kinds[k], scene->results) == NULL) {
            BB_TRY(bb_text_add(out, "%-18s %s\n", kinds[k]->name, kinds[k]->shows));
        }
    }
    bool first = true;
    const bool swept = bb_swept_is(scene->results);
    for (int k = 0; k < KINDS; ++k) {
        const char *missing_dataset = missing(kinds[k], scene->results);
        const bool is_duplicate = find_kind(kinds[k]->name, swept) != kinds[k];
        if (missing_dataset != NULL && !is_duplicate) {
            BB_TRY(bb_text_add(out, "%s%-18s needs %s\n",
                               first ? "not available for this file:\n" : "", kinds[k]->name,
                               kinds[k]->remedy));
            first = false;
        }
    }
done:
    return status;
}

const bb_dataset *bb_plot_column(const bb_results *results, const char *name)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "results/%s", name);
    const bb_dataset *dataset = bb_results_find(results, path);
    const bool fits = dataset != NULL && !dataset->is_text && dataset->rank == 1 &&
                      strcmp(dataset->axes[0], "pipeline") == 0;
    return fits ? dataset : NULL;
}

double bb_plot_single(const bb_results *results, const char *path)
{
    const bb_dataset *dataset = bb_results_find(results, path);
    return dataset == NULL || dataset->is_text || dataset->count != 1 ? NAN : dataset->numbers[0];
}

bb_index bb_plot_reference(const bb_results *results)
{
    const bb_dataset *errors = bb_plot_column(results, "qoi_relative_error");
    for (bb_index p = 0; errors != NULL && p < errors->count; ++p) {
        if (errors->numbers[p] == 0.0) {
            return p;
        }
    }
    return 0;
}

void bb_plot_range(const double *numbers, bb_index count, double *low, double *high)
{
    *low = INFINITY;
    *high = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        if (numbers[i] > 0.0 && isfinite(numbers[i])) {
            *low = fmin(*low, numbers[i]);
            *high = fmax(*high, numbers[i]);
        }
    }
    if (!isfinite(*low)) {
        *low = *high = 1.0;
        *low /= 10.0;
        *high *= 10.0;
        return;
    }
    const double margin = fmax(pow(*high / *low, 0.12), 1.5);
    *low /= margin;
    *high *= margin;
}
