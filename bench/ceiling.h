// SPDX-License-Identifier: Apache-2.0
//
// Memory bandwidth of the thread pool.
#ifndef BB_BENCH_CEILING_H
#define BB_BENCH_CEILING_H

#include "core/status.h"

#include <stdbool.h>

/// Arrays for a ceiling; zero-initialise, release with bb_ceiling_release.
typedef struct bb_ceiling {
    bb_index items;
    double *a, *b, *c; ///< [items]; reading uses only `a`
} bb_ceiling;

/// Allocates arrays for reads of `bytes` bytes, or for triads that move `bytes` bytes in three
/// arrays.
BB_CHECKED bb_status bb_ceiling_create(double bytes, bool triad, bb_ceiling *out);
void bb_ceiling_release(bb_ceiling *ceiling);

/// Time in s of reading `a` once.
BB_CHECKED bb_status bb_ceiling_read(bb_ceiling *ceiling, double *seconds);

/// Time in s of a = b + s c; 24 bytes per item are counted.
BB_CHECKED bb_status bb_ceiling_triad(bb_ceiling *ceiling, double *seconds);

#endif
