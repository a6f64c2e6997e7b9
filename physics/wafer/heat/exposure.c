// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/exposure.h"

#include "core/memory.h"
#include "physics/wafer/disc_mesh.h"

#include <math.h>

// Live quarters on one side (below: side 0, above: side 1) of a node, cut by a cell of the map.
static bb_exposure_strip cut_strip(const bb_disc_mesh *mesh, const bb_exposure *exposure,
                                   const bb_box *cell, double factor, bb_index node, int side)
{
    bb_node_cut cut = bb_node_cut_of(mesh, cell, node, side);
    double offset =
        bb_scan_arc(exposure->scan, &exposure->field, cut.middle) - bb_disc_mesh_y(mesh, node);
    return (bb_exposure_strip){cut.width, cut.low, cut.high, offset, factor};
}

// Computes the integral of F over the strip: the part that the slit has passed and the part under
// it. Lengths are from the node, so that a passed strip gives the same number in every step.
static double strip_fraction(const bb_exposure_strip *strip, double slit, double width)
{
    double s = slit + strip->offset;
    double passed = fmin(fmax(s - 0.5 * width, strip->low), strip->high);
    double reached = fmin(fmax(s + 0.5 * width, strip->low), strip->high);
    double at_passed = fmin((s - passed) / width + 0.5, 1.0);
    double at_reached = fmax((s - reached) / width + 0.5, 0.0);
    return passed - strip->low + 0.5 * (reached - passed) * (at_passed + at_reached);
}

// Finds the cells of a map, whose outer edges are the field's, that may overlap [low, high] from
// its centre.
static void find_cells(const double *edges, bb_index count, double low, double high,
                       bb_index range[2])
{
    range[0] = 0;
    while (range[0] + 1 < count && edges[range[0] + 1] < low) {
        ++range[0];
    }
    range[1] = range[0];
    while (range[1] + 1 < count && edges[range[1] + 1] <= high) {
        ++range[1];
    }
}

static void add_cell(const bb_disc_mesh *mesh, const bb_box *cell, double factor, int32_t node,
                     bb_exposure *exposure, double *part)
{
    for (int side = 0; side < 2; ++side) {
        const bb_exposure_strip strip = cut_strip(mesh, exposure, cell, factor, node, side);
        if (strip.width > 0.0) {
            exposure->strips[exposure->first[exposure->count + 1]++] = strip;
            *part += factor * strip.width * (strip.high - strip.low);
        }
    }
}

// Adds the strips of a node; returns its covered area, weighted by the map's factors.
static double add_strips(const bb_disc_mesh *mesh, const bb_box *area, int32_t node,
                         bb_exposure *exposure)
{
    const bb_dose_map *map = exposure->scan->dose_map;
    const bb_field *field = &exposure->field;
    const double x = bb_disc_mesh_x(mesh, node) - field->x;
    const double y = bb_disc_mesh_y(mesh, node) - field->y;
    double part = 0.0;
    bb_index columns[2];
    bb_index rows[2];
    exposure->first[exposure->count + 1] = exposure->first[exposure->count];
    if (map == NULL) {
        add_cell(mesh, area, 1.0, node, exposure, &part);
        return part;
    }
    find_cells(map->x, map->columns, x - mesh->spacing, x + mesh->spacing, columns);
    find_cells(map->y, map->rows, y - mesh->spacing, y + mesh->spacing, rows);
    for (bb_index row = rows[0]; row <= rows[1]; ++row) {
        for (bb_index column = columns[0]; column <= columns[1]; ++column) {
            const bb_box cell = {field->x + map->x[column], field->x + map->x[column + 1],
                                 field->y + map->y[row], field->y + map->y[row + 1]};
            add_cell(mesh, &cell, map->factor[row * map->columns + column], node, exposure, &part);
        }
    }
    return part;
}

static void collect(const bb_disc_mesh *mesh, const bb_box *area, bb_exposure *exposure)
{
    bb_index x[2];
    bb_index y[2];
    double covered = 0.0;
    bb_node_cut_range(area->x0, area->x1, mesh->origin_x, mesh->spacing, mesh->node_columns, x);
    bb_node_cut_range(area->y0, area->y1, mesh->origin_y, mesh->spacing, mesh->node_rows, y);
    for (bb_index row = y[0]; row <= y[1]; ++row) {
        for (bb_index column = x[0]; column <= x[1]; ++column) {
            int32_t node = mesh->node_at[row * mesh->node_columns + column];
            if (node < 0) {
                continue;
            }
            const double part = add_strips(mesh, area, node, exposure);
            if (exposure->first[exposure->count + 1] > exposure->first[exposure->count]) {
                exposure->node[exposure->count++] = node;
                covered += part;
            }
        }
    }
    double total =
        (area->x1 - area->x0) * (area->y1 - area->y0) * bb_dose_map_mean(exposure->scan->dose_map);
    exposure->total = exposure->energy_density * covered;
    exposure->clipped = exposure->energy_density * fmax(total - covered, 0.0);
}

// Maximum number of strips of a field: two per node, and for nodes cut by cells of a map two per
// cell.
static bb_index most_strips(const bb_disc_mesh *mesh, const bb_scan *scan)
{
    const bb_dose_map *map = scan->dose_map;
    bb_index count = 2 * bb_node_cut_most(mesh, scan->field_width, scan->field_height);
    for (bb_index cell = 0; map != NULL && cell < map->columns * map->rows; ++cell) {
        const bb_index column = cell % map->columns;
        const bb_index row = cell / map->columns;
        count += 2 * bb_node_cut_most(mesh, map->x[column + 1] - map->x[column],
                                      map->y[row + 1] - map->y[row]);
    }
    return count;
}

bb_status bb_exposure_create(const bb_disc_mesh *mesh, const bb_scan *scan, bb_index index,
                             double absorption, bb_exposure **out)
{
    bb_status status = BB_OK;
    bb_exposure *exposure = NULL;
    BB_REQUIRE(index >= 0 && index < scan->field_count, BB_INVALID, "field %td, expected 0..%td",
               index, scan->field_count - 1);
    BB_REQUIRE(!mesh->periodic, BB_INVALID, "a periodic mesh cannot be exposed");
    BB_TRY(BB_ZEROED(1, &exposure));
    exposure->scan = scan;
    exposure->field = scan->fields[index];
    exposure->energy_density = exposure->field.dose * absorption;
    const bb_index limit = bb_node_cut_most(mesh, scan->field_width, scan->field_height);
    BB_TRY(BB_ALLOCATE(limit, &exposure->node));
    BB_TRY(BB_ZEROED(limit + 1, &exposure->first));
    BB_TRY(BB_ALLOCATE(most_strips(mesh, scan), &exposure->strips));
    bb_box area = {
        exposure->field.x - 0.5 * scan->field_width, exposure->field.x + 0.5 * scan->field_width,
        exposure->field.y - 0.5 * scan->field_height, exposure->field.y + 0.5 * scan->field_height};
    collect(mesh, &area, exposure);
    *out = exposure;
    exposure = NULL;
done:
    bb_exposure_destroy(&exposure);
    return status;
}

double bb_exposure_energy(const bb_exposure *exposure, bb_index part, bb_index parts,
                          double *energy)
{
    const bb_scan *scan = exposure->scan;
    double width = scan->slit_width;
    double each = (double)parts;
    double begin = bb_scan_slit_y(scan, &exposure->field, (double)part * scan->step / each);
    double end = bb_scan_slit_y(scan, &exposure->field, (double)(part + 1) * scan->step / each);
    double sum = 0.0;
    for (bb_index i = 0; i < exposure->count; ++i) {
        double area = 0.0;
        for (bb_index s = exposure->first[i]; s < exposure->first[i + 1]; ++s) {
            const bb_exposure_strip *strip = &exposure->strips[s];
            area += strip->factor * strip->width *
                    fabs(strip_fraction(strip, end, width) - strip_fraction(strip, begin, width));
        }
        energy[i] = exposure->energy_density * area;
        sum += energy[i];
    }
    return sum;
}

double bb_exposure_deposit(const bb_exposure *exposure, bb_index step, const double *per_joule,
                           double *energy, double *state)
{
    double sum = bb_exposure_energy(exposure, step, 1, energy);
    for (bb_index i = 0; i < exposure->count; ++i) {
        int32_t node = exposure->node[i];
        state[node] += per_joule[node] * energy[i];
    }
    return sum;
}

double bb_exposure_mesh_error(const bb_wafer_material_config *wafer, const bb_scan_config *scan,
                              double spacing)
{
    const bb_field_dose *doses = scan->doses.items;
    double dose = scan->dose_mj_per_cm2;
    for (bb_index d = 0; d < scan->doses.count; ++d) {
        dose = fmax(dose, doses[d].dose_mj_per_cm2);
    }
    const bb_field_place *places = scan->layout.items;
    for (bb_index i = 0; i < scan->layout.count; ++i) {
        dose = fmax(dose, places[i].dose_mj_per_cm2); // NaN: the scan's dose
    }
    const bb_dose_point *points = scan->dose_map.items;
    double factor = scan->dose_map.count > 0 ? 0.0 : 1.0;
    for (bb_index i = 0; i < scan->dose_map.count; ++i) {
        factor = fmax(factor, points[i].relative_dose);
    }
    const double capacity =
        wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k * 1e-6 * wafer->thickness_um;
    const double rise = wafer->absorption * 10.0 * dose * factor / capacity;
    return (1.0 + wafer->poisson_ratio) * wafer->expansion_per_k * rise * spacing * spacing /
           (12e-3 * scan->slit_width_mm);
}

void bb_exposure_destroy(bb_exposure **exposure)
{
    if (exposure == NULL || *exposure == NULL) {
        return;
    }
    BB_RELEASE(&(*exposure)->node);
    BB_RELEASE(&(*exposure)->first);
    BB_RELEASE(&(*exposure)->strips);
    BB_RELEASE(exposure);
}

bool bb_hood_wanted(const bb_hood_config *config)
{
    return config != NULL && config->exchange_w_per_m2_k > 0.0;
}

bb_hood bb_hood_make(const bb_disc_mesh *mesh, const bb_scan *scan, const bb_hood_config *config)
{
    bb_hood hood = {
        .mesh = mesh,
        .scan = scan,
        .exchange = config->exchange_w_per_m2_k,
        .width = 1e-3 * config->width_mm,
        .height = 1e-3 * config->height_mm,
        .rise = config->rise_k,
    };
    hood.cover_limit = bb_node_cut_most(mesh, hood.width, hood.height);
    return hood;
}

void bb_hood_centre(const bb_hood *hood, bb_index index, double time, double centre[2])
{
    const bb_scan *scan = hood->scan;
    const bb_field *field = &scan->fields[index];
    const double light = scan->step * (double)scan->light_steps;
    const double dark = scan->step * (double)scan->dark_steps;
    centre[0] = field->x;
    centre[1] = bb_scan_slit_y(scan, field, fmin(time, light)) - 0.5 * scan->sagitta;
    if (time > light && index + 1 < scan->field_count) {
        const bb_field *next = &scan->fields[index + 1];
        double part = (time - light) / dark;
        double start = bb_scan_slit_y(scan, next, 0.0) - 0.5 * scan->sagitta;
        centre[0] += part * (next->x - field->x);
        centre[1] += part * (start - centre[1]);
    }
}

bb_index bb_hood_cover(const bb_hood *hood, const double centre[2], double duration, int32_t *node,
                       double *exchange)
{
    const bb_disc_mesh *mesh = hood->mesh;
    const bb_box area = {centre[0] - 0.5 * hood->width, centre[0] + 0.5 * hood->width,
                         centre[1] - 0.5 * hood->height, centre[1] + 0.5 * hood->height};
    bb_index x[2];
    bb_index y[2];
    bb_index count = 0;
    bb_node_cut_range(area.x0, area.x1, mesh->origin_x, mesh->spacing, mesh->node_columns, x);
    bb_node_cut_range(area.y0, area.y1, mesh->origin_y, mesh->spacing, mesh->node_rows, y);
    for (bb_index row = y[0]; row <= y[1]; ++row) {
        for (bb_index column = x[0]; column <= x[1]; ++column) {
            int32_t index = mesh->node_at[row * mesh->node_columns + column];
            double covered = 0.0;
            for (int side = 0; side < 2 && index >= 0; ++side) {
                bb_node_cut cut = bb_node_cut_of(mesh, &area, index, side);
                covered += cut.width > 0.0 ? cut.width * (cut.high - cut.low) : 0.0;
            }
            if (covered > 0.0) {
                node[count] = index;
                exchange[count++] = duration * hood->exchange * covered;
            }
        }
    }
    return count;
}
