// SPDX-License-Identifier: Apache-2.0
//
// Storage ladders: variants of one codec from few bytes to many along a numeric key, the search
// path for the smallest storage. A codec's row lists its ladders.
//
// Tolerances are relative to the range, eight per decade with two digits: 0.1, 0.075, 0.056, 0.042,
// 0.032, 0.024, 0.018, 0.013, 0.01, ... 1e-7. The written values are exact, so that a storage found
// by a search can be given explicitly. Fine steps, 64 per decade with three digits, change the
// width by a twentieth of a bit.
#ifndef BB_PRECISION_CODEC_LADDER_H
#define BB_PRECISION_CODEC_LADDER_H

#include "precision/codec.h"

typedef struct bb_codec_ladder {
    const char *key;    ///< varied key: tolerance_of_range as above, others by one per step
    const char *others; ///< further keys and values, in the syntax of bb_codec_read
    int first;          ///< value of step 0; unused for tolerances
    int steps;
    bool is_fine; ///< 64 tolerance steps per decade with three digits
} bb_codec_ladder;

enum { BB_CODEC_LADDERS = 2 }; ///< maximum per codec, each along another key

/// Returns ladder number `index` of a storage's codec; NULL beyond the last.
const bb_codec_ladder *bb_codec_ladder_of(const bb_codec_config *storage, int index);

/// Returns the whole ladder in finer steps if it varies the tolerance, else unchanged.
bb_codec_ladder bb_codec_ladder_refine(const bb_codec_ladder *ladder);

/// Returns the number of steps that change the width of integer values by one bit.
double bb_codec_ladder_bit(const bb_codec_ladder *ladder);

/// Storage of a step, from 0: keys that `storage` gives are kept, the ladder's are added.
bb_codec_config bb_codec_ladder_storage(const bb_codec_ladder *ladder,
                                        const bb_codec_config *storage, int step);

/// Returns the first step accepted by bb_codec_check; `steps` if there is none or if the storage
/// already gives the key.
int bb_codec_ladder_first(const bb_codec_ladder *ladder, const bb_codec_config *storage,
                          bb_row_scale scale);

#endif
