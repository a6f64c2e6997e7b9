// SPDX-License-Identifier: Apache-2.0
//
// List of the fields of a wafer study in order of exposure, and a character map of them.
#include "core/memory.h"
#include "sim/wafer/wafer_experiment.h"
#include "sim/wafer/wafer_study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Characters are about twice as high as wide.
enum { COLUMNS = 80, ROWS = COLUMNS / 2, LABEL_BYTES = 24 };

// Character map of a square around the wafer's centre that contains the wafer and all fields.
typedef struct canvas {
    double half;              // half the side of the square, m
    double radius;            // wafer radius, m
    bb_index *owner;          // [ROWS][COLUMNS] field at a character, -1: none
    char (*letters)[COLUMNS]; // [ROWS]; row 0 has the largest y
} canvas;

static double x_of(const canvas *map, bb_index column)
{
    return map->half * (2.0 * ((double)column + 0.5) / COLUMNS - 1.0);
}

static double y_of(const canvas *map, bb_index row)
{
    return map->half * (1.0 - 2.0 * ((double)row + 0.5) / ROWS);
}

static bool is_scored(const bb_wafer_study *study, bb_index exposure)
{
    const bb_list *fields = &study->scan.fields;
    const bb_index *items = fields->items;
    for (bb_index i = 0; i < fields->count; ++i) {
        if (items[i] == exposure) {
            return true;
        }
    }
    return fields->count == BB_LIST_ALL;
}

static bb_index owner_at(const canvas *map, bb_index row, bb_index column)
{
    const bool outside = row < 0 || row >= ROWS || column < 0 || column >= COLUMNS;
    return outside ? -1 : map->owner[row * COLUMNS + column];
}

static void set_owners(const bb_scan *scan, canvas *map)
{
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        const double x = x_of(map, i % COLUMNS);
        const double y = y_of(map, i / COLUMNS);
        map->owner[i] = -1;
        for (bb_index e = 0; e < scan->field_count; ++e) {
            if (fabs(x - scan->fields[e].x) <= 0.5 * scan->field_width &&
                fabs(y - scan->fields[e].y) <= 0.5 * scan->field_height) {
                map->owner[i] = e;
            }
        }
    }
}

// Character at a position: left or lower edge of a field, edge towards the neighbour to the left or
// above, or rim of the wafer.
static char letter_at(const canvas *map, bb_index row, bb_index column)
{
    const bb_index owner = owner_at(map, row, column);
    if (owner != owner_at(map, row, column - 1)) {
        return '|';
    }
    if (owner != owner_at(map, row + 1, column)) {
        return '_';
    }
    const double x = x_of(map, column);
    const double y = y_of(map, row);
    const double away = fabs(hypot(x, y) - map->radius);
    return owner < 0 && away < map->half / ROWS ? '.' : ' ';
}

// Writes a label centred at (x, y), `below` lines lower, if it fits into the field.
static void write_label(const char *label, const bb_field *field, bb_index exposure, bb_index below,
                        canvas *map)
{
    const bb_index length = (bb_index)strlen(label);
    const bb_index row = (bb_index)floor(0.5 * ROWS * (1.0 - field->y / map->half)) + below;
    const bb_index column =
        (bb_index)floor(0.5 * COLUMNS * (1.0 + field->x / map->half) - 0.5 * (double)length + 0.5);
    for (bb_index i = 0; i < length; ++i) {
        const bool edge =
            map->letters[row < 0 || row >= ROWS ? 0 : row]
                        [column + i < 0 || column + i >= COLUMNS ? 0 : column + i] == '|';
        if (owner_at(map, row, column + i) != exposure || edge) {
            return;
        }
    }
    memcpy(&map->letters[row][column], label, (size_t)length);
}

static bool has_doses(const bb_scan *scan)
{
    for (bb_index e = 1; e < scan->field_count; ++e) {
        if (scan->fields[e].dose != scan->fields[0].dose) {
            return true;
        }
    }
    return false;
}

static void draw(const bb_wafer_study *study, const bb_scan *scan, canvas *map)
{
    char label[LABEL_BYTES];
    const bool doses = has_doses(scan);
    set_owners(scan, map);
    for (bb_index row = 0; row < ROWS; ++row) {
        for (bb_index column = 0; column < COLUMNS; ++column) {
            map->letters[row][column] = letter_at(map, row, column);
        }
    }
    for (bb_index e = 0; e < scan->field_count; ++e) {
        const bb_field *field = &scan->fields[e];
        (void)snprintf(label, sizeof label, "%td%c%s", e, field->up ? '^' : 'v',
                       is_scored(study, e) ? "*" : "");
        write_label(label, field, e, 0, map);
        if (doses) {
            (void)snprintf(label, sizeof label, "%.4g", 0.1 * field->dose);
            write_label(label, field, e, 1, map);
        }
    }
}

static double half_side(const bb_scan *scan, double radius)
{
    double half = radius;
    for (bb_index e = 0; e < scan->field_count; ++e) {
        half = fmax(half, fabs(scan->fields[e].x) + 0.5 * scan->field_width);
        half = fmax(half, fabs(scan->fields[e].y) + 0.5 * scan->field_height);
    }
    return half;
}

static bb_status write_map(const bb_wafer_study *study, const bb_scan *scan, bb_text *out)
{
    bb_status status = BB_OK;
    canvas map = {.radius = 0.5e-3 * study->wafer.diameter_mm};
    map.half = 1.03 * half_side(scan, map.radius);
    BB_TRY(BB_ALLOCATE((bb_index)ROWS * COLUMNS, &map.owner));
    BB_TRY(BB_ALLOCATE(ROWS, &map.letters));
    draw(study, scan, &map);
    for (bb_index row = 0; row < ROWS; ++row) {
        bb_index length = COLUMNS;
        while (length > 0 && map.letters[row][length - 1] == ' ') {
            --length;
        }
        BB_TRY(bb_text_add_bytes(out, map.letters[row], length));
        BB_TRY(bb_text_add(out, "\n"));
    }
    BB_TRY(bb_text_add(out,
                       "exposure%s; ^ scanned up, v down; * scored\n. rim of the wafer; x to the "
                       "right, y upwards\n",
                       has_doses(scan) ? ", with its dose in mJ/cm2 below" : ""));
done:
    BB_RELEASE(&map.letters);
    BB_RELEASE(&map.owner);
    return status;
}

static bb_status write_lines(const bb_wafer_study *study, const bb_scan *scan, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%8s %10s %10s %14s %6s %7s %8s %10s\n", "exposure", "x [mm]", "y [mm]",
                       "dose [mJ/cm2]", "scan", "scored", "area", "at [s]"));
    for (bb_index e = 0; e < scan->field_count; ++e) {
        const bb_field *field = &scan->fields[e];
        BB_TRY(bb_text_add(out, "%8td %10.3f %10.3f %14.4g %6s %7s %6.1f %% %10.3f\n", e,
                           1e3 * field->x, 1e3 * field->y, 0.1 * field->dose,
                           field->up ? "up" : "down", is_scored(study, e) ? "yes" : "-",
                           100.0 * bb_scan_part_inside(scan, field),
                           (double)field->first_step * scan->step));
    }
    if (scan->dose_map != NULL) {
        BB_TRY(bb_text_add(out,
                           "the dose within a field is multiplied by a map of %td x %td cells "
                           "with mean %.4g\n",
                           scan->dose_map->columns, scan->dose_map->rows,
                           bb_dose_map_mean(scan->dose_map)));
    }
    BB_TRY(bb_text_add(out, "area: fraction within usable_radius_mm; at: start of the first light "
                            "step\n\n"));
done:
    return status;
}

bb_status bb_wafer_experiment_list_fields(const void *study, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    bb_scan *scan = NULL;
    BB_TRY(bb_scan_create(&wafer->scan, 1e-3 * wafer->mesh.step_ms, &scan));
    BB_TRY(write_lines(wafer, scan, out));
    BB_TRY(write_map(wafer, scan, out));
done:
    bb_scan_destroy(&scan);
    return status;
}
