// SPDX-License-Identifier: Apache-2.0
//
// End-to-end tests of the command line with the toy experiment, whose runs have a given duration.
#include "sim/cli/command.h"
#include "sim/cli/command_help.h"
#include "sim/input/hdf5_library.h"
#include "tests/sim/command_line.h"
#include "tests/sim/fixture.h"
#include "tests/sim/toy.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static bb_status toy_check(const void *study, const bb_config *config, bb_problems *problems)
{
    const toy_study *toy = study;
    if (toy->grid.rows > toy->grid.columns + 50) {
        return bb_problems_add(problems, bb_config_place(config, "grid.rows"), "too tall a grid");
    }
    return BB_OK;
}

static bb_status toy_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    const toy_study *toy = study;
    plan->host_bytes = 1e6;
    plan->estimated_seconds = toy->wait_s;
    return bb_plan_add(plan, "threads", "%td", options->threads);
}

static bb_status toy_run(const void *study, const bb_run_options *options, bb_results *results)
{
    bb_status status = BB_OK;
    const toy_study *toy = study;
    (void)options;
    const struct timespec pause = {(time_t)toy->wait_s, 0};
    if (toy->wait_s > 0.0) {
        assert_int_equal(close(creat("running", 0666)), 0);
    }
    (void)nanosleep(&pause, NULL);
    BB_REQUIRE(toy->steps != 666, BB_DEVICE, "no such device here");
    BB_TRY(fixture_fill(results));
done:
    return status;
}

static const bb_column toy_columns[] = {{"overlay_error_x_nm", "overlay x [nm]", 1.0}};
static const char *const toy_losses[] = {"overlay_error_x_nm"};
#define TOY_ROW(title, yaml)                                                                       \
    {                                                                                              \
        .name = (title), .schema = &toy_schema, .starter = (yaml), .check = toy_check,             \
        .plan = toy_plan, .run = toy_run, .columns = toy_columns, .column_count = 1,               \
        .losses = toy_losses, .loss_count = 1, .loss_name = "overlay error [nm]",                  \
        .tolerance = 0.1, .operators = "A,B_" title                                                \
    }
// The fixture is labelled as a wafer run.
static const bb_experiment toy_rows[] = {
    TOY_ROW("toy", "experiment: toy\nrecords: [{name: a, grid: 5}]\n"),
    TOY_ROW("wafer", ""),
};
static const bb_experiment *const toy_list[] = {&toy_rows[0], &toy_rows[1]};
static const bb_experiment_table toys = {toy_list, 2};

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    command_line_experiments = &toys;
    write_text("a.yaml", "experiment: toy\nrecords: [{name: a, grid: 5}]\n");
    return 0;
}

TEST(usage_errors_exit_with_2)
{
    expect("bitbudget", 2, "usage: bitbudget COMMAND");
    expect("bitbudget --help", 0, "write its results");
    expect("bitbudget --version", 0, "bitbudget ");
    expect("bitbudget rnu a.yaml", 2, "unknown command 'rnu' (did you mean run?)");
    expect("bitbudget run", 2, "wrong number of operands (0)");
    expect("bitbudget run --help", 0, "usage: bitbudget run CONFIG");
    // Texts of experiments appear in help texts; experiments without a text do not.
    expect("bitbudget run --help", 0,
           "by experiment:\n                         toy: A,B_toy\n"
           "                         wafer: A,B_wafer\n  --");
    expect("bitbudget run --help", 0, "save completed work in FILE:\n  --");
    expect("bitbudget show --help", 0, "   wafer: overlay error [nm]\n");
    expect("bitbudget show", 2, "wrong number of operands (0)");
    expect("bitbudget show a b", 3, "cannot show 'a': No such file");
    expect("bitbudget show a.h5 --format text", 2, "use one of table, csv, json, md, latex");
    expect("bitbudget show a.h5 --max-loss 1 --by tim", 2, "cost (did you mean time?)");
    expect("bitbudget show a.h5 --by time", 2, "set --max-loss");
    expect("bitbudget show a.h5 --full --columns flops", 2, "set one of them");
    expect("bitbudget run a.yaml --frobnicate", 2, "option --frobnicate");
    expect("bitbudget run a.yaml --threads", 2, "--threads needs a value");
    expect("bitbudget run a.yaml --threads 0", 2, "--threads 0");
    expect("bitbudget run a.yaml --forec", 2, "'run' (did you mean --force?)");
    expect("bitbudget run a.yaml --verify", 2, "--verify is unknown to 'run'; see");
    expect("bitbudget run a.yaml --threads 4x", 2, "--threads 4x");
    expect("bitbudget run a.yaml -z", 2, "option -z");
    expect("bitbudget run a.yaml -zq", 2, "option -z");
    expect("bitbudget run a.yaml -qz", 2, "option -qz");
    expect("bitbudget show a.h5 --force", 2, "option --force is unknown to 'show'");
    expect("bitbudget show a.h5 --max-loss cheap", 2, "--max-loss cheap");
    expect("bitbudget show a.h5 --within 1", 2, "option --within has been renamed --max-loss");
    expect("bitbudget show a.h5 --within=1", 2, "option --within has been renamed --max-loss");
    expect("bitbudget show a.h5 --threads 2", 2, "option --threads is unknown to 'show'");
    expect("bitbudget config", 2, "one of --list, --resolved and --upgrade");
    expect("bitbudget config --list other", 2, "unknown experiment 'other'");
    expect("bitbudget new other", 2, "use one of toy, wafer, or a study");
    expect("bitbudget new", 2, "name an experiment or a study");
    expect("bitbudget new --list toy", 2, "--list accepts no operand");
}

// Options without effect are refused.
TEST(options_that_need_another_say_so)
{
    static const char every[] = "--checkpoint-every needs --checkpoint FILE";
    expect("bitbudget run a.yaml --checkpoint-every 5", 2, every);
    expect("bitbudget run a.yaml --checkpoint-every 60", 2, every);
    expect("bitbudget check a.yaml --checkpoint-every 5 --resume state", 2, every);
    expect("bitbudget run --checkpoint-every 5 --help", 0, "usage: bitbudget run CONFIG");
    expect("bitbudget convergence a.yaml --force", 2,
           "--force replaces a file; give its name with -o");
    expect("bitbudget realtime a.yaml --force", 2,
           "--force replaces a file; give its name with -o");
    expect("bitbudget new toy --force", 2, "--force replaces a file; give its name after 'toy'");
    expect("bitbudget config --list --device cpu", 2, "--device needs --resolved");
    expect("bitbudget config --resolved a.yaml --format md", 2, "--format needs --list");
    expect("bitbudget config --list --format csv", 2,
           "--format csv: keys are printed as table or md");
}

TEST(runs_write_a_file_and_print_a_table)
{
    expect("bitbudget run a.yaml length_m=0.25 --threads 2 -q", 0, "results: outputs/toy-a.h5");
    assert_non_null(strstr(printed, "* fp16"));
    assert_non_null(strstr(printed, "0.1 nm, assumed (set it"));
    expect("bitbudget show outputs/toy-a.h5 --max-loss 0.1", 0,
           "Fewest bytes within overlay error 0.1 nm: fp32");
    expect("bitbudget show outputs/toy-a.h5 --max-loss 0.1 --full", 0,
           "cheapest within overlay error [nm] 0.1: fp32");
    expect("bitbudget show outputs/toy-a.h5 --columns total", 2, "has 0 axes");
    expect("bitbudget show outputs/toy-a.h5 --format csv --pipeline fp16", 0,
           "pipeline,status,loss [nm],operator_bytes [byte]\nfp16,ok,0.5,2000000\n");
    expect("bitbudget show outputs/toy-a.h5 --format json", 0, "\"unit\": \"byte\"");
    expect("bitbudget show outputs/toy-a.h5 --format latex", 0, "not\\_spd");
    expect("bitbudget show outputs/toy-a.h5 --format md", 0, "| \\* | fp16 | ok |");
    expect("bitbudget run a.yaml -q", 3,
           "exists; name another with -o, or replace it with --force");
    expect("bitbudget run a.yaml -q -o outputs/toy-a.h5", 3, "exists; name another, or replace");
    expect("bitbudget new toy a.yaml", 3, "exists; name another, or replace it with --force");
    expect("bitbudget run a.yaml -q --force", 0, "results: outputs/toy-a.h5");
    expect("bitbudget run a.yaml -q -o other.h5", 0, "results: other.h5");
    expect("bitbudget show outputs/toy-a.h5 other.h5", 0,
           "toy-a           other\n  pipeline      loss     MB     loss     MB\n");
    assert_non_null(strstr(printed, "hp3        not_spd  2.000  not_spd  2.000"));
    expect("bitbudget show other.h5 other.h5", 2, "'other.h5' is given twice");
    expect("bitbudget run a.yaml -o none/other.h5", 3, "No such file");
    expect("bitbudget run none.yaml", 3, "cannot read configuration");
    expect("bitbudget show a.yaml", 3, "not an HDF5 file");
    expect("bitbudget show none.h5", 3, "No such file");
}

// Help lists the options of a command, with the command's own texts if it has them.
TEST(helps_follow_the_tables)
{
    expect("bitbudget help", 0, "  completion  print a completion script");
    expect("bitbudget help convergence", 0,
           "  -o, --output FILE      write the table to an HDF5 file too");
    assert_non_null(strstr(printed, "  --threads N            number of threads; default: all"));
    expect("bitbudget bench gemv-fp32", 2,
           "bench is a separate program, bitbudget-bench: build it with cmake");
    assert_null(strstr(printed, "--max-loss"));
    expect("bitbudget help rnu", 2, "did you mean run?");
    expect("bitbudget help --list --man", 2, "remove the name and --man");
    expect("bitbudget help --list", 0, "man1/bitbudget.1\nman1/bitbudget-run.1 run\n");
    assert_non_null(strstr(printed, "man5/bitbudget-toy.5 toy\n"));
    expect("bitbudget help --man toy", 0, ".B grid.rows\n");
    expect("bitbudget help --man run", 0, "\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\n");
    assert_non_null(strstr(printed, ".br\n\\fItoy\\fR: A,B_toy\n"));
    expect("bitbudget completion tcsh", 2, "use bash, or studies");
    expect("bitbudget completion bash", 0, "grid.columns= ");
}

// No line exceeds the terminal, and no option is missing.
TEST(helps_fit_80_columns)
{
    const bb_command *commands = NULL;
    const bb_option *options = NULL;
    const bb_index count = bb_command_table(&commands);
    const bb_index option_count = bb_options_table(&options);
    for (bb_index i = 0; i < count; ++i) {
        autorelease(bb_text) text = {0};
        check_ok(bb_command_help_write(&commands[i], &bb_experiments, &text));
        const char *line = strstr(bb_text_string(&text), "\n\n"); // usage lines are not wrapped
        for (; line != NULL && *line != '\0'; line += strcspn(line, "\n") + 1) {
            if (strcspn(line, "\n") > 80) {
                print_error("%s: %.*s\n", commands[i].name, (int)strcspn(line, "\n"), line);
                fail();
            }
        }
        for (bb_index k = 0; k < option_count; ++k) {
            char form[64];
            (void)snprintf(form, sizeof form, "--%s ", options[k].name);
            assert_int_equal(strstr(bb_text_string(&text), form) != NULL ||
                                 !bb_option_is_accepted(&options[k], commands[i].accepted),
                             true);
        }
        for (int k = 0; k < BB_COMMAND_WORDS && commands[i].words[k].option != NULL; ++k) {
            assert_non_null(strstr(bb_text_string(&text), commands[i].words[k].option));
        }
    }
}

TEST(bad_configs_print_every_problem)
{
    expect("bitbudget run a.yaml length_m=9 flag=yes", 2,
           "override 'length_m=9': length_m = 9: expected a number in (0, 5] m\n"
           "override 'flag=yes': flag = yes: expected true or false\n"
           "bitbudget: a.yaml: 2 problems\n");
    expect("bitbudget run a.yaml grid.rows=90 grid.columns=3", 2, "too tall a grid");
    expect("bitbudget check a.yaml --device gpu", 2,
           "device = gpu: expected one of cpu, cuda, opencl");
    assert_int_equal(access("outputs/never.h5", F_OK), -1);
}

// Commands refuse outputs that are their inputs under any name.
TEST(outputs_replace_no_input)
{
    expect("bitbudget run a.yaml -q -o read.h5", 0, "results: read.h5");
    assert_int_equal(link("a.yaml", "hard.yaml"), 0);
    assert_int_equal(symlink("a.yaml", "soft.yaml"), 0);
    assert_int_equal(link("read.h5", "read.html"), 0);
    assert_int_equal(system("sha256sum a.yaml read.h5 > before"), 0);
    expect("bitbudget run a.yaml -o a.yaml --force", 2, "the input file 'a.yaml'");
    expect("bitbudget check a.yaml -o hard.yaml", 2, "'hard.yaml' is the input file 'a.yaml'");
    expect("bitbudget run a.yaml -o hard.yaml --force", 2,
           "'hard.yaml' is the input file 'a.yaml'");
    expect("bitbudget run a.yaml -o soft.yaml --force", 2,
           "'soft.yaml' is the input file 'a.yaml'");
    write_text("based.yaml", "base: a.yaml\n");
    expect("bitbudget run based.yaml -o ./a.yaml --force", 2, "the input file 'a.yaml'");
    expect("bitbudget rerun read.h5 -o read.h5 --force", 2, "the input file 'read.h5'");
    expect("bitbudget new a.yaml hard.yaml --force", 2, "the input file 'a.yaml'");
    expect("bitbudget report read.html -o read.html --force", 2, "input file 'read.html'");
    assert_int_equal(rename("read.h5", "read.svg"), 0);
    expect("bitbudget plot read.svg --kind pareto -o read.svg --force", 2, "is the input file");
    assert_int_equal(rename("read.svg", "read.h5"), 0);
    assert_int_equal(system("sha256sum --status -c before"), 0);
}

// A stream reads every file of its folder, or the single file that it names.
TEST(outputs_replace_no_frame)
{
    bb_options options = {.live.source = "directory:frames"};
    autorelease(bb_file_list) inputs = {0};
    assert_int_equal(mkdir("frames", 0777), 0);
    write_text("frames/1.pgm", "a frame");
    write_text("frames/2.h5", "a frame");
    assert_int_equal(link("frames/2.h5", "linked.h5"), 0);
    check_ok(bb_command_inputs(&options, NULL, &inputs));
    check_fails(bb_file_list_refuse(&inputs, "frames/1.pgm"), BB_INVALID,
                "output 'frames/1.pgm' is the input file 'frames/1.pgm'");
    check_fails(bb_file_list_refuse(&inputs, "linked.h5"), BB_INVALID, "input file 'frames/2.h5'");
    check_ok(bb_file_list_refuse(&inputs, "frames.h5"));
    bb_file_list_release(&inputs);
    options.live.source = "loop:frames/2.h5";
    check_ok(bb_command_inputs(&options, NULL, &inputs));
    check_fails(bb_file_list_refuse(&inputs, "frames/2.h5"), BB_INVALID, "is the input file");
    check_ok(bb_file_list_refuse(&inputs, "frames/1.pgm"));
}

TEST(failures_of_a_run_leave_no_file)
{
    expect("bitbudget run a.yaml steps=666 -o failed.h5", 5, "no such device here");
    assert_int_equal(access("failed.h5", F_OK), -1);
}

TEST(other_commands)
{
    expect("bitbudget check a.yaml -o plan.h5 --threads 3", 0, "plan.h5");
    assert_non_null(strstr(printed, "threads                      3"));
    assert_int_equal(access("plan.h5", F_OK), -1);
    expect("bitbudget config --list toy", 0, "records.N.grid.columns");
    expect("bitbudget config --list toy --format md", 0, "\n### toy: records\n");
    assert_non_null(strstr(printed, "\n| `records.N.grid.columns` | integer |"));
    expect("bitbudget config --resolved a.yaml seed=5", 0, "\nseed: 5\n");
    expect("bitbudget new toy", 0, "length_m: 0.5");
    expect("bitbudget new toy new.yaml", 0, "configuration: new.yaml");
    expect("bitbudget new toy new.yaml", 3, "--force");
    expect("bitbudget check new.yaml", 0, "toy: ");
    expect("bitbudget convergence a.yaml", 2, "experiment toy has no convergence study");
    expect("bitbudget realtime a.yaml", 2, "experiment toy has no control loop");
    expect("bitbudget live a.yaml --frames 3", 2, "experiment toy has no stream");
    expect("bitbudget live a.yaml --frames 0", 2, "--frames 0");
    expect("bitbudget live a.yaml --overlap 5", 2, "--overlap 5");
    expect("bitbudget info", 0, "output           passed");
}

// Without the signal the run would end with 0, a minute later.
TEST(signals_end_a_run_at_once)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    static const char *const lines[] = {
        "bitbudget: ended by SIGINT: 'interrupted.h5' is not written\n",
        "bitbudget: ended by SIGTERM: 'interrupted.h5' is not written\n",
        "bitbudget: ended by SIGHUP: 'interrupted.h5' is not written\n"};
    for (int i = 0; i < 3; ++i) {
        pid_t child = start("bitbudget run a.yaml wait_s=60 -o interrupted.h5");
        while (access("running", F_OK) != 0) {
            (void)usleep(1000);
        }
        assert_int_equal(kill(child, numbers[i]), 0);
        assert_int_equal(finish(child), 128 + numbers[i]);
        assert_non_null(strstr(printed, lines[i]));
        assert_int_equal(access("interrupted.h5", F_OK), -1);
        assert_int_equal(unlink("running"), 0);
    }
    assert_int_equal(system("test -z \"$(ls -A | grep part)\""), 0);
}

TEST(a_full_stdout_is_an_error)
{
    int how = system("'" BB_BINARY_DIR "/bitbudget' config --list > /dev/full 2> full.txt");
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 3);
    assert_int_equal(system("grep -q 'cannot write to standard output' full.txt"), 0);
}

// A reader may close the pipe early: the file is written, and this is not an error.
TEST(a_reader_that_leaves_costs_nothing)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[0]), 0);
    (void)signal(SIGPIPE, SIG_DFL);
    const pid_t child = start_into("bitbudget run a.yaml -q -o unread.h5", ends[1]);
    (void)close(ends[1]);
    assert_int_equal(finish(child), 0);
    assert_int_equal(unlink("unread.h5"), 0);
}

// A result given as a configuration is recognised; "-" is standard input.
TEST(what_is_run_may_be_a_result_or_a_stream)
{
    expect("bitbudget run a.yaml -q -o mistaken.h5", 0, "results: mistaken.h5");
    assert_int_equal(mkfifo("waiting.yaml", 0666), 0);
    expect("bitbudget check waiting.yaml", 3, "not a regular file");
    expect("bitbudget run mistaken.h5", 2, "'mistaken.h5' is an HDF5 file, not a study");
    const int kept = dup(STDIN_FILENO);
    const int file = open("a.yaml", O_RDONLY);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    expect("bitbudget check - steps=3", 0, "outputs/toy-stdin.h5");
    assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    (void)close(file);
    (void)close(kept);
}

TEST_GROUP(.begin = begin, .has_folder = true);
