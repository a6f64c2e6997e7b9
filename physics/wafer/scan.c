// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/scan.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>

// Layout: fields as a list of positions, as in exposure jobs and their logs. Rules: as for the
// grid, more than 5 % of a field's area is inside the usable radius; fields do not overlap by more
// than a micrometre, the rounding of logs; orders are given for all fields of the list, each once,
// or for none. Doses are absolute (mJ/cm2), as in jobs and focus-exposure matrices.

static const double ROUNDING_MM = 1e-3; // of positions in a log

// Exposure order of a field, and its index in the list.
typedef struct turn {
    bb_index order, place;
} turn;

static int compare_turns(const void *a, const void *b)
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
                   "scan.layout.%td.order: %s, expected an order for every field of the layout or "
                   "for none",
                   i, own ? "the first field has none" : "missing");
        turns[i] = (turn){own ? places[i].order : i, i};
    }
    qsort(turns, (size_t)count, sizeof *turns, compare_turns);
    for (bb_index i = 1; i < count; ++i) {
        const bb_index low = turns[i - 1].place < turns[i].place ? i - 1 : i;
        BB_REQUIRE(turns[i].order != turns[i - 1].order, BB_INVALID,
                   "scan.layout.%td.order: %td is also that of scan.layout.%td, expected each once",
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

// Sets `fields` (position, dose, direction) and `field_count` of a scan whose lengths are set, in
// exposure order.
static bb_status place_layout(const bb_scan_config *config, bb_scan *scan)
{
    bb_status status = BB_OK;
    turn *turns = NULL;
    const bb_field_place *places = config->layout.items;
    const bb_index count = config->layout.count;
    BB_REQUIRE(config->sequence.count == 0, BB_INVALID,
               "scan.sequence: remove it, the order follows from scan.layout");
    BB_REQUIRE(config->order == (int)BB_SCAN_MEANDER, BB_INVALID,
               "scan.order: expected meander, the order follows from scan.layout");
    BB_REQUIRE(config->doses.count == 0, BB_INVALID,
               "scan.doses: remove it, scan.layout has the doses");
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

static const double SAME_MM = 1e-6; // positions of one column or row differ only by rounding

static int compare(const void *a, const void *b)
{
    const double first = *(const double *)a;
    const double second = *(const double *)b;
    return (first > second) - (first < second);
}

// Sorts `values` and removes duplicates; returns the number left.
static bb_index remove_duplicates(double *values, bb_index count)
{
    bb_index kept = 0;
    qsort(values, (size_t)count, sizeof *values, compare);
    for (bb_index i = 0; i < count; ++i) {
        if (kept == 0 || values[i] - values[kept - 1] > SAME_MM) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

static bb_index find(const double *values, bb_index count, double value)
{
    bb_index i = 0;
    while (i + 1 < count && value - values[i] > SAME_MM) {
        ++i;
    }
    return i;
}

// Edges of the cells around `count` positions, mm to m: midway between them, the outer ones at
// +-half.
static void set_edges(const double *places, bb_index count, double half, double *edges)
{
    edges[0] = -half;
    edges[count] = half;
    for (bb_index i = 1; i < count; ++i) {
        edges[i] = 0.5e-3 * (places[i - 1] + places[i]);
    }
}

static bb_status check_points(const bb_scan_config *config)
{
    bb_status status = BB_OK;
    const bb_dose_point *points = config->dose_map.items;
    for (bb_index i = 0; i < config->dose_map.count; ++i) {
        BB_REQUIRE(fabs(points[i].x_mm) <= 0.5 * config->field_width_mm, BB_INVALID,
                   "scan.dose_map.%td.x_mm: %g, expected at most half of field_width_mm = %g away",
                   i, points[i].x_mm, config->field_width_mm);
        BB_REQUIRE(fabs(points[i].y_mm) <= 0.5 * config->field_height_mm, BB_INVALID,
                   "scan.dose_map.%td.y_mm: %g, expected at most half of field_height_mm = %g away",
                   i, points[i].y_mm, config->field_height_mm);
    }
done:
    return status;
}

static bb_status fill(const bb_scan_config *config, const double *x, const double *y,
                      bb_dose_map *map)
{
    bb_status status = BB_OK;
    const bb_dose_point *points = config->dose_map.items;
    const bb_index count = config->dose_map.count;
    const bb_index cells = map->columns * map->rows;
    BB_REQUIRE(count >= cells, BB_INVALID,
               "scan.dose_map: %td points at %td positions in x and %td in y, expected all %td of "
               "the grid",
               count, map->columns, map->rows, cells);
    double largest = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        largest = fmax(largest, points[i].relative_dose);
    }
    BB_REQUIRE(largest > 0.0, BB_INVALID, "scan.dose_map: all doses are 0, expected some above 0");
    BB_TRY(BB_ALLOCATE(cells, &map->factor));
    for (bb_index i = 0; i < cells; ++i) {
        map->factor[i] = NAN;
    }
    for (bb_index i = 0; i < count; ++i) {
        double *factor = map->factor + find(y, map->rows, points[i].y_mm) * map->columns +
                         find(x, map->columns, points[i].x_mm);
        BB_REQUIRE(isnan(*factor), BB_INVALID,
                   "scan.dose_map.%td.x_mm: the point at (%g, %g) mm is given twice", i,
                   points[i].x_mm, points[i].y_mm);
        *factor = points[i].relative_dose;
    }
done:
    return status;
}

bb_status bb_dose_map_create(const bb_scan_config *config, bb_dose_map **out)
{
    bb_status status = BB_OK;
    bb_dose_map *map = NULL;
    double *x = NULL;
    double *y = NULL;
    const bb_dose_point *points = config->dose_map.items;
    const bb_index count = config->dose_map.count;
    BB_TRY(check_points(config));
    BB_TRY(BB_ZEROED(1, &map));
    BB_TRY(BB_ALLOCATE(count, &x));
    BB_TRY(BB_ALLOCATE(count, &y));
    for (bb_index i = 0; i < count; ++i) {
        x[i] = points[i].x_mm;
        y[i] = points[i].y_mm;
    }
    map->columns = remove_duplicates(x, count);
    map->rows = remove_duplicates(y, count);
    BB_TRY(fill(config, x, y, map));
    BB_TRY(BB_ALLOCATE(map->columns + 1, &map->x));
    BB_TRY(BB_ALLOCATE(map->rows + 1, &map->y));
    set_edges(x, map->columns, 0.5 * (1e-3 * config->field_width_mm), map->x);
    set_edges(y, map->rows, 0.5 * (1e-3 * config->field_height_mm), map->y);
    *out = map;
    map = NULL;
done:
    BB_RELEASE(&y);
    BB_RELEASE(&x);
    bb_dose_map_destroy(&map);
    return status;
}

void bb_dose_map_destroy(bb_dose_map **map)
{
    if (*map != NULL) {
        BB_RELEASE(&(*map)->factor);
        BB_RELEASE(&(*map)->y);
        BB_RELEASE(&(*map)->x);
    }
    BB_RELEASE(map);
}

double bb_dose_map_mean(const bb_dose_map *map)
{
    double sum = 0.0;
    if (map == NULL) {
        return 1.0;
    }
    for (bb_index row = 0; row < map->rows; ++row) {
        for (bb_index column = 0; column < map->columns; ++column) {
            sum += map->factor[row * map->columns + column] *
                   (map->x[column + 1] - map->x[column]) * (map->y[row + 1] - map->y[row]);
        }
    }
    return sum / ((map->x[map->columns] - map->x[0]) * (map->y[map->rows] - map->y[0]));
}

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

double bb_scan_part_inside(const bb_scan *scan, const bb_field *field)
{
    double width = scan->field_width;
    double height = scan->field_height;
    return bb_field_area_inside(scan->usable_radius, field->x - 0.5 * width, field->x + 0.5 * width,
                                field->y - 0.5 * height, field->y + 0.5 * height) /
           (width * height);
}

static bool is_full(const bb_scan *scan, const bb_field *field)
{
    return hypot(fabs(field->x) + 0.5 * scan->field_width,
                 fabs(field->y) + 0.5 * scan->field_height) <= scan->usable_radius;
}

static bb_status append(bb_scan *scan, bb_index *capacity, bb_field field)
{
    if (scan->field_count == *capacity) {
        *capacity = *capacity == 0 ? 128 : 2 * *capacity;
        BB_RETURN_IF_FAILED(
            bb_memory_resize(*capacity, sizeof *scan->fields, (void **)&scan->fields));
    }
    scan->fields[scan->field_count++] = field;
    return BB_OK;
}

// Orders the selected fields; rows of even number among them run from left to right.
static bb_status lay_out(double offset_x, double offset_y, bb_scan *scan)
{
    const double reach_x = scan->usable_radius + fabs(offset_x);
    const double reach_y = scan->usable_radius + fabs(offset_y);
    bb_index capacity = 0;
    bb_index columns = (bb_index)ceil(reach_x / scan->field_width);
    bb_index rows = (bb_index)ceil(reach_y / scan->field_height + 0.5);
    bool rightward = true;
    for (bb_index row = -rows; row <= rows; ++row) {
        bb_index before = scan->field_count;
        for (bb_index i = 0; i < 2 * columns; ++i) {
            bb_field field = {.row = row, .column = rightward ? i - columns : columns - 1 - i};
            field.x = ((double)field.column + 0.5) * scan->field_width + offset_x;
            field.y = (double)row * scan->field_height + offset_y;
            if (bb_scan_part_inside(scan, &field) > BB_SCAN_LEAST_PART) {
                BB_RETURN_IF_FAILED(append(scan, &capacity, field));
            }
        }
        rightward = rightward == (scan->field_count == before);
    }
    return BB_OK;
}

// Reorders the fields into the given order.
static bb_status reorder(const bb_scan_config *config, bb_scan *scan)
{
    bb_status status = BB_OK;
    bb_field *given = NULL;
    const bb_index *sequence = config->sequence.items;
    const bb_index count = config->sequence.count;
    BB_REQUIRE((config->order == (int)BB_SCAN_GIVEN) == (count > 0), BB_INVALID,
               "scan.sequence: use it with scan.order = given only");
    if (count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(count, &given));
    for (bb_index e = 0; e < count; ++e) {
        BB_REQUIRE(sequence[e] < scan->field_count, BB_INVALID,
                   "scan.sequence: field %td, expected 0..%td: the layout has %td fields",
                   sequence[e], scan->field_count - 1, scan->field_count);
        for (bb_index before = 0; before < e; ++before) {
            BB_REQUIRE(sequence[before] != sequence[e], BB_INVALID,
                       "scan.sequence: field %td twice, at %td and %td", sequence[e], before, e);
        }
        given[e] = scan->fields[sequence[e]];
    }
    BB_RELEASE(&scan->fields);
    scan->fields = given;
    scan->field_count = count;
    given = NULL;
done:
    BB_RELEASE(&given);
    return status;
}

// The grid's fields in the configured order.
static bb_status place_grid(const bb_scan_config *config, bb_scan *scan)
{
    bb_status status = BB_OK;
    BB_TRY(lay_out(1e-3 * config->offset_x_mm, 1e-3 * config->offset_y_mm, scan));
    BB_REQUIRE(scan->field_count > 0, BB_INVALID, "no field of %g x %g mm lies within %g mm",
               config->field_width_mm, config->field_height_mm, config->usable_radius_mm);
    BB_TRY(reorder(config, scan));
    for (bb_index e = 0; e < scan->field_count; ++e) {
        scan->fields[e].up = e % 2 == 0;
        scan->fields[e].dose = 10.0 * config->dose_mj_per_cm2;
    }
done:
    return status;
}

// Sets the time of every exposure, and doses of individual ones.
static bb_status assign(const bb_scan_config *config, bb_scan *scan)
{
    bb_status status = BB_OK;
    const bb_field_dose *doses = config->doses.items;
    for (bb_index e = 0; e < scan->field_count; ++e) {
        scan->fields[e].full = is_full(scan, &scan->fields[e]);
        scan->fields[e].first_step = e * (scan->light_steps + scan->dark_steps);
    }
    for (bb_index d = 0; d < config->doses.count; ++d) {
        BB_REQUIRE(doses[d].exposure < scan->field_count, BB_INVALID,
                   "scan.doses: exposure %td, expected 0..%td: %td fields are exposed",
                   doses[d].exposure, scan->field_count - 1, scan->field_count);
        for (bb_index before = 0; before < d; ++before) {
            BB_REQUIRE(doses[before].exposure != doses[d].exposure, BB_INVALID,
                       "scan.doses: exposure %td twice, at %td and %td", doses[d].exposure, before,
                       d);
        }
        scan->fields[doses[d].exposure].dose = 10.0 * doses[d].dose_mj_per_cm2;
    }
done:
    return status;
}

static bb_status check_scored(const bb_scan_config *config, bb_index field_count)
{
    bb_status status = BB_OK;
    const bb_index *scored = config->fields.items;
    for (bb_index i = 0; i < config->fields.count; ++i) {
        BB_REQUIRE(scored[i] >= 0 && scored[i] < field_count, BB_INVALID,
                   "scan.fields: %td, expected 0..%td: the layout has %td fields", scored[i],
                   field_count - 1, field_count);
    }
done:
    return status;
}

bb_status bb_scan_create(const bb_scan_config *config, double step, bb_scan **out)
{
    bb_status status = BB_OK;
    bb_scan *scan = NULL;
    BB_REQUIRE(2.0 * config->slit_arc_radius_mm > config->field_width_mm, BB_INVALID,
               "scan.slit_arc_radius_mm = %g, expected more than half the field width, %g",
               config->slit_arc_radius_mm, 0.5 * config->field_width_mm);
    BB_REQUIRE(step > 0.0 && config->light_steps > 0 && config->dark_steps >= 0, BB_INVALID,
               "scan of %td light and %td dark steps of %g s, expected at least 1, 0 and over 0",
               config->light_steps, config->dark_steps, step);
    BB_TRY(BB_ZEROED(1, &scan));
    scan->field_width = 1e-3 * config->field_width_mm;
    scan->field_height = 1e-3 * config->field_height_mm;
    scan->usable_radius = 1e-3 * config->usable_radius_mm;
    scan->slit_width = 1e-3 * config->slit_width_mm;
    scan->arc_radius = 1e-3 * config->slit_arc_radius_mm;
    double half = 0.5 * scan->field_width;
    scan->sagitta = scan->arc_radius - sqrt(scan->arc_radius * scan->arc_radius - half * half);
    scan->travel = scan->field_height + scan->sagitta + scan->slit_width;
    scan->step = step;
    scan->light_steps = config->light_steps;
    scan->dark_steps = config->dark_steps;
    scan->speed = scan->travel / ((double)config->light_steps * step);
    BB_TRY(config->layout.count > 0 ? place_layout(config, scan) : place_grid(config, scan));
    BB_TRY(assign(config, scan));
    if (config->dose_map.count > 0) {
        BB_TRY(bb_dose_map_create(config, &scan->dose_map));
    }
    BB_TRY(check_scored(config, scan->field_count));
    *out = scan;
    scan = NULL;
done:
    bb_scan_destroy(&scan);
    return status;
}

double bb_scan_slit_y(const bb_scan *scan, const bb_field *field, double time)
{
    double low = field->y - 0.5 * scan->field_height - 0.5 * scan->slit_width;
    double gone = scan->speed * time;
    return field->up ? low + gone : low + scan->travel - gone;
}

double bb_scan_arc(const bb_scan *scan, const bb_field *field, double x)
{
    double half = 0.5 * scan->field_width;
    double off = clamp(x - field->x, -half, half);
    return sqrt(scan->arc_radius * scan->arc_radius - off * off) - scan->arc_radius;
}

double bb_scan_dose_fraction(const bb_scan *scan, const bb_field *field, bb_index step, double x,
                             double y)
{
    double position = bb_scan_arc(scan, field, x) - y;
    double begin = position + bb_scan_slit_y(scan, field, (double)step * scan->step);
    double end = position + bb_scan_slit_y(scan, field, (double)(step + 1) * scan->step);
    return fabs(clamp(end / scan->slit_width + 0.5, 0.0, 1.0) -
                clamp(begin / scan->slit_width + 0.5, 0.0, 1.0));
}

void bb_scan_destroy(bb_scan **scan)
{
    if (scan == NULL || *scan == NULL) {
        return;
    }
    bb_dose_map_destroy(&(*scan)->dose_map);
    BB_RELEASE(&(*scan)->fields);
    BB_RELEASE(scan);
}

// Computes the integral of sqrt(R^2 - x^2) from 0 to x.
static double half_disc(double radius, double x)
{
    return 0.5 * (x * sqrt(fmax(radius * radius - x * x, 0.0)) +
                  radius * radius * asin(clamp(x / radius, -1.0, 1.0)));
}

// Computes the integral over [x0, x1] of the height of the circle below y, clipped to the circle:
// min(max(y, -c), c) with c = sqrt(R^2 - x^2).
static double clipped_height(double radius, double x0, double x1, double y)
{
    double reach = fabs(y) < radius ? sqrt(radius * radius - y * y) : 0.0;
    double inner0 = clamp(x0, -reach, reach);
    double inner1 = clamp(x1, -reach, reach);
    double curved = half_disc(radius, x1) - half_disc(radius, x0) -
                    (half_disc(radius, inner1) - half_disc(radius, inner0));
    return copysign(1.0, y) * curved + y * (inner1 - inner0);
}

double bb_field_area_inside(double radius, double x0, double x1, double y0, double y1)
{
    double start = clamp(x0, -radius, radius);
    double right = clamp(x1, -radius, radius);
    return clipped_height(radius, start, right, y1) - clipped_height(radius, start, right, y0);
}
