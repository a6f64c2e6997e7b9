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
    RESUME
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
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static unsigned bit_of(int option)
{
    static const struct {
        int option;
        unsigned bit;
    } bits[] = {
        {'o', BB_OPTION_OUTPUT},         {DEVICE, BB_OPTION_DEVICE}, {THREADS, BB_OPTION_THREADS},
        {FIELDS, BB_OPTION_FIELDS},      {FORCE, BB_OPTION_FORCE},   {'q', BB_OPTION_LEVEL},
        {'v', BB_OPTION_LEVEL},          {WITHIN, BB_OPTION_WITHIN}, {LIST, BB_OPTION_LIST},
        {RESOLVED, BB_OPTION_RESOLVED},  {DUMP, BB_OPTION_DUMP},     {QUICK, BB_OPTION_QUICK},
        {CHECKPOINT, BB_OPTION_RESTART}, {EVERY, BB_OPTION_RESTART}, {RESUME, BB_OPTION_RESTART},
    };
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; ++i) {
        if (bits[i].option == option) {
            return bits[i].bit;
        }
    }
    return 0;
}

static bb_status take_value(int option, const char *value, bb_options *out)
{
    bb_status status = BB_OK;
    switch (option) {
    case 'h':
        out->help = true;
        break;
    case 'o':
        out->output = value;
        break;
    case 'q':
        out->level = BB_LOG_QUIET;
        break;
    case 'v':
        out->level = BB_LOG_VERBOSE;
        break;
    case DEVICE:
        out->device = value;
        break;
    case DUMP:
        out->dump = value;
        break;
    case FIELDS:
        out->fields = true;
        break;
    case FORCE:
        out->force = true;
        break;
    case LIST:
        out->list = true;
        break;
    case RESOLVED:
        out->resolved = true;
        break;
    case QUICK:
        out->quick = true;
        break;
    case CHECKPOINT:
        out->checkpoint = value;
        break;
    case RESUME:
        out->resume = value;
        break;
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
    default:
        BB_REQUIRE(bb_scalar_double(value, &out->within) && out->within >= 0.0, BB_INVALID,
                   "--within %s, expected a number of at least 0", value);
        break;
    }
done:
    return status;
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
