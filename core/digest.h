// SPDX-License-Identifier: Apache-2.0
//
// Digests: XXH3-128 of bytes fed in pieces, as 32 hexadecimal digits; and the identity of a file:
// device, number, size, modification time.
#ifndef BB_CORE_DIGEST_H
#define BB_CORE_DIGEST_H

#include "core/status.h"

#include <stddef.h>

enum { BB_DIGEST_BYTES = 33 }; ///< 32 hexadecimal digits and the final zero

typedef struct XXH3_state_s bb_digest;

/// Creates an empty digest. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_digest_create(bb_digest **out);
void bb_digest_destroy(bb_digest **digest);

void bb_digest_add(bb_digest *digest, const void *data, size_t bytes);
void bb_digest_add_values(bb_digest *digest, const double *values, bb_index count);

/// Returns the digest of all bytes added so far.
void bb_digest_text(const bb_digest *digest, char out[BB_DIGEST_BYTES]);

/// Computes the digest of a block of bytes.
void bb_digest_of(const void *data, size_t bytes, char out[BB_DIGEST_BYTES]);

/// Computes the digest of a regular file. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_digest_file(const char *path, char out[BB_DIGEST_BYTES]);

#endif
