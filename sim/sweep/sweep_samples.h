// SPDX-License-Identifier: Apache-2.0
//
// Ranges of a swept key, and plans of samples that fill the unit cube: Latin hypercubes (McKay,
// Beckman and Conover, Technometrics 21, 1979) and Sobol's sequence (GSL's),
// which a seed shifts (Cranley and Patterson, SIAM J. Numer. Anal. 13, 1976).
#ifndef BB_SIM_SWEEP_SWEEP_SAMPLES_H
#define BB_SIM_SWEEP_SWEEP_SAMPLES_H

#include "sim/config/node.h"

#include <stdint.h>

enum { BB_SWEEP_DIMENSIONS = 40 };

typedef struct bb_sweep_range {
    double first, last;
    bool logarithmic;
} bb_sweep_range;

/// Reads `from`, `to` and, as the word true, `log`; false where they are not numbers that differ.
bool bb_sweep_range_read(const bb_node *map, bb_sweep_range *out);

/// Value at a share in [0, 1] of the way, the ends exactly.
double bb_sweep_range_value(const bb_sweep_range *range, double share);

/// The shortest decimal within `slack` of a value: what a user would have written.
double bb_sweep_range_tidy(double value, double slack);

typedef struct bb_sweep_samples {
    bool sobol; ///< else a Latin hypercube
    bb_index samples, dimensions;
    uint64_t seed; ///< of a sequence: 0, as it is
} bb_sweep_samples;

/// Coordinate `dimension` of all samples in [0, 1), `out` [samples]. The same numbers whatever the
/// machine. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_samples_draw(const bb_sweep_samples *plan, bb_index dimension,
                                           double *out);

#endif
