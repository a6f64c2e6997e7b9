// SPDX-License-Identifier: Apache-2.0
#include "core/digest.h"

#include "core/disk_file.h"
#include "core/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

static bb_file_stamp stamp_of(const struct stat *about)
{
    return (bb_file_stamp){about->st_dev, about->st_ino, about->st_size, about->st_mtim};
}

bb_status bb_file_stamp_size(const char *path, double *bytes)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(stat(path, &about) == 0, BB_IO, "'%s': %s", path, strerror(errno));
    BB_REQUIRE(S_ISREG(about.st_mode), BB_IO, "'%s': not a regular file", path);
    *bytes = (double)about.st_size;
done:
    return status;
}

unsigned bb_file_stamp_patience(double bytes)
{
    return 60 + (unsigned)(bytes / (20 << 20));
}

bb_status bb_file_stamp_find(const char *path, bb_file_stamp *out)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(stat(path, &about) == 0, BB_IO, "'%s': %s", path, strerror(errno));
    *out = stamp_of(&about);
done:
    return status;
}

bb_status bb_file_stamp_take(int descriptor, bb_file_stamp *out)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(fstat(descriptor, &about) == 0, BB_IO, "an open file: %s", strerror(errno));
    *out = stamp_of(&about);
done:
    return status;
}

bool bb_file_stamp_equal(const bb_file_stamp *a, const bb_file_stamp *b)
{
    return a->device == b->device && a->number == b->number && a->bytes == b->bytes &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

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
