// SPDX-License-Identifier: Apache-2.0
//
// A map as a PNG: 8 bits a pixel with a palette from blue over white to red, what is NaN
// transparent. The pixels are stored, not packed: a picture a tenth of a second costs a copy and
// two checksums (PNG 1.2; RFC 1950, 1951).
#ifndef BB_SIM_FRINGE_LIVE_LIVE_PICTURE_H
#define BB_SIM_FRINGE_LIVE_LIVE_PICTURE_H

#include "core/status.h"

enum { BB_LIVE_COLOURS = 255 };

/// Red, green and blue of colour 0 (lowest) to BB_LIVE_COLOURS - 1.
void bb_live_picture_colour(int colour, unsigned char rgb[3]);

/// Draws values [rows][columns] from `low` to `high`; beyond them the colours at the ends. A map of
/// over 1024 pixels a side is drawn by every second, third ... pixel. Errors: BB_MEMORY. Owner of
/// `*png` [bytes]: the caller.
BB_CHECKED bb_status bb_live_picture_draw(bb_index columns, bb_index rows, const double *values,
                                          double low, double high, unsigned char **png,
                                          bb_index *bytes);

#endif
