// SPDX-License-Identifier: Apache-2.0
//
// What the tests of ao's checkpoints share: a small study, runs that keep every pipeline, and a
// name for each checkpoint that a run writes.
#ifndef BB_TESTS_SIM_AO_KEEPING_H
#define BB_TESTS_SIM_AO_KEEPING_H

#include "sim/ao/ao_restart.h"
#include "sim/hdf5_library.h"
#include "tests/sim/driver.h"
#include "tests/sim/fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define TINY                                                                                       \
    "sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12", "wavelengths_um=[1.65]"
#define REFERENCE "{name: reference, arithmetic: dp}"
#define NOT_SPD   "{name: fp8, arithmetic: fp8}"
#define DRAWN     "{name: hp2, arithmetic: hp2, draws: 3}"
#define PROMISE(n)                                                                                 \
    "{name: " n ", arithmetic: hp1, policy: {kind: promise, inside: x3, price: 1e-5}}"
#define FEWEST                                                                                     \
    "{name: fewest, arithmetic: dp, storage: {codec: integer, rounding: sweep}, promise: {price: " \
    "1e-3}}"
#define TWO "pipelines=[" REFERENCE ", {name: sp, arithmetic: sp}]"

// Checkpoints take their name by this call, which the linker takes before the C library's: each one
// is kept by a name of its own, as it would be if the run had ended there, and one may end the run
// or the room on the disk.
static int collected = -1; // so many; negative: none is to be
static int end_in;         // checkpoints until something comes; 0: nothing does
static int end_by;         // a signal; 0: a limit of the size of files

int rename(const char *source, const char *target)
{
    char name[32];
    const int renamed = renameat(AT_FDCWD, source, AT_FDCWD, target);
    if (renamed == 0 && collected >= 0 && strcmp(target, "steps") == 0) {
        (void)snprintf(name, sizeof name, "seen-%d", ++collected);
        (void)unlink(name);
        assert_int_equal(link(target, name), 0);
    }
    if (renamed == 0 && end_in > 0 && strcmp(target, "state") == 0 && --end_in == 0) {
        struct stat about;
        assert_int_equal(stat(target, &about), 0);
        const struct rlimit limit = {(rlim_t)about.st_size + 4096, RLIM_INFINITY};
        assert_int_equal(end_by == 0 ? setrlimit(RLIMIT_FSIZE, &limit) : 0, 0);
        (void)(end_by == 0 ? 0 : raise(end_by));
    }
    return renamed;
}

static inline bb_status run_with(const bb_config *config, const bb_run_options *options,
                                 bb_results **out)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    *out = NULL;
    BB_TRY(bb_threads_set(options->threads));
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_experiments.rows[1]->run(bb_config_study(config), options, results));
    *out = results;
    results = NULL;
done:
    bb_results_destroy(&results);
    return status;
}

// Keeps the first so many pipelines of a case as "seen-1" and so on.
static inline void keep(const driver_case *study)
{
    bb_config *config = NULL;
    bb_results *results = NULL;
    const bb_run_options options = {.threads = 1, .checkpoint = "steps"};
    check_ok(driver_load(study, &config));
    collected = 0;
    check_ok(run_with(config, &options, &results));
    collected = -1;
    bb_results_destroy(&results);
    bb_config_destroy(&config);
}

static inline bb_status open_as(const driver_case *study, const char *path)
{
    bb_config *config = NULL;
    bb_restart restart;
    const bb_run_options options = {.resume = path};
    check_ok(driver_load(study, &config));
    bb_status status = bb_ao_restart_open(bb_config_study(config), &options, &restart);
    bb_restart_release(&restart);
    bb_config_destroy(&config);
    return status;
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

static inline int enter(void **state)
{
    (void)state;
    return bb_hdf5_library_start() == BB_OK ? fixture_enter() : -1;
}

static inline int leave(void **state)
{
    return driver_leave(state) + fixture_leave();
}

#endif
