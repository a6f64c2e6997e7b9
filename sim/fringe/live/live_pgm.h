// SPDX-License-Identifier: Apache-2.0
//
// Images of binary PGM files: "P5", width, height, largest value, then pixels of one byte, or of
// two with the higher first where the largest value is beyond 255. A file may hold several, one
// after the other, of one shape, and end with blanks.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_PGM_H
#define BB_SIM_FRINGE_LIVE_LIVE_PGM_H

#include "sim/fringe/live/live_source.h"

/// Reads all images of a file into `*out`, whose frames are the caller's. Errors: BB_IO (no such
/// file), BB_INVALID (not PGM, cut short, images of two shapes, a pixel beyond the largest value),
/// BB_MEMORY.
BB_CHECKED bb_status bb_live_pgm_read(const char *path, bb_live_frames *out);

#endif
