// SPDX-License-Identifier: Apache-2.0
//
// Work folders: programs run in them, and nothing of either remains, however the process ends.
#include "core/work_folder.h"
#include "tests/check.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char root[] = "/tmp/bitbudget-test-XXXXXX";

static int begin(void)
{
    return mkdtemp(root) == NULL || chdir(root) != 0 || setenv("TMPDIR", ".", 1) != 0;
}

static int leave(void **state)
{
    (void)state;
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    return chdir("/") != 0 || system(command) != 0;
}

static int count_folders(void)
{
    int count = 0;
    DIR *all = opendir(".");
    assert_non_null(all);
    for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
        count += strncmp(entry->d_name, "bitbudget-", 10) == 0;
    }
    (void)closedir(all);
    return count;
}

static void wait_ms(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&pause, NULL);
}

// Waits, ten seconds at most, until `path` contains a number.
static pid_t wait_for_number(const char *path)
{
    long number = 0;
    for (int i = 0; i < 10000 && number == 0; ++i) {
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            number = fscanf(file, "%ld", &number) == 1 ? number : 0;
            (void)fclose(file);
        }
        wait_ms(1);
    }
    assert_true(number > 0);
    return (pid_t)number;
}

static bool is_gone(pid_t process)
{
    for (int i = 0; i < 5000; ++i) {
        char path[64], text[256] = "";
        (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
        FILE *file = fopen(path, "r");
        if (file == NULL) {
            return true;
        }
        const size_t length = fread(text, 1, sizeof text - 1, file);
        (void)fclose(file);
        text[length] = '\0';
        const char *state = strrchr(text, ')');
        if (state != NULL && state[2] == 'Z') { // ended, and not yet waited for
            return true;
        }
        wait_ms(1);
    }
    return false;
}

// The shell's process id goes to ../process, that of its child to ../inner; both sleep.
static const char *const sleeping[] = {
    "sh", "-c",
    "mkdir deep && touch made deep/made; sleep 100 & echo $! > ../inner; echo $$ > "
    "../process; wait",
    NULL};

static bb_status run_sleeping(void)
{
    bb_status status = BB_OK;
    bb_work_folder *folder = NULL;
    char said[16];
    size_t bytes = 0;
    bb_work_end end;
    const bb_work_program program = {.arguments = sleeping, .seconds = 100.0};
    BB_TRY(bb_work_folder_create("sleep in", &folder));
    BB_TRY(bb_work_folder_run(folder, &program, said, sizeof said, &bytes, &end));
done:
    return status;
}

TEST(programs_run_in_the_folder)
{
    static const char *const arguments[] = {"sh", "-c", "cat given; echo $WORD >&2; exit 3", NULL};
    static const char *const environment[] = {"PATH=/bin:/usr/bin", "WORD=said", NULL};
    char said[64] = "";
    size_t bytes = 0;
    bb_work_end end;
    bb_work_program program = {
        .arguments = arguments, .environment = environment, .seconds = 100.0};
    bb_work_folder *folder = new_object(bb_work_folder, "run in");
    check_ok(bb_work_folder_write(folder, "given", "one\n", 4));
    check_fails(bb_work_folder_write(folder, "given", "two\n", 4), BB_IO, "File exists");
    check_ok(bb_work_folder_run(folder, &program, said, sizeof said, &bytes, &end));
    assert_int_equal(end.error, 0);
    assert_true(WIFEXITED(end.ending));
    assert_int_equal(WEXITSTATUS(end.ending), 3);
    said[bytes] = '\0';
    assert_string_equal(said, "one\nsaid\n");
    program.arguments = (const char *const[]){"no-such-program", NULL};
    check_ok(bb_work_folder_run(folder, &program, said, sizeof said, &bytes, &end));
    assert_int_equal(end.error, ENOENT);
    bb_work_folder_remove(&folder);
    assert_null(folder);
    assert_int_equal(count_folders(), 0);
    assert_int_equal(setenv("TMPDIR", "nowhere", 1), 0);
    check_fails(bb_work_folder_create("run in", &folder), BB_IO, "set TMPDIR to another folder");
    assert_int_equal(setenv("TMPDIR", ".", 1), 0);
}

// Group folders of clusters: new folders in them inherit the set-group-ID bit.
TEST(a_parent_with_the_group_bit_serves)
{
    assert_int_equal(mkdir("group", 0770) + chmod("group", 02770) + setenv("TMPDIR", "group", 1),
                     0);
    bb_work_folder *folder = new_object(bb_work_folder, "test in");
    bb_work_folder_remove(&folder);
    assert_int_equal(rmdir("group") + setenv("TMPDIR", ".", 1), 0); // it is empty
}

TEST(late_programs_are_ended_with_their_children)
{
    char said[16];
    size_t bytes = 0;
    bb_work_end end;
    const bb_work_program program = {.arguments = sleeping, .seconds = 0.3};
    bb_work_folder *folder = new_object(bb_work_folder, "sleep in");
    check_ok(bb_work_folder_run(folder, &program, said, sizeof said, &bytes, &end));
    assert_true(end.is_late);
    assert_true(is_gone(wait_for_number("process")));
    assert_true(is_gone(wait_for_number("inner")));
    bb_work_folder_remove(&folder);
    assert_int_equal(count_folders(), 0);
    assert_int_equal(unlink("process") | unlink("inner"), 0);
}

static void end_process(int number)
{
    (void)number;
    bb_work_folder_abandon();
    _exit(7);
}

// A handler ends the program and its children, and removes the folder.
TEST(signals_leave_nothing)
{
    int how = 0;
    const pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGTERM, end_process);
        _exit(run_sleeping() == BB_OK);
    }
    const pid_t process = wait_for_number("process");
    const pid_t inner = wait_for_number("inner");
    assert_int_equal(count_folders(), 1);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 7);
    assert_int_equal(count_folders(), 0);
    assert_true(is_gone(process));
    assert_true(is_gone(inner));
    assert_int_equal(unlink("process") | unlink("inner"), 0);
}

// After a kill the folder remains, but no program continues.
TEST(programs_end_with_a_process_that_is_killed)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(run_sleeping() == BB_OK);
    }
    const pid_t process = wait_for_number("process");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(is_gone(process));
    (void)kill(wait_for_number("inner"), SIGKILL);
    assert_int_equal(system("rm -r bitbudget-* process inner"), 0);
}

// A forked process has none of its parent's folders.
TEST(a_child_leaves_the_folders_of_its_parent)
{
    bb_work_folder *folder = new_object(bb_work_folder, "keep");
    const pid_t child = fork();
    if (child == 0) {
        bb_work_folder_disown();
        bb_work_folder_abandon();
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(count_folders(), 1);
    check_ok(bb_work_folder_write(folder, "still", "x", 1));
    bb_work_folder_remove(&folder);
    assert_int_equal(count_folders(), 0);
}

TEST_GROUP(.begin = begin, .leave = leave);
