// SPDX-License-Identifier: Apache-2.0
//
// Experiments: what a configuration can ask for. One row a table, one driver a row.
#ifndef BB_SIM_RUN_EXPERIMENT_H
#define BB_SIM_RUN_EXPERIMENT_H

#include "core/text.h"
#include "sim/config/config.h"
#include "sim/run/plan.h"

typedef struct bb_output_table bb_output_table; // sim/output/output_table.h
typedef struct bb_results bb_results;           // sim/output/results.h

struct bb_kernel_wish;
struct bb_part;
struct bb_slot_table;

/// What the command line decides beside the study.
typedef struct bb_run_options {
    bb_index threads;          ///< as bb_threads_set was told
    const char *dump;          ///< operators to add to the file, "Cmm,R"; NULL for none
    const char *checkpoint;    ///< where the state goes, NULL: nowhere
    double checkpoint_every_s; ///< at least this long after the last one, NaN: as is usual
    const char *resume;        ///< checkpoint to go on from, NULL: from the start
    const struct bb_kernel_wish *kernels; ///< which variants of generated kernels; NULL: no wish
} bb_run_options;

/// What the command line decides of a stream.
typedef struct bb_live_options {
    const char *source;    ///< where frames come from; NULL: the study's own scene
    bb_index frames;       ///< phases after which it ends; 0: never
    double rate_hz;        ///< phases that are released a second, NaN: as they come
    double patience_s;     ///< without frames, NaN: as is usual
    bb_index overlap;      ///< phases that are on their way at once; 0: as is usual
    const char *view;      ///< folder of a page, NULL: none
    const char *pipelines; ///< names with commas, NULL: one
} bb_live_options;

/// One column of the result table: a dataset of /results over `pipeline`.
typedef struct bb_column {
    const char *dataset; ///< "overlay_error_x_nm"
    const char *header;  ///< "overlay x [nm]"
    double scale;        ///< shown value = scale * stored value
} bb_column;

typedef struct bb_experiment {
    const char *name; ///< of its schema too
    const bb_schema *schema;
    const char *starter; ///< a small YAML study with every required key
    /// Adds what the tables cannot say to `problems`.
    bb_status (*check)(const void *study, const bb_config *config, bb_problems *problems);
    /// Sizes, memory and time before anything is computed.
    bb_status (*plan)(const void *study, const bb_run_options *options, bb_plan *plan);
    /// Computes and fills `results`; numerical failures are results.
    bb_status (*run)(const void *study, const bb_run_options *options, bb_results *results);
    /// Convergence study of the physics into `results` and a table for the user; NULL: none.
    bb_status (*converge)(const void *study, bb_results *results, bb_text *table);
    const char *converge_help; ///< what it refines, for the user
    /// Latencies of a control loop into `results` and a table for the user; NULL: none, in this
    /// build where `realtime_absent` says why.
    bb_status (*realtime)(const void *study, bb_results *results, bb_text *table);
    const char *realtime_absent;
    const char *realtime_help; ///< what it runs, for the user
    /// Processes a stream into `results` and a table for the user; NULL: none. An error that comes
    /// behind a table leaves what was processed before it in both.
    bb_status (*live)(const void *study, const bb_live_options *options, bb_results *results,
                      bb_text *table);
    const char *live_help;    ///< what it processes, for the user
    const bb_column *columns; ///< [column_count] of the result table, in order
    bb_index column_count;
    const struct bb_part *const *parts; ///< what its studies may ask for, NULL ends them; or NULL
    const char *const
        *prices; ///< [price_count] datasets; the price is the largest of those there are
    bb_index price_count;
    const char *price_name;  ///< "overlay error [nm]"
    double tolerance;        ///< price that the answer takes where the user names none
    const bb_column *scores; ///< [score_count] what the reference is told by: the first item of its
                             ///< row in a dataset over pipelines; NULL: bytes alone
    bb_index score_count;
    const char *checkpoint_help; ///< "the heating, every 60 s": what checkpoints keep, and how
                                 ///< often unless told otherwise; NULL: the experiment has none
    bool (*has_sheet)(const void *study); ///< whether a study's results have `sheet`
    const char *sheet; ///< group that is written as CSV too where a result has it; NULL: none
    const struct bb_slot_table *slots; ///< whose numbers `tune --for` chooses; NULL: none
    const char *operators;             ///< what --dump offers, "Cmm,Ctm"; NULL for nothing
    /// Appends the fields that a study exposes, `check --fields`; NULL: it has none.
    bb_status (*list_fields)(const void *study, bb_text *out);
    /// Appends what is shown of results below the table; NULL for nothing.
    bb_status (*report)(const bb_results *results, bb_text *out);
} bb_experiment;

/// A table of experiments; the program's is bb_experiments, tests have their own.
typedef struct bb_experiment_table {
    const bb_experiment *const *rows; ///< [count]
    bb_index count;
} bb_experiment_table;

/// The experiments, each in a folder of its own.
extern const bb_experiment bb_wafer_experiment, bb_ao_experiment, bb_product_experiment,
    bb_reconstructor_experiment, bb_fringe_experiment;

extern const bb_experiment_table bb_experiments;

/// Table number `index` of all that an experiment's results may have, NULL past the last.
const bb_output_table *bb_experiment_output(const bb_experiment *experiment, bb_index index);

/// Row by name, NULL where there is none.
const bb_experiment *bb_experiment_find(const bb_experiment_table *table, const char *name);

/// A text of an experiment's row, NULL where it has none.
typedef const char *(*bb_experiment_text)(const bb_experiment *experiment);

/// Appends the names of the experiments that have a text: "wafer, ao".
BB_CHECKED bb_status bb_experiment_list(const bb_experiment_table *table, bb_experiment_text text,
                                        bb_text *out);

/// Loads a configuration by the table's schemas and holds it to the experiment's rules. Errors and
/// ownership as bb_config_load.
BB_CHECKED bb_status bb_experiment_load(const bb_experiment_table *table, const char *path,
                                        const char *const *overrides, bb_index override_count,
                                        bb_problems *problems, bb_config **out);

/// The same by a request, whose schemas are the table's.
BB_CHECKED bb_status bb_experiment_load_by(const bb_experiment_table *table,
                                           bb_config_request request, bb_problems *problems,
                                           bb_config **out);

/// The same from a text that was read before.
BB_CHECKED bb_status bb_experiment_load_text(const bb_experiment_table *table,
                                             const bb_config_file *file,
                                             const char *const *overrides, bb_index override_count,
                                             bb_problems *problems, bb_config **out);

/// The same in two steps: the files once, then as often as asked with overrides of its own. Of
/// `request` the schemas are the table's. Errors and ownership as bb_config_base_read and
/// bb_config_base_bind.
BB_CHECKED bb_status bb_experiment_base_read(const bb_experiment_table *table,
                                             bb_config_request request, bb_problems *problems,
                                             bb_config_base **out);
BB_CHECKED bb_status bb_experiment_base_bind(const bb_experiment_table *table,
                                             const bb_config_base *base,
                                             const char *const *overrides, bb_index count,
                                             bb_problems *problems, bb_config **out);

#endif
