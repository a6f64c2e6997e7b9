// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/exposure.h"

#include "core/memory.h"
#include "physics/wafer/heat/node_cut.h"

#include <math.h>

// Live quarters on one side (below: side 0, above: side 1) of a node, cut by the field.
static bb_exposure_strip cut_strip(const bb_disc_mesh *mesh, const bb_scan *scan,
                                   const bb_field *field, const bb_box *area, bb_index node,
                                   int side)
{
    bb_node_cut cut = bb_node_cut_of(mesh, area, node, side);
    double offset = bb_scan_arc(scan, field, cut.middle) - bb_disc_mesh_y(mesh, node);
    return (bb_exposure_strip){cut.width, cut.low, cut.high, offset};
}

// Integral of F over the strip: the part that the slit has passed and the part that it is on. In
// lengths from the node, so that a passed strip gives the same number in every step.
static double strip_fraction(const bb_exposure_strip *strip, double slit, double width)
{
    double s = slit + strip->offset;
    double passed = fmin(fmax(s - 0.5 * width, strip->low), strip->high);
    double reached = fmin(fmax(s + 0.5 * width, strip->low), strip->high);
    double at_passed = fmin((s - passed) / width + 0.5, 1.0);
    double at_reached = fmax((s - reached) / width + 0.5, 0.0);
    return passed - strip->low + 0.5 * (reached - passed) * (at_passed + at_reached);
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
            bb_exposure_strip *strips = exposure->strips + 2 * exposure->count;
            double part = 0.0;
            for (int side = 0; side < 2; ++side) {
                strips[side] = cut_strip(mesh, exposure->scan, &exposure->field, area, node, side);
                part += strips[side].width * (strips[side].high - strips[side].low);
            }
            if (part > 0.0) {
                exposure->node[exposure->count++] = node;
                covered += part;
            }
        }
    }
    double total = (area->x1 - area->x0) * (area->y1 - area->y0);
    exposure->total = exposure->energy_density * covered;
    exposure->clipped = exposure->energy_density * fmax(total - covered, 0.0);
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
    BB_TRY(BB_ALLOCATE(2 * limit, &exposure->strips));
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
        for (int side = 0; side < 2; ++side) {
            const bb_exposure_strip *strip = exposure->strips + 2 * i + side;
            if (strip->width > 0.0) {
                area += strip->width * fabs(strip_fraction(strip, end, width) -
                                            strip_fraction(strip, begin, width));
            }
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
    const double capacity =
        wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k * 1e-6 * wafer->thickness_um;
    const double rise = wafer->absorption * 10.0 * dose / capacity;
    return (1.0 + wafer->poisson_ratio) * wafer->expansion_per_k * rise * spacing * spacing /
           (12e-3 * scan->slit_width_mm);
}

void bb_exposure_destroy(bb_exposure **exposure)
{
    if (exposure == NULL || *exposure == NULL) {
        return;
    }
    BB_RELEASE(&(*exposure)->node);
    BB_RELEASE(&(*exposure)->strips);
    BB_RELEASE(exposure);
}
