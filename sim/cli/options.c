// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/options.h"

#include "core/suggestion.h"
#include "core/thread.h"
#include "sim/config/scalar.h"

#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *operators(const bb_experiment *experiment)
{
    return experiment->operators;
}

static const char *loss_name(const bb_experiment *experiment)
{
    return experiment->loss_name;
}

static const char *checkpoints(const bb_experiment *experiment)
{
    return experiment->checkpoint_help;
}

#define MEMBER(kind_, place) .kind = (kind_), .member = offsetof(bb_options, place)
#define TEXT(place)          MEMBER(BB_OPTION_IS_TEXT, place)
#define FLAG(place)          MEMBER(BB_OPTION_IS_FLAG, place)
#define NUMBER(place)        MEMBER(BB_OPTION_IS_NUMBER, place)
#define COUNT(place, most_)  MEMBER(BB_OPTION_IS_COUNT, place), .limit = (most_)
#define LIST(place)          MEMBER(BB_OPTION_IS_LIST, place)
#define LEVEL(level_)        .kind = BB_OPTION_IS_LEVEL, .limit = (level_)

// clang-format off
static const bb_option table[] = {
    {"list", NULL, "print a list", .group = BB_OPTION_LIST, FLAG(list)},
    {"resolved", NULL, "print the study with bases, overrides and defaults resolved",
     .group = BB_OPTION_RESOLVED, FLAG(resolved)},
    {"upgrade", NULL, "print a study of an earlier version with current keys; -o writes it",
     .group = BB_OPTION_RESOLVED, FLAG(upgrade)},
    {"verify", NULL,
     "compare all results except times with the file; exit code 0 if equal to the bit, 1 with a list of "
     "differences; writes a file only with -o",
     .group = BB_OPTION_VERIFY, FLAG(verify)},
    {"fields", NULL, "list and plot the fields of a wafer study",
     .group = BB_OPTION_FIELDS, FLAG(fields)},
    {"machine", "FILE", "plan for the machine described by FILE (examples/machines)",
     .words = "file", .group = BB_OPTION_MACHINE, TEXT(machine)},
    {"energy", NULL, "measure energy: repeat the computation of each pipeline until a counter "
                     "resolves it (NVML, RAPL)",
     .group = BB_OPTION_ENERGY, FLAG(energy)},
    {"max-loss", "LOSS", "report the pipeline with the fewest bytes and at most this loss:",
     .former = "within", .by_experiment = loss_name, .group = BB_OPTION_MAX_LOSS, NUMBER(max_loss)},
    {"by", "WORD", "with --max-loss: minimise bytes, time, joules or cost; default bytes",
     .words = "bytes time joules cost", .group = BB_OPTION_SHOW, TEXT(show.by)},
    {"full", NULL, "print every column of the experiment, and its report",
     .group = BB_OPTION_SHOW, FLAG(show.full)},
    {"pipeline", "NAMES", "show only these pipelines: a,b",
     .group = BB_OPTION_PIPELINE, TEXT(pipeline)},
    {"columns", "NAMES", "print these datasets of /results, as stored: flops,device",
     .group = BB_OPTION_SHOW, TEXT(show.columns)},
    {"format", "WORD", "table, csv, json (both with the stored bits), md or latex",
     .words = "table csv json md latex", .group = BB_OPTION_FORMAT, TEXT(show.format)},
    {"tolerance", "T", "relative difference below which numbers count as equal; default 0",
     .group = BB_OPTION_TOLERANCE, NUMBER(show.tolerance)},
    {"kind", "KIND", "kind of picture; --list prints the kinds",
     .words = "kind", .group = BB_OPTION_PICTURE, TEXT(picture.kind)},
    {"in", "FILE", "HDF5 file to read", .words = "file",
     .group = BB_OPTION_BIND, TEXT(kernel.input)},
    {"output", "FILE", "file to write", .words = "file", .letter = 'o',
     .group = BB_OPTION_OUTPUT, TEXT(output)},
    {"size", "SIZE", "page size in cm, WxH or W; default 17, a column is 8.5",
     .group = BB_OPTION_SIZE, TEXT(size)},
    {"x", "KEY", "for heatmap and lines of a sweep: swept key along x; others are chosen "
                 "automatically and named below the picture",
                 .group = BB_OPTION_KEYS, TEXT(picture.x)},
    {"y", "KEY", "swept key along y, or of the lines; pipeline: all pipelines",
     .group = BB_OPTION_KEYS, TEXT(picture.y)},
    {"value", "DATASET", "dataset of /results; default the loss",
     .group = BB_OPTION_KEYS, TEXT(picture.value)},
    {"exposure", "N", "for heat: number of a scored exposure; default the last",
     .group = BB_OPTION_KEYS, TEXT(picture.exposure)},
    {"step", "N", "for heat: light step, from 1; default the last",
     .group = BB_OPTION_KEYS, COUNT(picture.step, 100000000)},
    {"tex", "DIR",
     "write table.tex, a .pdf for each picture, and all.tex, which includes them",
     .words = "file", .group = BB_OPTION_TEX, TEXT(picture.tex)},
    {"dataset", "NAME", "array in a file with several", .group = BB_OPTION_ARRAY,
     TEXT(import.dataset)},
    {"shape", "RxC", "shape of raw numbers (.f32, .f64, ...), slowest axis first, up to four axes",
     .group = BB_OPTION_ARRAY, TEXT(import.shape)},
    {"lenslets", "N", "reduce the order of an instrument: lenslets across the pupil",
     .group = BB_OPTION_INSTRUMENT, COUNT(import.lenslets, 1000)},
    {"sensor", "KIND", "substitute sensors that are not simulated; the result is not comparable",
     .words = "shack-hartmann", .group = BB_OPTION_INSTRUMENT, TEXT(import.sensor)},
    {"parts", "NAMES", "parts of the file: R,psf,pupil; default: all available",
     .group = BB_OPTION_PARTS, TEXT(picture.parts)},
    {"device", "WORD", "device for pipelines that set none: auto, cpu, cuda or opencl (wafer and "
                       "product only)",
     .words = "auto cpu cuda opencl", .group = BB_OPTION_DEVICE, TEXT(device)},
    {"variant", "ID", "for run: variant of the kernel",
     .group = BB_OPTION_KERNEL, TEXT(kernel.variant)},
    {"deterministic", NULL, "use the default variants of generated kernels, ignore measurements",
     .group = BB_OPTION_DETERMINISTIC, FLAG(kernel.deterministic)},
    {"wisdom", "FILE", "tuning cache of kernel variants; default bitbudget/kernels.yaml in "
     "$XDG_CONFIG_HOME or ~/.config",
     .words = "file", .group = BB_OPTION_WISDOM, TEXT(kernel.wisdom)},
    {"reorder", NULL, "try also variants with another order of summation; the last bits differ",
     .group = BB_OPTION_WISDOM, FLAG(kernel.reorder)},
    {"set", "SET", "benchmark data: published, large, odd or small", .words = "published large odd small",
     .group = BB_OPTION_WISDOM, TEXT(kernel.set)},
    {"compare", "FILE", "compare ratios with the baseline FILE; exit code 1 if one is slower by "
                        "more than its spread and 5 %; without names, all rows of FILE",
                        .words = "file",
     .group = BB_OPTION_BENCH, TEXT(bench.compare)},
    {"record", "FILE", "write the baseline FILE: best ratios of three rounds of the named "
                       "benchmarks",
     .words = "file", .group = BB_OPTION_BENCH, TEXT(bench.record)},
    {"type", "TYPE", "SP or DP; default both", .words = "SP DP",
     .group = BB_OPTION_TUNE, TEXT(kernel.type)},
    {"exhaustive", NULL, "try all variants, not only promising ones",
     .group = BB_OPTION_TUNE, FLAG(kernel.exhaustive)},
    {"for", "STUDY", "choose number formats of slots and variants of kernels for STUDY",
     .words = "file", .group = BB_OPTION_TUNE, TEXT(kernel.study)},
    {"budget", "S", "end after S seconds, divided among kernels; results until then are recorded",
     .group = BB_OPTION_TUNE, NUMBER(kernel.budget_s)},
    {"parameter", "PARAM=VALUE", "for run: value of a parameter; may be repeated", .letter = 'p',
     .group = BB_OPTION_BIND, LIST(kernel.parameters)},
    {"source", "SOURCE", "source of frames: synthetic, file:FRAMES.h5, loop:FRAMES.h5, "
     "directory:FOLDER or shm:NAME; default synthetic", .group = BB_OPTION_LIVE, TEXT(live.source)},
    {"frames", "N", "end after N phases", .group = BB_OPTION_LIVE, COUNT(live.frames, 1000000000)},
    {"rate", "HZ", "phases released per second; default: as they arrive",
     .group = BB_OPTION_LIVE, NUMBER(live.rate_hz)},
    {"patience", "S", "end after S seconds without frames; default 30",
     .group = BB_OPTION_LIVE, NUMBER(live.patience_s)},
    {"overlap", "N", "phases in flight, 1 to 4; default 3 for one pipeline on cuda, else 1",
     .group = BB_OPTION_LIVE, COUNT(live.overlap, 4)},
    {"view", "DIR", "update a page with the wavefront in DIR: index.html, for any browser",
     .words = "file", .group = BB_OPTION_LIVE, TEXT(live.view)},
    {"threads", "N", "number of threads; default: all processors; results do not depend on it",
     .group = BB_OPTION_THREADS, COUNT(threads, 1024)},
    {"quick", NULL, "tiny sizes for tests; the measured numbers are meaningless",
     .group = BB_OPTION_BENCH, FLAG(bench.quick)},
    {"n", "N", "number of rows of a factorization; default of the benchmark",
     .group = BB_OPTION_BENCH,
     COUNT(bench.n, 1000000)},
    {"file", "FILE", "for kernel: description used instead of the shipped one, with the same "
                     "data",
     .words = "file", .group = BB_OPTION_BENCH, TEXT(bench.file)},
    {"datasets", NULL, "list the datasets of the result file",
     .group = BB_OPTION_BENCH, FLAG(bench.datasets)},
    {"force", NULL, "replace existing files", .group = BB_OPTION_FORCE, FLAG(force)},
    {"dump", "NAMES", "add operators to the file, by experiment:", .by_experiment = operators,
     .group = BB_OPTION_DUMP, TEXT(dump)},
    {"checkpoint", "FILE", "save completed work in FILE:", .words = "file",
     .by_experiment = checkpoints, .group = BB_OPTION_RESTART, TEXT(restart.checkpoint)},
    {"checkpoint-every", "S", "with --checkpoint: at most every S seconds",
     .group = BB_OPTION_RESTART, NUMBER(restart.checkpoint_every_s)},
    {"resume", "FILE", "continue from a checkpoint of the same study and build, bit for bit",
     .words = "file", .group = BB_OPTION_RESTART, TEXT(restart.resume)},
    {"jobs", "N", "number of points computed at once, one process each; default: the number of "
                  "processors or GPUs, fewer if memory is short",
     .group = BB_OPTION_SWEEP, COUNT(sweep.jobs, 256)},
    {"shard", "S/K", "for run: points of shard S, or S,S,..., of K; default: the element of a "
                     "job array, else all",
     .group = BB_OPTION_SWEEP, TEXT(sweep.shard)},
    {"only", "CLASS", "for retry: only points with this failure",
     .words = "config io memory device internal signal time",
     .group = BB_OPTION_SWEEP, TEXT(sweep.only)},
    {"csv", "FILE", "for collect: write scalars as a CSV table", .words = "file",
     .group = BB_OPTION_SWEEP, TEXT(sweep.csv)},
    {"partial", NULL, "for collect: accept unfinished points",
     .group = BB_OPTION_SWEEP, FLAG(sweep.partial)},
    {"slurm", NULL, "for submit: one array job by sbatch",
     .group = BB_OPTION_SWEEP, FLAG(sweep.slurm)},
    {"nodes", "N", "for submit: number of elements of the array; default one per shard",
     .group = BB_OPTION_SWEEP, COUNT(sweep.nodes, 100000)},
    {"print-only", NULL, "for submit: print the scripts, submit nothing",
     .group = BB_OPTION_SWEEP, FLAG(sweep.print_only)},
    {"man", NULL, "print a manual page as troff", .group = BB_OPTION_MAN,
     FLAG(man)},
    {"quiet", NULL, "print only warnings on stderr", .letter = 'q',
     .group = BB_OPTION_LEVEL, LEVEL(BB_LOG_QUIET)},
    {"verbose", NULL, "also print details, and the source lines of an error", .letter = 'v',
     .group = BB_OPTION_LEVEL, LEVEL(BB_LOG_VERBOSE)},
    {"help", NULL, "print this help", .letter = 'h', FLAG(help)},
};
// clang-format on
enum { OPTION_COUNT = sizeof table / sizeof table[0], FIRST_LONG = 256 };

bb_index bb_options_table(const bb_option **out)
{
    *out = table;
    return OPTION_COUNT;
}

const char *bb_option_program(const char *command)
{
    return strncmp(command, "bitbudget-", strlen("bitbudget-")) == 0 ? "" : "bitbudget ";
}

bool bb_option_is_accepted(const bb_option *option, const bb_option_groups accepted)
{
    bool found = option->group == BB_OPTION_COMMON;
    for (int i = 0; !found && i < BB_OPTION_GROUPS; ++i) {
        found = accepted[i] == option->group;
    }
    return found;
}

static bb_status parse_value(const bb_option *option, const char *value, bb_options *out)
{
    bb_status status = BB_OK;
    void *member = (char *)out + option->member;
    bb_option_words *list = member;
    bb_index *count = member;
    double *number = member;
    switch (option->kind) {
    case BB_OPTION_IS_TEXT:
        *(const char **)member = value;
        break;
    case BB_OPTION_IS_FLAG:
        *(bool *)member = true;
        break;
    case BB_OPTION_IS_LEVEL:
        out->level = (bb_log_level)option->limit;
        break;
    case BB_OPTION_IS_COUNT:
        BB_REQUIRE(bb_scalar_integer(value, count) && *count >= 1 && *count <= option->limit,
                   BB_INVALID, "--%s %s: use an integer in [1, %td]", option->name, value,
                   option->limit);
        break;
    case BB_OPTION_IS_NUMBER:
        BB_REQUIRE(bb_scalar_double(value, number) && *number >= 0.0, BB_INVALID,
                   "--%s %s: use a number of at least 0", option->name, value);
        break;
    case BB_OPTION_IS_LIST:
        BB_REQUIRE(list->count < BB_OPTION_MAX_WORDS, BB_INVALID,
                   "--%s is given more than %d times", option->name, BB_OPTION_MAX_WORDS);
        list->words[list->count++] = value;
        break;
    }
done:
    return status;
}

// Accepted option nearest to the typed word; NULL if none is near.
static const char *nearest_option(const char *typed, const bb_option_groups accepted)
{
    const size_t dashes = strspn(typed, "-");
    char word[64];
    bb_suggestion near = {.word = word};
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(typed + dashes, "="), typed + dashes);
    for (int i = 0; i < OPTION_COUNT; ++i) {
        if (bb_option_is_accepted(&table[i], accepted)) {
            bb_suggestion_add(&near, table[i].name);
        }
    }
    return near.nearest;
}

static bb_status refuse_option(const char *typed, const char *command,
                               const bb_option_groups accepted)
{
    const char *nearest = nearest_option(typed, accepted);
    const size_t length = strcspn(typed, "=");
    for (int i = 0; i < OPTION_COUNT; ++i) {
        if (table[i].former != NULL && bb_option_is_accepted(&table[i], accepted) &&
            length == strlen("--") + strlen(table[i].former) &&
            strncmp(typed + strlen("--"), table[i].former, length - strlen("--")) == 0) {
            return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                                 "option --%s has been renamed --%s", table[i].former,
                                 table[i].name);
        }
    }
    return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                         "option %s is unknown to '%s'%s%s%s; see '%s%s --help'", typed, command,
                         nearest == NULL ? "" : " (did you mean --", nearest == NULL ? "" : nearest,
                         nearest == NULL ? "" : "?)", bb_option_program(command), command);
}

// Converts the table for getopt_long; a long option returns the number of its row plus FIRST_LONG.
static void fill_forms(struct option forms[OPTION_COUNT + 1], char letters[2 * OPTION_COUNT + 2])
{
    *letters++ = ':';
    for (int i = 0; i < OPTION_COUNT; ++i) {
        const bool has_value = table[i].value != NULL;
        forms[i] = (struct option){table[i].name, has_value ? required_argument : no_argument, NULL,
                                   FIRST_LONG + i};
        if (table[i].letter != 0) {
            *letters++ = table[i].letter;
            *letters = ':';
            letters += has_value;
        }
    }
    *letters = '\0';
    forms[OPTION_COUNT] = (struct option){0};
}

// Row of an option found by getopt, NULL if unknown.
static const bb_option *find_option(int found)
{
    for (int i = 0; i < OPTION_COUNT; ++i) {
        if (found == FIRST_LONG + i || (found != 0 && found == table[i].letter)) {
            return &table[i];
        }
    }
    return NULL;
}

bb_status bb_options_parse(int argument_count, char **arguments, const bb_option_groups accepted,
                           bb_options *out)
{
    bb_status status = BB_OK;
    *out = (bb_options){.argument_count = argument_count,
                        .arguments = arguments,
                        .threads = bb_threads_available(),
                        .max_loss = NAN,
                        .restart.checkpoint_every_s = NAN,
                        .kernel.budget_s = NAN,
                        .live = {.rate_hz = NAN, .patience_s = NAN},
                        .level = BB_LOG_NORMAL};
    struct option forms[OPTION_COUNT + 1];
    char letters[2 * OPTION_COUNT + 2];
    fill_forms(forms, letters);
    // The command's name takes the position of the program's in `rest`. optind = 0 resets getopt.
    int count = argument_count - 1;
    char **rest = arguments + 1;
    opterr = 0;
    optind = 0;
    for (;;) {
        int before = optind > 0 ? optind : 1;
        const int found = getopt_long(count, rest, letters, forms, NULL);
        if (found == -1) {
            break;
        }
        const bb_option *option = find_option(found);
        int last = optind > before ? optind - 1 : before;
        // The option's value may be a separate argument.
        const char *typed = rest[optarg == rest[last] ? last - 1 : last];
        const char letter[] = {'-', (char)optopt, '\0'};
        typed = found == '?' && typed[0] != '-' && optopt > ' ' && optopt < 127 ? letter : typed;
        BB_REQUIRE(found != ':', BB_INVALID, "option %s needs a value", typed);
        if (option == NULL || !bb_option_is_accepted(option, accepted)) {
            status = refuse_option(typed, rest[0], accepted);
            goto done;
        }
        BB_TRY(parse_value(option, optarg, out));
    }
    BB_REQUIRE(out->help || out->restart.checkpoint != NULL ||
                   isnan(out->restart.checkpoint_every_s),
               BB_INVALID, "--checkpoint-every needs --checkpoint FILE");
    out->operands = rest + optind;
    out->operand_count = count - optind;
done:
    return status;
}
