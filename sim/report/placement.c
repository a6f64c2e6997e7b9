// SPDX-License-Identifier: Apache-2.0
#include "sim/report/placement.h"

#include <math.h>

enum { RADII = 8, DIRECTIONS = 16 };

static const double radii_cm[RADII] = {0.05, 0.2, 0.4, 0.6, 0.9, 1.3, 1.8, 2.5};
static const double point_cm = 0.13; // half a point's mark
static const double near_cm = 0.4;   // names beyond need a line
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

// Area that the name of `self` at a place would cover of what must stay clear, cm2: points, the
// names before it, what is kept, and what lies beyond the axes.
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
            // To the right first, then in turn above and below it, to the left last.
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
