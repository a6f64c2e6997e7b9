// SPDX-License-Identifier: Apache-2.0
#include "sim/options.h"

#include "core/thread.h"
#include "sim/config/scalar.h"
#include "sim/config/suggestion.h"

#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_LONG = 256,
    DEVICE = FIRST_LONG,
    THREADS,
    FORCE,
    FIELDS,
    WITHIN,
    LIST,
    RESOLVED,
    DUMP,
    QUICK,
    CHECKPOINT,
    EVERY,
    RESUME,
    VERIFY,
    FULL,
    PIPELINE,
    COLUMNS,
    BY,
    FORMAT,
    TOLERANCE,
    KIND,
    SIZE,
    SCRIPT,
    JOBS,
    NODES,
    SHARD,
    ONLY,
    CSV,
    PARTIAL,
    SLURM,
    PRINT_ONLY,
    X_KEY,
    Y_KEY,
    VALUE,
    TEX
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"device", required_argument, NULL, DEVICE},
    {"threads", required_argument, NULL, THREADS},
    {"force", no_argument, NULL, FORCE},
    {"fields", no_argument, NULL, FIELDS},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"within", required_argument, NULL, WITHIN},
    {"list", no_argument, NULL, LIST},
    {"resolved", no_argument, NULL, RESOLVED},
    {"dump", required_argument, NULL, DUMP},
    {"quick", no_argument, NULL, QUICK},
    {"checkpoint", required_argument, NULL, CHECKPOINT},
    {"checkpoint-every", required_argument, NULL, EVERY},
    {"resume", required_argument, NULL, RESUME},
    {"verify", no_argument, NULL, VERIFY},
    {"full", no_argument, NULL, FULL},
    {"pipeline", required_argument, NULL, PIPELINE},
    {"columns", required_argument, NULL, COLUMNS},
    {"by", required_argument, NULL, BY},
    {"format", required_argument, NULL, FORMAT},
    {"tolerance", required_argument, NULL, TOLERANCE},
    {"kind", required_argument, NULL, KIND},
    {"size", required_argument, NULL, SIZE},
    {"script", no_argument, NULL, SCRIPT},
    {"jobs", required_argument, NULL, JOBS},
    {"nodes", required_argument, NULL, NODES},
    {"shard", required_argument, NULL, SHARD},
    {"only", required_argument, NULL, ONLY},
    {"csv", required_argument, NULL, CSV},
    {"partial", no_argument, NULL, PARTIAL},
    {"slurm", no_argument, NULL, SLURM},
    {"print-only", no_argument, NULL, PRINT_ONLY},
    {"x", required_argument, NULL, X_KEY},
    {"y", required_argument, NULL, Y_KEY},
    {"value", required_argument, NULL, VALUE},
    {"tex", required_argument, NULL, TEX},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static unsigned bit_of(int option)
{
    static const struct {
        int option;
        unsigned bit;
    } bits[] = {
        {'o', BB_OPTION_OUTPUT},
        {DEVICE, BB_OPTION_DEVICE},
        {THREADS, BB_OPTION_THREADS},
        {FORCE, BB_OPTION_FORCE},
        {'q', BB_OPTION_LEVEL},
        {'v', BB_OPTION_LEVEL},
        {WITHIN, BB_OPTION_WITHIN},
        {LIST, BB_OPTION_LIST},
        {RESOLVED, BB_OPTION_RESOLVED},
        {DUMP, BB_OPTION_DUMP},
        {QUICK, BB_OPTION_QUICK},
        {CHECKPOINT, BB_OPTION_RESTART},
        {EVERY, BB_OPTION_RESTART},
        {RESUME, BB_OPTION_RESTART},
        {VERIFY, BB_OPTION_VERIFY},
        {FULL, BB_OPTION_SHOW},
        {PIPELINE, BB_OPTION_PIPELINE},
        {COLUMNS, BB_OPTION_SHOW},
        {BY, BB_OPTION_SHOW},
        {FORMAT, BB_OPTION_SHOW},
        {TOLERANCE, BB_OPTION_TOLERANCE},
        {JOBS, BB_OPTION_SWEEP},
        {NODES, BB_OPTION_SWEEP},
        {SHARD, BB_OPTION_SWEEP},
        {ONLY, BB_OPTION_SWEEP},
        {CSV, BB_OPTION_SWEEP},
        {PARTIAL, BB_OPTION_SWEEP},
        {SLURM, BB_OPTION_SWEEP},
        {PRINT_ONLY, BB_OPTION_SWEEP},
        {KIND, BB_OPTION_PICTURE},
        {SIZE, BB_OPTION_PICTURE},
        {SCRIPT, BB_OPTION_PICTURE},
        {FIELDS, BB_OPTION_FIELDS},
        {X_KEY, BB_OPTION_KEYS},
        {Y_KEY, BB_OPTION_KEYS},
        {VALUE, BB_OPTION_KEYS},
        {TEX, BB_OPTION_TEX},
    };
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; ++i) {
        if (bits[i].option == option) {
            return bits[i].bit;
        }
    }
    return 0;
}

// Where the text of an option goes, NULL of one that has none.
static const char **text_of(int option, bb_options *out)
{
    switch (option) {
    case 'o':
        return &out->output;
    case DEVICE:
        return &out->device;
    case DUMP:
        return &out->dump;
    case CHECKPOINT:
        return &out->checkpoint;
    case RESUME:
        return &out->resume;
    case PIPELINE:
        return &out->pipeline;
    case COLUMNS:
        return &out->columns;
    case BY:
        return &out->by;
    case FORMAT:
        return &out->format;
    case SHARD:
        return &out->shard;
    case ONLY:
        return &out->only;
    case CSV:
        return &out->csv;
    case KIND:
        return &out->kind;
    case SIZE:
        return &out->size;
    case X_KEY:
        return &out->x;
    case Y_KEY:
        return &out->y;
    case VALUE:
        return &out->value;
    case TEX:
        return &out->tex;
    default:
        return NULL;
    }
}

// What an option without a value sets, NULL of others.
static bool *flag_of(int option, bb_options *out)
{
    switch (option) {
    case 'h':
        return &out->help;
    case FIELDS:
        return &out->fields;
    case FORCE:
        return &out->force;
    case LIST:
        return &out->list;
    case RESOLVED:
        return &out->resolved;
    case QUICK:
        return &out->quick;
    case VERIFY:
        return &out->verify;
    case FULL:
        return &out->full;
    case SCRIPT:
        return &out->script;
    case PARTIAL:
        return &out->partial;
    case SLURM:
        return &out->slurm;
    case PRINT_ONLY:
        return &out->print_only;
    default:
        return NULL;
    }
}

static bb_status take_count(const char *name, const char *value, bb_index limit, bb_index *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(bb_scalar_integer(value, out) && *out >= 1 && *out <= limit, BB_INVALID,
               "--%s %s, expected an integer in [1, %td]", name, value, limit);
done:
    return status;
}

static bb_status take_number(int option, const char *value, bb_options *out)
{
    bb_status status = BB_OK;
    switch (option) {
    case EVERY:
        BB_REQUIRE(bb_scalar_double(value, &out->checkpoint_every_s) &&
                       out->checkpoint_every_s >= 0.0,
                   BB_INVALID, "--checkpoint-every %s, expected seconds of at least 0", value);
        break;
    case THREADS:
        BB_REQUIRE(bb_scalar_integer(value, &out->threads) && out->threads >= 1 &&
                       out->threads <= 1024,
                   BB_INVALID, "--threads %s, expected an integer in [1, 1024]", value);
        break;
    case JOBS:
        BB_TRY(take_count("jobs", value, 256, &out->jobs));
        break;
    case NODES:
        BB_TRY(take_count("nodes", value, 100000, &out->nodes));
        break;
    case TOLERANCE:
        BB_REQUIRE(bb_scalar_double(value, &out->tolerance) && out->tolerance >= 0.0, BB_INVALID,
                   "--tolerance %s, expected a number of at least 0", value);
        break;
    default:
        BB_REQUIRE(bb_scalar_double(value, &out->within) && out->within >= 0.0, BB_INVALID,
                   "--within %s, expected a number of at least 0", value);
        break;
    }
done:
    return status;
}

static bb_status take_value(int option, const char *value, bb_options *out)
{
    const char **text = text_of(option, out);
    bool *flag = flag_of(option, out);
    if (text != NULL) {
        *text = value;
    } else if (flag != NULL) {
        *flag = true;
    } else if (option == 'q' || option == 'v') {
        out->level = option == 'q' ? BB_LOG_QUIET : BB_LOG_VERBOSE;
    } else {
        return take_number(option, value, out);
    }
    return BB_OK;
}

// The option of a command that is nearest to what was typed, NULL where none is near.
static const char *nearest_option(const char *typed, unsigned accepted)
{
    const char *nearest = NULL;
    bb_index distance = PTRDIFF_MAX;
    const size_t dashes = strspn(typed, "-");
    char word[64];
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(typed + dashes, "="), typed + dashes);
    for (size_t i = 0; long_options[i].name != NULL; ++i) {
        if (long_options[i].val == 'h' || (bit_of(long_options[i].val) & accepted) != 0) {
            bb_suggestion_consider(word, long_options[i].name, &distance, &nearest);
        }
    }
    return nearest;
}

static bb_status refuse_option(const char *typed, const char *command, unsigned accepted)
{
    const char *nearest = nearest_option(typed, accepted);
    return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                         "option %s is not one of '%s'%s%s%s; see 'bitbudget %s --help'", typed,
                         command, nearest == NULL ? "" : " (did you mean --",
                         nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?)", command);
}

bb_status bb_options_parse(int argument_count, char **arguments, unsigned accepted, bb_options *out)
{
    bb_status status = BB_OK;
    *out = (bb_options){.argument_count = argument_count,
                        .arguments = arguments,
                        .threads = bb_threads_available(),
                        .within = NAN,
                        .checkpoint_every_s = NAN,
                        .level = BB_LOG_NORMAL};
    // The command's own name stands in the place of the program's. 0 makes getopt start afresh.
    int count = argument_count - 1;
    char **rest = arguments + 1;
    opterr = 0;
    optind = 0;
    for (;;) {
        int before = optind > 0 ? optind : 1;
        int option = getopt_long(count, rest, ":ho:qv", long_options, NULL);
        if (option == -1) {
            break;
        }
        int last = optind > before ? optind - 1 : before;
        // The value of an option may be a word of its own.
        const char *typed = rest[optarg == rest[last] ? last - 1 : last];
        const char letter[] = {'-', (char)optopt, '\0'};
        typed = option == '?' && typed[0] != '-' && optopt > ' ' && optopt < 127 ? letter : typed;
        BB_REQUIRE(option != ':', BB_INVALID, "option %s needs a value", typed);
        if (option != 'h' && (option == '?' || (bit_of(option) & accepted) == 0)) {
            BB_TRY(refuse_option(typed, rest[0], accepted));
        }
        BB_TRY(take_value(option, optarg, out));
    }
    BB_REQUIRE(out->help || out->checkpoint != NULL || isnan(out->checkpoint_every_s), BB_INVALID,
               "--checkpoint-every says how often --checkpoint FILE is written: name it too");
    out->operands = rest + optind;
    out->operand_count = count - optind;
done:
    return status;
}
