// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/heat_sizes.h"

#include "core/status.h"
#include "physics/wafer/heat/edge_ring.h"

#include <math.h>

// A disc of square cells as in bb_disc_mesh_create; cells whose centre is inside are included.
typedef struct disc {
    double radius, spacing, origin;
    bb_index rows;
} disc;

// Columns [first, last] of a row; empty if first > last.
typedef struct run {
    double first, last;
} run;

static const run NOTHING = {INFINITY, -INFINITY};

static disc lay_out(double radius, double spacing)
{
    const double half = ceil(radius / spacing * (1.0 - 1e-12));
    return (disc){radius, spacing, -half * spacing, (bb_index)(2.0 * half)};
}

static bool is_on_wafer(const disc *wafer, double column, double row)
{
    const double x = wafer->origin + (column + 0.5) * wafer->spacing;
    const double y = wafer->origin + (row + 0.5) * wafer->spacing;
    return x * x + y * y <= wafer->radius * wafer->radius;
}

// Estimates the columns from the circle with a margin, then applies the mesh's own criterion:
// rounding decides at the rim.
static run columns_on_wafer(const disc *wafer, bb_index row)
{
    if (row < 0 || row >= wafer->rows) {
        return NOTHING;
    }
    const double y = wafer->origin + ((double)row + 0.5) * wafer->spacing;
    const double reach = sqrt(fmax(wafer->radius * wafer->radius - y * y, 0.0));
    run out = {
        fmax(floor((-reach - wafer->origin) / wafer->spacing) - 2.0, 0.0),
        fmin(ceil((reach - wafer->origin) / wafer->spacing) + 2.0, (double)wafer->rows - 1.0)};
    while (out.first <= out.last && !is_on_wafer(wafer, out.first, (double)row)) {
        out.first += 1.0;
    }
    while (out.first <= out.last && !is_on_wafer(wafer, out.last, (double)row)) {
        out.last -= 1.0;
    }
    return out.first <= out.last ? out : NOTHING;
}

static run union_of(run a, run b)
{
    return (run){fmin(a.first, b.first), fmax(a.last, b.last)};
}

static double count_nodes(const disc *wafer)
{
    double sum = 0.0;
    for (bb_index line = 0; line <= wafer->rows; ++line) {
        const run both = union_of(columns_on_wafer(wafer, line - 1), columns_on_wafer(wafer, line));
        sum += both.first <= both.last ? both.last - both.first + 2.0 : 0.0;
    }
    return sum;
}

// Counts the nodes whose four cells are all included: the ring around the disc has none of them.
static double count_inner(const disc *wafer)
{
    double sum = 0.0;
    for (bb_index line = 1; line < wafer->rows; ++line) {
        const run below = columns_on_wafer(wafer, line - 1);
        const run above = columns_on_wafer(wafer, line);
        sum += fmax(fmin(below.last, above.last) - fmax(below.first, above.first), 0.0);
    }
    return sum;
}

// Finds the coarse cells that overlap cells [first, last] of a line, as in bb_clamp_grid_create.
static run touched(double first, double last, double ratio, double offset)
{
    return (run){floor(first * ratio + offset + 1e-9),
                 ceil((last + 1.0) * ratio + offset - 1e-9) - 1.0};
}

static double count_clamp(const disc *wafer, double spacing)
{
    const double half = 0.5 * wafer->spacing * (double)wafer->rows;
    const double lines = ceil(half / spacing * (1.0 - 1e-12));
    const double ratio = wafer->spacing / spacing;
    const double offset = lines - half / spacing;
    run before = NOTHING;
    double sum = 0.0;
    bb_index row = 0;
    for (bb_index j = 0; j <= 2 * (bb_index)lines; ++j) {
        const double line = (double)j;
        run cells = NOTHING;
        // Adds the fine rows of a coarse one; the last of them may extend into the next.
        for (; row < wafer->rows && touched((double)row, (double)row, ratio, offset).first <= line;
             ++row) {
            const run columns = columns_on_wafer(wafer, row);
            if (columns.first <= columns.last) {
                cells = union_of(cells, touched(columns.first, columns.last, ratio, offset));
            }
            if (touched((double)row, (double)row, ratio, offset).last > line) {
                break;
            }
        }
        const run both = union_of(before, cells);
        sum += both.first <= both.last ? both.last - both.first + 2.0 : 0.0;
        before = cells;
    }
    return sum;
}

bb_heat_sizes bb_heat_sizes_of(const bb_wafer_material_config *wafer, const bb_mesh_config *mesh,
                               const bb_clamp_config *clamp, const bb_ring_config *ring)
{
    const double radius = 0.5e-3 * wafer->diameter_mm;
    const double spacing = 1e-3 * mesh->spacing_mm;
    const disc inside = lay_out(radius, spacing);
    bb_heat_sizes sizes = {.nodes = count_nodes(&inside),
                           .clamp = count_clamp(&inside, 1e-3 * clamp->spacing_mm)};
    if (bb_edge_ring_wanted(ring)) {
        const disc outside = lay_out(radius + 1e-3 * ring->width_mm, spacing);
        sizes.ring = count_nodes(&outside) - count_inner(&inside);
    }
    return sizes;
}
