// SPDX-License-Identifier: Apache-2.0
//
// Results as the bytes of an HDF5 file, built in memory: the file on disk is then written in one go
// and is whole or absent. (HDF5 on a full disk can close with success and leave zeros.) Results
// with operators, which can be larger than memory, are written to a file directly and read back.
//
// Layout for xarray with both of its engines: no format newer than HDF5 1.8, creation order
// tracked, one 1-D dimension scale on every axis of every dataset, texts as variable-length UTF-8
// datasets and fixed UTF-8 attributes, arrays over 4 kB chunked with shuffle, deflate and
// fletcher32, fill NaN.
//
// One operator of a result file: /operators/<name> [rows][columns] in fp64 with its axes
// <name>_row and <name>_column (with zfp storage [rows][lines][mesh columns], <name>_line between
// them, a chunk a row and the attribute `tolerance`), written panel by panel from its source. The
// attribute `digest` is the XXH3-128 of the values row by row, which readers hold the values to.
#ifndef BB_SIM_OUTPUT_IMAGE_H
#define BB_SIM_OUTPUT_IMAGE_H

#include "sim/output/results.h"

/// Builds the file, operators left out. `*bytes` is the size of `*out`. Errors: BB_MEMORY,
/// BB_INTERNAL with HDF5's words. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_image_build(const bb_results *results, unsigned char **out,
                                    bb_index *bytes);

/// Writes results and operators straight into the file `path`, which stands and is empty: operators
/// need not fit in memory. They are read back and held to their digests before this returns, since
/// HDF5 on a full disk can close with success. Errors: BB_IO, BB_MEMORY, the sources'.
BB_CHECKED bb_status bb_image_write(const bb_results *results, const char *path);

/// Writes results to `path` under a temporary name first, with operators where they have some.
/// Errors: those of both and of bb_file_write.
BB_CHECKED bb_status bb_image_save(bb_results *results, const char *path, bool force);

#endif
