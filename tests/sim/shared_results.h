// SPDX-License-Identifier: Apache-2.0
//
// Results of studies, computed once per build folder and read by every test that requests them. The
// file of a study is named by its point id (resolved configuration and the files it names) and a
// digest of the libraries under test, so that a changed program recomputes it.
#ifndef BB_TESTS_SIM_SHARED_RESULTS_H
#define BB_TESTS_SIM_SHARED_RESULTS_H

#include "core/file.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/output/reader.h"
#include "sim/sweep/sweep.h"
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

/// Computes the results of a loaded study.
typedef bb_status (*shared_results_compute)(const bb_config *config, bb_results *results);

static inline int shared_results_add(struct dl_phdr_info *object, size_t bytes, void *digest)
{
    static double block[1 << 13];
    (void)bytes;
    if (strstr(object->dlpi_name, "/libbb_") == NULL) {
        return 0;
    }
    FILE *file = fopen(object->dlpi_name, "rb");
    assert_non_null(file);
    size_t count = 0;
    while ((count = fread(block, 1, sizeof block, file)) > 0) {
        memset((char *)block + count, 0, sizeof block - count);
        bb_digest_add_values(digest, block, (bb_index)((count + 7) / 8));
    }
    (void)fclose(file);
    return 0;
}

/// Digest of the loaded shared libraries of all layers.
static inline const char *shared_results_program(void)
{
    static char text[BB_DIGEST_BYTES];
    if (text[0] == '\0') {
        autoptr(bb_digest) digest = NULL;
        check_ok(bb_digest_create(&digest));
        (void)dl_iterate_phdr(shared_results_add, digest);
        bb_digest_text(digest, text);
    }
    return text;
}

static inline bb_status shared_results_write(const char *temporary, void *results)
{
    return bb_image_write(results, temporary);
}

static inline void shared_results_make(const bb_config *config, shared_results_compute compute,
                                       const char *path)
{
    static char program[] = "tests";
    char *arguments[] = {program};
    autoptr(bb_results) results = empty_results();
    check_ok(bb_provenance_begin(results, config, bb_config_study(config), 1, arguments, 2));
    check_ok(compute(config, results));
    check_ok(bb_provenance_end(results));
    check_ok(bb_file_write_by(path, true, shared_results_write, results));
}

/// Results of a study, always read from the file, which another test has made or this call
/// computes. One process computes, others wait. Owner: the caller.
static inline bb_results *shared_results(const bb_config *config, shared_results_compute compute)
{
    static bb_point_files files;
    char id[BB_DIGEST_BYTES];
    char path[4096];
    char lock[4096 + 8];
    bb_results *results = NULL;
    check_ok(bb_hdf5_library_start());
    check_ok(bb_sweep_point_id(config, BB_DEVICE_CPU, &files, id));
    assert_true(mkdir(BB_BINARY_DIR "/tests/results", 0777) == 0 || errno == EEXIST);
    const char *const core = getenv("OPENBLAS_CORETYPE");
    (void)snprintf(path, sizeof path, BB_BINARY_DIR "/tests/results/%s-%s%s%s.h5", id,
                   shared_results_program(), getenv("BB_CUDA_PORTABLE") != NULL ? "-portable" : "",
                   core != NULL ? core : "");
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    const int file = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_true(file >= 0 && lockf(file, F_LOCK, 0) == 0);
    if (access(path, R_OK) != 0) {
        shared_results_make(config, compute, path);
        (void)fprintf(stderr, "results: computed %s\n", id);
    } else {
        (void)fprintf(stderr, "results: read %s\n", id);
    }
    (void)close(file);
    check_ok(bb_reader_read_all(path, "", &results));
    return results;
}

#endif
