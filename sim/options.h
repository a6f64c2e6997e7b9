// SPDX-License-Identifier: Apache-2.0
//
// The options that commands share, parsed in one place so that each means the same everywhere.
#ifndef BB_SIM_OPTIONS_H
#define BB_SIM_OPTIONS_H

#include "core/log.h"

#include <stdbool.h>

/// Bits of what a command takes.
enum {
    BB_OPTION_OUTPUT = 1 << 0,     ///< -o, --output FILE
    BB_OPTION_DEVICE = 1 << 1,     ///< --device WORD
    BB_OPTION_THREADS = 1 << 2,    ///< --threads N
    BB_OPTION_FORCE = 1 << 3,      ///< --force
    BB_OPTION_LEVEL = 1 << 4,      ///< -q, -v
    BB_OPTION_WITHIN = 1 << 5,     ///< --within PRICE
    BB_OPTION_LIST = 1 << 6,       ///< --list
    BB_OPTION_RESOLVED = 1 << 7,   ///< --resolved
    BB_OPTION_DUMP = 1 << 8,       ///< --dump NAMES
    BB_OPTION_QUICK = 1 << 9,      ///< --quick
    BB_OPTION_RESTART = 1 << 10,   ///< --checkpoint FILE, --checkpoint-every S, --resume FILE
    BB_OPTION_SWEEP = 1 << 11,     ///< --jobs N, --shard S/K, --only CLASS, --csv FILE, --partial,
                                   ///< --slurm, --nodes N, --print-only
    BB_OPTION_VERIFY = 1 << 12,    ///< --verify
    BB_OPTION_SHOW = 1 << 13,      ///< --full, --columns, --by, --format
    BB_OPTION_TOLERANCE = 1 << 14, ///< --tolerance T
    BB_OPTION_FIELDS = 1 << 16,    ///< --fields
    BB_OPTION_PIPELINE = 1 << 17,  ///< --pipeline
    BB_OPTION_KEYS = 1 << 18,      ///< --x KEY, --y KEY, --value DATASET
    BB_OPTION_TEX = 1 << 19,       ///< --tex DIR
    BB_OPTION_PICTURE = 1 << 15    ///< --kind KIND, --size WxH, --script
};

/// What the user asked for. Texts are borrowed from the command line.
typedef struct bb_options {
    int argument_count; ///< of the whole command line
    char *const *arguments;
    char **operands; ///< [operand_count] what is no option, in order
    bb_index operand_count;
    const char *output;
    const char *device;
    const char *dump;          ///< names, NULL unless given
    const char *checkpoint;    ///< NULL unless given
    const char *resume;        ///< NULL unless given
    double checkpoint_every_s; ///< NaN unless given
    bb_index threads;          ///< all online processors unless given
    double within;             ///< NaN unless given
    const char *kind;          ///< of a picture, NULL unless given
    const char *size;          ///< of a picture, NULL unless given
    const char *x, *y, *value; ///< swept keys and a dataset, NULL unless given
    const char *tex;           ///< folder, NULL unless given
    bool script;               ///< keep what a picture was drawn by
    bb_index jobs;             ///< processes, 0 unless given
    bb_index nodes;            ///< 0 unless given
    const char *shard;         ///< "S/K", NULL unless given
    const char *only;          ///< class of failure, NULL unless given
    const char *csv;           ///< NULL unless given
    bool partial, slurm, print_only;
    bool force;
    bool fields;
    bool list;
    bool resolved;
    bool quick;
    bool verify;
    bool full;
    const char *pipeline; ///< names with commas, NULL unless given
    const char *columns;  ///< names with commas, NULL unless given
    const char *by;       ///< NULL unless given
    const char *format;   ///< NULL unless given
    double tolerance;     ///< 0 unless given
    bool help;
    bb_log_level level;
} bb_options;

/// Parses arguments[2...]; `accepted` is a sum of bits. Reorders `arguments` so that operands come
/// last. Errors: BB_INVALID with a sentence for the user.
BB_CHECKED bb_status bb_options_parse(int argument_count, char **arguments, unsigned accepted,
                                      bb_options *out);

#endif
