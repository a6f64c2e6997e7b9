// SPDX-License-Identifier: Apache-2.0
//
// Storages of one codec from few bytes to many, along a key that is a number: what a search for
// the fewest bytes goes through. A codec's row names its ladders.
//
// Tolerances are parts of the range, eight a decade with two digits: 0.1, 0.075, 0.056, 0.042,
// 0.032, 0.024, 0.018, 0.013, 0.01, ... 1e-7. Written out they are the same numbers, so that a
// storage that was found can be asked for by itself. In fine steps, 64 a decade with three digits,
// a step is a twentieth of a bit.
#ifndef BB_PRECISION_CODEC_LADDER_H
#define BB_PRECISION_CODEC_LADDER_H

#include "precision/codec.h"

typedef struct bb_codec_ladder {
    const char *key;    ///< that varies, tolerance_of_range as above, others by one a step
    const char *others; ///< keys and values beside it, as bb_codec_read takes them
    int first;          ///< value of step 0; of no meaning to tolerances
    int steps;
    bool is_fine; ///< tolerances in steps of 64 a decade with three digits
} bb_codec_ladder;

enum { BB_CODEC_LADDERS = 2 }; ///< of a codec at most, each along another key

/// Ladder number `index` of a storage's codec; NULL where it has no more.
const bb_codec_ladder *bb_codec_ladder_of(const bb_codec_config *storage, int index);

/// The same from end to end in finer steps where it goes along tolerances, else as it is.
bb_codec_ladder bb_codec_ladder_refine(const bb_codec_ladder *ladder);

/// Steps along which values that are coded in whole numbers get a bit wider.
double bb_codec_ladder_bit(const bb_codec_ladder *ladder);

/// A step, from 0 on: keys that `storage` gives stay, the ladder's are added.
bb_codec_config bb_codec_ladder_storage(const bb_codec_ladder *ladder,
                                        const bb_codec_config *storage, int step);

/// The first step that bb_codec_check lets pass; `steps` where there is none, or where the storage
/// gives the key already.
int bb_codec_ladder_first(const bb_codec_ladder *ladder, const bb_codec_config *storage,
                          bb_row_scale scale);

#endif
