// SPDX-License-Identifier: Apache-2.0
//
// Reads a result file back. Files come from anywhere, and the HDF5 library can crash on damaged
// ones: call it through bb_isolation_run, in a child process.
#ifndef BB_SIM_OUTPUT_READER_H
#define BB_SIM_OUTPUT_READER_H

#include "sim/output/results.h"

/// Reads the root's attributes and everything in /results, and holds them to the digest that the
/// file carries. Errors: BB_IO (not a file of this program, incomplete, damaged), BB_MEMORY. Owner
/// of
/// `*out`: the caller.
BB_CHECKED bb_status bb_reader_read(const char *path, bb_results **out);

#endif
