// SPDX-License-Identifier: Apache-2.0
//
// Results as the bytes of an HDF5 file, built in memory, so that the file on disk is written at
// once and is complete or absent. (HDF5 on a full disk can close with success and leave zeros.)
// Results with operators, which can be larger than memory, are written to a file directly and read
// back.
//
// Layout for xarray with both of its engines: no format newer than HDF5 1.8, creation order
// tracked, one 1-D dimension scale on every axis of every dataset, texts as variable-length UTF-8
// datasets and fixed UTF-8 attributes, arrays over 4 kB chunked with shuffle, deflate and
// fletcher32, fill NaN.
//
// An operator of a result file is stored as /operators/<name> [rows][columns] in fp64 with its axes
// <name>_row and <name>_column, written panel by panel from its source. With zfp storage it is
// [rows][lines][mesh columns], with the axis <name>_line between them, one chunk for each row and
// the attribute `tolerance`. The attribute `digest` is the XXH3-128 of the values row by row, which
// readers verify.
#ifndef BB_SIM_OUTPUT_IMAGE_H
#define BB_SIM_OUTPUT_IMAGE_H

#include "sim/output/results.h"

/// Builds the file without operators. `*bytes` is the size of `*out`. Errors: BB_MEMORY,
/// BB_INTERNAL with HDF5's message. The caller owns `*out`.
BB_CHECKED bb_status bb_image_build(const bb_results *results, unsigned char **out,
                                    bb_index *bytes);

/// Writes results and operators directly into the existing empty file `path`, so that operators
/// need not fit in memory. Operators are then read back and their digests verified, since HDF5 on a
/// full disk can close with success. Errors: BB_IO, BB_MEMORY, errors of the sources.
BB_CHECKED bb_status bb_image_write(const bb_results *results, const char *path);

/// Writes results, including operators if any, to `path` through a temporary file. Errors: those of
/// the two functions above and of bb_file_write.
BB_CHECKED bb_status bb_image_save(bb_results *results, const char *path, bool force);

#endif
