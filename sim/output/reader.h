// SPDX-License-Identifier: Apache-2.0
//
// Reads a result file back. Files come from anywhere, and the HDF5 library can crash on damaged
// ones: call it through bb_isolation_run, in a child process.
#ifndef BB_SIM_OUTPUT_READER_H
#define BB_SIM_OUTPUT_READER_H

#include "sim/output/results.h"

/// Reads the root's axes and texts and everything in /results, and holds them to the digest that
/// the file carries. Errors: BB_IO (not a file of this program, incomplete, damaged), BB_MEMORY.
/// Owner of `*out`: the caller.
BB_CHECKED bb_status bb_reader_read(const char *path, bb_results **out);

/// Reads every group: datasets, axes and attributes (numbers and texts), /provenance included, as
/// they were before they were written; groups and datasets in the order of their names. The digest
/// holds /results alone, checksums the other large datasets. of /operators, whose matrices
/// may not fit in memory, those whose names begin with `operators` (NULL: none, "": all), as
/// datasets "operators/<name>". Errors and owner as above.
BB_CHECKED bb_status bb_reader_read_all(const char *path, const char *operators, bb_results **out);

#endif
