// SPDX-License-Identifier: Apache-2.0
//
// Rooflines of a table of machines, absolute, per price and per power, with the attainable rate at
// the operations per byte of a product y = A x: Figure 4 of Bamakhrama et al. (2019).
#include "sim/report/machine_table.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, MOST_MACHINES = 24, PANELS = 3, MARKS = 11 };

// Operations per byte.
static const double low_x = 0.1;
static const double high_x = 100.0;

static const double beside_cm = 1.55; // left of a panel, for its numbers and its label
static const double below_cm = 1.0;
static const double right_cm = 0.4; // half of the last number
static const double row_cm = 12.0;  // page width from which panels are side by side

// Divisor of peak and bandwidth, and the quantity drawn.
typedef struct panel {
    const char *label, *divisor, *product;
    double scale;
} panel;

static const panel panels[PANELS] = {
    {"GFLOP/s", NULL, "machines/product_flops_per_s", 1e-9},
    {"MFLOP/s per dollar", "machines/price_usd", "machines/product_flops_per_usd", 1e-6},
    {"GFLOP/s per watt", "machines/power_w", "machines/product_flops_per_w", 1e-9},
};

typedef struct machines {
    const bb_dataset *names, *kinds, *peak, *read;
    const bb_dataset *divisors[PANELS], *products[PANELS];
    bb_index count;
    bb_figure_key keys[MOST_MACHINES + 1];
} machines;

// Chooses a colour by kind, and a mark for each machine of a kind.
static void choose_key(const machines *found, bb_index m, bb_figure_key *out)
{
    static const int marks[MARKS] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12, 2};
    const char *kind = found->kinds->texts[m];
    int mark = 0;
    for (bb_index other = 0; other < m; ++other) {
        mark += strcmp(found->kinds->texts[other], kind) == 0;
    }
    *out = (bb_figure_key){found->names->texts[m],
                           strcmp(kind, "cpu") == 0   ? BB_FIGURE_BLUE
                           : strcmp(kind, "gpu") == 0 ? BB_FIGURE_VERMILION
                                                      : BB_FIGURE_GREEN,
                           marks[mark % MARKS], 0};
}

static bb_status gather(const bb_results *results, machines *out)
{
    bb_status status = BB_OK;
    out->names = bb_results_find(results, "machines/machine");
    out->kinds = bb_results_find(results, "machines/kind");
    out->peak = bb_results_find(results, "machines/single_flops_per_s");
    out->read = bb_results_find(results, "machines/memory_bytes_per_s");
    out->count = out->names->count;
    BB_REQUIRE(out->count <= MOST_MACHINES, BB_INVALID,
               "the table has %td machines, the limit of the picture is %d", out->count,
               MOST_MACHINES);
    for (int p = 0; p < PANELS; ++p) {
        out->divisors[p] =
            panels[p].divisor == NULL ? NULL : bb_results_find(results, panels[p].divisor);
        out->products[p] = bb_results_find(results, panels[p].product);
    }
    for (bb_index m = 0; m < out->count; ++m) {
        choose_key(out, m, &out->keys[m]);
    }
    out->keys[out->count] =
        (bb_figure_key){"y = A x, 0.5 operations per byte", BB_FIGURE_BLACK, 0, 2};
done:
    return status;
}

// Scale factor of a machine's rates in a panel; NaN without price or power.
static double share_of(const machines *found, int p, bb_index m)
{
    const bb_dataset *divisor = found->divisors[p];
    return divisor == NULL ? panels[p].scale : panels[p].scale / divisor->numbers[m];
}

// Adds the machines missing in a panel: "Without a price in the table: A, B."
static bb_status add_absent(const machines *found, int p, const char *before, bb_text *out)
{
    bb_status status = BB_OK;
    bool first = true;
    for (bb_index m = 0; m < found->count; ++m) {
        if (isnan(share_of(found, p, m))) {
            BB_TRY(bb_text_add(out, "%s%s", first ? before : ", ", found->names->texts[m]));
            first = false;
        }
    }
    BB_TRY(bb_text_add(out, "%s", first ? "" : "."));
done:
    return status;
}

static bb_status write_note(const machines *found, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "Peaks and bandwidths as in the table, single precision; prices in "
                            "dollars of their year, design power of a board or a processor. Blue: "
                            "processors, vermilion: GPUs, green: FPGAs."));
    BB_TRY(add_absent(found, 1, " Without a price in the table: ", out));
    BB_TRY(add_absent(found, 2, " Without a power in the table: ", out));
done:
    return status;
}

static bb_status add_lines(const machines *found, int p, bb_figure *figure)
{
    bb_status status = BB_OK;
    const char *before = "plot ";
    char name[NAME_BYTES];
    for (bb_index m = 0; m < found->count; ++m) {
        const double share = share_of(found, p, m);
        const double peak = share * found->peak->numbers[m];
        const double read = share * found->read->numbers[m];
        if (isnan(share)) {
            continue;
        }
        (void)snprintf(name, sizeof name, "roof %d %td", p, m);
        BB_TRY(bb_figure_block(figure, name, "operations per byte, rate"));
        BB_TRY(bb_text_add(&figure->data, "%.6g %.6g\n%.6g %.6g\n%.6g %.6g\n", low_x, read * low_x,
                           peak / read, peak, high_x, peak));
        (void)snprintf(name, sizeof name, "product %d %td", p, m);
        BB_TRY(bb_figure_block(figure, name, "operations per byte, rate"));
        BB_TRY(bb_text_add(&figure->data, "%.6g %.6g\n", BB_MACHINE_TABLE_PRODUCT,
                           panels[p].scale * found->products[p]->numbers[m]));
        BB_TRY(bb_text_add(&figure->script,
                           "%sdata index 'roof %d %td' using 1:2 with lines linewidth 0.8 "
                           "linecolor '%s', \\\n  data index 'product %d %td' using 1:2 with "
                           "points pointtype %d pointsize 0.6 linecolor '%s'",
                           before, p, m, found->keys[m].colour, p, m, found->keys[m].point,
                           found->keys[m].colour));
        before = ", \\\n  ";
    }
    BB_TRY(bb_text_add(&figure->script, "\nunset label\nunset arrow\n"));
done:
    return status;
}

static bb_status draw_panel(const machines *found, int p, bb_figure_box axes, bb_figure *figure)
{
    bb_status status = BB_OK;
    double floor_rate = INFINITY;
    double peak_rate = 0.0;
    for (bb_index m = 0; m < found->count; ++m) {
        floor_rate = fmin(floor_rate, share_of(found, p, m) * found->read->numbers[m] * low_x);
        peak_rate = fmax(peak_rate, share_of(found, p, m) * found->peak->numbers[m]);
    }
    BB_TRY(bb_figure_place(figure, axes));
    BB_TRY(bb_figure_name_axes(figure, axes, "operations per byte", panels[p].label));
    BB_TRY(bb_figure_log_axis(figure, "x", low_x, high_x, axes.x_high - axes.x_low));
    BB_TRY(bb_figure_log_axis(figure, "y", floor_rate / 1.5, peak_rate * 1.5,
                              axes.y_high - axes.y_low));
    BB_TRY(bb_text_add(&figure->script,
                       "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead "
                       "linewidth 1.2 dashtype 2 linecolor 'black'\n",
                       BB_MACHINE_TABLE_PRODUCT, BB_MACHINE_TABLE_PRODUCT));
    BB_TRY(add_lines(found, p, figure));
done:
    return status;
}

// Counts the panels that show a machine.
static int count_panels(const machines *found, int shown[PANELS])
{
    int count = 0;
    for (int p = 0; p < PANELS; ++p) {
        for (bb_index m = 0; m < found->count; ++m) {
            if (!isnan(share_of(found, p, m))) {
                shown[count++] = p;
                break;
            }
        }
    }
    return count;
}

static bb_status draw_machines(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    machines found = {.count = 0};
    bb_text note = {0};
    int shown[PANELS];
    BB_TRY(gather(scene->results, &found));
    BB_TRY(write_note(&found, &note));
    const int count = count_panels(&found, shown);
    const bool in_a_row = figure->width_cm >= row_cm;
    const int columns = in_a_row && count > 0 ? count : 1;
    const int rows = in_a_row ? 1 : count;
    const bb_index key_count = found.count + 1;
    const double width = (figure->width_cm - right_cm) / columns - beside_cm;
    const double keys_cm =
        0.15 + 0.3 * bb_figure_key_rows(found.keys, key_count, figure->width_cm - beside_cm - 0.1);
    if (isnan(figure->height_cm)) {
        figure->height_cm = rows * (width * (columns > 1 ? 1.35 : 0.6) + below_cm + 0.15) +
                            keys_cm + (columns > 1 ? 1.3 : 2.0);
    }
    BB_TRY(bb_figure_begin(figure, scene->results, bb_text_string(&note)));
    const double pitch = (figure->height_cm - figure->foot_cm - keys_cm) / rows;
    BB_REQUIRE(width > 1.5 && pitch - below_cm > 1.5, BB_INVALID,
               "--size of %g x %g cm is too small for %d panels", figure->width_cm,
               figure->height_cm, count);
    BB_TRY(bb_text_add(&figure->script,
                       "set grid linecolor '#d8d8d8' linewidth 0.5\nset multiplot\n"));
    for (int p = 0; p < count; ++p) {
        const double x = beside_cm + (width + beside_cm) * (columns > 1 ? p : 0);
        const double y = figure->height_cm - keys_cm - pitch * (columns > 1 ? 0 : p);
        const bb_figure_box axes = {x, y - pitch + below_cm + 0.1, x + width, y};
        if (p == 0) {
            BB_TRY(bb_figure_write_keys(figure, found.keys, key_count, axes));
        }
        BB_TRY(draw_panel(&found, shown[p], axes, figure));
    }
    BB_TRY(bb_text_add(&figure->script, "unset multiplot\n"));
done:
    bb_text_release(&note);
    return status;
}

const bb_plot_kind bb_plot_machines = {"machines",
                                       "rooflines of a table of machines, absolute, per dollar and "
                                       "per watt, and the attainable rate of a product",
                                       {"machines/machine", "machines/product_flops_per_s"},
                                       "a table of machines, as configs/machines.yaml",
                                       draw_machines,
                                       0};
