// SPDX-License-Identifier: Apache-2.0
//
// Handling of failing points by a shard, and records on disk after any failure.
#include "core/random.h"
#include "tests/sim/sweep/toy_sweep.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

static bb_index count_tries(void)
{
    bb_index lines = 0;
    FILE *file = fopen("tries", "r");
    for (int c = 0; file != NULL && (c = getc(file)) != EOF;) {
        lines += c == '\n';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)unlink("tries");
    (void)unlink("tried");
    return lines;
}

// Three points, the middle one calls `act`: its class, and the number of attempts.
static void check_act(bb_index act, bb_point_class class, bb_index tries, const char *message)
{
    char sweep[256];
    char folder[32];
    static int number;
    (void)snprintf(sweep, sizeof sweep,
                   "sweep: {zip: {air.r0_m: [1, 2, 3], act: [0, %td, 0]}, retries: 2}\n", act);
    (void)snprintf(folder, sizeof folder, "acts%d", number++);
    autoptr(bb_sweep_plan) plan = toy_planned(sweep, folder);
    const bb_shard_report report = toy_run_all(plan, 1);
    autorelease(bb_sweep_progress) progress = toy_progress(plan);
    assert_int_equal(count_tries(), tries);
    assert_int_equal(progress.points[1].class, class);
    assert_int_equal(progress.points[0].class, BB_POINT_DONE);
    assert_int_equal(progress.points[2].class, BB_POINT_DONE);
    assert_int_equal(report.failed, class == BB_POINT_DONE ? 0 : 1);
    if (strstr(progress.message, message) == NULL) {
        print_error("'%s' lacks '%s'\n", progress.message, message);
        fail();
    }
}

TEST(failures_are_tried_again_by_their_class)
{
    check_act(TOY_CRASH, BB_POINT_SIGNAL, 2, "ended by signal 11");
    check_act(TOY_CRASH + TOY_ONCE, BB_POINT_DONE, 2, "");
    check_act(TOY_LEAVE, BB_POINT_INTERNAL, 1, "ended with code 3");
    check_act(TOY_INTERNAL, BB_POINT_INTERNAL, 1, "a defect");
    check_act(TOY_IO, BB_POINT_IO, 3, "a bad disk");
    check_act(TOY_MEMORY, BB_POINT_MEMORY, 3, "no memory");
    check_act(TOY_DEVICE, BB_POINT_DEVICE, 3, "no device");
    check_act(TOY_DEVICE + TOY_ONCE, BB_POINT_DONE, 2, "");
}

TEST(a_wrong_study_stops_the_shard)
{
    bb_shard_report report;
    bb_sweep_plan *plan =
        toy_planned("sweep: {zip: {air.r0_m: [1, 2, 3], act: [0, 3, 0]}}\n", "wrong");
    const bb_shard_request request = {.plan = plan, .jobs = 1, .threads = 1};
    check_fails(bb_shard_run(&request, &report), BB_INVALID, "a wrong study");
    autorelease(bb_sweep_progress) progress = toy_progress(plan);
    assert_int_equal(count_tries(), 1);
    assert_int_equal(progress.points[1].class, BB_POINT_CONFIG);
    assert_int_equal(progress.points[2].class, BB_POINT_OPEN);
    bb_sweep_plan_destroy(&plan);
}

TEST(a_point_over_its_limit_is_recorded)
{
    bb_sweep_plan *plan =
        toy_planned("sweep: {axes: {wait_s: [0, 50, 0.01]}, point_limit_s: 2}\n", "late");
    (void)toy_run_all(plan, 2);
    autorelease(bb_sweep_progress) progress = toy_progress(plan);
    assert_int_equal(progress.points[1].class, BB_POINT_TIME);
    assert_int_equal(progress.counts[BB_POINT_DONE], 2);
    assert_non_null(strstr(progress.message, "exceeds the limit of 2 s"));
    bb_sweep_plan_destroy(&plan);
}

TEST(a_worker_that_is_told_to_end_leaves_no_record)
{
    bb_sweep_plan *plan =
        toy_planned("sweep: {zip: {air.r0_m: [1, 2, 3], act: [0, 28, 0]}}\n", "term");
    assert_int_equal(toy_run_all(plan, 1).failed, 0);
    // The signal is sent only once: another worker completes the point, and nothing else is
    // recorded.
    bb_sweep_progress progress = toy_progress(plan);
    assert_int_equal(progress.points[1].class, BB_POINT_DONE);
    assert_int_equal(progress.points[1].attempts, 1);
    assert_int_equal(progress.open, 0);
    bb_sweep_progress_release(&progress);
    (void)count_tries();
    bb_sweep_plan_destroy(&plan);
}

TEST(retries_are_rounds)
{
    bb_index count = 0;
    bb_sweep_plan *plan =
        toy_planned("sweep: {zip: {air.r0_m: [1, 2, 3, 4], act: [1, 2, 4, 0]}}\n", "rounds");
    assert_int_equal(toy_run_all(plan, 2).failed, 3);
    assert_int_equal(toy_run_all(plan, 2).failed, 0); // recorded points are not run again
    check_fails(bb_shard_retry(plan, "nonsense", &count), BB_INVALID, "expected config");
    check_fails(bb_shard_retry(plan, "done", &count), BB_INVALID, "expected config");
    check_ok(bb_shard_retry(plan, "signal", &count));
    assert_int_equal(count, 1);
    bb_sweep_progress progress = toy_progress(plan);
    assert_true(progress.points[0].class == BB_POINT_OPEN && progress.open == 1);
    bb_sweep_progress_release(&progress);
    assert_int_equal(toy_run_all(plan, 2).failed, 1);
    check_ok(bb_shard_retry(plan, NULL, &count));
    assert_int_equal(count, 3);
    check_ok(bb_shard_retry(plan, NULL, &count));
    assert_int_equal(count, 0); // they are already open
    progress = toy_progress(plan);
    assert_int_equal(progress.open, 3);
    assert_int_equal(progress.points[0].round, 2);
    assert_int_equal(progress.points[1].round, 1);
    bb_sweep_progress_release(&progress);
    (void)count_tries();
    bb_sweep_plan_destroy(&plan);
}

TEST(shards_share_the_points)
{
    bb_shard_report report;
    bb_sweep_plan *plan =
        toy_planned("sweep: {seeds: 1..10, shards: 4, exclude: [{seed: 3}]}\n", "shards");
    assert_int_equal(plan->shards, 4);
    const bb_index first[] = {1, 4};
    const bb_index wrong[] = {5};
    bb_shard_request request = {
        .plan = plan, .shards = first, .shard_count = 2, .jobs = 1, .threads = 1};
    check_ok(bb_shard_run(&request, &report));
    autorelease(bb_sweep_progress) progress = toy_progress(plan);
    for (bb_index p = 0; p < 10; ++p) {
        assert_int_equal(progress.points[p].class,
                         p % 4 == 0 || p % 4 == 3 ? BB_POINT_DONE : BB_POINT_OPEN);
    }
    bb_sweep_progress_release(&progress);
    request.shards = wrong;
    request.shard_count = 1;
    check_fails(bb_shard_run(&request, &report), BB_INVALID, "shard 5, expected 1 to 4");
    assert_int_equal(toy_run_all(plan, 2).done, 4);
    progress = toy_progress(plan);
    assert_true(progress.open == 0 && progress.counts[BB_POINT_DONE] == 9);
    bb_sweep_plan_destroy(&plan);
}

// The file of records in a folder, the last by name if there are several.
static void find_lines(const char *folder, char path[512])
{
    struct dirent **entries = NULL;
    (void)snprintf(path, 512, "%s/shards", folder);
    const int count = scandir(path, &entries, NULL, alphasort);
    assert_true(count > 2);
    (void)snprintf(path, 512, "%s/shards/%s", folder, entries[count - 1]->d_name);
    for (int i = 0; i < count; ++i) {
        free(entries[i]);
    }
    free(entries);
}

static char *read_lines(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

TEST(torn_and_spoilt_lines_count_as_never_written)
{
    char path[512];
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..5}\n", "torn");
    (void)toy_run_all(plan, 1);
    find_lines("torn", path);
    char *text = read_lines(path);
    // The last line is truncated, one in the middle is garbage, and two are merged to one.
    text[strlen(text) - 20] = '\0';
    char *second = strstr(text, "{\"point\":1");
    char *third = strstr(text, "{\"point\":2");
    char *fourth = strstr(text, "{\"point\":3");
    assert_true(second != NULL && third != NULL && fourth != NULL);
    memset(second, '#', 5);
    memmove(third + 30, fourth, strlen(fourth) + 1);
    write_text(path, text);
    autorelease(bb_sweep_progress) progress = toy_progress(plan);
    assert_int_equal(progress.torn, 3);
    assert_int_equal(progress.counts[BB_POINT_DONE], 1);
    assert_int_equal(progress.open, 4);
    assert_int_equal(toy_run_all(plan, 1).done, 4);
}

TEST(lines_of_others_are_errors)
{
    autorelease(bb_sweep_progress) progress;
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..2}\n", "others");
    write_text("others/shards/x.jsonl", "{\"plan\":\"0123\",\"shard\":1}\n{\"point\":0}\n");
    check_fails(bb_sweep_progress_read(plan, &progress), BB_IO, "records of plan 0123");
    char text[200];
    (void)snprintf(text, sizeof text, "{\"plan\":\"%s\"}\n{\"point\":2,\"class\":\"done\"}\n",
                   plan->id);
    write_text("others/shards/x.jsonl", text);
    check_fails(bb_sweep_progress_read(plan, &progress), BB_IO, "point 2, but the plan has 2");
    // A line without a point is invalid.
    (void)snprintf(
        text, sizeof text,
        "{\"plan\":\"%s\"}\n{\"class\":\"done\"}\n{\"point\":\"0\",\"retry\":7}\n[1]\n\n",
        plan->id);
    write_text("others/shards/x.jsonl", text);
    check_ok(bb_sweep_progress_read(plan, &progress));
    assert_true(progress.open == 2 && progress.torn == 4 && progress.points[0].round == 0);
    bb_sweep_progress_release(&progress);
    write_text("others/shards/x.jsonl", ""); // ended before its first line
    write_text("others/shards/notes.txt", "not a record");
    check_ok(bb_sweep_progress_read(plan, &progress));
    assert_int_equal(progress.open, 2);
}

TEST(two_writers_have_to_agree)
{
    char path[512];
    char text[700];
    bb_sweep_progress progress;
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..3}\n", "twice");
    (void)toy_run_all(plan, 1);
    find_lines("twice", path);
    (void)snprintf(text, sizeof text, "sed 's/\"seconds\":[0-9.e-]*/\"seconds\":99.5/' '%s' > %s",
                   path, "twice/shards/z.jsonl");
    assert_int_equal(system(text), 0);
    check_ok(bb_sweep_progress_read(plan, &progress));
    assert_int_equal(progress.counts[BB_POINT_DONE], 3);
    assert_true(progress.points[2].seconds < 99.0); // the first one is used
    const char *file = strrchr(path, '/') + 1;
    bb_sweep_progress_release(&progress);
    assert_int_equal(
        system("sed -i '4s/\"digest\":\"......../\"digest\":\"01234567/' twice/shards/z.jsonl"), 0);
    check_fails(bb_sweep_progress_read(plan, &progress), BB_IO,
                "point 2 has two different results");
    assert_non_null(strstr(bb_status_message(), file));
    assert_non_null(strstr(bb_status_message(), "z.jsonl, line 4"));
}

// A limit of the file size emulates a full disk: the write is short, and the next one fails.
TEST(a_full_disk_leaves_whole_lines)
{
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..200}\n", "full");
    for (int round = 0; round < 3; ++round) {
        (void)fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            const struct rlimit limit = {20000, 20000};
            bb_shard_report report;
            const bb_shard_request request = {.plan = plan, .jobs = 1, .threads = 1};
            (void)signal(SIGXFSZ, SIG_IGN);
            (void)setrlimit(RLIMIT_FSIZE, &limit);
            _exit(bb_shard_run(&request, &report) == BB_IO ? 9 : 1);
        }
        int how = 0;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 9);
    }
    autorelease(bb_sweep_progress) progress = toy_progress(plan);
    const bb_index done = progress.counts[BB_POINT_DONE];
    assert_true(done > 3 && done < 200);
    assert_int_equal(progress.torn, 0);
    bb_sweep_progress_release(&progress);
    assert_int_equal(toy_run_all(plan, 2).done, 200 - done);
    progress = toy_progress(plan);
    assert_int_equal(progress.counts[BB_POINT_DONE], 200);
}

// The process is killed at random times: recorded points remain, only points in progress are lost.
TEST_FULL(kills_cost_the_points_under_way_alone)
{
    enum { KILLS = 100, JOBS = 2, POINTS = 1500 };
    bb_sweep_plan *plan = toy_planned("sweep: {axes: {act: [9], wait_s: [0.002], "
                                      "seed: {from: 1, to: 1500, step: 1}}}\n",
                                      "killed");
    bb_index before = 0;
    double longest_ns = 4e7; // before a kill
    (void)count_tries();
    for (int i = 0; i < KILLS; ++i) {
        (void)fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            bb_shard_report report;
            const bb_shard_request request = {.plan = plan, .jobs = JOBS, .threads = 1};
            _exit(bb_shard_run(&request, &report) == BB_OK ? 0 : 1);
        }
        const struct timespec pause = {
            0, (long)(longest_ns * bb_random_uniform(1, BB_STREAM_SWEEP, (uint64_t)i))};
        (void)nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        autorelease(bb_sweep_progress) progress = toy_progress(plan);
        assert_true(progress.counts[BB_POINT_DONE] >= before);
        before = progress.counts[BB_POINT_DONE];
        // On a slow machine, more time is allowed so that points can complete.
        longest_ns = before < i && longest_ns < 4e8 ? 1.2 * longest_ns : longest_ns;
    }
    assert_true(before > 50);
    const bb_index rest = toy_run_all(plan, JOBS).done;
    assert_int_equal(before + rest, POINTS);
    assert_in_range(count_tries(), POINTS, POINTS + JOBS * KILLS);
    bb_sweep_plan *undisturbed = toy_planned("sweep: {axes: {act: [9], wait_s: [0.002], "
                                             "seed: {from: 1, to: 1500, step: 1}}}\n",
                                             "never-killed");
    (void)toy_run_all(undisturbed, 8);
    bb_sweep_progress all = toy_progress(undisturbed);
    bb_sweep_progress killed = toy_progress(plan);
    for (bb_index p = 0; p < POINTS; ++p) {
        assert_string_equal(killed.points[p].id, all.points[p].id);
        assert_string_equal(killed.points[p].digest, all.points[p].digest);
    }
    bb_sweep_progress_release(&killed);
    bb_sweep_progress_release(&all);
    bb_sweep_plan_destroy(&undisturbed);
    bb_sweep_plan_destroy(&plan);
    (void)count_tries();
}

TEST_GROUP(.begin = toy_begin, .has_folder = true);
