// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests of ao's checkpoints: a small study, runs that save every pipeline, and a name
// for each checkpoint written.
#ifndef BB_TESTS_SIM_AO_KEEPING_H
#define BB_TESTS_SIM_AO_KEEPING_H

#include "sim/ao/ao_solve.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/subject.h"
#include "tests/sim/driver.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define TINY                                                                                       \
    "sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12", "wavelengths_um=[1.65]",   \
        "score=stationary"
#define REFERENCE "{name: reference, arithmetic: dp}"
#define NOT_SPD   "{name: fp8, arithmetic: fp8}"
#define DRAWN     "{name: hp2, arithmetic: hp2, draws: 3}"
#define SEARCHED(n)                                                                                \
    "{name: " n ", arithmetic: hp1, max_loss: 1e-5, search: {inside: x3, rounding: random}}"
#define FEWEST                                                                                     \
    "{name: fewest, arithmetic: dp, storage: {codec: integer, rounding: sweep}, max_loss: 1e-3}"
#define TWO "pipelines=[" REFERENCE ", {name: sp, arithmetic: sp}]"

// keeping.c replaces rename, by which checkpoints get their names. It links every checkpoint to a
// separate name, as if the run had ended there. It can also end the run, or limit the size of
// files.
extern int collected; ///< number of the last one; negative: none are collected
extern int end_in;    ///< checkpoints until the end; 0: never
extern int end_by;    ///< a signal; 0: a limit on the size of files

static inline bb_status write_subject(const bb_config *config, bb_text *out)
{
    static const char *const others[] = {"title", NULL};
    return bb_subject_write(&bb_ao_study_schema, bb_config_study(config), others, out);
}

// Stores the checkpoints of a case as "seen-1" and so on.
static inline void keep(const driver_case *study)
{
    autoptr(bb_results) results = NULL;
    const bb_run_options options = {.threads = 1, .checkpoint = "steps"};
    autoptr(bb_config) config = driver_config(study);
    collected = 0;
    check_ok(driver_run_with(config, &options, &results));
    collected = -1;
}

static inline bb_status open_as(const driver_case *study, const char *path)
{
    autorelease(bb_restart) restart;
    const bb_run_options options = {.resume = path};
    autoptr(bb_config) config = driver_config(study);
    bb_status status =
        bb_pipeline_restart_open(&bb_ao_study_schema, bb_config_study(config), &options, &restart);
    return status;
}

// Pieces of a checkpoint after its subject.
enum { MOST_PIECES = 64 };
typedef struct parts {
    bb_store_piece pieces[MOST_PIECES];
    int count;
} parts;

static inline void parts_release(parts *all)
{
    for (int i = 0; i < all->count; ++i) {
        void *data = (void *)(uintptr_t)all->pieces[i].data;
        BB_RELEASE(&data);
    }
}

static inline void take_parts(const char *path, parts *out)
{
    autoclose(bb_store) file = NULL;
    bb_store_piece *pieces = out->pieces;
    char *subject = NULL;
    check_ok(bb_store_open(path, "checkpoint", &file));
    check_ok(bb_memory_text(bb_store_key(file), &subject));
    pieces[0] = (bb_store_piece){subject, (bb_index)strlen(subject)};
    out->count = 1;
    for (void *data = NULL; bb_store_read_new(file, &data, &pieces[out->count].bytes) == BB_OK;
         data = NULL) {
        pieces[out->count++].data = data;
        assert_true(out->count < MOST_PIECES);
    }
    bb_status_clear();
}

static inline void write_parts(const char *path, const parts *all)
{
    check_ok(
        bb_store_write(path, "checkpoint", all->pieces[0].data, all->pieces + 1, all->count - 1));
}

static inline int count_parts(void)
{
    int count = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += strstr(entry->d_name, ".part") != NULL;
    }
    (void)closedir(folder);
    return count;
}

#endif
