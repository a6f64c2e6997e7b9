// SPDX-License-Identifier: Apache-2.0
//
// bitbudget plot, report, import and try, implemented in the Python package. The process continues
// as python3 with the same command line: output, signals and exit code are those of the package.
#include "core/isolation.h"
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/cli/source.h"
#include "sim/config/shipped_folder.h"
#include "sim/config/study_file.h"
#include "sim/output/reader.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READING_SECONDS = 60, LEADING = 3 };

static bb_status read_once(void *context)
{
    bb_results *results = NULL;
    bb_status status = bb_reader_read_all(context, NULL, &results);
    bb_results_destroy(&results);
    return status;
}

// Reads an HDF5 file in a child process first: the HDF5 library can crash on a damaged one.
static bb_status check_file(const char *verb, char *path)
{
    struct stat about;
    if ((stat(path, &about) == 0 && S_ISDIR(about.st_mode)) || bb_study_file_has_machines(path)) {
        return BB_OK; // read by 'sweep collect', or as text
    }
    return bb_status_prefix(bb_isolation_run(path, READING_SECONDS, read_once, path),
                            "cannot %s '%s'", verb, path);
}

// Path of an argument: a shipped table of machines is found by its name.
static bb_status find_path(const bb_options *options, char *argument, char **out)
{
    for (bb_index i = 0; i < options->operand_count; ++i) {
        if (options->operands[i] == argument && access(argument, F_OK) != 0 &&
            bb_study_file_find(argument, out) == BB_OK) {
            return BB_OK;
        }
    }
    return bb_memory_text(argument, out);
}

// Environment of the package: its folder next to the shipped studies, and this program.
static bb_status set_environment(void)
{
    bb_status status = BB_OK;
    char *folders[BB_SHIPPED_FOLDERS] = {NULL};
    char *path = NULL;
    char program[PATH_MAX];
    char *main = NULL;
    const char *before = getenv("PYTHONPATH");
    BB_TRY(bb_shipped_folder_find(folders));
    BB_TRY(bb_memory_printf(&main, "%s../python/bitbudget/__main__.py", folders[1]));
    BB_REQUIRE(access(main, R_OK) == 0, BB_IO,
               "cannot read '%s' of the Python package: %s; install bitbudget again, or set "
               "BITBUDGET_SHARE to the folder that has it",
               main, strerror(errno));
    BB_TRY(bb_memory_printf(&path, "%s../python%s%s", folders[1], before == NULL ? "" : ":",
                            before == NULL ? "" : before));
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    // Modules beside the user's results are not those of Python.
    BB_REQUIRE(setenv("PYTHONPATH", path, 1) == 0 && setenv("PYTHONSAFEPATH", "1", 1) == 0 &&
                   (length <= 0 || setenv("BITBUDGET_PROGRAM", program, 1) == 0),
               BB_MEMORY, "host memory exhausted by the environment of Python");
done:
    BB_RELEASE(&folders[0]);
    BB_RELEASE(&folders[1]);
    BB_RELEASE(&main);
    BB_RELEASE(&path);
    return status;
}

static bb_status start(const bb_options *options, const char *command)
{
    bb_status status = BB_OK;
    const char *named = getenv("BITBUDGET_PYTHON");
    const char *const leading[LEADING] = {named == NULL ? "python3" : named, "-m", "bitbudget"};
    const int rest = options->argument_count - 1; // without the program's name
    char **arguments = NULL;
    BB_TRY(BB_ZEROED(LEADING + rest + 1, &arguments));
    for (int i = 0; i < LEADING; ++i) {
        BB_TRY(bb_memory_text(leading[i], &arguments[i]));
    }
    for (int i = 0; i < rest; ++i) {
        BB_TRY(find_path(options, options->arguments[i + 1], &arguments[LEADING + i]));
    }
    BB_TRY(set_environment());
    (void)fflush(stdout);
    (void)execvp(arguments[0], arguments);
    BB_FAIL(BB_UNSUPPORTED,
            "'%s' needs Python 3, cannot start '%s': %s; install it: apt-get install "
            "python3-matplotlib python3-h5py python3-jinja2 python3-yaml",
            command, arguments[0], strerror(errno));
done:
    for (int i = 0; arguments != NULL && i < LEADING + rest; ++i) {
        BB_RELEASE(&arguments[i]);
    }
    BB_RELEASE(&arguments);
    return status;
}

// `verb` of a command on result files, in messages; NULL: files of other programs, which the
// package reads alone.
static bb_status run(const bb_options *options, const char *command, const char *verb)
{
    bb_status status = BB_OK;
    bb_file_list inputs = {0};
    char *path = NULL;
    BB_TRY(bb_source_inputs(options, &inputs));
    BB_TRY(options->output == NULL
               ? BB_OK
               : bb_file_check(options->output, false, options->force, 0.0, &inputs));
    for (bb_index i = 0; verb != NULL && i < options->operand_count; ++i) {
        BB_RELEASE(&path);
        BB_TRY(find_path(options, options->operands[i], &path));
        BB_TRY(check_file(verb, path));
    }
    BB_TRY(start(options, command));
done:
    BB_RELEASE(&path);
    bb_file_list_release(&inputs);
    return status;
}

bb_status bb_command_plot(const bb_options *options, const bb_experiment_table *experiments)
{
    (void)experiments;
    return run(options, "plot", "plot");
}

bb_status bb_command_report(const bb_options *options, const bb_experiment_table *experiments)
{
    (void)experiments;
    return run(options, "report", "report on");
}

bb_status bb_command_import(const bb_options *options, const bb_experiment_table *experiments)
{
    (void)experiments;
    return run(options, "import", NULL);
}

bb_status bb_command_try(const bb_options *options, const bb_experiment_table *experiments)
{
    (void)experiments;
    return run(options, "try", NULL);
}
