// SPDX-License-Identifier: Apache-2.0
//
// Modes that mirrors at several heights hide from slopes: pistons of one of them, and opposed tilts
// and curvatures.
//
// A tilt of one mirror and its opposite of another add up to nothing on the axis and in any other
// direction to a piston. Opposed curvatures leave a tilt there that grows with the angle, a change
// of the plate scale; laser stars, whose tilt is unknown, do not see it, which is why several
// mirrors want three natural stars. A piston shows at the edges of the footprints alone. Singular
// values of these are a tenth to a thousandth of the largest: the condition decides which of them
// are corrected, and one that stands on such a mode makes another correction than its neighbour.
//
// A mode is recognised by its strokes, volts times the most wavefront that one makes on the mirror:
// how much of their square is that of polynomials up to degree 2 of the place on each mirror
// (Ellerbroek and Rigaut 2001 have the quadratic ones).
#ifndef BB_PHYSICS_AO_MIRRORS_PLATE_SCALE_H
#define BB_PHYSICS_AO_MIRRORS_PLATE_SCALE_H

#include "physics/ao/mirrors/mirror_commands.h"

typedef enum bb_plate_shape {
    BB_PLATE_PISTONS,
    BB_PLATE_TILTS,
    BB_PLATE_CURVATURES,
    BB_PLATE_SHAPES
} bb_plate_shape;

extern const char *const bb_plate_shape_names[BB_PLATE_SHAPES];

typedef struct bb_plate_mode {
    double ratio;                  ///< singular value over the largest
    double share[BB_PLATE_SHAPES]; ///< of the square of its strokes
    double alone;                  ///< of them together, the largest that one mirror has
    bb_plate_shape shape;          ///< of the largest share
    bool opposed;                  ///< no mirror has nine tenths of the shares
    bool dropped;
} bb_plate_mode;

/// The plate-scale modes among the weak ones of the commands whose singular value is within the
/// margin of the condition, either way; none where there is one mirror. `out` [weak.count at most]
/// is the caller's to release. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_scale_find(const bb_mirror_commands *commands, bb_plate_mode **out,
                                         bb_index *count);

#endif
