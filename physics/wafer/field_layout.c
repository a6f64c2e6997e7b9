// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/field_layout.h"

#include "core/memory.h"
#include "physics/wafer/field_area.h"

#include <math.h>
#include <stdlib.h>

static const double ROUNDING_MM = 1e-3; // of places in a log

// A field's turn, and its place in the list.
typedef struct turn {
    bb_index order, place;
} turn;

static int compare(const void *a, const void *b)
{
    const turn *first = a;
    const turn *second = b;
    return (first->order > second->order) - (first->order < second->order);
}

static bb_status sort_turns(const bb_field_place *places, bb_index count, turn *turns)
{
    bb_status status = BB_OK;
    const bool ordered = places[0].order != BB_INTEGER_UNSET;
    for (bb_index i = 0; i < count; ++i) {
        const bool own = places[i].order != BB_INTEGER_UNSET;
        BB_REQUIRE(own == ordered, BB_INVALID,
                   "scan.layout.%td.order: %s, expected an order in all of the layout or in none",
                   i, own ? "the first field has none" : "missing");
        turns[i] = (turn){own ? places[i].order : i, i};
    }
    qsort(turns, (size_t)count, sizeof *turns, compare);
    for (bb_index i = 1; i < count; ++i) {
        const bb_index low = turns[i - 1].place < turns[i].place ? i - 1 : i;
        BB_REQUIRE(turns[i].order != turns[i - 1].order, BB_INVALID,
                   "scan.layout.%td.order: %td, as scan.layout.%td has; expected each once",
                   turns[2 * i - 1 - low].place, turns[i].order, turns[low].place);
    }
done:
    return status;
}

static bb_status check_overlap(const bb_scan_config *config)
{
    bb_status status = BB_OK;
    const bb_field_place *places = config->layout.items;
    const double width = config->field_width_mm - ROUNDING_MM;
    const double height = config->field_height_mm - ROUNDING_MM;
    for (bb_index i = 1; i < config->layout.count; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            const double x = fabs(places[i].x_mm - places[j].x_mm);
            const double y = fabs(places[i].y_mm - places[j].y_mm);
            BB_REQUIRE(x >= width || y >= height, BB_INVALID,
                       "scan.layout.%td.x_mm: the field at (%g, %g) mm overlaps scan.layout.%td at "
                       "(%g, %g), expected centres %g mm apart in x or %g in y",
                       i, places[i].x_mm, places[i].y_mm, j, places[j].x_mm, places[j].y_mm,
                       config->field_width_mm, config->field_height_mm);
        }
    }
done:
    return status;
}

static bool is_up(const bb_field_place *place, bb_index exposure)
{
    return place->direction < 0 ? exposure % 2 == 0
                                : place->direction != (int)BB_DIRECTION_DOWN &&
                                      place->direction != (int)BB_DIRECTION_MINUS_ONE;
}

static bb_field field_of(const bb_scan_config *config, const bb_field_place *place,
                         bb_index exposure)
{
    const double dose =
        isnan(place->dose_mj_per_cm2) ? config->dose_mj_per_cm2 : place->dose_mj_per_cm2;
    return (bb_field){.x = 1e-3 * place->x_mm + 1e-3 * config->offset_x_mm,
                      .y = 1e-3 * place->y_mm + 1e-3 * config->offset_y_mm,
                      .dose = 10.0 * dose,
                      .up = is_up(place, exposure)};
}

bb_status bb_field_layout_place(const bb_scan_config *config, bb_scan *scan)
{
    bb_status status = BB_OK;
    turn *turns = NULL;
    const bb_field_place *places = config->layout.items;
    const bb_index count = config->layout.count;
    BB_REQUIRE(config->sequence.count == 0, BB_INVALID,
               "scan.sequence: expected none beside scan.layout, which has orders");
    BB_REQUIRE(config->order == (int)BB_SCAN_MEANDER, BB_INVALID,
               "scan.order: expected meander beside scan.layout, which has orders");
    BB_REQUIRE(config->doses.count == 0, BB_INVALID,
               "scan.doses: expected none beside scan.layout, whose fields have doses");
    BB_TRY(BB_ALLOCATE(count, &turns));
    BB_TRY(sort_turns(places, count, turns));
    BB_TRY(check_overlap(config));
    BB_TRY(BB_ALLOCATE(count, &scan->fields));
    for (bb_index e = 0; e < count; ++e) {
        const bb_index place = turns[e].place;
        scan->fields[e] = field_of(config, &places[place], e);
        const bb_field *field = &scan->fields[e];
        const double x = 0.5 * scan->field_width;
        const double y = 0.5 * scan->field_height;
        const double part = bb_field_area_inside(scan->usable_radius, field->x - x, field->x + x,
                                                 field->y - y, field->y + y) /
                            (scan->field_width * scan->field_height);
        BB_REQUIRE(part > BB_SCAN_LEAST_PART, BB_INVALID,
                   "scan.layout.%td.x_mm: the field at (%g, %g) mm has %.3g %% of its area within "
                   "usable_radius_mm = %g, expected over %g %%",
                   place, 1e3 * scan->fields[e].x, 1e3 * scan->fields[e].y, 100.0 * part,
                   config->usable_radius_mm, 100.0 * BB_SCAN_LEAST_PART);
    }
    scan->field_count = count;
done:
    BB_RELEASE(&turns);
    return status;
}
