// SPDX-License-Identifier: Apache-2.0
#ifndef BB_SIM_OUTPUT_SUMMARY_H
#define BB_SIM_OUTPUT_SUMMARY_H

#include "core/text.h"
#include "sim/output/front.h"
#include "sim/output/grid.h"

/// Question to answer: the pipeline of least `measure` with a loss of at most `max_loss`. NaN: the
/// experiment's tolerance, which the answer states.
typedef struct bb_answer_question {
    double max_loss;
    bb_front_measure measure;
} bb_answer_question;

/// Appends the reference's score and the selected pipeline with its loss and cost, or that no
/// pipeline is within the limit. Bytes are compared with fp32, as in the table; other measures with
/// the reference. One line without line end; names are unchanged. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_summary_add_answer(const bb_experiment *experiment,
                                           const bb_results *results, const bb_front *front,
                                           const bb_answer_question *question, bb_text *out);

/// Appends the knee of the front of loss and bytes, and the fewest bytes at any loss. One line
/// without line end. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_summary_add_front(const bb_experiment *experiment,
                                          const bb_results *results, const bb_front *front,
                                          bb_text *out);

enum { BB_SUMMARY_WIDTH = 80 }; ///< columns of a terminal

/// Appends the output of `run` and `show` for a result in 80 columns of a terminal: the answer, the
/// short table, and a legend of its marks and its loss. `max_loss`: limit of the loss; NaN: the
/// experiment's. Errors: BB_INVALID (results without pipelines), BB_MEMORY.
BB_CHECKED bb_status bb_summary_write(const bb_experiment *experiment, const bb_results *results,
                                      double max_loss, bb_text *out);

/// Appends this output for a grid over sources [count]: an answer for each source, preceded by its
/// label if any; marks are explained for a single source.
BB_CHECKED bb_status bb_summary_write_grid(const bb_grid *grid, const bb_grid_source *sources,
                                           bb_index count, const bb_answer_question *question,
                                           bb_text *out);

/// Appends a grid as a table of at most BB_SUMMARY_WIDTH columns: long names are shortened to
/// distinct texts, and columns that do not fit follow in blocks below. `*` marks pipelines on the
/// front. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_summary_write_table(const bb_grid *grid, bb_text *out);

/// Appends the table of `show --full` without a width limit. `*` marks a pipeline if no other is at
/// most as high in both loss (bb_front_magnitude) and bytes, and lower in one. If all pipelines ran
/// on a GPU, time is a third criterion, and times that differ by less than 10 % are equal: times of
/// a cpu are those of emulated formats, and both vary between runs. Pipelines whose answer has a
/// relative error of 1 are excluded. `max_loss` is a loss, NaN for none: the pipeline with the
/// fewest bytes, then least time, within it is named. Failed pipelines show their status and `-`,
/// and are excluded. With draws, the loss is the worst of the completed draws, in a column labelled
/// so; a pipeline with failed draws is `unsafe` and also excluded. Errors: BB_INVALID (results
/// without pipelines), BB_MEMORY.
BB_CHECKED bb_status bb_summary_write_full(const bb_experiment *experiment,
                                           const bb_results *results, double max_loss,
                                           bb_text *out);

#endif
