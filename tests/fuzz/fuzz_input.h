// SPDX-License-Identifier: Apache-2.0
//
// Common helpers of the targets: input bytes, assertions that stop the fuzzer, and files in memory.
// Targets print no log lines.
#ifndef BB_TESTS_FUZZ_FUZZ_INPUT_H
#define BB_TESTS_FUZZ_FUZZ_INPUT_H

#include "core/log.h"
#include "core/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// A study that loads without problems.
#define FUZZ_STUDY                                                                                 \
    "experiment: ao\n"                                                                             \
    "telescope: {diameter_m: 8.0, obstruction: 0.14}\n"                                            \
    "atmosphere: {profile: eris-10, outer_scale_m: 25.0}\n"                                        \
    "sensors: {lenslets: 4}\n"                                                                     \
    "guide_stars: [{kind: ngs, x_arcsec: 2.0, y_arcsec: 9.0, magnitude: 11.0}]\n"                  \
    "targets: [{x_arcsec: 0.0, y_arcsec: 0.0}]\n"                                                  \
    "pipelines: [{name: reference, arithmetic: dp}]\n"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

__attribute__((constructor)) static void fuzz_quiet(void)
{
    bb_log_set_level(BB_LOG_QUIET);
}

typedef struct fuzz_input {
    const uint8_t *data;
    size_t size;
} fuzz_input;

/// Returns the next byte; 0 at the end.
static inline uint8_t fuzz_take(fuzz_input *in)
{
    if (in->size == 0) {
        return 0;
    }
    --in->size;
    return *in->data++;
}

static inline void fuzz_demand(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "demanded: %s (%s)\n", what, bb_status_message());
        abort();
    }
}

static inline void fuzz_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    fuzz_demand(file != NULL && fwrite(bytes, 1, count, file) == count, "a file in memory");
    fuzz_demand(fclose(file) == 0, "a file in memory");
}

/// Reads a whole file. Owner of `*out`: the caller (free).
static inline size_t fuzz_read(const char *path, uint8_t **out)
{
    FILE *file = fopen(path, "rb");
    fuzz_demand(file != NULL && fseek(file, 0, SEEK_END) == 0, path);
    const size_t count = (size_t)ftell(file);
    rewind(file);
    *out = malloc(count + 1);
    fuzz_demand(*out != NULL && fread(*out, 1, count, file) == count, path);
    (void)fclose(file);
    return count;
}

/// Path unique to this process in the folder BB_FUZZ_SCRATCH, which `run` creates in memory.
static inline const char *fuzz_path(const char *ending)
{
    static char path[300];
    const char *folder = getenv("BB_FUZZ_SCRATCH");
    (void)snprintf(path, sizeof path, "%.255s/fuzz-%ld%s", folder == NULL ? "/tmp" : folder,
                   (long)getpid(), ending);
    return path;
}

/// Zeroed memory. Owner: the caller (bb_memory_release).
static inline void *fuzz_zeroed(bb_index count, size_t bytes)
{
    void *out = NULL;
    fuzz_demand(bb_memory_zeroed(count, bytes, &out) == BB_OK, "memory");
    return out;
}

/// Checks the result of a reader: an expected status, a message on failure, and no leaked memory.
static inline void fuzz_settle(bb_status status)
{
    const bool known = status == BB_OK || status == BB_IO || status == BB_INVALID ||
                       status == BB_MEMORY || status == BB_UNSUPPORTED;
    fuzz_demand(known, "a status of files");
    fuzz_demand(status == BB_OK || bb_status_message()[0] != '\0', "a message");
    bb_status_clear();
    fuzz_demand(bb_memory_blocks() == 0, "no memory kept");
}

#endif
