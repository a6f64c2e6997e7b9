// SPDX-License-Identifier: Apache-2.0
//
// Experiments that a configuration can select: a table with one row, and one driver, for each.
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

/// Options of the command line for a run.
typedef struct bb_run_options {
    bb_index threads;          ///< number of threads, as set by bb_threads_set
    const char *dump;          ///< operators to add to the file, "Cmm,R"; NULL for none
    const char *checkpoint;    ///< checkpoint file, NULL: none
    double checkpoint_every_s; ///< shortest interval between checkpoints, NaN: default
    const char *resume;        ///< checkpoint to resume from, NULL: start from the beginning
    /// variants of generated kernels; NULL: default selection
    const struct bb_kernel_wish *kernels;
} bb_run_options;

/// Options of the command line for a stream.
typedef struct bb_live_options {
    const char *source;    ///< source of frames; NULL: the study's own scene
    bb_index frames;       ///< number of phases after which the stream ends; 0: unlimited
    double rate_hz;        ///< phases released per second, NaN: as they arrive
    double patience_s;     ///< longest wait for frames, NaN: default
    bb_index overlap;      ///< phases in flight; 0: default
    const char *view;      ///< folder of a page, NULL: none
    const char *pipelines; ///< comma-separated names, NULL: one pipeline
} bb_live_options;

/// Column of the result table: a dataset of /results over `pipeline`.
typedef struct bb_column {
    const char *dataset; ///< "overlay_error_x_nm"
    const char *header;  ///< "overlay x [nm]"
    double scale;        ///< shown value = scale * stored value
} bb_column;

typedef struct bb_experiment {
    const char *name; ///< also the name of its schema
    const bb_schema *schema;
    const char *starter; ///< a small YAML study with every required key
    /// Adds violations of rules between keys to `problems`.
    bb_status (*check)(const void *study, const bb_config *config, bb_problems *problems);
    /// Estimates sizes, memory and time before anything is computed.
    bb_status (*plan)(const void *study, const bb_run_options *options, bb_plan *plan);
    /// Computes and fills `results`; numerical failures are results.
    bb_status (*run)(const void *study, const bb_run_options *options, bb_results *results);
    /// Writes a convergence study of the physics to `results` and a table for the user; NULL: none.
    bb_status (*converge)(const void *study, bb_results *results, bb_text *table);
    const char *converge_help; ///< quantity that `converge` refines, for the user
    /// Writes the latencies of a control loop to `results` and a table for the user. NULL: none; in
    /// this build if `realtime_absent` gives a reason.
    bb_status (*realtime)(const void *study, bb_results *results, bb_text *table);
    const char *realtime_absent;
    const char *realtime_help; ///< loop that `realtime` runs, for the user
    /// Processes a stream into `results` and a table for the user; NULL: none. An error after a
    /// table was written leaves the results up to then in both.
    bb_status (*live)(const void *study, const bb_live_options *options, bb_results *results,
                      bb_text *table);
    const char *live_help;    ///< stream that `live` processes, for the user
    const bb_column *columns; ///< [column_count] columns of the result table, in order
    bb_index column_count;
    const struct bb_part *const
        *parts;                ///< features available to its studies, NULL-terminated; or NULL
    const char *const *losses; ///< [loss_count] datasets; the loss is the largest of those present
    bb_index loss_count;
    const char *loss_name;   ///< "overlay error [nm]"
    double tolerance;        ///< default limit of the loss in the answer
    const bb_column *scores; ///< [score_count] scores printed for the reference: the first item of
                             ///< its row in a dataset over pipelines; NULL: bytes only
    bb_index score_count;
    const char *checkpoint_help; ///< "the heating, every 60 s": content and default interval of
                                 ///< checkpoints; NULL: no checkpoints
    bool (*has_sheet)(const void *study); ///< true if a study's results have `sheet`
    const char *sheet;                 ///< group also written as CSV if a result has it; NULL: none
    const struct bb_slot_table *slots; ///< slots whose formats `tune --for` chooses; NULL: none
    const char *operators;             ///< operators of --dump, "Cmm,Ctm"; NULL: none
    /// Appends the fields of a study, for `check --fields`; NULL: none.
    bb_status (*list_fields)(const void *study, bb_text *out);
    /// Appends the text below the result table; NULL: none.
    bb_status (*report)(const bb_results *results, bb_text *out);
} bb_experiment;

/// Table of experiments. The program's table is bb_experiments; tests have their own.
typedef struct bb_experiment_table {
    const bb_experiment *const *rows; ///< [count]
    bb_index count;
} bb_experiment_table;

/// Experiments, each in a separate folder.
extern const bb_experiment bb_wafer_experiment, bb_ao_experiment, bb_product_experiment,
    bb_reconstructor_experiment, bb_fringe_experiment;

extern const bb_experiment_table bb_experiments;

/// Output table `index` of an experiment's results, NULL past the last.
const bb_output_table *bb_experiment_output(const bb_experiment *experiment, bb_index index);

/// Row by name, or NULL.
const bb_experiment *bb_experiment_find(const bb_experiment_table *table, const char *name);

/// Text of an experiment's row, or NULL.
typedef const char *(*bb_experiment_text)(const bb_experiment *experiment);

/// Appends the names of the experiments that have a text: "wafer, ao".
BB_CHECKED bb_status bb_experiment_list(const bb_experiment_table *table, bb_experiment_text text,
                                        bb_text *out);

/// Loads a configuration with the table's schemas and checks the experiment's rules. Errors and
/// ownership as bb_config_load.
BB_CHECKED bb_status bb_experiment_load(const bb_experiment_table *table, const char *path,
                                        const char *const *overrides, bb_index override_count,
                                        bb_problems *problems, bb_config **out);

/// Loads a configuration as above from a request, whose schemas are set to the table's.
BB_CHECKED bb_status bb_experiment_load_by(const bb_experiment_table *table,
                                           bb_config_request request, bb_problems *problems,
                                           bb_config **out);

/// Loads a configuration as above from a text that was read earlier.
BB_CHECKED bb_status bb_experiment_load_text(const bb_experiment_table *table,
                                             const bb_config_file *file,
                                             const char *const *overrides, bb_index override_count,
                                             bb_problems *problems, bb_config **out);

/// Load a configuration in two steps: read the files once, then bind repeatedly with further
/// overrides. The schemas of `request` are set to the table's. Errors and ownership as
/// bb_config_base_read and bb_config_base_bind.
BB_CHECKED bb_status bb_experiment_base_read(const bb_experiment_table *table,
                                             bb_config_request request, bb_problems *problems,
                                             bb_config_base **out);
BB_CHECKED bb_status bb_experiment_base_bind(const bb_experiment_table *table,
                                             const bb_config_base *base,
                                             const char *const *overrides, bb_index count,
                                             bb_problems *problems, bb_config **out);

#endif
