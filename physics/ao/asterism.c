// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/asterism.h"

#include "physics/ao/ao_constants.h"

#include <math.h>

// clang-format off
#define COUNT(type, high, text)                                                                    \
    {.name = "count", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = (high),      \
     .offset = offsetof(type, count), .meaning = (text)}
#define NUMBER(type, member, unit_text, low, high, text)                                           \
    .name = #member, .kind = BB_KEY_DOUBLE, .unit = (unit_text), .offset = offsetof(type, member), \
    .minimum = (low), .maximum = (high), .meaning = (text)
#define CENTRE(type)                                                                               \
    {NUMBER(type, centre_x_arcsec, "arcsec", -3600.0, 3600.0, "Its middle, x."),                   \
     .default_text = "0.0"},                                                                       \
    {NUMBER(type, centre_y_arcsec, "arcsec", -3600.0, 3600.0, "Its middle, y."),                   \
     .default_text = "0.0"}

static const bb_key ring_keys[] = {
    COUNT(bb_ring_of_directions, 1000.0, "How many on the ring."),
    {NUMBER(bb_ring_of_directions, radius_arcsec, "arcsec", 0.0, 3600.0, "Radius of the ring.")},
    {NUMBER(bb_ring_of_directions, rotation_deg, "deg", -360.0, 360.0,
            "Azimuth of the first, from x towards y."),
     .default_text = "0.0"},
    CENTRE(bb_ring_of_directions),
};
const bb_schema bb_asterism_ring_schema = BB_SCHEMA("ring", bb_ring_of_directions, ring_keys);

static const bb_key grid_keys[] = {
    COUNT(bb_grid_of_directions, 50.0, "How many along each side of the square."),
    {NUMBER(bb_grid_of_directions, width_arcsec, "arcsec", 0.0, 7200.0,
            "Side of the square, from the first to the last."),
     .exclusive_minimum = true},
    CENTRE(bb_grid_of_directions),
};
const bb_schema bb_asterism_grid_schema = BB_SCHEMA("grid", bb_grid_of_directions, grid_keys);
// clang-format on

// To 1e-9 arcsec; 0 without a sign.
static double rounded(double arcsec)
{
    return round(1e9 * arcsec) / 1e9 + 0.0;
}

static bb_index ring_count(const void *group)
{
    return ((const bb_ring_of_directions *)group)->count;
}

static void ring_place(const void *group, bb_index item, double out[2])
{
    const bb_ring_of_directions *ring = group;
    const double azimuth_deg = ring->rotation_deg + 360.0 * (double)item / (double)ring->count;
    const double azimuth = azimuth_deg * BB_PI / 180.0;
    out[0] = rounded(ring->centre_x_arcsec + ring->radius_arcsec * cos(azimuth));
    out[1] = rounded(ring->centre_y_arcsec + ring->radius_arcsec * sin(azimuth));
}

static bb_index grid_count(const void *group)
{
    const bb_grid_of_directions *grid = group;
    return grid->count * grid->count;
}

static double along(const bb_grid_of_directions *grid, bb_index i)
{
    return grid->count == 1 ? 0.0
                            : grid->width_arcsec * ((double)i / (double)(grid->count - 1) - 0.5);
}

static void grid_place(const void *group, bb_index item, double out[2])
{
    const bb_grid_of_directions *grid = group;
    out[0] = rounded(grid->centre_x_arcsec + along(grid, item % grid->count));
    out[1] = rounded(grid->centre_y_arcsec + along(grid, item / grid->count));
}

const bb_pattern bb_asterism_ring = {{"x_arcsec", "y_arcsec"}, ring_count, ring_place};
const bb_pattern bb_asterism_grid = {{"x_arcsec", "y_arcsec"}, grid_count, grid_place};
