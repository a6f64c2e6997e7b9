// SPDX-License-Identifier: Apache-2.0
//
// What tells one computed point from another, wherever and by whom it is computed: XXH3-128 over
// the resolved study without its title, its device resolved, the contents of the files that it
// names in the place of their paths, and BB_NUMERICS. Points of equal ids have equal results but
// for times.
#ifndef BB_SIM_SWEEP_POINT_ID_H
#define BB_SIM_SWEEP_POINT_ID_H

#include "core/device/device.h"
#include "sim/config/config.h"
#include "sim/input/file_stamp.h"
#include "sim/input/value_digest.h"

/// Raised by who changes what any study computes: ids of before and after differ then.
enum { BB_NUMERICS = 1 };

enum { BB_POINT_FILES = 32, BB_POINT_PATH_BYTES = 4096 };

/// A file that studies name, and the digest of its bytes.
typedef struct bb_point_file {
    char path[BB_POINT_PATH_BYTES];
    bb_file_stamp stamp; ///< as it was when it was read
    char digest[BB_DIGEST_BYTES];
} bb_point_file;

/// Files whose digests are known. Zero-initialise.
typedef struct bb_point_files {
    bb_index count;
    bb_point_file files[BB_POINT_FILES];
} bb_point_files;

/// Digests all files that a study names, unless they are known and did not change. Errors: BB_IO
/// (one that cannot be read), BB_INVALID (over BB_POINT_FILES of them), BB_MEMORY.
BB_CHECKED bb_status bb_point_files_add(const bb_config *config, bb_point_files *files);

/// The id of a study whose `device: auto` is `device`. `files` are added to. Errors: those of
/// bb_point_files_add.
BB_CHECKED bb_status bb_point_id(const bb_config *config, bb_device_kind device,
                                 bb_point_files *files, char out[BB_DIGEST_BYTES]);

#endif
