// SPDX-License-Identifier: Apache-2.0
//
// Runs a command line in a child process; returns its exit code and its output.
#ifndef BB_TESTS_SIM_COMMAND_LINE_H
#define BB_TESTS_SIM_COMMAND_LINE_H

#include "core/memory.h"
#include "sim/cli/command.h"
#include "tests/check.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_LINE_WORDS = 20, COMMAND_LINE_BYTES = 1 << 16 };

static const bb_experiment_table *command_line_experiments;
static char printed[COMMAND_LINE_BYTES]; // output of the last command, both streams

// Starts a command line in a child process. Its streams go to the file "printed", but stdout to
// `out` if that is open.
static inline pid_t start_into(const char *line, int out)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) {
        return child;
    }
    char copy[1000];
    char *arguments[COMMAND_LINE_WORDS] = {NULL};
    int count = 0;
    (void)snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        arguments[count++] = word;
    }
    int file = open("printed", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    (void)dup2(out < 0 ? file : out, STDOUT_FILENO);
    (void)dup2(file, STDERR_FILENO);
    int code = bb_command_main(count, arguments, command_line_experiments);
    (void)fflush(stdout);
    _exit(bb_memory_blocks() == 0 ? code : 100);
}

static inline pid_t start(const char *line)
{
    return start_into(line, -1);
}

static inline int finish(pid_t child)
{
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    FILE *file = fopen("printed", "r");
    assert_non_null(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    (void)fclose(file);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

static inline void expect(const char *line, int code, const char *text)
{
    int got = finish(start(line));
    if (got != code || strstr(printed, text) == NULL) {
        print_error("%s\n exit %d, expected %d, with '%s' in:\n%s", line, got, code, text, printed);
        fail();
    }
}

#endif
