// SPDX-License-Identifier: Apache-2.0
//
// Runs of ao interrupted between two pipelines by signals or a full disk: the last checkpoint is
// complete, a message names its contents, and the program resumes from it.
#include "core/interrupt.h"
#include "sim/cli/command.h"
#include "tests/sim/ao/keeping.h"
#include "tests/sim/program.h"

#define FOUR  "pipelines=[" REFERENCE ", " NOT_SPD ", " DRAWN ", {name: sp, arithmetic: sp}]"
#define AGAIN "bitbudget run ... --resume 'state'"

enum { ARGUMENTS = 24 };

// Runs `bitbudget run` of a small study of four pipelines in a child, with signal `by` after
// `end_in` checkpoints; both streams go to the file "printed".
static int call(int input, int factor, const char *const options[])
{
    const char *all[ARGUMENTS] = {"bitbudget", "run", CONFIG_AO_SMALL, TINY, FOUR};
    char *list[ARGUMENTS] = {NULL};
    int count = 0;
    int how = 0;
    while (all[count] != NULL) {
        ++count;
    }
    for (int i = 0; options[i] != NULL; ++i) {
        all[count++] = options[i];
    }
    fill_array(list, count, i, (char *)(uintptr_t)all[i]);
    (void)fflush(stdout);
    bb_threads_stop();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int printed = open("printed", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        (void)dup2(printed, STDOUT_FILENO);
        (void)dup2(printed, STDERR_FILENO);
        end_in = input;
        end_by = factor;
        int code = bb_command_main(count, list, &bb_experiments);
        (void)fflush(stdout);
        _exit(code);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

static bool printed_has(const char *text)
{
    static char printed[1 << 16];
    FILE *file = fopen("printed", "r");
    assert_non_null(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    (void)fclose(file);
    if (strstr(printed, text) == NULL) {
        print_error("no '%s' in:\n%s", text, printed);
        return false;
    }
    return true;
}

static void expect_file(const char *expected, const char *path)
{
    autoptr(bb_results) uninterrupted = read_results(expected);
    autoptr(bb_results) results = read_results(path);
    check_same_digest(uninterrupted, results);
}

static const char *const without[] = {"-q", "-o", "whole.h5", "--force", NULL};
static const char *const keeping[] = {
    "-q", "-o", "a.h5", "--checkpoint", "state", "--checkpoint-every", "0", "--force", NULL};
static const char *const resuming[] = {"-q", "-o", "a.h5", "--resume", "state", NULL};

TEST_FULL(the_program_goes_on_after_any_end)
{
    // A signal right after a checkpoint reports the state before that checkpoint.
    static const struct {
        int after, number, code;
        const char *name, *sentence;
    } ends[] = {
        {1, SIGHUP, 129, "SIGHUP", "nothing has been saved yet"},
        {2, SIGTERM, 143, "SIGTERM", "pipeline reference (1 of 4) is saved: " AGAIN},
        {3, SIGINT, 130, "SIGINT", "pipelines reference, fp8 (2 of 4) are saved: " AGAIN},
        {4, SIGTERM, 143, "SIGTERM", "pipelines reference, fp8, hp2 (3 of 4) are saved: " AGAIN},
        {3, SIGKILL, -SIGKILL, NULL, NULL},
    };
    char line[512];
    assert_int_equal(call(0, 0, without), 0);
    for (size_t e = 0; e < sizeof ends / sizeof *ends; ++e) {
        (void)unlink("state");
        (void)unlink("a.h5");
        assert_int_equal(call(ends[e].after, ends[e].number, keeping), ends[e].code);
        assert_int_equal(access("a.h5", F_OK), -1);
        assert_int_equal(count_parts(), 0);
        (void)snprintf(line, sizeof line, ": 'a.h5' is not written; %s\n", ends[e].sentence);
        assert_true(ends[e].name == NULL || printed_has(line));
        (void)snprintf(line, sizeof line, "bitbudget: ended by %s while solving ",
                       ends[e].name == NULL ? "" : ends[e].name);
        assert_true(ends[e].name == NULL || printed_has(line));
        assert_int_equal(call(0, 0, resuming), 0);
        expect_file("whole.h5", "a.h5");
    }
}

// Without a checkpoint nothing is saved, whatever the number of finished pipelines.
TEST(nothing_is_kept_before_a_checkpoint_is_due)
{
    static const char *const rarely[] = {
        "-q", "-o", "a.h5", "--force", "--checkpoint", "state", "--checkpoint-every", "1e9", NULL};
    (void)unlink("state");
    assert_int_equal(call(1, SIGTERM, rarely), 143); // the last: four are finished
    assert_true(printed_has("'a.h5' is not written; nothing has been saved yet\n"));
}

// Message of a signal after `options` are parsed and before any computation.
static void expect_at_start(const bb_run_options *options, const char *sentence)
{
    int how = 0;
    (void)fflush(stdout);
    bb_threads_stop();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bb_restart restart;
        int printed = open("printed", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        (void)dup2(printed, STDERR_FILENO);
        check_ok(bb_interrupt_install());
        bb_config *config = driver_config(CASE(CONFIG_AO_SMALL, {TINY, TWO}));
        bb_interrupt_loses("");
        check_ok(bb_pipeline_restart_open(&bb_ao_study_schema, bb_config_study(config), options,
                                          &restart));
        (void)raise(SIGTERM);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 143);
    assert_true(printed_has(sentence));
}

// Also before the checkpoint is read, and with the end of its path if that is long.
TEST(a_checkpoint_stands_from_the_start)
{
    char path[BB_INTERRUPT_PATH_BYTES + 32];
    keep(CASE(CONFIG_AO_SMALL, {TINY, TWO}));
    expect_at_start(&(bb_run_options){.checkpoint = "new"}, "; nothing has been saved yet\n");
    expect_at_start(&(bb_run_options){.checkpoint = "seen-1", .resume = "seen-1"},
                    "; resume from its checkpoint: bitbudget run ... --resume 'seen-1'\n");
    for (size_t i = 0; i < BB_INTERRUPT_PATH_BYTES; i += 2) {
        memcpy(path + i, "./", 3);
    }
    memcpy(path + BB_INTERRUPT_PATH_BYTES, "seen-1", sizeof "seen-1");
    expect_at_start(&(bb_run_options){.resume = path},
                    "; resume from its checkpoint: bitbudget run ... --resume 'seen-1'\n");
}

// A resumed run reports the finished pipelines, and gives the same table from a complete
// checkpoint.
TEST(a_resumed_run_says_what_is_kept)
{
    static const char *const on[] = {"-o",    "b.h5",         "--force", "--resume",
                                     "state", "--checkpoint", "state",   NULL};
    static const char *const again[] = {"-q", "-o", "b.h5", "--force", "--resume", "state", NULL};
    (void)unlink("state");
    assert_int_equal(call(2, SIGKILL, keeping), -SIGKILL);
    assert_int_equal(call(1, SIGTERM, on), 143);
    assert_true(printed_has("resuming after 2 of 4 pipelines"));
    assert_true(printed_has("pipelines reference, fp8 (2 of 4) are saved: "));
    assert_int_equal(call(0, 0, on), 0);
    assert_true(printed_has("resuming after 3 of 4 pipelines"));
    assert_int_equal(call(0, 0, again), 0);
    assert_int_equal(system("cp printed table"), 0);
    assert_int_equal(call(0, 0, again), 0);
    assert_int_equal(system("cmp printed table"), 0);
    assert_true(printed_has("not_spd"));
}

TEST_FULL(what_cannot_be_written_keeps_what_was)
{
    (void)unlink("state");
    assert_int_equal(call(2, 0, keeping), 3);
    assert_true(printed_has("checkpoint 'state': File too large"));
    assert_int_equal(count_parts(), 0);
    check_ok(open_as(CASE(CONFIG_AO_SMALL, {TINY, FOUR}), "state"));
}

TEST(options_are_held_to_their_rules)
{
    static const char *const anew[] = {"-q", "-o", "c.h5", "--checkpoint", "state", NULL};
    static const char *const through[] = {"-q",     "-o",      "c.h5", "--checkpoint",
                                          "linked", "--force", NULL};
    static const char *const rarely[] = {
        "-q", "-o", "c.h5", "--checkpoint", "rare", "--checkpoint-every", "1e9", NULL};
    (void)unlink("state");
    assert_int_equal(call(1, SIGKILL, keeping), -SIGKILL);
    assert_int_equal(call(0, 0, anew), 3);
    assert_true(printed_has("checkpoint 'state' exists; continue it with --resume"));
    (void)unlink("linked");
    assert_int_equal(symlink("state", "linked"), 0);
    assert_int_equal(call(0, 0, through), 3);
    assert_true(printed_has("checkpoint 'linked' is a symbolic link"));
    assert_int_equal(access("c.h5", F_OK), -1);
    // With an interval longer than the run, only the final checkpoint is written.
    assert_int_equal(call(0, 0, rarely), 0);
    assert_int_equal(call(0, 0, (const char *const[]){"-o", "d.h5", "--resume", "rare", NULL}), 0);
    assert_true(printed_has("resuming after 4 of 4 pipelines"));
    // Another checkpoint is written also if nothing remains to be computed.
    assert_int_equal(call(0, 0,
                          (const char *const[]){"-q", "-o", "e.h5", "--resume", "rare",
                                                "--checkpoint", "new", NULL}),
                     0);
    assert_int_equal(system("cmp rare new"), 0);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true, .is_quiet = true);
