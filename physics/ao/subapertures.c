// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/subapertures.h"

#include "physics/ao/ao_constants.h"

// Returns twice the centre's distance from the axis, in lenslets.
static bb_index doubled(bb_index k, bb_index lenslets)
{
    return 2 * k - lenslets + 1;
}

bool bb_subapertures_valid(bb_index i, bb_index j, bb_index lenslets, const bb_pupil *pupil)
{
    if (i < 0 || i >= lenslets || j < 0 || j >= lenslets) {
        return false;
    }
    if (pupil->mask != NULL || pupil->by_flux) {
        return bb_pupil_transmission(pupil, lenslets, i, j) >= pupil->threshold;
    }
    bb_index x = doubled(i, lenslets);
    bb_index y = doubled(j, lenslets);
    bb_index squared = x * x + y * y;
    const double inner = pupil->obstruction * (double)lenslets;
    // A single lenslet contains the obstruction: valid if at least half of it is lit.
    const bool lit = lenslets == 1 ? 0.25 * BB_PI * (1.0 - inner * inner) >= 0.5
                                   : (double)squared >= inner * inner;
    return squared < lenslets * lenslets && lit;
}

bb_index bb_subapertures_count(bb_index lenslets, const bb_pupil *pupil)
{
    bb_index count = 0;
    for (bb_index j = 0; j < lenslets; ++j) {
        for (bb_index i = 0; i < lenslets; ++i) {
            count += bb_subapertures_valid(i, j, lenslets, pupil) ? 1 : 0;
        }
    }
    return count;
}

void bb_subapertures_centres(bb_index lenslets, const bb_pupil *pupil, double *x, double *y)
{
    bb_index count = 0;
    for (bb_index j = 0; j < lenslets; ++j) {
        for (bb_index i = 0; i < lenslets; ++i) {
            if (bb_subapertures_valid(i, j, lenslets, pupil)) {
                x[count] = (double)doubled(i, lenslets) / (double)lenslets;
                y[count] = (double)doubled(j, lenslets) / (double)lenslets;
                ++count;
            }
        }
    }
}

void bb_subapertures_lenslets(bb_index lenslets, const bb_pupil *pupil, bb_index *column,
                              bb_index *row)
{
    bb_index count = 0;
    for (bb_index j = 0; j < lenslets; ++j) {
        for (bb_index i = 0; i < lenslets; ++i) {
            if (bb_subapertures_valid(i, j, lenslets, pupil)) {
                column[count] = i;
                row[count] = j;
                ++count;
            }
        }
    }
}
