// SPDX-License-Identifier: Apache-2.0
//
// The program killed by signal 9 at two hundred instants of a run. The output is complete or
// absent; an older file is unchanged until the new one replaces it.
#include "core/clock.h"
#include "core/random.h"
#include "sim/output/reader.h"
#include "tests/nightly.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

#include <dirent.h>
#include <signal.h>
#include <time.h>

// Sanitizers report nothing on a killed process, so that fewer kills suffice.
#ifdef BB_SANITIZED
enum { KILLS = 40 };
#else
enum { KILLS = 200 };
#endif

#define KILLED                                                                                     \
    "run", CONFIG_WAFER_SMALL, "mesh.spacing_mm=6.0", "scan.fields=[0]", "response.axes=[x, y]",   \
        "-q", "--force", "-o", "killed.h5"
static const char *const usual[PROGRAM_ARGUMENTS] = {KILLED};
static const char *const dumping[PROGRAM_ARGUMENTS] = {KILLED, "--dump", "rows"};

static void check_whole(const char *path)
{
    autoptr(bb_results) results = NULL;
    check_ok(bb_reader_read(path, &results)); // includes the digest
}

// Starts the program and kills it after `seconds`; returns whether it had ended before.
static bool kill_after(const char *const arguments[PROGRAM_ARGUMENTS], double seconds)
{
    const char *all_values[PROGRAM_ARGUMENTS + 2] = {BB_BINARY_DIR "/bitbudget"};
    int how = 0;
    memcpy(all_values + 1, arguments, PROGRAM_ARGUMENTS * sizeof *all_values);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int file = open("/dev/null", O_WRONLY);
        (void)dup2(file, STDOUT_FILENO);
        (void)dup2(file, STDERR_FILENO);
        (void)execv(all_values[0], (char *const *)(uintptr_t)all_values);
        _exit(127);
    }
    const struct timespec wait = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    (void)nanosleep(&wait, NULL);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) || WEXITSTATUS(how) == 0);
    return WIFEXITED(how);
}

// Removes leftover files that nobody would mistake for results; returns their number.
static int sweep_leftovers(void)
{
    int found = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".part") == 0) {
            assert_int_equal(entry->d_name[0], '.');
            assert_int_equal(unlink(entry->d_name), 0);
            ++found;
        }
    }
    (void)closedir(folder);
    return found;
}

// Kills the program at random instants within the duration of a whole run.
static void campaign(const char *const arguments[PROGRAM_ARGUMENTS], int kills)
{
    int multiple = 0;
    int leftovers = 0;
    double begin = bb_clock_seconds();
    program_call(arguments, &run);
    program_expect(&run, 0, "results: ");
    double length = bb_clock_seconds() - begin;
    for (int i = 0; i < kills; ++i) {
        bool keeps = i % 2 == 1; // with an older file in place
        if (!keeps) {
            (void)unlink("killed.h5");
        }
        double part = bb_random_uniform(17, BB_STREAM_SELF_TEST, (uint64_t)i);
        bool ended = kill_after(arguments, 1.1 * part * length);
        if (keeps || ended || access("killed.h5", F_OK) == 0) {
            check_whole("killed.h5");
            ++multiple;
        } else {
            program_call(arguments, &run); // the older file for the next kill
            program_expect(&run, 0, "results: ");
        }
        leftovers += sweep_leftovers();
    }
    print_message("%d kills in runs of %.2f s: %d whole files, %d temporary ones left\n", kills,
                  length, multiple, leftovers);
}

TEST_FULL(instants_of_a_run)
{
    campaign(usual, (int)nightly_or(KILLS, KILLS / 4));
}

TEST_FULL(instants_of_a_run_that_dumps)
{
    campaign(dumping, (int)nightly_or(KILLS / 4, KILLS / 16));
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
