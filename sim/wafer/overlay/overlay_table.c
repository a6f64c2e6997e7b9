// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/overlay/wafer_overlay.h"

#include <math.h>
#include <stdio.h>

enum { ERRORS = 3, DIRECTIONS = 3, STATISTICS = 5, PARTS = 4, MODELS = 5, CELL_BYTES = 32 };
enum { SPREADS = 4, WAFERS_SHOWN = 5 };

static const char *const statistic_labels[STATISTICS] = {"mean", "st.dev.", "|mean| + 3 sigma",
                                                         "max 99.7 %", "max"};
static const char *const part_labels[PARTS] = {"centre fields", "edge fields", "up scans",
                                               "down scans"};
static const char *const model_labels[MODELS] = {NULL, "6 of the wafer", "10 of wafer and field",
                                                 "6 of each field", "cubic of each field"};

static const char *const spread_labels[SPREADS] = {
    "wafer to wafer: st.dev. of the mean", "wafer to wafer: st.dev. at a point",
    "wafer to wafer: largest st.dev.", "|mean| + 3 sigma, all wafers"};

// Datasets of /results that the report reads.
typedef struct overlay {
    const bb_dataset *pipeline, *statistics, *percent, *parts, *nce, *removed, *headline;
    const bb_dataset *worst, *worst_field, *median, *late, *missed, *rms, *points;
    const bb_dataset *wafer, *wafer_m3s, *spread; // NULL if only one wafer is scored
} overlay;

static bb_status find(const bb_results *results, overlay *out)
{
    const struct {
        const char *path;
        const bb_dataset **dataset;
        bb_index count; // values per pipeline, 0: any
    } wanted[] = {
        {"results/pipeline", &out->pipeline, 1},
        {"results/overlay_statistics_nm", &out->statistics, ERRORS * DIRECTIONS * STATISTICS},
        {"results/overlay_statistics_percent", &out->percent, ERRORS * DIRECTIONS * STATISTICS},
        {"results/part_m3s_nm", &out->parts, ERRORS * PARTS * DIRECTIONS},
        {"results/nce_nm", &out->nce, ERRORS * MODELS * DIRECTIONS},
        {"results/variance_removed", &out->removed, ERRORS * MODELS},
        {"results/overlay_headline_nm", &out->headline, ERRORS},
        {"results/worst_field_nm", &out->worst, ERRORS},
        {"results/worst_field", &out->worst_field, ERRORS},
        {"results/median_field_nm", &out->median, ERRORS},
        {"results/delivery_late_steps", &out->late, 1},
        {"results/delivery_missed_steps", &out->missed, 1},
        {"results/overlay_reference_rms_nm", &out->rms, 0},
        {"results/field_points", &out->points, 0},
    };
    bb_status status = BB_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        const bb_dataset *found = bb_results_find(results, wanted[i].path);
        BB_REQUIRE(found != NULL && found->is_text == (i == 0) && found->count > 0, BB_INVALID,
                   "the overlay report has no '%s'", wanted[i].path);
        *wanted[i].dataset = found;
        BB_REQUIRE(wanted[i].count == 0 || found->count == wanted[i].count * out->pipeline->count,
                   BB_INVALID, "'%s' has %td items, expected %td", wanted[i].path, found->count,
                   wanted[i].count * out->pipeline->count);
    }
done:
    return status;
}

// Formats four significant digits; values of a picometre or less keep an exponent.
static void print_cell(double value, char out[CELL_BYTES])
{
    double size = fabs(value);
    if (isnan(value)) {
        (void)snprintf(out, CELL_BYTES, "-");
    } else if (size == 0.0) {
        (void)snprintf(out, CELL_BYTES, "0");
    } else if (size >= 1e-3 && size < 1e5) {
        int digits = 3 - (int)floor(log10(size));
        (void)snprintf(out, CELL_BYTES, "%.*f", digits < 0 ? 0 : digits, value);
    } else {
        (void)snprintf(out, CELL_BYTES, "%.3e", value);
    }
}

// Writes three numbers, `stride` apart.
static bb_status write_line(const char *label, const double *values, bb_index stride, bb_text *out)
{
    bb_status status = BB_OK;
    char cell[CELL_BYTES];
    BB_TRY(bb_text_add(out, "  %-34s", label));
    for (int d = 0; d < DIRECTIONS; ++d) {
        print_cell(values[d * stride], cell);
        BB_TRY(bb_text_add(out, "  %11s", cell));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_models(const overlay *view, bb_index item, bb_text *out)
{
    bb_status status = BB_OK;
    char cell[CELL_BYTES];
    char label[64];
    for (int m = 1; m < MODELS; ++m) {
        (void)snprintf(label, sizeof label, "NCE after %s", model_labels[m]);
        BB_TRY(write_line(label, view->nce->numbers + (item * MODELS + m) * DIRECTIONS, 1, out));
    }
    BB_TRY(bb_text_add(out, "  mean square removed by each in turn"));
    for (int m = 1; m < MODELS; ++m) {
        double share = 100.0 * view->removed->numbers[item * MODELS + m];
        (void)snprintf(cell, sizeof cell, isnan(share) ? "-" : "%.1f %%", share);
        BB_TRY(bb_text_add(out, "%s %s", m == 1 ? ":" : ",", cell));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_fields(const overlay *view, bb_index item, bb_text *out)
{
    bb_status status = BB_OK;
    char headline[CELL_BYTES];
    char worst[CELL_BYTES];
    char median[CELL_BYTES];
    print_cell(view->headline->numbers[item], headline);
    print_cell(view->worst->numbers[item], worst);
    print_cell(view->median->numbers[item], median);
    BB_TRY(bb_text_add(out, "  headline %s; worst field %s", headline, worst));
    if (!isnan(view->worst_field->numbers[item])) {
        BB_TRY(bb_text_add(out, " (exposure %.0f)", view->worst_field->numbers[item]));
    }
    BB_TRY(bb_text_add(out, ", median field %s\n", median));
done:
    return status;
}

// Finds the results per wafer, if all wafers of a lot are scored.
static bb_status find_wafers(const bb_results *results, overlay *out)
{
    bb_status status = BB_OK;
    const bb_index items = ERRORS * DIRECTIONS * out->pipeline->count;
    out->wafer = bb_results_find(results, "results/wafer");
    if (out->wafer == NULL) {
        goto done;
    }
    out->wafer_m3s = bb_results_find(results, "results/wafer_m3s_nm");
    out->spread = bb_results_find(results, "results/wafer_to_wafer_nm");
    BB_REQUIRE(out->wafer_m3s != NULL && out->wafer_m3s->count == items * out->wafer->count &&
                   out->spread != NULL && out->spread->count == items * SPREADS,
               BB_INVALID,
               "the overlay report of %td wafers needs 'results/wafer_m3s_nm' and "
               "'results/wafer_to_wafer_nm'",
               out->wafer->count);
done:
    return status;
}

// Writes the first and last wafers of a long lot, then the spread over all wafers.
static bb_status write_wafers(const overlay *view, bb_index item, bb_text *out)
{
    bb_status status = BB_OK;
    char label[64];
    const bb_index wafers = view->wafer == NULL ? 0 : view->wafer->count;
    for (bb_index w = 0; w < wafers; ++w) {
        if (wafers > 2 * WAFERS_SHOWN && w == WAFERS_SHOWN) {
            w = wafers - WAFERS_SHOWN;
            BB_TRY(bb_text_add(out, "  ...\n"));
        }
        (void)snprintf(label, sizeof label, "|mean| + 3 sigma, wafer %.0f",
                       view->wafer->numbers[w]);
        BB_TRY(
            write_line(label, view->wafer_m3s->numbers + (item * wafers + w) * DIRECTIONS, 1, out));
    }
    for (int s = 0; s < SPREADS && wafers > 0; ++s) {
        BB_TRY(write_line(spread_labels[s], view->spread->numbers + item * DIRECTIONS * SPREADS + s,
                          SPREADS, out));
    }
done:
    return status;
}

// Writes one error; `item` counts pipelines and errors.
static bb_status write_error(const overlay *view, const char *title, bb_index item, bb_text *out)
{
    bb_status status = BB_OK;
    const double *statistics = view->statistics->numbers + item * DIRECTIONS * STATISTICS;
    const double *percent = view->percent->numbers + item * DIRECTIONS * STATISTICS;
    const double *parts = view->parts->numbers + item * PARTS * DIRECTIONS;
    if (statistics[DIRECTIONS * STATISTICS - 1] == 0.0) { // largest vector length
        return bb_text_add(out, "\n%s: exactly 0\n", title);
    }
    BB_TRY(bb_text_add(out, "\n%-36s  %11s  %11s  %11s\n", title, "x", "y", "vector"));
    for (int s = 0; s < STATISTICS; ++s) {
        BB_TRY(write_line(statistic_labels[s], statistics + s, STATISTICS, out));
    }
    BB_TRY(write_line("|mean| + 3 sigma [% of rms]", percent + 2, STATISTICS, out));
    for (int p = 0; p < PARTS; ++p) {
        char label[64];
        (void)snprintf(label, sizeof label, "|mean| + 3 sigma, %s", part_labels[p]);
        BB_TRY(write_line(label, parts + p * DIRECTIONS, 1, out));
    }
    BB_TRY(write_models(view, item, out));
    BB_TRY(write_fields(view, item, out));
    BB_TRY(write_wafers(view, item, out));
done:
    return status;
}

bb_status bb_wafer_overlay_print(const bb_results *results, bb_text *out)
{
    bb_status status = BB_OK;
    overlay view = {0};
    double points = 0.0;
    char title[256];
    if (bb_results_find(results, "results/overlay_statistics_nm") == NULL) {
        goto done;
    }
    BB_TRY(find(results, &view));
    BB_TRY(find_wafers(results, &view));
    for (bb_index f = 0; f < view.points->count; ++f) {
        points += view.points->numbers[f];
    }
    print_cell(view.rms->numbers[0], title);
    BB_TRY(bb_text_add(out, "\noverlay [nm], %.0f points of %td field%s, rms of the reference %s\n",
                       points, view.points->count, view.points->count == 1 ? "" : "s", title));
    BB_TRY(write_error(&view, "raw heating overlay", 0, out));
    for (bb_index p = 0; p < view.pipeline->count; ++p) {
        (void)snprintf(title, sizeof title, "%s: feed-forward residual", view.pipeline->texts[p]);
        BB_TRY(write_error(&view, title, p * ERRORS + 1, out));
        BB_TRY(bb_text_add(out, "  corrections late by %.0f light step%s, %.0f missed\n",
                           view.late->numbers[p], view.late->numbers[p] == 1.0 ? "" : "s",
                           view.missed->numbers[p]));
        (void)snprintf(title, sizeof title, "%s: numerical error", view.pipeline->texts[p]);
        BB_TRY(write_error(&view, title, p * ERRORS + 2, out));
    }
done:
    return status;
}
