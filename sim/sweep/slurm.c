// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/slurm.h"

#include "core/file.h"
#include "core/memory.h"
#include "sim/output/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAXIMUM_ARGUMENTS = 128, PATH_BYTES = 4096, JOB_BYTES = 64 };

// Safety factor of estimates, and the minimum requested time.
static const double TIME_SLACK = 3.0;
static const double LEAST_MINUTES = 10.0;
static const double MEMORY_SLACK = 1.5;

typedef struct submission {
    const bb_slurm_request *request;
    bb_index elements;
    char program[PATH_BYTES];
    char folder[PATH_BYTES]; // absolute path
    bb_text array, after;    // texts of the two scripts
    char *array_path, *after_path;
} submission;

static double element_minutes(const submission *job)
{
    const bb_sweep_plan *plan = job->request->plan;
    const double points = ceil((double)bb_sweep_plan_points(plan) / (double)job->elements);
    const double estimate = TIME_SLACK * points * plan->need.seconds / 60.0;
    const double limit = points * plan->sweep->config.point_limit_s / 60.0;
    return ceil(fmax(LEAST_MINUTES, fmin(estimate, isnan(limit) ? INFINITY : limit)));
}

// Adds "--output=" as a #SBATCH line; escapes blanks, quotes and percent signs of the path.
static bb_status add_output(const char *folder, const char *name, bb_text *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(
        strpbrk(folder, "\n\r") == NULL, BB_INVALID,
        "sweep submit: the folder's path contains a line break, which Slurm scripts do not allow");
    BB_TRY(bb_text_add(out, "#SBATCH --output=\""));
    for (const char *c = folder; *c != '\0'; ++c) {
        const char *escape = *c == '%' ? "%" : *c == '"' || *c == '\\' ? "\\" : "";
        BB_TRY(bb_text_add(out, "%s%c", escape, *c));
    }
    BB_TRY(bb_text_add(out, "/log/%s\"\n", name));
done:
    return status;
}

static bool requests_memory(const char *argument)
{
    static const char *const names[] = {"--mem", "--mem-per-cpu", "--mem-per-gpu"};
    const size_t length = strcspn(argument, "=");
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (strlen(names[i]) == length && strncmp(argument, names[i], length) == 0) {
            return true;
        }
    }
    return false;
}

// Adds resources: one worker for each processor or GPU, and memory for each, also if the user
// requests more of them. sbatch refuses two kinds of memory option, so that the user's replaces
// this one.
static bb_status add_resources(const bb_slurm_request *request, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep_plan *plan = request->plan;
    bool has_memory = false;
    for (bb_index e = 0; e < request->extra_count; ++e) {
        has_memory = has_memory || requests_memory(request->extras[e]);
    }
    const double megabytes = ceil(1e-6 * MEMORY_SLACK * plan->need.host_bytes);
    const bool is_gpu = plan->device == BB_DEVICE_CUDA;
    if (is_gpu) {
        BB_TRY(bb_text_add(out, "#SBATCH --gpus=1\n"));
    }
    if (!has_memory) {
        BB_TRY(bb_text_add(out, "#SBATCH --mem-per-%s=%.0fM\n", is_gpu ? "gpu" : "cpu", megabytes));
    }
done:
    return status;
}

// Element S of E runs shards S, S + E, ...
static bb_status write_array(submission *job)
{
    bb_status status = BB_OK;
    const bb_sweep_plan *plan = job->request->plan;
    bb_text *out = &job->array;
    BB_TRY(bb_text_add(out,
                       "#!/bin/sh\n"
                       "#SBATCH --job-name=bitbudget\n"
                       "#SBATCH --array=1-%td\n"
                       "#SBATCH --requeue\n"
                       "#SBATCH --open-mode=append\n"
                       "#SBATCH --time=%.0f\n",
                       job->elements, element_minutes(job)));
    BB_TRY(add_resources(job->request, out));
    BB_TRY(add_output(job->folder, "%A_%a.out", out));
    BB_TRY(bb_text_add(out,
                       "# Shards of this element; exec passes signals to the "
                       "program.\nshards=$(seq -s , \"$SLURM_ARRAY_TASK_ID\" %td %td)\nexec ",
                       job->elements, plan->shards));
    BB_TRY(bb_cell_add_quoted(job->program, out));
    BB_TRY(bb_text_add(out, " sweep run "));
    BB_TRY(bb_cell_add_quoted(job->folder, out));
    BB_TRY(
        bb_text_add(out, " --shard \"$shards/%td\" --jobs \"${%s:-1}\"\n", plan->shards,
                    plan->device == BB_DEVICE_CUDA ? "SLURM_GPUS_ON_NODE" : "SLURM_CPUS_PER_TASK"));
done:
    return status;
}

static bb_status write_after(submission *job)
{
    bb_status status = BB_OK;
    const bb_slurm_request *request = job->request;
    bb_text *out = &job->after;
    BB_TRY(bb_text_add(out, "#!/bin/sh\n"
                            "#SBATCH --job-name=bitbudget-collect\n"
                            "#SBATCH --time=60\n"
                            "#SBATCH --open-mode=append\n"));
    BB_TRY(add_output(job->folder, "collect.out", out));
    if (request->plan->sweep->searches) {
        BB_TRY(bb_text_add(out, "export " BB_SLURM_OPEN "=%td\n", request->open));
    }
    BB_TRY(bb_text_add(out, "exec "));
    BB_TRY(bb_cell_add_quoted(job->program, out));
    if (request->plan->sweep->searches) {
        BB_TRY(bb_text_add(out, " sweep submit "));
        BB_TRY(bb_cell_add_quoted(job->folder, out));
        BB_TRY(bb_text_add(out, " --slurm --force -o "));
    } else {
        BB_TRY(bb_text_add(out, " sweep collect "));
        BB_TRY(bb_cell_add_quoted(job->folder, out));
        BB_TRY(bb_text_add(out, " --partial --force -o "));
    }
    BB_TRY(bb_cell_add_quoted(request->output, out));
    if (!isnan(request->max_loss)) {
        BB_TRY(bb_text_add(out, " --max-loss %.17g", request->max_loss));
    }
    if (request->plan->sweep->searches) {
        if (request->nodes > 0) {
            BB_TRY(bb_text_add(out, " --nodes %td", request->nodes));
        }
        BB_TRY(bb_text_add(out, " --"));
        for (bb_index e = 0; e < request->extra_count; ++e) {
            BB_TRY(bb_text_add(out, " "));
            BB_TRY(bb_cell_add_quoted(request->extras[e], out));
        }
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status start(submission *job)
{
    bb_status status = BB_OK;
    const bb_slurm_request *request = job->request;
    const bb_index shards = request->plan->shards;
    const bb_index limit = request->nodes > 0 ? request->nodes : BB_SLURM_ELEMENTS;
    job->elements = shards < limit ? shards : limit;
    BB_REQUIRE(job->elements <= BB_SLURM_ELEMENTS, BB_INVALID, "--nodes %td, expected at most %d",
               request->nodes, BB_SLURM_ELEMENTS);
    BB_REQUIRE(request->extra_count + 5 < MAXIMUM_ARGUMENTS, BB_INVALID,
               "%td options for sbatch, expected fewer than %d", request->extra_count,
               MAXIMUM_ARGUMENTS - 5);
    const ssize_t length = readlink("/proc/self/exe", job->program, sizeof job->program - 1);
    BB_REQUIRE(length > 0, BB_INTERNAL, "cannot find this program: %s", strerror(errno));
    job->program[length] = '\0';
    BB_REQUIRE(realpath(request->plan->folder, job->folder) != NULL, BB_IO, "'%s': %s",
               request->plan->folder, strerror(errno));
    BB_TRY(bb_memory_printf(&job->array_path, "%s/array.sh", job->folder));
    BB_TRY(bb_memory_printf(&job->after_path, "%s/collect.sh", job->folder));
    BB_TRY(write_array(job));
    BB_TRY(write_after(job));
done:
    return status;
}

static bb_status make_log_folder(const submission *job)
{
    bb_status status = BB_OK;
    char *path = NULL;
    BB_TRY(bb_memory_printf(&path, "%s/log", job->folder));
    BB_REQUIRE(mkdir(path, 0777) == 0 || errno == EEXIST, BB_IO, "cannot make folder '%s': %s",
               path, strerror(errno));
done:
    BB_RELEASE(&path);
    return status;
}

// Runs sbatch, whose messages appear on stderr, and returns the job number.
static bb_status call_sbatch(const char *const *arguments, char job[JOB_BYTES])
{
    bb_status status = BB_OK;
    int ends[2] = {-1, -1};
    pid_t child = -1;
    int how = 0;
    size_t got = 0;
    posix_spawn_file_actions_t actions;
    BB_REQUIRE(pipe2(ends, O_CLOEXEC) == 0, BB_INTERNAL, "cannot make a pipe: %s", strerror(errno));
    BB_REQUIRE(posix_spawn_file_actions_init(&actions) == 0, BB_MEMORY, "cannot start sbatch");
    int error = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    error = error != 0 ? error
                       : posix_spawnp(&child, "sbatch", &actions, NULL,
                                      (char *const *)(uintptr_t)arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    BB_REQUIRE(error != ENOENT, BB_UNSUPPORTED,
               "sbatch is not in PATH; submit from a Slurm login node, or print the script with "
               "--print-only");
    BB_REQUIRE(error == 0, BB_IO, "cannot start sbatch: %s", strerror(error));
    (void)close(ends[1]);
    ends[1] = -1;
    for (ssize_t count = 1; count > 0 && got < JOB_BYTES - 1;) {
        count = read(ends[0], job + got, JOB_BYTES - 1 - got);
        got += count > 0 ? (size_t)count : 0;
    }
    job[got] = '\0';
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    BB_REQUIRE(WIFEXITED(how) && WEXITSTATUS(how) == 0, BB_IO, "sbatch failed with exit code %d",
               WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how));
    job[strcspn(job, ";\n")] = '\0'; // "NUMBER;CLUSTER"
done:
    for (int i = 0; i < 2; ++i) {
        if (ends[i] >= 0) {
            (void)close(ends[i]);
        }
    }
    return status;
}

// Options of sbatch for the place and account of a job, which also apply to the job after the
// array; resource options do not.
typedef struct place_option {
    const char *name;
    char letter;
} place_option;

static const place_option place_options[] = {
    {"account", 'A'},  {"partition", 'p'}, {"qos", 'q'},          {"clusters", 'M'},
    {"cluster", '\0'}, {"wckey", '\0'},    {"reservation", '\0'}, {"export", '\0'},
};

// True if an argument is such an option; `*takes_next` if its value is the next argument.
static bool is_place(const char *argument, bool *value_follows)
{
    for (size_t i = 0; i < sizeof place_options / sizeof *place_options; ++i) {
        const place_option *option = &place_options[i];
        const size_t length = strlen(option->name);
        if (argument[0] != '-') {
            return false;
        }
        if (argument[1] == '-' && strncmp(argument + 2, option->name, length) == 0 &&
            (argument[2 + length] == '\0' || argument[2 + length] == '=')) {
            *value_follows = argument[2 + length] == '\0';
            return true;
        }
        if (option->letter != '\0' && argument[1] == option->letter) {
            *value_follows = argument[2] == '\0';
            return true;
        }
    }
    return false;
}

// Appends the user's options that apply to the job after the array; returns the new count.
static bb_index add_places(const bb_slurm_request *request, const char **arguments, bb_index count)
{
    for (bb_index e = 0; e < request->extra_count; ++e) {
        bool value_follows = false;
        if (is_place(request->extras[e], &value_follows)) {
            arguments[count++] = request->extras[e];
            if (value_follows && e + 1 < request->extra_count) {
                arguments[count++] = request->extras[++e];
            }
        }
    }
    return count;
}

static bb_status send(const submission *job, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_slurm_request *request = job->request;
    const char *arguments[MAXIMUM_ARGUMENTS] = {"sbatch", "--parsable"};
    bb_index count = 2;
    char array[JOB_BYTES];
    char after[JOB_BYTES];
    char dependency[JOB_BYTES + 32];
    for (bb_index e = 0; e < request->extra_count; ++e) {
        arguments[count++] = request->extras[e];
    }
    arguments[count] = job->array_path;
    BB_TRY(make_log_folder(job));
    BB_TRY(bb_file_write(job->array_path, true, bb_text_string(&job->array), job->array.length));
    BB_TRY(bb_file_write(job->after_path, true, bb_text_string(&job->after), job->after.length));
    BB_TRY(call_sbatch(arguments, array));
    (void)snprintf(dependency, sizeof dependency, "--dependency=afterany:%s", array);
    const char *second[MAXIMUM_ARGUMENTS] = {"sbatch", "--parsable", dependency};
    second[add_places(request, second, 3)] = job->after_path;
    BB_TRY(call_sbatch(second, after));
    BB_TRY(bb_text_add(out, "job %s: %td elements for %td shards; job %s collects into %s\n", array,
                       job->elements, request->plan->shards, after, request->output));
done:
    return status;
}

static bb_status print(const submission *job, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_slurm_request *request = job->request;
    BB_TRY(bb_text_add(out, "# %s\n%s\n# %s\n%s\n# commands\nsbatch --parsable", job->array_path,
                       bb_text_string(&job->array), job->after_path, bb_text_string(&job->after)));
    for (bb_index e = 0; e < request->extra_count; ++e) {
        BB_TRY(bb_text_add(out, " "));
        BB_TRY(bb_cell_add_quoted(request->extras[e], out));
    }
    BB_TRY(bb_text_add(out, " "));
    BB_TRY(bb_cell_add_quoted(job->array_path, out));
    BB_TRY(bb_text_add(out, "\nsbatch --parsable --dependency=afterany:JOB "));
    const char *places[MAXIMUM_ARGUMENTS];
    const bb_index count = add_places(request, places, 0);
    for (bb_index p = 0; p < count; ++p) {
        BB_TRY(bb_cell_add_quoted(places[p], out));
        BB_TRY(bb_text_add(out, " "));
    }
    BB_TRY(bb_cell_add_quoted(job->after_path, out));
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

// Integer in an environment variable; 0 if absent.
static double environment_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    const double value = text == NULL ? 0.0 : strtod(text, &end);
    return text != NULL && end != text && *end == '\0' && value > 0.0 ? value : 0.0;
}

double bb_slurm_memory(void)
{
    const double node = environment_number("SLURM_MEM_PER_NODE");
    const double cpus = environment_number("SLURM_MEM_PER_CPU") *
                        fmax(environment_number("SLURM_CPUS_ON_NODE"), 1.0);
    const double gpus = environment_number("SLURM_MEM_PER_GPU") *
                        fmax(environment_number("SLURM_GPUS_ON_NODE"), 1.0);
    const double megabytes = fmax(node, fmax(cpus, gpus)); // Slurm sets one of these
    return megabytes > 0.0 ? megabytes * 0x1p20 : INFINITY;
}

bb_status bb_slurm_submit(const bb_slurm_request *request, bb_text *out)
{
    bb_status status = BB_OK;
    submission job = {.request = request};
    BB_TRY(start(&job));
    BB_TRY(request->print_only ? print(&job, out) : send(&job, out));
done:
    bb_text_release(&job.array);
    bb_text_release(&job.after);
    BB_RELEASE(&job.array_path);
    BB_RELEASE(&job.after_path);
    return status;
}
