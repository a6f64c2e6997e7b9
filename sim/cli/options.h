// SPDX-License-Identifier: Apache-2.0
//
// Options shared by the commands: one table with a row for each option. Parsing, help, manual pages
// and completion use it, so that an option has the same meaning everywhere.
#ifndef BB_SIM_CLI_OPTIONS_H
#define BB_SIM_CLI_OPTIONS_H

#include "core/log.h"
#include "sim/run/experiment.h"

#include <stdbool.h>

/// Groups of options: a command accepts all options of a group or none.
typedef enum bb_option_group {
    BB_OPTION_COMMON, ///< accepted by every command
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
    BB_OPTION_ARRAY,
    BB_OPTION_INSTRUMENT,
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

/// Set of groups in any order; unused elements are BB_OPTION_COMMON.
typedef bb_option_group bb_option_groups[BB_OPTION_GROUPS];

enum { BB_OPTION_MAX_WORDS = 64 };

/// Values of an option that may be given several times, in order.
typedef struct bb_option_words {
    const char *words[BB_OPTION_MAX_WORDS];
    bb_index count;
} bb_option_words;

/// Options of commands that show results. In this struct and the following ones, an option that is
/// not given leaves a text NULL, a count 0 and a number NaN.
typedef struct bb_show_options {
    bool full;
    const char *columns; ///< comma-separated names
    const char *by;
    const char *format;
    double tolerance; ///< default 0
} bb_show_options;

/// Options of `plot`, `report` and `export`.
typedef struct bb_picture_options {
    const char *kind;
    const char *x, *y, *value; ///< swept keys and a dataset
    const char *exposure;      ///< number of a scored exposure
    bb_index step;
    const char *tex;   ///< folder
    const char *parts; ///< comma-separated names
} bb_picture_options;

/// Options of `import` and `try`.
typedef struct bb_import_options {
    const char *dataset; ///< name of an array in a file
    const char *shape;   ///< "RxC", of raw numbers
    const char *sensor;  ///< substitute for a sensor that is not simulated
    bb_index lenslets;   ///< reduced order
} bb_import_options;

/// Options of `sweep`.
typedef struct bb_sweep_options {
    bb_index jobs; ///< number of processes
    bb_index nodes;
    const char *shard; ///< "S/K"
    const char *only;  ///< class of failure
    const char *csv;
    bool partial, slurm, print_only;
} bb_sweep_options;

/// Options of `kernel` and `tune`.
typedef struct bb_kernel_options {
    const char *input, *variant, *wisdom;
    const char *set; ///< benchmark data
    const char *type;
    const char *study; ///< value of --for
    double budget_s;
    bool deterministic, reorder, exhaustive;
    bb_option_words parameters;
} bb_kernel_options;

/// Options of bitbudget-bench.
typedef struct bb_bench_options {
    bb_index n;                   ///< number of rows of a matrix
    const char *file;             ///< kernel file
    const char *compare, *record; ///< baseline files
    bool quick, datasets;
} bb_bench_options;

/// Options for checkpoints of commands that compute.
typedef struct bb_restart_options {
    const char *checkpoint, *resume;
    double checkpoint_every_s;
} bb_restart_options;

/// Parsed command line. Texts are borrowed from the command line.
typedef struct bb_options {
    int argument_count; ///< number of arguments of the whole command line
    char *const *arguments;
    char **operands; ///< [operand_count] operands, in order
    bb_index operand_count;
    const char *output, *device, *machine;
    const char *dump;     ///< comma-separated names
    const char *pipeline; ///< comma-separated names
    const char *size;     ///< size of a picture or matrix
    bb_index threads;     ///< default: all online processors
    double max_loss;
    bool force, list, resolved, upgrade, verify, fields, energy, man, help;
    bb_log_level level;
    bb_show_options show;
    bb_picture_options picture;
    bb_import_options import;
    bb_sweep_options sweep;
    bb_kernel_options kernel;
    bb_bench_options bench;
    bb_restart_options restart;
    bb_live_options live; ///< its `pipelines` is `pipeline` above
} bb_options;

typedef enum bb_option_kind {
    BB_OPTION_IS_TEXT,   ///< member: const char *
    BB_OPTION_IS_FLAG,   ///< member: bool, no value
    BB_OPTION_IS_LEVEL,  ///< member: level, set to `limit`; no value
    BB_OPTION_IS_COUNT,  ///< member: bb_index in [1, limit]
    BB_OPTION_IS_NUMBER, ///< member: double of at least 0
    BB_OPTION_IS_LIST,   ///< member: bb_option_words, appended by each use
} bb_option_kind;

typedef struct bb_option {
    const char *name;    ///< without the leading dashes
    const char *value;   ///< name of its value in help texts, NULL: no value
    const char *meaning; ///< help line, unless the command has its own
    const char *words;   ///< allowed values separated by blanks, "file" or "kind"; NULL: free text
    bb_experiment_text by_experiment; ///< text that experiments add to the meaning, or NULL
    const char *former;               ///< name in an earlier version; its error names the new one
    bb_option_kind kind;
    size_t member; ///< offset in bb_options
    bb_index limit;
    bb_option_group group;
    char letter; ///< short form, or 0
} bb_option;

/// All options in the order of help texts; returns their number.
bb_index bb_options_table(const bb_option **out);

/// Prefix of a command's name: "bitbudget ", empty for bitbudget-bench.
const char *bb_option_program(const char *command);

/// True if a command with these groups accepts the option.
bool bb_option_is_accepted(const bb_option *option, const bb_option_groups accepted);

/// Parses arguments[2...]. Reorders `arguments` so that operands come last. Errors: BB_INVALID with
/// a message for the user.
BB_CHECKED bb_status bb_options_parse(int argument_count, char **arguments,
                                      const bb_option_groups accepted, bb_options *out);

#endif
