// SPDX-License-Identifier: Apache-2.0
//
// Child processes that read files or plot end with their parent and leave no file and no process.
#include "core/file.h"
#include "core/interrupt.h"
#include "core/isolation.h"
#include "core/work_folder.h"
#include "tests/sim/fixture.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Plots for `*context` seconds, then writes a file.
static bb_status draw_slowly(void *context)
{
    bb_status status = BB_OK;
    const char *const arguments[] = {"sh", "-c", context, NULL};
    const bb_work_program program = {.arguments = arguments, .seconds = 100.0};
    bb_work_folder *folder = NULL;
    char said[16];
    size_t bytes = 0;
    bb_work_end end;
    BB_TRY(bb_work_folder_create("draw in", &folder));
    BB_TRY(bb_work_folder_run(folder, &program, said, sizeof said, &bytes, &end));
    BB_TRY(bb_file_write("late.html", true, "late", 4));
done:
    bb_work_folder_remove(&folder);
    return status;
}

static void wait_ms(int ms)
{
    const struct timespec pause = {.tv_nsec = ms * 1000000L};
    (void)nanosleep(&pause, NULL);
}

// Starts a process that plots for a second, in itself or in a child process, and ends it by a
// signal. Returns the exit code or minus the signal.
static int end_by(int number, bool isolated)
{
    static char script[] = "touch ../../running; sleep 1";
    int how = 0;
    const pid_t process = fork();
    if (process == 0) {
        (void)close(STDERR_FILENO); // hides the message about the signal
        bb_status status = bb_interrupt_install();
        if (status == BB_OK) {
            status = isolated ? bb_isolation_run("a picture", 100, draw_slowly, script)
                              : draw_slowly(script);
        }
        _exit((int)status);
    }
    for (int i = 0; i < 10000 && access("running", F_OK) != 0; ++i) {
        wait_ms(1);
    }
    assert_int_equal(unlink("running"), 0);
    assert_int_equal(kill(process, number), 0);
    assert_int_equal(waitpid(process, &how, 0), process);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

// Removes `tmp` once it is empty. The program waits at most a second for a child, which may take
// longer on a loaded machine.
static void remove_empty(void)
{
    for (int i = 0; i < 5000 && rmdir("tmp") != 0; ++i) {
        wait_ms(1);
    }
    assert_int_equal(access("tmp", F_OK), -1);
}

TEST(children_end_with_their_parent)
{
    assert_int_equal(mkdir("tmp", 0777), 0);
    assert_int_equal(setenv("TMPDIR", "tmp", 1), 0);
    for (int isolated = 0; isolated < 2; ++isolated) {
        assert_int_equal(end_by(SIGTERM, isolated != 0), 143);
        remove_empty();
        assert_int_equal(mkdir("tmp", 0777), 0);
        assert_int_equal(end_by(SIGINT, isolated != 0), 130);
        remove_empty();
        assert_int_equal(mkdir("tmp", 0777), 0);
    }
    assert_int_equal(end_by(SIGKILL, true), -SIGKILL);
    remove_empty();
    assert_int_equal(unsetenv("TMPDIR"), 0);
    wait_ms(900);
    wait_ms(300); // longer than the plot takes
    assert_int_equal(access("late.html", F_OK), -1);
}

TEST_GROUP(.has_folder = true);
