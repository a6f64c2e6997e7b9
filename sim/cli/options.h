// SPDX-License-Identifier: Apache-2.0
//
// The options that commands share: one table, a row an option, by which they are parsed, helped,
// listed in the manual's pages and completed, so that each means the same everywhere.
#ifndef BB_SIM_CLI_OPTIONS_H
#define BB_SIM_CLI_OPTIONS_H

#include "core/log.h"
#include "sim/run/experiment.h"

#include <stdbool.h>

/// Groups of options: a command accepts all options of a group or none.
typedef enum bb_option_group {
    BB_OPTION_COMMON, ///< of every command
    BB_OPTION_OUTPUT,
    BB_OPTION_DEVICE,
    BB_OPTION_THREADS,
    BB_OPTION_FORCE,
    BB_OPTION_LEVEL,
    BB_OPTION_MAX_LOSS,
    BB_OPTION_LIST,
    BB_OPTION_RESOLVED,
    BB_OPTION_DUMP,
    BB_OPTION_RESTART,
    BB_OPTION_SWEEP,
    BB_OPTION_VERIFY,
    BB_OPTION_SHOW,
    BB_OPTION_TOLERANCE,
    BB_OPTION_PICTURE,
    BB_OPTION_SIZE,
    BB_OPTION_FIELDS,
    BB_OPTION_MAN,
    BB_OPTION_MACHINE,
    BB_OPTION_ENERGY,
    BB_OPTION_PIPELINE,
    BB_OPTION_KEYS,
    BB_OPTION_TEX,
    BB_OPTION_FORMAT,
    BB_OPTION_PARTS,
    BB_OPTION_KERNEL,
    BB_OPTION_WISDOM,
    BB_OPTION_TUNE,
    BB_OPTION_BIND,
    BB_OPTION_LIVE,
    BB_OPTION_DETERMINISTIC,
    BB_OPTION_BENCH,
    BB_OPTION_GROUPS,
} bb_option_group;

/// Set of groups, in any order; unused places are BB_OPTION_COMMON.
typedef bb_option_group bb_option_groups[BB_OPTION_GROUPS];

enum { BB_OPTION_MAX_WORDS = 64 };

/// Values of an option that may be given several times, in order.
typedef struct bb_option_words {
    const char *words[BB_OPTION_MAX_WORDS];
    bb_index count;
} bb_option_words;

/// Options of commands that show results. In this and the next structs an option that is not given
/// leaves a text NULL, a count 0 and a number NaN.
typedef struct bb_show_options {
    bool full;
    const char *columns; ///< names with commas
    const char *by;
    const char *format;
    double tolerance; ///< 0 unless given
} bb_show_options;

/// Of `plot`, `report` and `export`.
typedef struct bb_picture_options {
    const char *kind;
    bool script;               ///< keep what a picture was drawn by
    const char *x, *y, *value; ///< swept keys and a dataset
    const char *exposure;      ///< number of one
    bb_index step;
    const char *tex;   ///< folder
    const char *parts; ///< names with commas
} bb_picture_options;

/// Of `sweep`.
typedef struct bb_sweep_options {
    bb_index jobs; ///< processes
    bb_index nodes;
    const char *shard; ///< "S/K"
    const char *only;  ///< class of failure
    const char *csv;
    bool partial, slurm, print_only;
} bb_sweep_options;

/// Of `kernel` and `tune`.
typedef struct bb_kernel_options {
    const char *input, *variant, *wisdom;
    const char *set; ///< of benchmark data
    const char *type;
    const char *study; ///< of --for
    double budget_s;
    bool deterministic, reorder, exhaustive;
    bb_option_words parameters;
} bb_kernel_options;

/// Of bitbudget-bench.
typedef struct bb_bench_options {
    bb_index n;                   ///< rows of a matrix
    const char *file;             ///< of a kernel
    const char *compare, *record; ///< baselines
    bool quick, datasets;
} bb_bench_options;

/// Of commands that compute.
typedef struct bb_restart_options {
    const char *checkpoint, *resume;
    double checkpoint_every_s;
} bb_restart_options;

/// What the user asked for. Texts are borrowed from the command line.
typedef struct bb_options {
    int argument_count; ///< of the whole command line
    char *const *arguments;
    char **operands; ///< [operand_count] what is no option, in order
    bb_index operand_count;
    const char *output, *device, *machine;
    const char *dump;     ///< names
    const char *pipeline; ///< names with commas
    const char *size;     ///< of a picture or a matrix
    bb_index threads;     ///< all online processors unless given
    double max_loss;
    bool force, list, resolved, upgrade, verify, fields, energy, man, help;
    bb_log_level level;
    bb_show_options show;
    bb_picture_options picture;
    bb_sweep_options sweep;
    bb_kernel_options kernel;
    bb_bench_options bench;
    bb_restart_options restart;
    bb_live_options live; ///< its `pipelines` is `pipeline` above
} bb_options;

typedef enum bb_option_kind {
    BB_OPTION_IS_TEXT,   ///< member: const char *
    BB_OPTION_IS_FLAG,   ///< member: bool, no value
    BB_OPTION_IS_LEVEL,  ///< member: level, which becomes `limit`; no value
    BB_OPTION_IS_COUNT,  ///< member: bb_index in [1, limit]
    BB_OPTION_IS_NUMBER, ///< member: double of at least 0
    BB_OPTION_IS_LIST,   ///< member: bb_option_words, a word each time
} bb_option_kind;

typedef struct bb_option {
    const char *name;    ///< without its dashes
    const char *value;   ///< what help calls its value, NULL: it takes none
    const char *meaning; ///< a line, unless a command has its own words
    const char *words;   ///< its values with blanks between, "file" or "kind"; NULL: free
    bb_experiment_text by_experiment; ///< what experiments add to the meaning, NULL: nothing
    const char *former;               ///< name in an earlier version, refused with the new one
    bb_option_kind kind;
    size_t member; ///< offset in bb_options
    bb_index limit;
    bb_option_group group;
    char letter; ///< a short form, or 0
} bb_option;

/// All options, in the order in which helps list them; returns how many.
bb_index bb_options_table(const bb_option **out);

/// Words before a command's name: "bitbudget ", and none before bitbudget-bench.
const char *bb_option_program(const char *command);

/// Whether a command with these groups accepts the option.
bool bb_option_is_accepted(const bb_option *option, const bb_option_groups accepted);

/// Parses arguments[2...]. Reorders `arguments` so that operands come last. Errors: BB_INVALID with
/// a sentence for the user.
BB_CHECKED bb_status bb_options_parse(int argument_count, char **arguments,
                                      const bb_option_groups accepted, bb_options *out);

#endif
