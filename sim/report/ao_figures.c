// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a reconstructor: star images, error budget, eigenvalues.
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 160, IMAGE_COLUMNS = 4, PAIRS = IMAGE_COLUMNS / 2 };

static const double panel_points = 7.0;
static const double psf_decades = 4.0;
static const double difference_decades = 4.0;

// Image of each pipeline, and its difference from the reference's.
typedef struct images {
    const bb_dataset *names, *psf, *x, *y;
    bb_index reference, pixels;
    bb_index shown[BB_PLOT_MOST_PANELS];
    bb_index count;
    double most_difference;
} images;

static bool is_finite(const images *set, bb_index pipeline)
{
    for (bb_index i = 0; i < set->pixels; ++i) {
        if (!isfinite(set->psf->numbers[pipeline * set->pixels + i])) {
            return false;
        }
    }
    return true;
}

static double difference(const images *set, bb_index pipeline, bb_index pixel)
{
    return fabs(set->psf->numbers[pipeline * set->pixels + pixel] -
                set->psf->numbers[set->reference * set->pixels + pixel]);
}

static bb_status gather_images(const bb_results *results, images *out, bb_text *note)
{
    bb_status status = BB_OK;
    out->names = bb_results_find(results, "results/pipeline");
    out->psf = bb_results_find(results, "results/psf");
    out->x = bb_results_find(results, "results/psf_x");
    out->y = bb_results_find(results, "results/psf_y");
    BB_REQUIRE(out->psf->rank == 3 && out->psf->shape[0] == out->names->count &&
                   out->x->count == out->psf->shape[2] && out->y->count == out->psf->shape[1] &&
                   out->x->count > 1 && out->y->count > 1,
               BB_INVALID, "images 'psf' do not have the axes pipeline, psf_y and psf_x");
    out->reference = bb_plot_reference(results);
    out->pixels = out->x->count * out->y->count;
    BB_TRY(bb_text_add(note, "Long exposure, first target and wavelength; 1 is the diffraction-"
                             "limited peak."));
    const char *before = " Not drawn: ";
    for (bb_index p = 0; p < out->names->count; ++p) {
        if (out->count < BB_PLOT_MOST_PANELS && is_finite(out, p)) {
            out->shown[out->count++] = p;
            for (bb_index i = 0; i < out->pixels; ++i) {
                out->most_difference = fmax(out->most_difference, difference(out, p, i));
            }
        } else {
            BB_TRY(bb_text_add(note, "%s%s", before, out->names->texts[p]));
            before = ", ";
        }
    }
    BB_REQUIRE(out->count > 0, BB_INVALID, "no pipeline has an image");
    out->most_difference = out->most_difference > 0.0 ? out->most_difference : 1.0;
done:
    return status;
}

// Adds a matrix as a block, with rows in order of increasing y.
static bb_status add_image(const images *set, bb_index pipeline, bool differs, bb_figure *figure)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "%s %td", differs ? "difference" : "image", pipeline);
    BB_TRY(bb_figure_block(figure, name, "rows of y, columns of x"));
    for (bb_index row = 0; row < set->y->count; ++row) {
        for (bb_index column = 0; column < set->x->count; ++column) {
            const bb_index pixel = row * set->x->count + column;
            const double value = differs ? difference(set, pipeline, pixel)
                                         : set->psf->numbers[pipeline * set->pixels + pixel];
            BB_TRY(bb_text_add(&figure->data, "%s%.4g", column == 0 ? "" : " ", value));
        }
        BB_TRY(bb_text_add(&figure->data, "\n"));
    }
done:
    return status;
}

static bb_status draw_panel(const images *set, bb_index pipeline, bool differs, bb_figure_box box,
                            bb_figure *figure)
{
    bb_status status = BB_OK;
    char title[NAME_BYTES];
    const double *x = set->x->numbers;
    const double *y = set->y->numbers;
    const double high = differs ? set->most_difference : 1.0;
    const double decades = differs ? difference_decades : psf_decades;
    const double low = high * pow(10.0, -decades);
    (void)snprintf(title, sizeof title, "%s", differs ? "difference" : set->names->texts[pipeline]);
    BB_TRY(add_image(set, pipeline, differs, figure));
    BB_TRY(bb_figure_place(figure, box));
    BB_TRY(bb_figure_write(figure, 0.5 * (box.x_low + box.x_high), box.y_high + 0.2, title,
                           panel_points, "center"));
    BB_TRY(bb_text_add(&figure->script,
                       "set cbrange [%.6g:%.6g]\n"
                       "plot data index '%s %td' matrix using (%.9g + %.9g * $1):(%.9g + %.9g * "
                       "$2):($3 > %.6g ? $3 : %.6g) with image\nunset label\nunset object\n",
                       low, high, differs ? "difference" : "image", pipeline, x[0], x[1] - x[0],
                       y[0], y[1] - y[0], low, low));
done:
    return status;
}

// Grid of panels, cm. An image and its difference form a pair; a row has two pairs.
typedef struct grid {
    bb_index rows;
    double width, pitch_x, pitch_y;
} grid;

static const double above_cm = 0.45;  // space above a row, for its titles
static const double below_cm = 1.75;  // space below the last row, for numbers and scales
static const double beside_cm = 1.15; // space to the left of the first column
static const double between_cm = 0.2;

static bb_status lay_out(const images *set, bb_figure *figure, grid *out)
{
    bb_status status = BB_OK;
    const double foot = below_cm + 1.2;
    out->rows = (set->count + PAIRS - 1) / PAIRS;
    out->pitch_x = (figure->width_cm - beside_cm - 0.1) / IMAGE_COLUMNS;
    out->width = out->pitch_x - between_cm;
    out->pitch_y = out->width + above_cm;
    if (isnan(figure->height_cm)) {
        figure->height_cm = out->pitch_y * (double)out->rows + foot;
    } else {
        out->pitch_y = (figure->height_cm - foot) / (double)out->rows;
        out->width = fmin(out->width, out->pitch_y - above_cm);
    }
    BB_REQUIRE(out->width > 0.5, BB_INVALID,
               "--size has a height of %g cm for %td rows of images, expected at least %g",
               figure->height_cm, out->rows, (above_cm + 0.5) * (double)out->rows + foot);
done:
    return status;
}

// Draws the colour scales of images and differences at the bottom.
static bb_status draw_scales(const images *set, bb_figure *figure)
{
    bb_status status = BB_OK;
    const double middle = 0.5 * figure->width_cm;
    const double y = figure->foot_cm + 0.4;
    BB_TRY(bb_figure_scale(figure, (bb_figure_box){0.3, y, middle - 0.2, y + 0.2},
                           pow(10.0, -psf_decades), 1.0, "image"));
    BB_TRY(bb_figure_scale(
        figure, (bb_figure_box){middle + 0.2, y, figure->width_cm - 0.3, y + 0.2},
        set->most_difference * pow(10.0, -difference_decades), set->most_difference, "difference"));
done:
    return status;
}

// Sets the common axes of the panels: ranges, and tick labels only at the first column and last
// row.
static bb_status set_frames(const images *set, const grid *made, bb_figure *figure)
{
    const double x = set->x->numbers[set->x->count - 1] - set->x->numbers[0];
    const double y = set->y->numbers[set->y->count - 1] - set->y->numbers[0];
    return bb_text_add(&figure->script,
                       "set multiplot\nset logscale cb\nunset colorbox\n"
                       "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n"
                       "set xtics nomirror %g font ',6' offset 0,0.5\n"
                       "set ytics nomirror %g font ',6' offset 0.5,0\n",
                       set->x->numbers[0], set->x->numbers[set->x->count - 1], set->y->numbers[0],
                       set->y->numbers[set->y->count - 1], bb_figure_step(x, made->width, 0.42),
                       bb_figure_step(y, made->width, 0.42));
}

static bb_status draw_pair(const images *set, const grid *made, bb_index i, bb_figure *figure)
{
    bb_status status = BB_OK;
    const bb_index row = i / PAIRS;
    const bool lowest = i + PAIRS >= set->count;
    for (int d = 0; d < 2 && (d == 0 || set->shown[i] != set->reference); ++d) {
        const bb_index column = 2 * (i % PAIRS) + d;
        const double x = beside_cm + made->pitch_x * (double)column;
        const double y = figure->height_cm - above_cm - made->pitch_y * (double)row;
        const bb_figure_box box = {x, y - made->width, x + made->width, y};
        if (column == 0) {
            BB_TRY(bb_figure_write(figure, 0.3, y - 0.5 * made->width, "y [mas]",
                                   BB_FIGURE_SMALL_POINTS, "center rotate by 90"));
        }
        if (lowest) {
            BB_TRY(bb_figure_write(figure, x + 0.5 * made->width, box.y_low - 0.6, "x [mas]",
                                   BB_FIGURE_SMALL_POINTS, "center"));
        }
        BB_TRY(bb_text_add(&figure->script, "set format x %s\nset format y %s\n",
                           lowest ? bb_figure_number(figure) : "''",
                           column == 0 ? bb_figure_number(figure) : "''"));
        BB_TRY(draw_panel(set, set->shown[i], d == 1, box, figure));
    }
done:
    return status;
}

static bb_status draw_psf(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    images set = {.count = 0};
    grid made;
    bb_text note = {0};
    BB_TRY(gather_images(scene->results, &set, &note));
    BB_TRY(lay_out(&set, figure, &made));
    BB_TRY(bb_figure_begin(figure, scene->results, note.data));
    BB_TRY(bb_figure_palette(figure));
    BB_TRY(draw_scales(&set, figure));
    BB_TRY(set_frames(&set, &made, figure));
    for (bb_index i = 0; i < set.count; ++i) {
        BB_TRY(draw_pair(&set, &made, i, figure));
    }
    BB_TRY(bb_text_add(&figure->script, "unset multiplot\n"));
done:
    bb_text_release(&note);
    return status;
}

const bb_plot_kind bb_plot_psf = {
    "psf",
    "star image of every pipeline and its difference from the reference, on logarithmic scales",
    {"results/pipeline", "results/psf", "results/psf_x", "results/psf_y"},
    "an ao file of 'bitbudget run'",
    draw_psf,
    0};

// Format with the next higher level within an axis, -1 if there is none.
static bb_index next_level(const double *levels, bb_index count, double above, double limit)
{
    bb_index next = -1;
    for (bb_index f = 0; f < count; ++f) {
        if (levels[f] > above && levels[f] < limit && (next < 0 || levels[f] < levels[next])) {
            next = f;
        }
    }
    return next;
}

// Adds a line for each level, from the lowest, labelled with the formats that have it.
static bb_status add_levels(const bb_dataset *formats, const double *levels, double low,
                            double high, bb_figure_box axes, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_text names = {0};
    const double line = 0.26;
    double last = -INFINITY;
    BB_TRY(bb_figure_block(figure, "levels", "unit roundoff of a format times the largest value"));
    for (bb_index f = 0; f < formats->count; ++f) {
        BB_TRY(bb_text_add(&figure->data, "%.9g\n", levels[f]));
    }
    for (bb_index f = next_level(levels, formats->count, low, high); f >= 0;
         f = next_level(levels, formats->count, levels[f], high)) {
        bb_text_release(&names);
        for (bb_index other = 0; other < formats->count; ++other) {
            if (levels[other] == levels[f]) {
                BB_TRY(bb_text_add(&names, "%s%s", names.length == 0 ? "" : ", ",
                                   formats->texts[other]));
            }
        }
        const double y =
            axes.y_low + (axes.y_high - axes.y_low) * log(levels[f] / low) / log(high / low);
        last = fmax(y, last + line);
        BB_TRY(bb_text_add(&figure->script,
                           "set arrow from graph 0, first %.6g to graph 1, first %.6g nohead "
                           "linewidth 0.8 dashtype 2 linecolor '" BB_FIGURE_GREY "'\n",
                           levels[f], levels[f]));
        BB_TRY(bb_figure_write(figure, axes.x_high + 0.08, last, bb_text_string(&names),
                               BB_FIGURE_SMALL_POINTS, "left"));
    }
done:
    bb_text_release(&names);
    return status;
}

static bb_status draw_spectrum(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    const bb_dataset *formats = bb_results_find(scene->results, "spectrum/format");
    const bb_dataset *values = bb_results_find(scene->results, "spectrum/eigenvalue");
    const bb_dataset *lines = bb_results_find(scene->results, "spectrum/roundoff_line");
    char label[NAME_BYTES];
    double low = 0.0;
    double high = 0.0;
    bb_figure_box axes;
    BB_REQUIRE(lines->count == formats->count, BB_INVALID,
               "the file has a spectrum without its formats");
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.7 * figure->width_cm;
    }
    BB_TRY(bb_figure_begin(figure, scene->results,
                           "Dashed: unit roundoff of a format times the largest eigenvalue; "
                           "smaller eigenvalues are below its rounding error."));
    BB_TRY(bb_figure_margins(figure, (bb_figure_box){1.5, 1.0, 1.9, 0.3}, &axes));
    bb_plot_range(values->numbers, values->count, &low, &high);
    (void)snprintf(label, sizeof label, "eigenvalue%s%s%s",
                   strcmp(values->unit, "1") == 0 ? "" : " [",
                   strcmp(values->unit, "1") == 0 ? "" : values->unit,
                   strcmp(values->unit, "1") == 0 ? "" : "]");
    BB_TRY(bb_figure_name_axes(figure, axes, "rank in descending order", label));
    BB_TRY(bb_figure_log_axis(figure, "y", low, high, axes.y_high - axes.y_low));
    BB_TRY(bb_text_add(&figure->script, "set xrange [0:%td]\nset xtics nomirror %g\n",
                       values->count,
                       bb_figure_step((double)values->count, axes.x_high - axes.x_low, 1.1)));
    BB_TRY(add_levels(formats, lines->numbers, low, high, axes, figure));
    BB_TRY(bb_figure_block(figure, "eigenvalues", "rank, eigenvalue"));
    for (bb_index i = 0; i < values->count; ++i) {
        BB_TRY(bb_text_add(&figure->data, "%td %.9g\n", i, values->numbers[i]));
    }
    BB_TRY(bb_text_add(&figure->script, "plot data index 'eigenvalues' using 1:2 with lines "
                                        "linewidth 1.4 linecolor '" BB_FIGURE_BLUE "'\n"));
done:
    return status;
}

const bb_plot_kind bb_plot_spectrum = {
    "spectrum",
    "eigenvalues of the factored covariance, with the unit roundoffs of the formats",
    {"spectrum/format", "spectrum/eigenvalue", "spectrum/roundoff_line"},
    "an ao or reconstructor file with 'solver: {spectrum: {matrix: true}}'",
    draw_spectrum,
    0};

// Range from the smallest term, which only correlations make negative, to the largest.
static void find_range(const bb_dataset *budget, double *least, double *peak)
{
    *least = *peak = 0.0;
    for (bb_index i = 0; i < budget->count; ++i) {
        *peak = fmax(*peak, budget->numbers[i]);
        *least = fmin(*least, budget->numbers[i]);
    }
}

static bb_status draw_budget(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    const bb_dataset *terms = bb_results_find(scene->results, "results/error_term");
    const bb_dataset *budget = bb_results_find(scene->results, "results/error_budget_nm");
    const bb_index targets = budget->shape[0];
    const bb_index shown = targets < BB_FIGURE_COLOURS ? targets : BB_FIGURE_COLOURS;
    bb_figure_key keys[BB_FIGURE_COLOURS];
    char names[BB_FIGURE_COLOURS][NAME_BYTES];
    char cell[NAME_BYTES];
    double least, peak;
    bb_figure_box axes;
    BB_REQUIRE(budget->rank == 2 && budget->shape[1] == terms->count, BB_INVALID,
               "error_budget_nm does not have the axes target and error_term");
    find_range(budget, &least, &peak);
    for (bb_index t = 0; t < shown; ++t) {
        (void)snprintf(names[t], NAME_BYTES, "target %td", t);
        keys[t] = (bb_figure_key){names[t], bb_figure_colours[t], 5, 0};
    }
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.65 * figure->width_cm;
    }
    (void)snprintf(
        cell, sizeof cell,
        "Reference pipeline; the squares add up to the square of the total. 0: term disabled.%s",
        shown < targets ? " Only the first targets are shown." : "");
    BB_TRY(bb_figure_begin(figure, scene->results, cell));
    BB_TRY(bb_figure_margins(
        figure,
        (bb_figure_box){1.5, 0.7, 0.25,
                        0.2 + 0.3 * bb_figure_key_rows(keys, shown, figure->width_cm - 1.6)},
        &axes));
    BB_TRY(bb_figure_name_axes(figure, axes, NULL, "rms of the residual [nm]"));
    BB_TRY(bb_figure_write_keys(figure, keys, shown, axes));
    BB_TRY(bb_text_add(&figure->script,
                       "set xrange [-0.6:%.2f]\nset yrange [%.9g:%.9g]\nset ytics nomirror\nunset "
                       "xtics\nset grid ytics linecolor '#d8d8d8' linewidth 0.5\n",
                       (double)terms->count - 0.4, 1.12 * least, peak > 0.0 ? 1.12 * peak : 1.0));
    BB_TRY(bb_figure_block(figure, "budget", "left edge, right edge, rms [nm], target"));
    const double room = 0.8 / (double)shown;
    for (bb_index e = 0; e < terms->count; ++e) {
        const double middle = axes.x_low + (axes.x_high - axes.x_low) * ((double)e + 0.6) /
                                               ((double)terms->count + 0.2);
        BB_TRY(bb_figure_write(figure, middle, axes.y_low - 0.25, terms->texts[e],
                               BB_FIGURE_SMALL_POINTS, "center"));
        for (bb_index t = 0; t < shown; ++t) {
            const double edge = (double)e - 0.4 + room * (double)t;
            BB_TRY(bb_text_add(&figure->data, "%.4f %.4f %.9g %td\n", edge, edge + 0.92 * room,
                               budget->numbers[t * terms->count + e], t));
        }
    }
    for (bb_index t = 0; t < shown; ++t) {
        BB_TRY(bb_text_add(&figure->script,
                           "%sdata index 'budget' using (0.5*($1+$2)):($4==%td?$3:NaN):1:2:(0):3 "
                           "with boxxyerror fillstyle solid 0.85 noborder linecolor '%s'",
                           t == 0 ? "plot " : ", \\\n  ", t, bb_figure_colours[t]));
    }
    BB_TRY(bb_text_add(&figure->script, "\n"));
done:
    return status;
}

const bb_plot_kind bb_plot_budget = {"budget",
                                     "terms of the reference's residual wavefront error, by target",
                                     {"results/error_term", "results/error_budget_nm"},
                                     "an ao file of 'bitbudget run'",
                                     draw_budget,
                                     0};
