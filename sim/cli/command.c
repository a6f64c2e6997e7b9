// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command.h"

#include "build_info.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/cli/command_help.h"
#include "sim/config/config.h"
#include "sim/config/study_file.h"
#include "sim/input/hdf5_library.h"
#include "sim/kernels/wisdom_file.h"
#include "solvers/distributed/engine.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// `first`: number of the first argument after the name of the command or program.
static bb_status run_command(const bb_command *found, int first, int argument_count,
                             char **arguments, const bb_experiment_table *experiments,
                             bb_options *options)
{
    bb_status status = BB_OK;
    const bool is_first = bb_team_joined()->rank == 0;
    bb_text help = {0};
    char **sorted = NULL; // parsing moves operands to the end; the original order is recorded
    BB_TRY(BB_ZEROED(argument_count + 2, &sorted));
    sorted[0] = arguments[0];
    sorted[1] = (char *)(uintptr_t)found->name;
    for (int i = first; i < argument_count; ++i) {
        sorted[i - first + 2] = arguments[i];
    }
    BB_TRY(bb_options_parse(argument_count - first + 2, sorted, found->accepted, options));
    options->argument_count = argument_count;
    options->arguments = arguments;
    if (options->help) {
        BB_TRY(bb_command_help_write(found, experiments, &help));
        (void)fputs(bb_text_string(&help), stdout);
        goto done;
    }
    BB_REQUIRE(options->operand_count >= found->fewest && options->operand_count <= found->most,
               BB_INVALID, "wrong number of operands (%td); see '%s%s --help'",
               options->operand_count, bb_option_program(found->name), found->name);
    bb_log_set_level(is_first ? options->level : BB_LOG_SILENT);
    BB_TRY(bb_hdf5_library_start());
    if (is_first) { // only the first process reports the loss caused by a signal
        BB_TRY(bb_interrupt_install());
    }
    if (is_first && !found->is_collective) {
        bb_team_join(NULL);
        bb_engine_register(NULL);
    }
    if (is_first || found->is_collective) {
        BB_TRY(found->act(options, experiments));
    }
done:
    bb_text_release(&help);
    BB_RELEASE(&sorted);
    return status;
}

static bb_status print_overview(FILE *file)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_command_help_overview(&text));
    (void)fputs(bb_text_string(&text), file);
done:
    bb_text_release(&text);
    return status;
}

static bool has_help_option(const char *argument, const char *brief, const char *full)
{
    return strcmp(argument, brief) == 0 || strcmp(argument, full) == 0;
}

// True if all output was written. Output to a closed pipe counts as written, because its reader may
// stop early.
static bool is_output_written(void)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0) {
        return true;
    }
    const int reason = errno;
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    const bool is_closed = poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
    errno = reason;
    return is_closed;
}

// Gives the first process of a team one second to print a common error and to end the others.
static void wait_for_first(void)
{
    const struct timespec second = {.tv_sec = 1};
    if (bb_team_joined()->rank > 0) {
        (void)nanosleep(&second, NULL);
    }
}

// Prefix "process 2 of 4: " for every process of a team except the first.
static const char *name_process(void)
{
    static char text[48];
    const bb_team *team = bb_team_joined();
    wait_for_first();
    if (team->rank > 0) {
        (void)snprintf(text, sizeof text, "process %d of %d: ", team->rank, team->size);
    }
    return text;
}

// Prints the message of a failed status and returns the exit code.
static int report_status(const char *program, bb_status status, const bb_options *options)
{
    bb_threads_stop();
    if ((status == BB_OK || status == BB_DIFFERENT) && !is_output_written()) {
        status = bb_status_set(BB_IO, __FILE__, __LINE__, "cannot write to standard output: %s",
                               strerror(errno));
    }
    if (status != BB_OK && status != BB_DIFFERENT) { // the answer of `diff`, already printed
        const char *job = bb_log_job();
        bb_log_clear();
        (void)fprintf(stderr, "%s: %s%s%s%s\n", program, name_process(), bb_status_message(),
                      job[0] == '\0' ? "" : ", while ", job);
        if (options->level == BB_LOG_VERBOSE || status == BB_INTERNAL) {
            (void)fputs(bb_status_trace_text(), stderr);
        }
    }
    return bb_status_exit_code(status);
}

int bb_command_main(int argument_count, char **arguments, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    const bb_command *found = NULL;
    bb_options options = {.level = BB_LOG_NORMAL};
    if (argument_count < 2) {
        status = print_overview(stderr);
        return bb_status_exit_code(status == BB_OK ? BB_INVALID : status);
    }
    if (has_help_option(arguments[1], "-h", "--help")) {
        status = print_overview(stdout);
    } else if (strcmp(arguments[1], "--version") == 0) {
        (void)printf("bitbudget %s (%s)\n", BB_VERSION, BB_COMMIT);
    } else {
        BB_TRY(bb_command_table_find(arguments[1], &found));
        BB_TRY(run_command(found, 2, argument_count, arguments, experiments, &options));
    }
done:
    return report_status("bitbudget", status, &options);
}

int bb_command_program(int argument_count, char **arguments, const bb_command *command)
{
    bb_options options = {.level = BB_LOG_NORMAL};
    const bb_experiment_table none = {0};
    const bb_status status = run_command(command, 1, argument_count, arguments, &none, &options);
    return report_status(command->name, status, &options);
}

bb_status bb_command_load(const bb_options *options, const bb_experiment_table *experiments,
                          bb_status (*begin)(const char *device), bb_config **out)
{
    return bb_command_load_text(options, experiments, begin, NULL, out);
}

bb_status bb_command_load_text(const bb_options *options, const bb_experiment_table *experiments,
                               bb_status (*begin)(const char *device), const bb_config_file *file,
                               bb_config **out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    const char **overrides = NULL;
    char *device = NULL;
    char *path = NULL;
    bb_index count = options->operand_count - 1;
    BB_TRY(BB_ALLOCATE(count + 1, &overrides));
    for (bb_index i = 0; i < count; ++i) {
        overrides[i] = options->operands[i + 1];
    }
    if (options->device != NULL) {
        BB_TRY(bb_memory_printf(&device, "device=%s", options->device));
        overrides[count++] = device;
    }
    BB_REQUIRE(strcmp(options->operands[0], "-") != 0 || bb_team_joined()->size == 1, BB_INVALID,
               "a study from standard input reaches only one of %d processes; give a file",
               bb_team_joined()->size);
    if (file == NULL) {
        BB_TRY(bb_study_file_find(options->operands[0], &path));
    }
    const bb_config_request request = {.path = file == NULL ? path : file->name,
                                       .overrides = overrides,
                                       .override_count = count,
                                       .files = file,
                                       .file_count = file != NULL,
                                       .ignores_folders = file != NULL,
                                       .begin = begin};
    status = bb_experiment_load_by(experiments, request, &problems, out);
    if (problems.count > 0 && status == BB_INVALID) {
        wait_for_first();
        bb_text_print(bb_text_string(&problems.lines), stderr);
    }
done:
    BB_RELEASE(&path);
    BB_RELEASE(&device);
    BB_RELEASE(&overrides);
    bb_problems_release(&problems);
    return status;
}

const char *bb_command_device(const bb_options *options)
{
    const char *name = NULL;
    for (bb_index i = 1; i < options->operand_count; ++i) {
        const bool names = strncmp(options->operands[i], "device=", 7) == 0;
        name = names ? options->operands[i] + 7 : name;
    }
    return options->device != NULL ? options->device : name;
}

static bb_status add_named(void *context, const char *key, const char *file)
{
    (void)key;
    return bb_file_list_add(context, file);
}

static bb_status add_study(const bb_config *config, bb_file_list *inputs)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < bb_config_file_count(config); ++i) {
        BB_TRY(bb_file_list_add(inputs, bb_config_file_at(config, i).name));
    }
    for (bb_index i = 0; i < bb_config_table_count(config); ++i) {
        BB_TRY(bb_file_list_add(inputs, bb_config_table_at(config, i).name));
    }
    BB_TRY(bb_config_visit_files(bb_config_schema(config), bb_config_study(config), add_named,
                                 inputs));
done:
    return status;
}

// Adds the file of a frame source, or every file of its folder.
static bb_status add_source(const char *source, bb_file_list *inputs)
{
    bb_status status = BB_OK;
    char *frame = NULL;
    const char *colon = source == NULL ? NULL : strchr(source, ':');
    const char *place = colon == NULL ? NULL : colon + 1;
    DIR *folder = place == NULL ? NULL : opendir(place);
    BB_TRY(bb_file_list_add(inputs, place));
    for (const struct dirent *entry = folder == NULL ? NULL : readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        BB_RELEASE(&frame);
        BB_TRY(bb_memory_printf(&frame, "%s/%s", place, entry->d_name));
        BB_TRY(bb_file_list_add(inputs, frame));
    }
done:
    BB_RELEASE(&frame);
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return status;
}

bb_status bb_command_inputs(const bb_options *options, const bb_config *config,
                            bb_file_list *inputs)
{
    bb_status status = BB_OK;
    char *wisdom = NULL;
    const char *const named[] = {options->kernel.input,  options->machine,
                                 options->kernel.study,  options->restart.resume,
                                 options->bench.compare, options->bench.file};
    for (bb_index i = 0; i < options->operand_count; ++i) {
        BB_TRY(bb_file_list_add(inputs, options->operands[i]));
    }
    for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
        BB_TRY(bb_file_list_add(inputs, named[i]));
    }
    BB_TRY(add_source(options->live.source, inputs));
    status = bb_wisdom_file_place(options->kernel.wisdom, &wisdom);
    BB_REQUIRE(status != BB_MEMORY, BB_MEMORY, "host memory exhausted by a file name");
    BB_TRY(bb_file_list_add(inputs, wisdom)); // NULL without a home directory
    BB_TRY(config == NULL ? BB_OK : add_study(config, inputs));
done:
    BB_RELEASE(&wisdom);
    return status;
}

bb_status bb_command_output(const bb_options *options, const bb_experiment *experiment, char **out)
{
    if (options->output != NULL) {
        return bb_memory_text(options->output, out);
    }
    const char *slash = strrchr(options->operands[0], '/');
    const char *file = slash == NULL ? options->operands[0] : slash + 1;
    const char *name = strcmp(file, "-") == 0 ? "stdin" : file;
    const char *dot = strrchr(name, '.');
    bool yaml =
        dot != NULL && dot != name && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    int length = yaml ? (int)(dot - name) : (int)strlen(name);
    return bb_memory_printf(out, "outputs/%s-%.*s.h5", experiment->name, length, name);
}
