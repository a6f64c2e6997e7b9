// SPDX-License-Identifier: Apache-2.0
//
// Results as the bytes of an HDF5 file, built in memory: the file on disk is then written in one go
// and is whole or absent. (HDF5 on a full disk can close with success and leave zeros.)
//
// Layout for xarray with both of its engines: superblock 2 (libver V18), creation order tracked,
// one 1-D dimension scale on every axis of every dataset, texts as variable-length UTF-8 datasets
// and fixed UTF-8 attributes, arrays over 4 kB chunked with shuffle, deflate and fletcher32, fill
// NaN.
#ifndef BB_SIM_OUTPUT_IMAGE_H
#define BB_SIM_OUTPUT_IMAGE_H

#include "sim/output/results.h"

/// Turns off HDF5's own error printing and exit handler; call once before any other HDF5 call.
BB_CHECKED bb_status bb_image_start(void);

/// Builds the file. `*bytes` is the size of `*out`. Errors: BB_MEMORY, BB_INTERNAL with HDF5's
/// words. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_image_build(const bb_results *results, unsigned char **out,
                                    bb_index *bytes);

/// The innermost sentence of HDF5's error stack, for messages.
const char *bb_image_error(void);

#endif
