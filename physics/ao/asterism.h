// SPDX-License-Identifier: Apache-2.0
//
// Directions on a ring or a grid, as asterisms and fields of view are stated. A record with one of
// them stands for a record at each direction (core/schema.h, bb_pattern).
//
// Ring: item i at azimuth rotation + 360 deg i/count, from x towards y. Grid: count x count points
// over a square, its edges among them (a single one in the middle), x first, from the lowest y.
// Directions are rounded to 1e-9 arcsec, so that sines leave no dust: a quarter of a ring lies on
// the axis, and what is written out is what a hand would write.
#ifndef BB_PHYSICS_AO_ASTERISM_H
#define BB_PHYSICS_AO_ASTERISM_H

#include "core/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Keys of `ring:`.
typedef struct bb_ring_of_directions {
    bb_index count;
    double radius_arcsec;
    double rotation_deg;
    double centre_x_arcsec;
    double centre_y_arcsec;
} bb_ring_of_directions;

/// Keys of `grid:`.
typedef struct bb_grid_of_directions {
    bb_index count; ///< along each side
    double width_arcsec;
    double centre_x_arcsec;
    double centre_y_arcsec;
} bb_grid_of_directions;

/// What a record in a file may have in place of x_arcsec and y_arcsec.
typedef struct bb_asterism {
    bb_ring_of_directions ring;
    bb_grid_of_directions grid;
} bb_asterism;

extern const bb_schema bb_asterism_ring_schema;
extern const bb_schema bb_asterism_grid_schema;
extern const bb_pattern bb_asterism_ring;
extern const bb_pattern bb_asterism_grid;

/// Rows of the table of a record that has x_arcsec, y_arcsec and a bb_asterism called `asterism`.
#define BB_ASTERISM_KEYS(type, plural)                                                             \
    {.name = "ring",                                                                               \
     .kind = BB_KEY_GROUP,                                                                         \
     .schema = &bb_asterism_ring_schema,                                                           \
     .optional = true,                                                                             \
     .pattern = &bb_asterism_ring,                                                                 \
     .offset = offsetof(type, asterism) + offsetof(bb_asterism, ring),                             \
     .meaning = "In place of x_arcsec and y_arcsec: " plural                                       \
                " at equal steps on a ring, alike in all else."},                                  \
    {                                                                                              \
        .name = "grid", .kind = BB_KEY_GROUP, .schema = &bb_asterism_grid_schema,                  \
        .optional = true, .pattern = &bb_asterism_grid,                                            \
        .offset = offsetof(type, asterism) + offsetof(bb_asterism, grid),                          \
        .meaning =                                                                                 \
            "In place of x_arcsec and y_arcsec: " plural " on a square grid, alike in all else."   \
    }

#ifdef __cplusplus
}
#endif

#endif
