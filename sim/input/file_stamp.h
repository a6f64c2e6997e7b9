// SPDX-License-Identifier: Apache-2.0
//
// Which file it is, how large, and when it last changed.
#ifndef BB_SIM_INPUT_FILE_STAMP_H
#define BB_SIM_INPUT_FILE_STAMP_H

#include "core/status.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

typedef struct bb_file_stamp {
    dev_t device;
    ino_t number;
    off_t bytes;
    struct timespec changed;
} bb_file_stamp;

/// Size of a file that is to be read, without opening it. Errors: BB_IO (no regular file).
BB_CHECKED bb_status bb_file_stamp_size(const char *path, double *bytes);

/// Of a path, and of an open file. Errors: BB_IO.
BB_CHECKED bb_status bb_file_stamp_find(const char *path, bb_file_stamp *out);
BB_CHECKED bb_status bb_file_stamp_take(int descriptor, bb_file_stamp *out);

/// Whether two are of one file that did not change between them.
bool bb_file_stamp_equal(const bb_file_stamp *a, const bb_file_stamp *b);

#endif
