// SPDX-License-Identifier: Apache-2.0
//
// Test program of one directory:
//
//   test-ROOM                      every group, each in a separate process
//   test-ROOM GROUP [ARGUMENTS]    one group
//   test-ROOM GROUP/TEST           tests of a group by name; * and ? are wildcards
//   test-ROOM --list               names of the groups
//
// Exit code: 0 passed, 77 skipped, else failed.
#include "core/log.h"
#include "core/thread.h"
#include "tests/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static test_group *groups;
int test_argument_count;
char **test_arguments;

static void add_group(test_group *group)
{
    test_group **place = &groups;
    while (*place != NULL && *place != group) {
        place = &(*place)->next;
    }
    *place = group;
}

void test_group_add(test_group *group, struct CMUnitTest test)
{
    add_group(group);
    if (group->count == TEST_GROUP_TESTS) {
        (void)fprintf(stderr, "%s: more than %d tests\n", group->name, TEST_GROUP_TESTS);
        abort();
    }
    group->tests[group->count++] = test;
}

void test_group_add_runner(test_group *group)
{
    if (group->options.run != NULL) {
        add_group(group);
    }
}

int test_is_few(void)
{
    return test_argument_count > 0 && strcmp(test_arguments[0], "few") == 0;
}

static int lacks_commands(const char *commands)
{
    char line[200];
    (void)snprintf(line, sizeof line, "for c in %s; do command -v $c || exit 1; done >/dev/null",
                   commands);
    if (system(line) == 0) {
        return 0;
    }
    print_message("skipped: needs %s\n", commands);
    return TEST_SKIPPED;
}

/// A group that passed must have released all its allocations.
static int count_leaks(const test_group *group, bb_index before)
{
    const bb_index leaks = bb_memory_blocks() - before;
    if (leaks != 0) {
        print_error("%s: %td blocks of memory not released; run its tests one by one\n",
                    group->name, leaks);
    }
    return leaks != 0;
}

static int stop_threads(void **state)
{
    (void)state;
    bb_threads_stop();
    return 0;
}

static int run_group(test_group *group)
{
    const test_options *options = &group->options;
    const bb_index blocks = bb_memory_blocks();
    int code = 0;
    if (options->is_quiet) {
        bb_log_set_level(BB_LOG_QUIET);
    }
    if (options->commands != NULL && (code = lacks_commands(options->commands)) != 0) {
        return code;
    }
    if (options->begin != NULL && (code = options->begin()) != 0) {
        return code;
    }
    if (options->threads > 0 && bb_threads_set(options->threads) != BB_OK) {
        print_error("%s\n", bb_status_message());
        return 1;
    }
    for (size_t i = 0; i < group->count && options->threads == 0; ++i) {
        if (group->tests[i].teardown_func == NULL) {
            group->tests[i].teardown_func = stop_threads;
        }
    }
    if (options->run != NULL) {
        code = options->run();
    } else {
        code = _cmocka_run_group_tests(group->name, group->tests, group->count, options->enter,
                                       options->leave);
    }
    bb_threads_stop();
    if (options->end != NULL) {
        options->end();
    }
    return code != 0 ? code : count_leaks(group, blocks);
}

static int run_in_folder(test_group *group)
{
    char path[] = "scratch-XXXXXX";
    char command[64];
    if (!group->options.has_folder) {
        return run_group(group);
    }
    const int here = open(".", O_RDONLY | O_DIRECTORY);
    if (here < 0 || mkdtemp(path) == NULL || chdir(path) != 0) {
        perror(path);
        return 1;
    }
    const int code = run_group(group);
    (void)snprintf(command, sizeof command, "rm -rf %s", path);
    return fchdir(here) != 0 || close(here) != 0 || system(command) != 0 ? 1 : code;
}

static int run_in_child(test_group *group)
{
    int how = 0;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        exit(run_in_folder(group));
    }
    if (child < 0 || waitpid(child, &how, 0) != child) {
        perror(group->name);
        return 1;
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

static int run_all(void)
{
    int failed = 0;
    int passed = 0;
    int skipped = 0;
    for (test_group *group = groups; group != NULL; group = group->next) {
        const int code = run_in_child(group);
        passed += code == 0;
        skipped += code == TEST_SKIPPED;
        failed += code != 0 && code != TEST_SKIPPED;
        if (code != 0 && code != TEST_SKIPPED) {
            (void)printf("group %s failed: exit %d\n", group->name, code);
        }
    }
    (void)printf("%d groups passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed > 0;
}

static int list_groups(void)
{
    for (const test_group *group = groups; group != NULL; group = group->next) {
        (void)puts(group->name);
    }
    return 0;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        return run_all();
    }
    if (strcmp(arguments[1], "--list") == 0) {
        return list_groups();
    }
    (void)signal(SIGHUP, SIG_DFL); // also under nohup
    test_argument_count = count - 2;
    test_arguments = arguments + 2;
    char *const test = strchr(arguments[1], '/');
    if (test != NULL) {
        *test = '\0';
        cmocka_set_test_filter(test + 1);
    }
    for (test_group *group = groups; group != NULL; group = group->next) {
        if (strcmp(group->name, arguments[1]) == 0) {
            return run_in_folder(group);
        }
    }
    (void)fprintf(stderr, "no group '%s'; --list names them\n", arguments[1]);
    return 2;
}
