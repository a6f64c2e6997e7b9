// SPDX-License-Identifier: Apache-2.0
#include "sim/report/cloud.h"

#include "core/memory.h"
#include "sim/output/front.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>

enum { RADII = 8, DIRECTIONS = 16 };

static const double radii_cm[RADII] = {0.05, 0.2, 0.4, 0.6, 0.9, 1.3, 1.8, 2.5};
static const double point_cm = 0.13; // half of a point's mark
static const double near_cm = 0.4;   // names at a larger distance need a line
static const double edge_weight = 4.0;

static bb_figure_box box_of(const bb_placement *place, double x, double y)
{
    return (bb_figure_box){x - 0.5 * place->width, y - 0.5 * place->height, x + 0.5 * place->width,
                           y + 0.5 * place->height};
}

static double shared(bb_figure_box a, bb_figure_box b)
{
    const double width = fmin(a.x_high, b.x_high) - fmax(a.x_low, b.x_low);
    const double height = fmin(a.y_high, b.y_high) - fmax(a.y_low, b.y_low);
    return width > 0.0 && height > 0.0 ? width * height : 0.0;
}

typedef struct surroundings {
    bb_placement *places;
    bb_index count;
    bb_figure_box axes;
    const bb_figure_box *kept;
    bb_index kept_count;
} surroundings;

// Area by which the name of `self` at a position would cover regions that must stay clear, cm2.
// Such regions are points, earlier names, reserved boxes, and the region outside of the axes.
static double covered(const surroundings *around, bb_index self, bb_figure_box name)
{
    const double area = (name.x_high - name.x_low) * (name.y_high - name.y_low);
    double sum = edge_weight * (area - shared(name, around->axes));
    for (bb_index i = 0; i < around->count; ++i) {
        const bb_placement *other = &around->places[i];
        const bb_figure_box mark = {other->x - point_cm, other->y - point_cm, other->x + point_cm,
                                    other->y + point_cm};
        sum += i == self ? 0.0 : shared(name, mark);
        sum += i < self ? shared(name, box_of(other, other->name_x, other->name_y)) : 0.0;
    }
    for (bb_index k = 0; k < around->kept_count; ++k) {
        sum += shared(name, around->kept[k]);
    }
    return sum;
}

static void place_name(const surroundings *around, bb_index self)
{
    bb_placement *place = &around->places[self];
    double least = INFINITY;
    for (int r = 0; r < RADII && least > 0.0; ++r) {
        for (int d = 0; d < DIRECTIONS && least > 0.0; ++d) {
            // Directions start on the right, then alternate between above and below, and end on the
            // left.
            const int turn = d % 2 == 0 ? d / 2 : -(d + 1) / 2;
            const double angle = 2.0 * M_PI * turn / DIRECTIONS;
            const double x = place->x + (radii_cm[r] + point_cm + 0.5 * place->width) * cos(angle);
            const double y = place->y + (radii_cm[r] + point_cm + 0.5 * place->height) * sin(angle);
            const double cost = covered(around, self, box_of(place, x, y));
            if (cost < least) {
                least = cost;
                place->name_x = x;
                place->name_y = y;
                place->far = radii_cm[r] > near_cm;
            }
        }
    }
}

void bb_placement_run(bb_placement *places, bb_index count, bb_figure_box axes,
                      const bb_figure_box *kept, bb_index kept_count)
{
    const surroundings around = {places, count, axes, kept, kept_count};
    for (bb_index i = 0; i < count; ++i) {
        place_name(&around, i);
    }
}

enum { STYLE_BYTES = 64, HOVER_BYTES = 400 };

static const double name_points = 7.0;

void bb_cloud_release(bb_cloud *points)
{
    bb_text_release(&points->note);
    BB_RELEASE(&points->names);
    BB_RELEASE(&points->words);
    BB_RELEASE(&points->costs);
    BB_RELEASE(&points->x);
    BB_RELEASE(&points->y);
    BB_RELEASE(&points->drawn);
    BB_RELEASE(&points->stairs);
}

bb_status bb_cloud_create(bb_index count, bb_cloud *out)
{
    bb_status status = BB_OK;
    out->count = count;
    BB_TRY(BB_ZEROED(count, &out->names));
    BB_TRY(BB_ZEROED(count, &out->words));
    BB_TRY(BB_ZEROED(count, &out->costs));
    BB_TRY(BB_ZEROED(count, &out->x));
    BB_TRY(BB_ZEROED(count, &out->y));
    BB_TRY(BB_ZEROED(count, &out->drawn));
done:
    return status;
}

// Lists pipelines that are not drawn, with the reason.
static bb_status list_absent(bb_cloud *points)
{
    bb_status status = BB_OK;
    for (bb_index p = 0; p < points->count; ++p) {
        if (points->drawn[p]) {
            continue;
        }
        const bool failed = !isfinite(points->costs[p].loss);
        BB_TRY(bb_text_add(&points->note, "%s%s (%s)",
                           points->note.length == 0 ? "Not drawn: " : ", ", points->names[p],
                           failed ? points->words[p] : "bytes unknown"));
    }
    if (points->note.length > 0) {
        BB_TRY(bb_text_add(&points->note, ". "));
    }
    if (points->floor) {
        BB_TRY(bb_text_add(&points->note, "On the lower edge: losses of 0 or below. "));
    }
done:
    return status;
}

// Sets the ranges and moves points without a positive loss to the lower edge.
static void set_ranges(bb_cloud *points)
{
    bb_plot_range(points->x, points->count, &points->low_x, &points->high_x);
    bb_plot_range(points->y, points->count, &points->low_y, &points->high_y);
    for (bb_index p = 0; p < points->count; ++p) {
        points->floor = points->floor || (points->drawn[p] && points->y[p] <= 0.0);
    }
    points->low_y /= points->floor ? 3.0 : 1.0;
    for (bb_index p = 0; p < points->count; ++p) {
        points->y[p] = points->drawn[p] && points->y[p] <= 0.0 ? points->low_y : points->y[p];
    }
}

bb_status bb_cloud_finish(bb_cloud *points)
{
    for (bb_index p = 0; p < points->count; ++p) {
        points->drawn[p] =
            isfinite(points->costs[p].loss) && isfinite(points->x[p]) && points->x[p] > 0.0;
        points->y[p] = points->drawn[p] ? points->costs[p].loss : NAN;
        points->x[p] = points->drawn[p] ? points->x[p] : NAN;
    }
    set_ranges(points);
    return list_absent(points);
}

// Position on paper.
static double across(const bb_cloud *points, double x)
{
    const double part = log(x / points->low_x) / log(points->high_x / points->low_x);
    return points->axes.x_low + part * (points->axes.x_high - points->axes.x_low);
}

static double upward(const bb_cloud *points, double y)
{
    const double part = log(y / points->low_y) / log(points->high_y / points->low_y);
    return points->axes.y_low + part * (points->axes.y_high - points->axes.y_low);
}

// Adds the texts shown for a point under the pointer.
static bb_status add_hovers(const bb_cloud *points, bb_figure *figure)
{
    bb_status status = BB_OK;
    const double half = 0.15;
    char text[HOVER_BYTES];
    for (bb_index p = 0; p < points->count; ++p) {
        if (points->drawn[p]) {
            const double x = across(points, points->x[p]);
            const double y = upward(points, points->y[p]);
            (void)snprintf(text, sizeof text, "%s: %s %.4g, %s %.4g%s%s", points->names[p],
                           points->loss_name, points->costs[p].loss, points->x_name, points->x[p],
                           points->costs[p].is_eligible ? "" : ", ",
                           points->costs[p].is_eligible ? "" : points->words[p]);
            BB_TRY(bb_figure_hover(figure, (bb_figure_box){x - half, y - half, x + half, y + half},
                                   text));
        }
    }
done:
    return status;
}

// Writes the names next to the points, those of the front first.
bb_status bb_cloud_write_names(const bb_cloud *points, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_placement *places = NULL;
    bb_index *who = NULL;
    bb_index count = 0;
    char style[STYLE_BYTES];
    BB_TRY(BB_ZEROED(points->count, &places));
    BB_TRY(BB_ZEROED(points->count, &who));
    for (int pass = 0; pass < 2; ++pass) {
        for (bb_index p = 0; p < points->count; ++p) {
            if (points->drawn[p] && points->costs[p].front == (pass == 0)) {
                who[count] = p;
                places[count++] =
                    (bb_placement){.x = across(points, points->x[p]),
                                   .y = upward(points, points->y[p]),
                                   .width = bb_figure_text_cm(points->names[p], name_points) + 0.06,
                                   .height = 0.3};
            }
        }
    }
    BB_TRY(add_hovers(points, figure));
    bb_placement_run(places, count, points->axes, points->stairs, points->stair_count);
    for (bb_index i = 0; i < count; ++i) {
        const bb_placement *place = &places[i];
        if (place->far) {
            BB_TRY(bb_text_add(&figure->script,
                               "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead "
                               "linecolor '" BB_FIGURE_GREY "' linewidth 0.5\n",
                               place->x / figure->width_cm, place->y / figure->height_cm,
                               place->name_x / figure->width_cm,
                               (place->name_y + (place->name_y < place->y ? 0.5 : -0.5) * 0.25) /
                                   figure->height_cm));
        }
        (void)snprintf(style, sizeof style, "center front%s",
                       points->costs[who[i]].front ? "" : " textcolor '#404040'");
        BB_TRY(bb_figure_write(figure, place->name_x, place->name_y, points->names[who[i]],
                               name_points, style));
    }
done:
    BB_RELEASE(&places);
    BB_RELEASE(&who);
    return status;
}

// Sets axes and their labels, and the keys above.
bb_status bb_cloud_set_axes(bb_cloud *points, const bb_figure_key *keys, bb_index key_count,
                            bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_figure_box margins = {1.5, 1.0, 0.25, 0.2};
    const double room = figure->width_cm - margins.x_low - 0.1;
    margins.y_high += 0.3 * bb_figure_key_rows(keys, key_count, room);
    BB_TRY(bb_figure_margins(figure, margins, &points->axes));
    BB_TRY(bb_figure_name_axes(figure, points->axes, points->x_name, points->loss_name));
    BB_TRY(bb_text_add(&figure->script, "set grid linecolor '#d8d8d8' linewidth 0.5\n"));
    BB_TRY(bb_figure_log_axis(figure, "x", points->low_x, points->high_x,
                              points->axes.x_high - points->axes.x_low));
    BB_TRY(bb_figure_log_axis(figure, "y", points->low_y, points->high_y,
                              points->axes.y_high - points->axes.y_low));
    BB_TRY(bb_figure_write_keys(figure, keys, key_count, points->axes));
done:
    return status;
}

static bb_status add_block(const bb_cloud *points, const char *name, const char *columns,
                           bool (*belongs)(const bb_cloud *points, bb_index p), bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    BB_TRY(bb_figure_block(figure, name, columns));
    for (bb_index p = 0; p < points->count; ++p) {
        if (points->drawn[p] && belongs(points, p)) {
            BB_TRY(bb_text_add(&figure->data, "%.9g %.9g\n", points->x[p], points->y[p]));
            ++count;
        }
    }
    // gnuplot ignores an empty block.
    if (count == 0) {
        BB_TRY(bb_text_add(&figure->data, "nan nan\n"));
    }
done:
    return status;
}

static bool is_front(const bb_cloud *points, bb_index p)
{
    return points->costs[p].front;
}

static bool is_behind(const bb_cloud *points, bb_index p)
{
    return points->costs[p].is_eligible && !points->costs[p].front;
}

static bool is_unsafe(const bb_cloud *points, bb_index p)
{
    return !points->costs[p].is_eligible;
}

static bb_figure_box around(double x, double y, double other_x, double other_y)
{
    const double half = 0.03;
    return (bb_figure_box){fmin(x, other_x) - half, fmin(y, other_y) - half,
                           fmax(x, other_x) + half, fmax(y, other_y) + half};
}

// Point of the front with the next higher number of bytes, -1 at its end.
static bb_index next_stair(const bb_cloud *points, double last)
{
    bb_index next = -1;
    for (bb_index p = 0; p < points->count; ++p) {
        if (points->drawn[p] && points->costs[p].front && points->x[p] > last &&
            (next < 0 || points->x[p] < points->x[next])) {
            next = p;
        }
    }
    return next;
}

// Adds the front as stairs: the lowest loss for a number of bytes.
static bb_status add_stairs(bb_cloud *points, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_index last = -1;
    BB_TRY(BB_ZEROED(2 * points->count, &points->stairs));
    BB_TRY(bb_figure_block(figure, "stairs", "the front in order of increasing bytes"));
    for (bb_index p = next_stair(points, 0.0); p >= 0; p = next_stair(points, points->x[p])) {
        BB_TRY(bb_text_add(&figure->data, "%.9g %.9g\n", points->x[p], points->y[p]));
        if (last >= 0) {
            const double x = across(points, points->x[p]);
            const double y = upward(points, points->y[last]);
            points->stairs[points->stair_count++] =
                around(across(points, points->x[last]), y, x, y);
            points->stairs[points->stair_count++] = around(x, y, x, upward(points, points->y[p]));
        }
        last = p;
    }
    BB_TRY(bb_text_add(&figure->data, last >= 0 ? "" : "nan nan\n"));
done:
    return status;
}

bb_status bb_cloud_draw_front(bb_cloud *points, const bb_results *results,
                              const bb_figure_key keys[3], const char *note, bb_figure *figure)
{
    bb_status status = BB_OK;
    const char columns[] = "operator [MB], loss";
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.75 * figure->width_cm;
    }
    BB_TRY(bb_text_add(&points->note, "%s", note));
    BB_TRY(bb_figure_begin(figure, results, points->note.length == 0 ? NULL : points->note.data));
    BB_TRY(bb_cloud_set_axes(points, keys, 3, figure));
    BB_TRY(add_stairs(points, figure));
    BB_TRY(add_block(points, "front", columns, is_front, figure));
    BB_TRY(add_block(points, "others", columns, is_behind, figure));
    BB_TRY(add_block(points, "unsafe", columns, is_unsafe, figure));
    BB_TRY(bb_cloud_write_names(points, figure));
    BB_TRY(bb_text_add(
        &figure->script,
        "plot data index 'stairs' using 1:2 with steps linecolor '" BB_FIGURE_VERMILION
        "' linewidth 1, \\\n"
        "  data index 'front' using 1:2 with points pointtype 7 pointsize 0.6 linecolor "
        "'" BB_FIGURE_VERMILION "', \\\n"
        "  data index 'others' using 1:2 with points pointtype 6 pointsize 0.6 linecolor "
        "'" BB_FIGURE_BLUE "', \\\n"
        "  data index 'unsafe' using 1:2 with points pointtype 2 pointsize 0.6 linecolor "
        "'" BB_FIGURE_BLACK "'\n"));
done:
    return status;
}

bb_status bb_cloud_costs(const bb_experiment *experiment, const bb_results *results,
                         bb_cloud_cost *out)
{
    bb_status status = BB_OK;
    bb_front front = {0};
    BB_TRY(bb_front_find(experiment, results, &front));
    front.timed = false;
    for (bb_index i = 0; i < front.names->count; ++i) {
        const bb_front_cost *cost = &front.costs[i];
        out[i] = (bb_cloud_cost){cost->loss, cost->measures[BB_FRONT_BYTES], cost->is_eligible,
                                 bb_front_has(&front, i)};
    }
done:
    bb_front_release(&front);
    return status;
}
