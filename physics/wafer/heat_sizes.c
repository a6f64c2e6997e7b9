// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat_sizes.h"

#include "core/status.h"
#include "physics/wafer/edge_ring.h"

#include <math.h>

// A disc of square cells as bb_disc_mesh_create lays it out; cells whose centre is inside are kept.
typedef struct disc {
    double radius, spacing, origin;
    bb_index rows;
} disc;

// Columns [first, last] of a row; none where first > last.
typedef struct run {
    double first, last;
} run;

static const run NOTHING = {INFINITY, -INFINITY};

static disc lay_out(double radius, double spacing)
{
    const double half = ceil(radius / spacing * (1.0 - 1e-12));
    return (disc){radius, spacing, -half * spacing, (bb_index)(2.0 * half)};
}

static bool keeps(const disc *of, double column, double row)
{
    const double x = of->origin + (column + 0.5) * of->spacing;
    const double y = of->origin + (row + 0.5) * of->spacing;
    return x * x + y * y <= of->radius * of->radius;
}

// Found from the circle, then by the law itself: rounding decides at its rim.
static run kept(const disc *of, bb_index row)
{
    if (row < 0 || row >= of->rows) {
        return NOTHING;
    }
    const double y = of->origin + ((double)row + 0.5) * of->spacing;
    const double reach = sqrt(fmax(of->radius * of->radius - y * y, 0.0));
    run out = {fmax(floor((-reach - of->origin) / of->spacing) - 2.0, 0.0),
               fmin(ceil((reach - of->origin) / of->spacing) + 2.0, (double)of->rows - 1.0)};
    while (out.first <= out.last && !keeps(of, out.first, (double)row)) {
        out.first += 1.0;
    }
    while (out.first <= out.last && !keeps(of, out.last, (double)row)) {
        out.last -= 1.0;
    }
    return out.first <= out.last ? out : NOTHING;
}

static run united(run a, run b)
{
    return (run){fmin(a.first, b.first), fmax(a.last, b.last)};
}

static double count_nodes(const disc *of)
{
    double sum = 0.0;
    for (bb_index line = 0; line <= of->rows; ++line) {
        const run both = united(kept(of, line - 1), kept(of, line));
        sum += both.first <= both.last ? both.last - both.first + 2.0 : 0.0;
    }
    return sum;
}

// Nodes all of whose four cells are kept: the ring around the disc has none of them.
static double count_inner(const disc *of)
{
    double sum = 0.0;
    for (bb_index line = 1; line < of->rows; ++line) {
        const run below = kept(of, line - 1);
        const run above = kept(of, line);
        sum += fmax(fmin(below.last, above.last) - fmax(below.first, above.first), 0.0);
    }
    return sum;
}

// Coarse cells that share area with cells [first, last] of a line, as bb_clamp_grid_create takes
// them.
static run touched(double first, double last, double ratio, double offset)
{
    return (run){floor(first * ratio + offset + 1e-9),
                 ceil((last + 1.0) * ratio + offset - 1e-9) - 1.0};
}

static double count_clamp(const disc *of, double spacing)
{
    const double half = 0.5 * of->spacing * (double)of->rows;
    const double lines = ceil(half / spacing * (1.0 - 1e-12));
    const double ratio = of->spacing / spacing;
    const double offset = lines - half / spacing;
    run before = NOTHING;
    double sum = 0.0;
    bb_index row = 0;
    for (bb_index j = 0; j <= 2 * (bb_index)lines; ++j) {
        const double line = (double)j;
        run cells = NOTHING;
        // The fine rows of a coarse one; the last of them may reach into the next.
        for (; row < of->rows && touched((double)row, (double)row, ratio, offset).first <= line;
             ++row) {
            const run columns = kept(of, row);
            if (columns.first <= columns.last) {
                cells = united(cells, touched(columns.first, columns.last, ratio, offset));
            }
            if (touched((double)row, (double)row, ratio, offset).last > line) {
                break;
            }
        }
        const run both = united(before, cells);
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
