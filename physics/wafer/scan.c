// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/scan.h"

#include "core/memory.h"
#include "physics/wafer/field_area.h"
#include "physics/wafer/field_layout.h"

#include <math.h>

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

// Rows of even number among the kept ones run from left to right.
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

// Puts the fields into the given order.
static bb_status reorder(const bb_scan_config *config, bb_scan *scan)
{
    bb_status status = BB_OK;
    bb_field *given = NULL;
    const bb_index *sequence = config->sequence.items;
    const bb_index count = config->sequence.count;
    BB_REQUIRE((config->order == (int)BB_SCAN_GIVEN) == (count > 0), BB_INVALID,
               "scan.sequence: expected with order given, and with no other");
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

// The grid's fields in the order wanted.
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

// Time of every exposure, and doses of single ones.
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
    BB_TRY(config->layout.count > 0 ? bb_field_layout_place(config, scan)
                                    : place_grid(config, scan));
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
