// SPDX-License-Identifier: Apache-2.0
//
// Frames in FITS files: the primary array [frames][rows][columns], NAXIS 2 or 3, of integers
// (BITPIX 8, 16 or 32, with BZERO, BSCALE 1) of 0 to 65535. Of BITPIX 8 they have 8 bits, else 16;
// a card BITS says otherwise. The first pixel of the file is that of row 0.
//
// No child process is needed, as fits_image.h has one: so simple an array is read here, each byte
// held to the length of the file.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_FITS_H
#define BB_SIM_FRINGE_LIVE_LIVE_FITS_H

#include "sim/fringe/live/live_source.h"

/// Reads all frames of a file into `*out`, whose frames are the caller's. Errors: BB_IO (no such
/// file), BB_INVALID (not FITS, another array, cut short, a pixel beyond the bits), BB_MEMORY.
BB_CHECKED bb_status bb_live_fits_read(const char *path, bb_live_frames *out);

#endif
