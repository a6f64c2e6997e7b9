// SPDX-License-Identifier: Apache-2.0
//
// Memory bandwidth of the threads of the pool.
#ifndef BB_BENCH_CEILING_H
#define BB_BENCH_CEILING_H

#include "core/status.h"

#include <stdbool.h>

/// Arrays for a ceiling; zero-initialise, release with bb_ceiling_release.
typedef struct bb_ceiling {
    bb_index items;
    double *a, *b, *c; ///< [items]; reading uses `a` alone
} bb_ceiling;

/// Room for reads of `bytes` bytes, or for triads that move `bytes` bytes in three arrays.
BB_CHECKED bb_status bb_ceiling_create(double bytes, bool triad, bb_ceiling *out);
void bb_ceiling_release(bb_ceiling *ceiling);

/// Seconds of reading all of `a` once.
BB_CHECKED bb_status bb_ceiling_read(bb_ceiling *ceiling, double *seconds);

/// Seconds of a = b + s c; 24 bytes an item are counted.
BB_CHECKED bb_status bb_ceiling_triad(bb_ceiling *ceiling, double *seconds);

#endif
