// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "tests/check.h"
#include "tests/manual_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static char written[4096];

// Runs `speak` with stderr redirected to a file, and reads the file.
static void capture(bb_log_level level, void (*speak)(void))
{
    FILE *file = tmpfile();
    assert_non_null(file);
    int kept = dup(STDERR_FILENO);
    (void)fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    bb_log_set_level(level);
    speak();
    (void)fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    size_t length = fread(written, 1, sizeof written - 1, file);
    written[length] = '\0';
    (void)fclose(file);
}

static void say_everything(void)
{
    bb_log_warning("w%d", 1);
    bb_log_info("i%d", 2);
    bb_log_detail("d%d", 3);
}

TEST(levels_choose_what_is_written)
{
    capture(BB_LOG_QUIET, say_everything);
    assert_non_null(strstr(written, "Z warning: w1\n"));
    assert_null(strstr(written, "i2"));
    capture(BB_LOG_NORMAL, say_everything);
    assert_non_null(strstr(written, "Z i2\n"));
    assert_null(strstr(written, "d3"));
    capture(BB_LOG_VERBOSE, say_everything);
    assert_non_null(strstr(written, "Z d3\n"));
}

// A thousand parts of `part_ns` each.
static int64_t part_ns;

static void report_progress(void)
{
    for (bb_index i = 0; i <= 1000; ++i) {
        manual_clock_advance(part_ns);
        bb_log_progress("heating", i, 1000);
    }
    bb_log_progress("nothing", 0, 0);
}

// Off a terminal a short job prints nothing: a line every ten seconds at most.
TEST(progress_is_silent_for_short_jobs)
{
    manual_clock_start();
    part_ns = 9900000;
    capture(BB_LOG_NORMAL, report_progress);
    assert_string_equal(written, "");
    part_ns = 25000000;
    capture(BB_LOG_NORMAL, report_progress);
    assert_non_null(strstr(written, "heating: 400 of 1000, 10 s, 15 s left\n"));
    assert_non_null(strstr(written, "heating: 800 of 1000, 20 s, 5 s left\n"));
    assert_null(strstr(written, "1000 of 1000"));
    manual_clock_stop();
}

// Step 3 of 8, a hundred parts of it.
static void report_parts(void)
{
    bb_log_progress_step("solving", "hp1", 1, 8);
    manual_clock_advance(part_ns);
    bb_log_progress_step("solving", "hp2", 2, 8);
    assert_string_equal(bb_log_job(), "solving hp2 (3 of 8)");
    bb_log_progress_part(0.0, 0.5);
    for (bb_index i = 0; i <= 100; ++i) {
        manual_clock_advance(part_ns);
        bb_log_progress_within(i, 100);
    }
    bb_log_progress_part(0.5, 1.0);
    bb_log_progress_within(1, 10);
    bb_log_progress_step("solving", "hp3", 3, 8);
    bb_log_progress("solving", 8, 8);
    assert_string_equal(bb_log_job(), "");
}

// The parts of a step count as fractions of the step and of the job.
TEST(progress_goes_on_within_a_step)
{
    manual_clock_start();
    part_ns = 500000000; // after 40 s the 79th of 100 parts of half the step
    capture(BB_LOG_NORMAL, report_parts);
    assert_non_null(strstr(written, "solving hp2 (3 of 8): 9 %, 10 s, 28 s left\n"));
    assert_non_null(strstr(written, "solving hp2 (3 of 8): 39 %, 40 s, 94 s left\n"));
    capture(BB_LOG_QUIET, report_parts);
    assert_string_equal(written, "");
    manual_clock_stop();
}

// A job nested in another's step is not shown and never decreases the progress.
static void report_nested(void)
{
    for (bb_index i = 0; i < 2; ++i) {
        bb_log_progress_step("solving", "hp2", i, 2);
        for (bb_index k = 0; k <= 4; ++k) {
            bb_log_progress("scoring", k, 4);
            assert_non_null(strstr(bb_log_job(), "solving hp2"));
            manual_clock_advance(part_ns);
        }
        bb_log_progress_within(1, 10); // less than before
        manual_clock_advance(part_ns);
        bb_log_progress_within(1, 10);
    }
    bb_log_progress("solving", 2, 2);
}

TEST(a_job_within_a_step_is_a_part_of_it)
{
    manual_clock_start();
    part_ns = 5000000000;
    capture(BB_LOG_NORMAL, report_nested);
    assert_non_null(strstr(written, "solving hp2 (1 of 2): 50 %, 10 s, 30 s left\n"));
    assert_non_null(strstr(written, "solving hp2 (1 of 2): 75 %, 25 s, "));
    assert_null(strstr(written, ": 10 %"));
    assert_null(strstr(written, "scoring"));
    manual_clock_stop();
}

// As capture with stderr as a terminal; `out` has its output.
static void capture_terminal(void (*speak)(void))
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master < 0) {
        print_message("skipped: no terminal can be had here (/dev/pts): %s\n", strerror(errno));
        skip();
    }
    assert_true(grantpt(master) == 0 && unlockpt(master) == 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    const int kept = dup(STDERR_FILENO);
    (void)dup2(slave, STDERR_FILENO);
    bb_log_set_level(BB_LOG_NORMAL);
    speak();
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(slave);
    // A read returns the available output; at the end it fails, as the slave is closed.
    size_t length = 0;
    for (ssize_t got = 1; got > 0; length += got > 0 ? (size_t)got : 0) {
        got = read(master, written + length, sizeof written - 1 - length);
    }
    written[length] = '\0';
    (void)close(master);
}

static int count(const char *text)
{
    int found = 0;
    for (const char *place = written; (place = strstr(place, text)) != NULL; ++place) {
        ++found;
    }
    return found;
}

// A bar from 2 s on, at most ten times a second, removed at the end.
TEST(a_terminal_has_a_bar)
{
    manual_clock_start();
    part_ns = 19000000; // 1.95 s
    capture_terminal(report_parts);
    assert_string_equal(written, "");
    part_ns = 29000000; // 2.99 s
    capture_terminal(report_parts);
    assert_in_range(count("\r\033[Ksolving hp2 (3 of 8): "), 8, 10);
    assert_non_null(strstr(written, ": 33 % [####------------] 2 s, 5 s left"));
    const size_t length = strlen(written);
    assert_true(length > 4 && strcmp(written + length - 4, "\r\033[K") == 0);
    manual_clock_stop();
}

static void tell_status(void)
{
    char text[32];
    for (int i = 0; i < 25; ++i) {
        (void)snprintf(text, sizeof text, "phase %d", i);
        bb_log_status(text);
        manual_clock_advance(1000000000);
    }
    bb_log_info("end");
}

TEST(a_status_is_a_line_now_and_then)
{
    manual_clock_start();
    capture(BB_LOG_QUIET, tell_status);
    assert_string_equal(written, "");
    capture(BB_LOG_NORMAL, tell_status);
    assert_non_null(strstr(written, "Z phase 0\n"));
    assert_null(strstr(written, "phase 1\n"));
    assert_null(strstr(written, "phase 9\n"));
    assert_non_null(strstr(written, "phase 20\n"));
    capture_terminal(tell_status); // each replaces the previous, the last is removed
    manual_clock_stop();
    assert_non_null(strstr(written, "\r\033[Kphase 1\r\033[Kphase 2\r"));
    assert_non_null(strstr(written, "phase 24\r\033[K"));
}
