// SPDX-License-Identifier: Apache-2.0
#include "sim/input/file_stamp.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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
