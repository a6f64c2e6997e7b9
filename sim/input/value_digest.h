// SPDX-License-Identifier: Apache-2.0
//
// Identity of a file (device, number, size, time of its last change) and of its values: XXH3-128
// over the bytes of doubles, fed in pieces, which certifies an operator in a file.
#ifndef BB_SIM_INPUT_VALUE_DIGEST_H
#define BB_SIM_INPUT_VALUE_DIGEST_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
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

/// Seconds to wait for the reader of a file of so many bytes, as from a disk of 20 MiB/s.
unsigned bb_file_stamp_patience(double bytes);

/// Of a path, and of an open file. Errors: BB_IO.
BB_CHECKED bb_status bb_file_stamp_find(const char *path, bb_file_stamp *out);
BB_CHECKED bb_status bb_file_stamp_take(int descriptor, bb_file_stamp *out);

/// Whether two are of one file that did not change between them.
bool bb_file_stamp_equal(const bb_file_stamp *a, const bb_file_stamp *b);

enum { BB_DIGEST_BYTES = 33 }; ///< 32 hexadecimal digits and the end

typedef struct bb_value_digest bb_value_digest;

/// Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_value_digest_create(bb_value_digest **out);
void bb_value_digest_destroy(bb_value_digest **digest);

void bb_value_digest_add(bb_value_digest *digest, const double *values, bb_index count);

/// The same of bytes, whatever they are.
void bb_value_digest_add_bytes(bb_value_digest *digest, const void *bytes, size_t count);

/// The digest of all values so far.
void bb_value_digest_text(const bb_value_digest *digest, char out[BB_DIGEST_BYTES]);

/// The same of the bytes of a regular file, whatever they are. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_value_digest_file(const char *path, char out[BB_DIGEST_BYTES]);

#endif
