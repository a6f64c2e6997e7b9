// SPDX-License-Identifier: Apache-2.0
#include "core/digest.h"

#include "core/disk_file.h"
#include "core/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

bb_status bb_digest_create(bb_digest **out)
{
    bb_status status = BB_OK;
    *out = XXH3_createState();
    BB_REQUIRE(*out != NULL, BB_MEMORY, "host memory exhausted: state of a digest");
    (void)XXH3_128bits_reset(*out);
done:
    return status;
}

void bb_digest_destroy(bb_digest **digest)
{
    (void)XXH3_freeState(*digest);
    *digest = NULL;
}

void bb_digest_add(bb_digest *digest, const void *data, size_t bytes)
{
    (void)XXH3_128bits_update(digest, data, bytes);
}

void bb_digest_add_values(bb_digest *digest, const double *values, bb_index count)
{
    bb_digest_add(digest, values, (size_t)count * sizeof values[0]);
}

static void print(XXH128_hash_t hash, char out[BB_DIGEST_BYTES])
{
    (void)snprintf(out, BB_DIGEST_BYTES, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
}

void bb_digest_text(const bb_digest *digest, char out[BB_DIGEST_BYTES])
{
    print(XXH3_128bits_digest(digest), out);
}

void bb_digest_of(const void *data, size_t bytes, char out[BB_DIGEST_BYTES])
{
    print(XXH3_128bits(data, bytes), out);
}

bb_status bb_digest_file(const char *path, char out[BB_DIGEST_BYTES])
{
    enum { BUFFER_BYTES = 1 << 16 };
    bb_status status = BB_OK;
    bb_digest *digest = NULL;
    unsigned char *buffer = NULL;
    FILE *file = NULL;
    BB_TRY(bb_digest_create(&digest));
    BB_TRY(BB_ALLOCATE(BUFFER_BYTES, &buffer));
    BB_TRY(bb_disk_file_open(path, true, &file));
    for (size_t got = 1; got > 0;) {
        got = fread(buffer, 1, BUFFER_BYTES, file);
        bb_digest_add(digest, buffer, got);
    }
    BB_REQUIRE(ferror(file) == 0, BB_IO, "cannot read '%s': %s", path, strerror(errno));
    bb_digest_text(digest, out);
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    BB_RELEASE(&buffer);
    bb_digest_destroy(&digest);
    return status;
}
