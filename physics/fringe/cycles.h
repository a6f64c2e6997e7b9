// SPDX-License-Identifier: Apache-2.0
//
// Wrong cycles: pixels where an unwrapped phase differs from the truth by whole fringes.
//
// k = rint((phase - truth) / 2 pi) in each pixel. The piston of a part of the pupil that no path
// connects to the others is free: it is the most frequent k of the part (of equally frequent ones
// the nearest to 0, then the positive). Pixels with another k are wrong. The phase is expected to
// be congruent with the measured one; an offset by a fraction of a fringe is not removed here.
#ifndef BB_PHYSICS_FRINGE_CYCLES_H
#define BB_PHYSICS_FRINGE_CYCLES_H

#include "core/status.h"

#include <stdint.h>

typedef struct bb_cycles {
    bb_index scored;  ///< pixels with a truth, in a part
    bb_index missing; ///< pixels of these without a finite phase
    bb_index wrong;   ///< pixels of these with another k than their part, or without a phase
} bb_cycles;

/// Counts for one part of the pupil.
typedef struct bb_part_cycles {
    bb_cycles cycles;
    bb_index piston; ///< 0 for a part in which no pixel has a phase
} bb_part_cycles;

/// Counts over `pixels` of `phase` and `truth`, in rad. The truth may be another unwrapped phase;
/// pixels where it is NaN are not scored. `labels` are parts 0..parts - 1, or negative for pixels
/// that are not scored; NULL: all in one part, `parts` is 1. `by_part` [parts] may be NULL. A phase
/// that is 1e15 cycles away counts as wrong. Errors: BB_INVALID for an invalid label, BB_MEMORY.
BB_CHECKED bb_status bb_cycles_count(bb_index pixels, const double *phase, const double *truth,
                                     const int32_t *labels, bb_index parts, bb_part_cycles *by_part,
                                     bb_cycles *out);

#endif
