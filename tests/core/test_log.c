// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "tests/check.h"
#include "tests/manual_clock.h"

#include <unistd.h>

static char written[4096];

// Runs `speak` with stderr in a file, and keeps what it wrote.
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

static void levels_choose_what_is_written(void **state)
{
    (void)state;
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

// Off a terminal a short job says nothing: a line every ten seconds at most.
static void progress_is_silent_for_short_jobs(void **state)
{
    (void)state;
    manual_clock_start();
    part_ns = 9900000;
    capture(BB_LOG_NORMAL, report_progress);
    assert_string_equal(written, "");
    part_ns = 25000000;
    capture(BB_LOG_NORMAL, report_progress);
    assert_non_null(strstr(written, "heating: 400 of 1000\n"));
    assert_non_null(strstr(written, "heating: 800 of 1000\n"));
    assert_null(strstr(written, "1000 of 1000"));
    manual_clock_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_choose_what_is_written),
        cmocka_unit_test(progress_is_silent_for_short_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
