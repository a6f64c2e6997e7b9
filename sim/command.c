// SPDX-License-Identifier: Apache-2.0
#include "sim/command.h"

#include "build_info.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/config/suggestion.h"
#include "sim/hdf5_library.h"
#include "sim/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct command {
    const char *name;
    bb_status (*act)(const bb_options *options, const bb_experiment_table *experiments);
    unsigned accepted;     // options
    bb_index fewest, most; // operands
    const char *summary;
    const char *help;
} command;

#define LEVEL_HELP                                                                                 \
    "  -q, --quiet      only warnings on stderr\n"                                                 \
    "  -v, --verbose    details too, and where an error passed through\n"
#define CONFIG_HELP                                                                                \
    "CONFIG is a YAML file; each key=value replaces one key of it, lists by number:\n"             \
    "  atmosphere.r0_m=0.1   pipelines.1.storage=fp16   scan.fields=[3,4]\n"

// What the experiments say in a help text stands for its mark there, a line for each that has one.
typedef struct help_mark {
    const char *mark;
    bb_experiment_text text;
} help_mark;

static const char *operators(const bb_experiment *experiment)
{
    return experiment->operators;
}

static const char *price(const bb_experiment *experiment)
{
    return experiment->price_name;
}

static const char *checkpoints(const bb_experiment *experiment)
{
    return experiment->checkpoint_help;
}

static const char *convergence(const bb_experiment *experiment)
{
    return experiment->converge_help;
}

static const char *realtime(const bb_experiment *experiment)
{
    return experiment->realtime_help;
}

static const help_mark help_marks[] = {
    {"@operators\n", operators},     {"@prices\n", price},      {"@checkpoints\n", checkpoints},
    {"@convergence\n", convergence}, {"@realtime\n", realtime},
};

static void print_texts(const bb_experiment_table *experiments, bb_experiment_text text)
{
    for (bb_index i = 0; i < experiments->count; ++i) {
        const bb_experiment *row = experiments->rows[i];
        if (text(row) != NULL) {
            (void)printf("                   %s: %s\n", row->name, text(row));
        }
    }
}

static const help_mark *find_mark(const char *text)
{
    for (int m = 0; m < (int)(sizeof help_marks / sizeof *help_marks); ++m) {
        if (strncmp(help_marks[m].mark, text, strlen(help_marks[m].mark)) == 0) {
            return &help_marks[m];
        }
    }
    return NULL;
}

static void print_help(const char *help, const bb_experiment_table *experiments)
{
    const char *rest = help;
    const char *mark = strchr(help, '@');
    while (mark != NULL) {
        const help_mark *found = find_mark(mark);
        if (found == NULL) {
            mark = strchr(mark + 1, '@');
            continue;
        }
        (void)fwrite(rest, 1, (size_t)(mark - rest), stdout);
        print_texts(experiments, found->text);
        rest = mark + strlen(found->mark);
        mark = strchr(rest, '@');
    }
    (void)fputs(rest, stdout);
}

// clang-format off
static const command commands[] = {
    {"run", bb_command_run,
     BB_OPTION_OUTPUT | BB_OPTION_DEVICE | BB_OPTION_THREADS | BB_OPTION_FORCE | BB_OPTION_LEVEL |
         BB_OPTION_DUMP | BB_OPTION_RESTART,
     1, INTPTR_MAX, "simulate a study and write its results",
     "usage: bitbudget run CONFIG [key=value ...] [options]\n\n"
     "Simulates a study, prints its result table and writes an HDF5 file.\n" CONFIG_HELP
     "\n  -o, --output FILE  result file; default outputs/<experiment>-<config name>.h5\n"
     "  --device WORD    auto, cpu or cuda, for pipelines that name none\n"
     "  --threads N      default: all processors; the results do not depend on it\n"
     "  --force          replace a result file that exists\n"
     "  --dump NAMES     add operators to the file, by experiment:\n@operators\n"
     "  --checkpoint FILE  keep what is done in FILE:\n@checkpoints\n"
     "  --checkpoint-every S  with it: at most every S seconds\n"
     "  --resume FILE    go on from a checkpoint of the same study and build, bit for bit\n"
     LEVEL_HELP},
    {"rerun", bb_command_rerun,
     BB_OPTION_OUTPUT | BB_OPTION_DEVICE | BB_OPTION_THREADS | BB_OPTION_FORCE | BB_OPTION_LEVEL |
         BB_OPTION_DUMP | BB_OPTION_VERIFY,
     1, INTPTR_MAX, "simulate the study of a result file again",
     "usage: bitbudget rerun FILE.h5 [key=value ...] [options]\n\n"
     "Runs the study that a result file records, from that file alone; files that the study names\n"
     "must stand where they were, unchanged, or be named anew by key=value.\n\n"
     "  --verify         write nothing unless -o is given; compare all but times with the file:\n"
     "                   exit code 0 where they are equal to the bit, 1 with what differs\n"
     "  -o, --output FILE  result file; default outputs/<name of the file>-rerun.h5\n"
     "  --device WORD    auto, cpu or cuda, for pipelines that name none\n"
     "  --threads N      default: all processors; the results do not depend on it\n"
     "  --force          replace a result file that exists\n"
     "  --dump NAMES     add operators to the file, as run does\n"
     LEVEL_HELP},
    {"check", bb_command_check,
     BB_OPTION_OUTPUT | BB_OPTION_DEVICE | BB_OPTION_THREADS | BB_OPTION_FORCE | BB_OPTION_LEVEL |
         BB_OPTION_DUMP | BB_OPTION_RESTART | BB_OPTION_FIELDS,
     1, INTPTR_MAX, "check a study and print its plan; nothing is computed",
     "usage: bitbudget check CONFIG [key=value ...] [options of run]\n\n"
     "Checks a study and prints its plan: sizes, memory, time, output.\n" CONFIG_HELP
     "\n  --fields         list and draw the fields that a study of wafer exposes\n"},
    {"config", bb_command_config,
     BB_OPTION_LIST | BB_OPTION_RESOLVED | BB_OPTION_DEVICE | BB_OPTION_LEVEL,
     0, INTPTR_MAX, "list every key, or print a study with its defaults",
     "usage: bitbudget config --list [EXPERIMENT]\n"
     "       bitbudget config --resolved CONFIG [key=value ...]\n\n"
     "--list prints every key with type, unit, range, default and meaning; --resolved prints the\n"
     "study as it will be run: bases, overrides and defaults filled in.\n"},
    {"outputs", bb_command_outputs, BB_OPTION_LIST | BB_OPTION_LEVEL, 0, 1,
     "list the datasets that a run may write",
     "usage: bitbudget outputs --list [EXPERIMENT]\n\n"
     "Prints the tables of outputs/README.md: every dataset of a result file but the operators of\n"
     "--dump, with its dimensions, unit and meaning.\n"},
    {"info", bb_command_info, BB_OPTION_THREADS | BB_OPTION_LEVEL, 0, 0,
     "print version, libraries and devices, and run the self-test",
     "usage: bitbudget info\n\n"
     "Prints version, libraries, processor and devices, and runs a self-test of seconds.\n"},
    {"show", bb_command_show, BB_OPTION_WITHIN | BB_OPTION_SHOW | BB_OPTION_PIPELINE | BB_OPTION_LEVEL, 1, INTPTR_MAX,
     "print the answer and the table of result files",
     "usage: bitbudget show FILE.h5 ... [options]\n"
     "       bitbudget show SWEEP.h5|DIR [--within PRICE] [--format WORD]\n\n"
     "Prints what a result says and its table in 80 columns; * marks the Pareto front of price and\n"
     "bytes. Several files of one experiment stand side by side. Of a sweep, its collected file or\n"
     "its folder, the choices are shown over all conditions.\n\n"
     "  --within PRICE   name the pipeline of fewest bytes whose price is at most this:\n@prices\n"
     "  --by WORD        with it: least bytes, time or joules; default bytes\n"
     "  --full           every column of the experiment, and its report\n"
     "  --pipeline NAMES only these pipelines: a,b\n"
     "  --columns NAMES  datasets of /results over pipelines, as stored: flops,device\n"
     "  --format WORD    table, csv, json (both as stored, to the bit), md or latex\n"},
    {"diff", bb_command_diff, BB_OPTION_TOLERANCE | BB_OPTION_LEVEL, 2, 2,
     "compare two result files of one experiment",
     "usage: bitbudget diff A.h5 B.h5 [--tolerance T]\n\n"
     "Prints which keys of the studies differ, which statuses and prices by pipeline, which other\n"
     "results, and what program and machine made them. Exit code 0 where keys and results are equal,\n"
     "1 where they differ; times and machines do not count.\n\n"
     "  --tolerance T    numbers that differ by less than T, relative, are equal; default 0\n"},
    {"plot", bb_command_plot,
     BB_OPTION_OUTPUT | BB_OPTION_FORCE | BB_OPTION_LIST | BB_OPTION_PICTURE | BB_OPTION_LEVEL |
         BB_OPTION_PIPELINE | BB_OPTION_KEYS,
     1, 1, "draw a picture of a result file, by gnuplot",
     "usage: bitbudget plot FILE.h5|DIR --kind KIND -o PICTURE.pdf|svg|png|tex [options]\n"
     "       bitbudget plot --list FILE.h5|DIR\n\n"
     "Draws a result file, or the folder of a sweep: prices, maps and histories, with units, for print. A .tex comes with a\n"
     ".pdf of its lines and is for \\input in a LaTeX document with graphicx. Needs gnuplot.\n"
     "\n  --list           the kinds that this file gives, and what the others need\n"
     "  -o, --output FILE  its ending says the format\n"
     "  --size WxH       of the page in cm, or W alone; default 17, a column is 8.5\n"
     "  --script         keep data and script beside the picture, as NAME.dat and NAME.gp\n"
     "  --x KEY, --y KEY, --pipeline NAME, --value DATASET  of heatmap and lines of a sweep: what is\n"
     "                   along the axes (--y pipeline: all of them) and which number of /results;\n"
     "                   default price; what is not named is chosen, and said below the picture\n"
     "  --force          replace files that exist\n"},
    {"report", bb_command_report,
     BB_OPTION_OUTPUT | BB_OPTION_FORCE | BB_OPTION_WITHIN | BB_OPTION_TEX | BB_OPTION_LEVEL, 1, 1,
     "a result file or a sweep as one page of HTML, or for LaTeX",
     "usage: bitbudget report FILE.h5|DIR -o REPORT.html [options]\n\n"
     "Writes one page that needs nothing beside it: the answer, the table, every picture that the\n"
     "file gives, what failed, conditions, configuration, provenance, how to repeat and cite it.\n"
     "Without gnuplot the page has no pictures, and says so. DIR is a sweep's folder.\n"
     "\n  -o, --output FILE  the page\n"
     "  --within PRICE   the answer names the choice of fewest bytes whose price is at most this:\n@prices\n"
     "  --tex DIR        table.tex, a .tex and .pdf for each picture, and all.tex, which reads them\n"
     "  --force          replace files that exist\n"},
    {"sweep", bb_command_sweep,
     BB_OPTION_OUTPUT | BB_OPTION_DEVICE | BB_OPTION_THREADS | BB_OPTION_FORCE | BB_OPTION_LEVEL |
         BB_OPTION_LIST | BB_OPTION_WITHIN | BB_OPTION_SWEEP,
     1, INTPTR_MAX, "run a study over the values of its keys, here or on a cluster",
     "usage: bitbudget sweep PLAN.yaml [key=value ...] [options]\n"},
    {"bench", bb_command_bench,
     BB_OPTION_OUTPUT | BB_OPTION_DEVICE | BB_OPTION_THREADS | BB_OPTION_FORCE | BB_OPTION_LIST |
         BB_OPTION_QUICK | BB_OPTION_LEVEL,
     0, INTPTR_MAX, "measure the hot loops against ceilings of the same run",
     "usage: bitbudget bench [NAME ...] [options]\n\n"
     "Measures products, the thermal step, factorizations and assembly against ceilings and peers\n"
     "of the same run, prints a table and writes an HDF5 file. Without names: all, some minutes.\n"
     "\n  --list           the names\n"
     "  -o, --output FILE  default outputs/bench.h5\n"
     "  --device WORD    auto, cpu (skips the rows of a GPU) or cuda; default auto\n"
     "  --threads N      default: all processors\n"
     "  --quick          sizes of a test: the figures mean nothing\n"
     "  --force          replace a file that exists\n" LEVEL_HELP},
    {"convergence", bb_command_convergence,
     BB_OPTION_OUTPUT | BB_OPTION_THREADS | BB_OPTION_FORCE | BB_OPTION_LEVEL,
     1, INTPTR_MAX, "print the orders in space and time of a study's physics",
     "usage: bitbudget convergence CONFIG [key=value ...] [options]\n\n"
     "Refines what a study computes by, and prints the observed orders:\n@convergence\n" CONFIG_HELP
     "\n  -o, --output FILE  write the table to an HDF5 file too\n"
     "  --threads N      default: all processors; the results do not depend on it\n"
     "  --force          replace a file that exists\n" LEVEL_HELP},
    {"realtime", bb_command_realtime,
     BB_OPTION_OUTPUT | BB_OPTION_DEVICE | BB_OPTION_THREADS | BB_OPTION_FORCE | BB_OPTION_LEVEL,
     1, INTPTR_MAX, "measure the latencies of a study's control loop on a GPU",
     "usage: bitbudget realtime CONFIG [key=value ...] [options]\n\n"
     "Runs a study's control loop on a cuda device, a captured graph a step, released at fixed\n"
     "times or back to back, and prints latencies, misses of the deadline and the worst steps:\n"
     "@realtime\n"
     "An interrupt ends the run early.\n"
     CONFIG_HELP
     "\n  -o, --output FILE  write latencies, histogram and worst steps to an HDF5 file too\n"
     "  --device WORD    auto or cuda\n"
     "  --threads N      default: all processors; they code the rows\n"
     "  --force          replace a file that exists\n" LEVEL_HELP},
    {"new", bb_command_new, BB_OPTION_FORCE | BB_OPTION_LEVEL, 1, 2,
     "write a commented configuration to start from",
     "usage: bitbudget new EXPERIMENT [FILE] [--force]\n\n"
     "Writes a commented configuration with every key, to stdout without FILE.\n"},
};
// clang-format on
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_overview(FILE *file)
{
    (void)fprintf(file, "usage: bitbudget COMMAND [arguments]\n\n");
    for (int i = 0; i < COMMAND_COUNT; ++i) {
        (void)fprintf(file, "  %-11s %s\n", commands[i].name, commands[i].summary);
    }
    (void)fprintf(file, "\n'bitbudget COMMAND --help' says more; --version prints the version.\n");
}

static bb_status find_command(const char *name, const command **out)
{
    bb_status status = BB_OK;
    const char *nearest = NULL;
    bb_index distance = PTRDIFF_MAX;
    *out = NULL;
    for (int i = 0; i < COMMAND_COUNT; ++i) {
        if (strcmp(commands[i].name, name) == 0) {
            *out = &commands[i];
            goto done;
        }
        bb_suggestion_consider(name, commands[i].name, &distance, &nearest);
    }
    BB_FAIL(BB_INVALID, "no command '%s'%s%s%s; 'bitbudget --help' lists them", name,
            nearest == NULL ? "" : " (did you mean ", nearest == NULL ? "" : nearest,
            nearest == NULL ? "" : "?)");
done:
    return status;
}

static bb_status act(int argument_count, char **arguments, const bb_experiment_table *experiments,
                     bb_options *options)
{
    bb_status status = BB_OK;
    const command *found = NULL;
    char **sorted = NULL; // parsing moves operands to the end; the record keeps the order typed
    BB_TRY(find_command(arguments[1], &found));
    BB_TRY(BB_ZEROED(argument_count + 1, &sorted));
    for (int i = 0; i < argument_count; ++i) {
        sorted[i] = arguments[i];
    }
    BB_TRY(bb_options_parse(argument_count, sorted, found->accepted, options));
    options->arguments = arguments;
    if (options->help) {
        print_help(found->help, experiments);
        goto done;
    }
    BB_REQUIRE(options->operand_count >= found->fewest && options->operand_count <= found->most,
               BB_INVALID, "%td operands; see 'bitbudget %s --help'", options->operand_count,
               found->name);
    bb_log_set_level(options->level);
    BB_TRY(bb_hdf5_library_start());
    BB_TRY(bb_interrupt_install());
    BB_TRY(found->act(options, experiments));
done:
    BB_RELEASE(&sorted);
    return status;
}

static bool asks_for(const char *argument, const char *brief, const char *full)
{
    return strcmp(argument, brief) == 0 || strcmp(argument, full) == 0;
}

// Whether all that was printed arrived, as far as whoever reads it wanted: a reader of a pipe may
// leave.
static bool is_printed(void)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0) {
        return true;
    }
    const int reason = errno;
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    const bool gone = poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
    errno = reason;
    return gone;
}

int bb_command_main(int argument_count, char **arguments, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_options options = {.level = BB_LOG_NORMAL};
    if (argument_count < 2) {
        print_overview(stderr);
        return bb_status_exit_code(BB_INVALID);
    }
    if (asks_for(arguments[1], "-h", "--help") || strcmp(arguments[1], "help") == 0) {
        print_overview(stdout);
    } else if (strcmp(arguments[1], "--version") == 0) {
        (void)printf("bitbudget %s (%s)\n", BB_VERSION, BB_COMMIT);
    } else {
        status = act(argument_count, arguments, experiments, &options);
    }
    bb_threads_stop();
    if ((status == BB_OK || status == BB_DIFFERENT) && !is_printed()) {
        status =
            bb_status_set(BB_IO, __FILE__, __LINE__, "cannot write to stdout: %s", strerror(errno));
    }
    if (status != BB_OK && status != BB_DIFFERENT) { // that is the answer, and printed
        (void)fprintf(stderr, "bitbudget: %s\n", bb_status_message());
        if (options.level == BB_LOG_VERBOSE || status == BB_INTERNAL) {
            (void)fputs(bb_status_trace_text(), stderr);
        }
    }
    return bb_status_exit_code(status);
}

bb_status bb_command_load(const bb_options *options, const bb_experiment_table *experiments,
                          bb_config **out)
{
    return bb_command_load_text(options, experiments, NULL, out);
}

bb_status bb_command_load_text(const bb_options *options, const bb_experiment_table *experiments,
                               const bb_config_file *file, bb_config **out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    const char **overrides = NULL;
    char *device = NULL;
    bb_index count = options->operand_count - 1;
    BB_TRY(BB_ALLOCATE(count + 1, &overrides));
    for (bb_index i = 0; i < count; ++i) {
        overrides[i] = options->operands[i + 1];
    }
    if (options->device != NULL) {
        BB_TRY(bb_memory_printf(&device, "device=%s", options->device));
        overrides[count++] = device;
    }
    status = file == NULL
                 ? bb_experiment_load(experiments, options->operands[0], overrides, count,
                                      &problems, out)
                 : bb_experiment_load_text(experiments, file, overrides, count, &problems, out);
    if (problems.count > 0) {
        bb_text_print(bb_text_string(&problems.lines), stderr);
    }
done:
    BB_RELEASE(&device);
    BB_RELEASE(&overrides);
    bb_problems_release(&problems);
    return status;
}

bb_status bb_command_output(const bb_options *options, const bb_experiment *experiment, char **out)
{
    if (options->output != NULL) {
        return bb_memory_text(options->output, out);
    }
    const char *slash = strrchr(options->operands[0], '/');
    const char *file = slash == NULL ? options->operands[0] : slash + 1;
    const char *name = strcmp(file, "-") == 0 ? "stdin" : file;
    const char *dot = strrchr(name, '.');
    bool yaml =
        dot != NULL && dot != name && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    int length = yaml ? (int)(dot - name) : (int)strlen(name);
    return bb_memory_printf(out, "outputs/%s-%.*s.h5", experiment->name, length, name);
}
