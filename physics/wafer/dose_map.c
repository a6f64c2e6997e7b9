// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/dose_map.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>

static const double SAME_MM = 1e-6; // places of one column or row differ by rounding alone

static int compare(const void *a, const void *b)
{
    const double first = *(const double *)a;
    const double second = *(const double *)b;
    return (first > second) - (first < second);
}

// Sorts `values` and keeps one of those that are the same; returns how many.
static bb_index keep_distinct(double *values, bb_index count)
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

// Edges of the cells around `count` places, mm to m: midway between, the outer ones at +-half.
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
               "scan.dose_map: %td points at %td places in x and %td in y, expected all %td of the "
               "grid",
               count, map->columns, map->rows, cells);
    double largest = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        largest = fmax(largest, points[i].relative_dose);
    }
    BB_REQUIRE(largest > 0.0, BB_INVALID, "scan.dose_map: no dose anywhere, expected some above 0");
    BB_TRY(BB_ALLOCATE(cells, &map->factor));
    for (bb_index i = 0; i < cells; ++i) {
        map->factor[i] = NAN;
    }
    for (bb_index i = 0; i < count; ++i) {
        double *factor = map->factor + find(y, map->rows, points[i].y_mm) * map->columns +
                         find(x, map->columns, points[i].x_mm);
        BB_REQUIRE(isnan(*factor), BB_INVALID,
                   "scan.dose_map.%td.x_mm: the point at (%g, %g) mm stands twice", i,
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
    map->columns = keep_distinct(x, count);
    map->rows = keep_distinct(y, count);
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
