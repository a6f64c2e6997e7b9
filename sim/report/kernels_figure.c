// SPDX-License-Identifier: Apache-2.0
//
// Fraction of the roofline reached by kernels, as bars: a group for each kernel, a bar for each
// back end and device, from one or several benchmark files. The bands are the ranges of figures 6
// (processors) and 7 (GPUs) of the paper on the kernel language.
#include "core/memory.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BARS = 512, MOST_KERNELS = 24, MOST_SERIES = 6, NAME_BYTES = 48, TEXT_BYTES = 200 };
enum { FAMILIES = 2, TYPES = 2, PANELS = FAMILIES * TYPES };

static const double pair_cm = 12.0; // page width from which SP and DP are side by side
static const double most_height_cm = 5.0;
static const double most_share = 1.1;  // end of the axis
static const double beside_cm = 1.5;   // left of a panel, for its numbers and its label
static const double below_cm = 1.75;   // below a panel, for the names of kernels
static const double above_cm = 0.45;   // above a panel, for its title
static const double name_points = 6.0; // size of kernel names
static const double group_width = 0.8; // fraction of the width of a kernel

// Processors and GPUs, with the range reported in the paper.
static const struct {
    const char *name;
    double low, high;
} families[FAMILIES] = {{"processors", 0.35, 0.61}, {"GPUs", 0.45, 0.80}};
static const char *const type_names[TYPES] = {"SP", "DP"};

typedef struct chart_bar {
    int kernel, series, type;
    double share;         // fraction of the bound
    double library_share; // fraction reached by a library; NaN: none
    char text[TEXT_BYTES];
} chart_bar;

typedef struct bar_series {
    char label[TEXT_BYTES]; // "CUDA, NVIDIA H200 ..."
    int family;
} bar_series;

typedef struct bar_chart {
    chart_bar bars[MOST_BARS];
    int bar_count;
    char kernels[MOST_KERNELS][NAME_BYTES];
    int kernel_count;
    bar_series series[MOST_SERIES];
    int series_count;
} bar_chart;

// Splits a benchmark name "kernel-NAME-TYPE-DEVICE"; false for other names.
static bool split_name(const char *name, char kernel[NAME_BYTES], int *type, const char **device)
{
    static const char head[] = "kernel-";
    const char *last = strrchr(name, '-');
    if (strncmp(name, head, sizeof head - 1) != 0 || last - name < (ptrdiff_t)sizeof head + 3) {
        return false;
    }
    *device = last + 1;
    *type = strncmp(last - 3, "-dp", 3) == 0;
    (void)snprintf(kernel, NAME_BYTES, "%.*s", (int)(last - 3 - name - (ptrdiff_t)sizeof head + 1),
                   name + sizeof head - 1);
    return *type == 1 || strncmp(last - 3, "-sp", 3) == 0;
}

// Names a series by the device's name, without its driver, and the compiler. OpenCL on a processor
// is PoCL; other OpenCL platforms are assumed to be GPUs.
static void name_series(const char *device, const char *text, bar_series *out)
{
    const bool is_opencl = strcmp(device, "opencl") == 0;
    const bool is_pocl = is_opencl && strstr(text, "Portable Computing Language") != NULL;
    const char *label = strcmp(device, "cpu") == 0       ? "C"
                        : !is_opencl                     ? "CUDA"
                        : is_pocl                        ? "PoCL"
                        : strstr(text, "NVIDIA") != NULL ? "NVIDIA OpenCL"
                                                         : "OpenCL";
    const int name_bytes = (int)strcspn(text, ",");
    (void)snprintf(out->label, sizeof out->label, "%s, %.*s", label, name_bytes, text);
    out->family = strcmp(device, "cpu") != 0 && !is_pocl;
}

static bb_status find_kernel(const char *name, bar_chart *found, int *out)
{
    bb_status status = BB_OK;
    for (*out = 0; *out < found->kernel_count; ++*out) {
        if (strcmp(found->kernels[*out], name) == 0) {
            goto done;
        }
    }
    BB_REQUIRE(found->kernel_count < MOST_KERNELS, BB_INVALID,
               "the file has more than %d kernels, the limit of the picture", MOST_KERNELS);
    (void)snprintf(found->kernels[found->kernel_count++], NAME_BYTES, "%s", name);
done:
    return status;
}

static bb_status find_series(const char *device, const char *text, bar_chart *found, int *out)
{
    bb_status status = BB_OK;
    bar_series wanted;
    name_series(device, text, &wanted);
    for (*out = 0; *out < found->series_count; ++*out) {
        if (strcmp(found->series[*out].label, wanted.label) == 0) {
            goto done;
        }
    }
    BB_REQUIRE(found->series_count < MOST_SERIES, BB_INVALID,
               "the file has more than %d back ends and devices, the limit of the picture",
               MOST_SERIES);
    found->series[found->series_count++] = wanted;
done:
    return status;
}

static bb_status add_bar(const bb_results *results, bb_index row, bar_chart *found)
{
    bb_status status = BB_OK;
    const char *name = bb_results_find(results, "results/benchmark")->texts[row];
    const char *device_text = bb_results_find(results, "results/device")->texts[row];
    const bb_dataset *against = bb_results_find(results, "results/against");
    const bb_dataset *libraries = bb_results_find(results, "results/library");
    const bb_dataset *ratios = bb_results_find(results, "results/library_ratio");
    const double share = bb_results_find(results, "results/kernel_share")->numbers[row];
    const bool has_library = libraries != NULL && ratios != NULL;
    const double ratio = has_library ? ratios->numbers[row] : NAN;
    char kernel[NAME_BYTES];
    const char *device = NULL;
    chart_bar bar = {.share = share, .library_share = share / ratio};
    if (isnan(share) || !split_name(name, kernel, &bar.type, &device)) {
        goto done;
    }
    BB_TRY(find_kernel(kernel, found, &bar.kernel));
    BB_TRY(find_series(device, device_text, found, &bar.series));
    for (int i = 0; i < found->bar_count; ++i) {
        const chart_bar *other = &found->bars[i];
        BB_REQUIRE(other->kernel != bar.kernel || other->series != bar.series ||
                       other->type != bar.type,
                   BB_INVALID, "%s of %s is in two files; give one of them", name,
                   found->series[bar.series].label);
    }
    BB_REQUIRE(found->bar_count < MOST_BARS, BB_INVALID,
               "the files have more than %d bars, the limit of the picture", MOST_BARS);
    (void)snprintf(bar.text, sizeof bar.text, "%s, %s, %.80s: %.2f of %s", kernel,
                   type_names[bar.type], found->series[bar.series].label, share,
                   against == NULL ? "its bound" : against->texts[row]);
    if (has_library && !isnan(ratio)) {
        const size_t length = strlen(bar.text);
        (void)snprintf(bar.text + length, sizeof bar.text - length, "; %s %.2f",
                       libraries->texts[row], bar.library_share);
    }
    found->bars[found->bar_count++] = bar;
done:
    return status;
}

static bb_status gather(const bb_plot_scene *scene, bar_chart *found)
{
    bb_status status = BB_OK;
    for (int file = 0; file <= scene->more_count; ++file) {
        const bb_results *results = file == 0 ? scene->results : scene->more[file - 1];
        const bb_dataset *names = bb_results_find(results, "results/benchmark");
        const bb_dataset *shares = bb_results_find(results, "results/kernel_share");
        const bb_dataset *devices = bb_results_find(results, "results/device");
        BB_REQUIRE(names != NULL && names->is_text && shares != NULL && !shares->is_text &&
                       devices != NULL && devices->is_text && shares->count == names->count &&
                       devices->count == names->count,
                   BB_INVALID,
                   "file %d is not a file of 'bitbudget-bench' with the benchmarks kernel-*",
                   file + 1);
        for (bb_index row = 0; row < names->count; ++row) {
            BB_TRY(add_bar(results, row, found));
        }
    }
    BB_REQUIRE(found->bar_count > 0, BB_INVALID, "the file has no results of benchmarks kernel-*");
done:
    return status;
}

// Positions of panels: processors above GPUs, SP next to DP if there is room.
typedef struct panel_grid {
    bool has_panel[PANELS]; // family * TYPES + type, true if it has bars
    int columns, rows;
    int column[PANELS], row[PANELS];
} panel_grid;

static panel_grid lay_out(const bar_chart *found, double width_cm)
{
    panel_grid grid = {.columns = 1};
    bool has_family[FAMILIES] = {false};
    bool has_type[TYPES] = {false};
    int count = 0;
    for (int i = 0; i < found->bar_count; ++i) {
        const chart_bar *bar = &found->bars[i];
        const int family = found->series[bar->series].family;
        grid.has_panel[family * TYPES + bar->type] = true;
        has_family[family] = has_type[bar->type] = true;
    }
    const bool in_pairs = width_cm >= pair_cm && has_type[0] && has_type[1];
    for (int panel = 0; panel < PANELS; ++panel) {
        grid.column[panel] = in_pairs ? panel % TYPES : 0;
        grid.row[panel] = in_pairs ? (panel / TYPES) * has_family[0] : count;
        count += grid.has_panel[panel];
    }
    grid.columns = in_pairs ? TYPES : 1;
    grid.rows = in_pairs ? has_family[0] + has_family[1] : count;
    return grid;
}

// Number of series of a panel's family, and the index of one among them.
static int count_series(const bar_chart *found, int family, int series, int *place)
{
    int count = 0;
    *place = 0;
    for (int s = 0; s < found->series_count; ++s) {
        *place += found->series[s].family == family && s < series;
        count += found->series[s].family == family;
    }
    return count;
}

static bb_status add_bar_data(const bar_chart *found, const chart_bar *bar, bb_figure_box axes,
                              bb_figure *figure)
{
    bb_status status = BB_OK;
    const double room_cm = (axes.x_high - axes.x_low) / (found->kernel_count + 0.2);
    int place = 0;
    const int count = count_series(found, found->series[bar->series].family, bar->series, &place);
    const double width = group_width / count;
    const double edge = bar->kernel - 0.5 * group_width + width * place;
    const double edge_cm = axes.x_low + (edge + 0.6) * room_cm;
    BB_TRY(bb_text_add(&figure->data, "%.4f %.4f %.4f %d", edge, edge + 0.92 * width, bar->share,
                       bar->series));
    BB_TRY(isnan(bar->library_share) ? bb_text_add(&figure->data, "\n")
                                     : bb_text_add(&figure->data, " %.4f\n", bar->library_share));
    const bb_figure_box place_cm = {edge_cm, axes.y_low, edge_cm + 0.92 * width * room_cm,
                                    axes.y_low + (axes.y_high - axes.y_low) *
                                                     fmin(bar->share, most_share) / most_share};
    BB_TRY(bb_figure_hover(figure, place_cm, bar->text));
done:
    return status;
}

// The fraction reached by a library is drawn as a line across the bar.
static bb_status add_bars(const bar_chart *found, int panel, bb_figure_box axes, bb_figure *figure)
{
    bb_status status = BB_OK;
    bool has_library = false;
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "panel %d", panel);
    BB_TRY(bb_figure_block(
        figure, name,
        "left edge, right edge, fraction of the bound, series, fraction of a library"));
    for (int i = 0; i < found->bar_count; ++i) {
        const chart_bar *bar = &found->bars[i];
        if (found->series[bar->series].family * TYPES + bar->type == panel) {
            BB_TRY(add_bar_data(found, bar, axes, figure));
            has_library = has_library || !isnan(bar->library_share);
        }
    }
    for (int s = 0; s < found->series_count; ++s) {
        BB_TRY(bb_text_add(&figure->script,
                           "%sdata index '%s' using (0.5*($1+$2)):($4==%d?$3:NaN):1:2:(0):3 with "
                           "boxxyerror fillstyle solid 0.85 noborder linecolor '%s'",
                           s == 0 ? "plot " : ", \\\n  ", name, s, bb_figure_colours[s + 1]));
    }
    if (has_library) {
        BB_TRY(bb_text_add(&figure->script,
                           ", \\\n  data index '%s' using 1:5:($2-$1):(0) with vectors nohead "
                           "linewidth 2 linecolor 'black'",
                           name));
    }
    BB_TRY(bb_text_add(&figure->script, "\n"));
done:
    return status;
}

static bb_status draw_panel(const bar_chart *found, int panel, bb_figure_box axes,
                            bb_figure *figure)
{
    bb_status status = BB_OK;
    const int family = panel / TYPES;
    const double room_cm = (axes.x_high - axes.x_low) / (found->kernel_count + 0.2);
    char title[NAME_BYTES];
    (void)snprintf(title, sizeof title, "%s, %s", families[family].name, type_names[panel % TYPES]);
    BB_TRY(bb_figure_place(figure, axes));
    BB_TRY(bb_figure_name_axes(figure, axes, NULL, "fraction of the bound"));
    BB_TRY(bb_figure_write(figure, 0.5 * (axes.x_low + axes.x_high), axes.y_high + 0.2, title,
                           BB_FIGURE_POINTS, "center"));
    for (int k = 0; k < found->kernel_count; ++k) {
        BB_TRY(bb_figure_write(figure, axes.x_low + (k + 0.6) * room_cm + 0.08, axes.y_low - 0.2,
                               found->kernels[k], name_points, "right rotate by 40"));
    }
    BB_TRY(bb_text_add(&figure->script,
                       "set xrange [-0.6:%.2f]\nset yrange [0:%g]\nset ytics nomirror 0.2\nset "
                       "object rectangle from graph 0, first %g to graph 1, first %g behind "
                       "fillcolor '#e4e4e4' fillstyle solid noborder\n",
                       found->kernel_count - 0.4, most_share, families[family].low,
                       families[family].high));
    BB_TRY(add_bars(found, panel, axes, figure));
    BB_TRY(bb_text_add(&figure->script, "unset label\nunset object\n"));
done:
    return status;
}

static int fill_keys(const bar_chart *found, bool has_library, bb_figure_key *keys)
{
    int count = 0;
    for (; count < found->series_count; ++count) {
        keys[count] =
            (bb_figure_key){found->series[count].label, bb_figure_colours[count + 1], 5, 0};
    }
    keys[count++] = (bb_figure_key){"range of the paper", "#e4e4e4", 5, 0};
    if (has_library) {
        keys[count++] = (bb_figure_key){"library on the same data", BB_FIGURE_BLACK, 0, 1};
    }
    return count;
}

static bb_status draw_found(const bb_plot_scene *scene, const bar_chart *found, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_figure_key keys[MOST_SERIES + 2];
    bool has_library = false;
    for (int i = 0; i < found->bar_count; ++i) {
        has_library = has_library || !isnan(found->bars[i].library_share);
    }
    const panel_grid grid = lay_out(found, figure->width_cm);
    const int key_count = fill_keys(found, has_library, keys);
    const double width = (figure->width_cm - 0.25) / grid.columns - beside_cm;
    const double keys_cm =
        0.15 + 0.3 * bb_figure_key_rows(keys, key_count, figure->width_cm - beside_cm - 0.1);
    if (isnan(figure->height_cm)) {
        figure->height_cm =
            grid.rows * (fmin(0.55 * width, most_height_cm) + below_cm + above_cm) + keys_cm + 1.5;
    }
    BB_TRY(bb_figure_begin(
        figure, scene->results,
        "Bounds are measured together with the kernel: a copy, a triad or a read of the same "
        "bytes; for gemm the BLAS on a processor, chains of fma on a GPU."));
    const double pitch = (figure->height_cm - figure->foot_cm - keys_cm) / grid.rows;
    const double height = pitch - below_cm - above_cm;
    BB_REQUIRE(width > 2.0 && height > 1.2, BB_INVALID,
               "--size of %g x %g cm is too small for %d by %d panels", figure->width_cm,
               figure->height_cm, grid.columns, grid.rows);
    BB_TRY(bb_text_add(&figure->script, "unset xtics\nset grid ytics linecolor '#d8d8d8' linewidth "
                                        "0.5\nset multiplot\n"));
    const bb_figure_box first = {beside_cm, 0.0, figure->width_cm, figure->height_cm - keys_cm};
    BB_TRY(bb_figure_write_keys(figure, keys, key_count, first));
    for (int panel = 0; panel < PANELS; ++panel) {
        const double x = beside_cm + (width + beside_cm) * grid.column[panel];
        const double y = figure->height_cm - keys_cm - pitch * grid.row[panel] - above_cm;
        if (grid.has_panel[panel]) {
            BB_TRY(draw_panel(found, panel, (bb_figure_box){x, y - height, x + width, y}, figure));
        }
    }
    BB_TRY(bb_text_add(&figure->script, "unset multiplot\n"));
done:
    return status;
}

static bb_status draw_kernels(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    bar_chart *found = NULL;
    BB_TRY(BB_ZEROED(1, &found));
    BB_TRY(gather(scene, found));
    BB_TRY(draw_found(scene, found, figure));
done:
    BB_RELEASE(&found);
    return status;
}

const bb_plot_kind bb_plot_kernels = {
    "kernels",
    "fraction of the roofline reached by kernels, by back end, on processors and GPUs",
    {"results/benchmark", "results/kernel_share", "results/device"},
    "a file of 'bitbudget-bench' with the benchmarks kernel-*",
    draw_kernels,
    BB_PLOT_TAKES_FILES};
