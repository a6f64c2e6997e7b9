// SPDX-License-Identifier: Apache-2.0
//
// The built program as a user runs it: exit code, output and memory use.
#ifndef BB_TESTS_SIM_PROGRAM_H
#define BB_TESTS_SIM_PROGRAM_H

#include "tests/check.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAM_ARGUMENTS = 12, PROGRAM_OUTPUT_BYTES = 1 << 16 };

typedef struct program_run {
    int code;          ///< exit code, or minus the number of the signal that ended it
    double peak_bytes; ///< maximum resident set size
    char printed[PROGRAM_OUTPUT_BYTES];
} program_run;

static program_run run __attribute__((unused)); // result of the last CALL

/// Runs a program with arguments up to the first NULL; both streams go to the file "printed".
static inline void program_call_of(const char *program,
                                   const char *const arguments[PROGRAM_ARGUMENTS], program_run *out)
{
    const char *all_values[PROGRAM_ARGUMENTS + 2] = {program};
    int how = 0;
    struct rusage usage;
    memcpy(all_values + 1, arguments, PROGRAM_ARGUMENTS * sizeof *all_values);
    (void)fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int file = open("printed", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        (void)dup2(file, STDOUT_FILENO);
        (void)dup2(file, STDERR_FILENO);
        (void)execv(all_values[0], (char *const *)(uintptr_t)all_values);
        _exit(127);
    }
    assert_int_equal(wait4(child, &how, 0, &usage), child);
    out->code = WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
    out->peak_bytes = 1024.0 * (double)usage.ru_maxrss;
    FILE *file = fopen("printed", "r");
    assert_non_null(file);
    out->printed[fread(out->printed, 1, sizeof out->printed - 1, file)] = '\0';
    (void)fclose(file);
}

/// Runs build/bitbudget.
static inline void program_call(const char *const arguments[PROGRAM_ARGUMENTS], program_run *out)
{
    const char *const other = getenv("BB_TEST_PROGRAM"); // set by tests/mutation/run
    program_call_of(other != NULL ? other : BB_BINARY_DIR "/bitbudget", arguments, out);
}

/// Runs build/bitbudget with these arguments into `run`.
#define CALL(...) program_call((const char *const[PROGRAM_ARGUMENTS]){__VA_ARGS__}, &run)

/// Runs the program and checks the exit code and a text of the output; CALL_OK checks for success.
#define CALL_EXPECT(code, text, ...) (CALL(__VA_ARGS__), program_expect(&run, (code), (text)))
#define CALL_OK(...)                 CALL_EXPECT(0, "", __VA_ARGS__)

static inline void program_expect(const program_run *got, int code, const char *text)
{
    if (got->code != code || strstr(got->printed, text) == NULL) {
        print_error("exit %d, expected %d, with '%s' in:\n%s", got->code, code, text, got->printed);
        fail();
    }
}

/// Whether sanitizers increase memory use, so that memory limits cannot be checked.
static inline bool program_is_instrumented(void)
{
#ifdef BB_SANITIZED
    return true;
#else
    return false;
#endif
}

#endif
