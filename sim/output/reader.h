// SPDX-License-Identifier: Apache-2.0
//
// Reader of result files. Files may be damaged and crash the HDF5 library: call it in a child
// process, through bb_isolation_run.
#ifndef BB_SIM_OUTPUT_READER_H
#define BB_SIM_OUTPUT_READER_H

#include "sim/output/results.h"

/// Reads the root's axes and texts and all of /results, and verifies the digest of the file.
/// Datasets and attributes of earlier versions get their current names (former_name.h).
/// Errors: BB_IO (not a file of this program, incomplete, damaged), BB_MEMORY. The caller owns
/// `*out`.
BB_CHECKED bb_status bb_reader_read(const char *path, bb_results **out);

/// Reads every group: datasets, axes and attributes (numbers and texts), including /provenance, as
/// before writing, with groups and datasets in the order of their names. The digest covers only
/// /results; checksums cover the other large datasets. From /operators, whose matrices may not fit
/// in memory, reads those with the prefix `operators` (NULL: none, "": all) as datasets
/// "operators/<name>". Errors and ownership as above.
BB_CHECKED bb_status bb_reader_read_all(const char *path, const char *operators, bb_results **out);

#endif
