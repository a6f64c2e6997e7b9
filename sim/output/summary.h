// SPDX-License-Identifier: Apache-2.0
#ifndef BB_SIM_OUTPUT_SUMMARY_H
#define BB_SIM_OUTPUT_SUMMARY_H

#include "core/text.h"
#include "sim/output/front.h"
#include "sim/output/grid.h"

/// The question: the pipeline of least `measure` whose price is at most `within`, NaN: at most the
/// experiment's tolerance, and the answer says that it is assumed.
typedef struct bb_answer_question {
    double max_loss;
    bb_front_measure measure;
} bb_answer_question;

/// Appends the reference's score and the pipeline that is asked for with its price and cost, or
/// that none is within the price. Bytes are compared with fp32's, as in the table, other measures
/// with the reference's. One line, no line end; names as they are. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_summary_add_answer(const bb_experiment *experiment,
                                           const bb_results *results, const bb_front *front,
                                           const bb_answer_question *question, bb_text *out);

/// Appends the knee of the front of price and bytes, and the fewest bytes at any price. One line,
/// no line end. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_summary_add_front(const bb_experiment *experiment,
                                          const bb_results *results, const bb_front *front,
                                          bb_text *out);

enum { BB_SUMMARY_WIDTH = 80 }; ///< columns of a terminal

/// Appends what `run` and `show` print of a result, in 80 columns of a terminal: the answer, the
/// short table, and what its marks and its price mean. `within`: the price that the answer keeps;
/// NaN: the experiment's. Errors: BB_INVALID (results without pipelines), BB_MEMORY.
BB_CHECKED bb_status bb_summary_write(const bb_experiment *experiment, const bb_results *results,
                                      double max_loss, bb_text *out);

/// The same of a grid over sources [count]: an answer a source, led by its label where it has one;
/// marks are explained of a single one.
BB_CHECKED bb_status bb_summary_write_grid(const bb_grid *grid, const bb_grid_source *sources,
                                           bb_index count, const bb_answer_question *question,
                                           bb_text *out);

/// Appends a grid as a table of at most BB_SUMMARY_WIDTH columns: long names are cut, each to a
/// text that no other has, and columns for which there is no room follow in blocks below. A
/// pipeline on the front is marked `*`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_summary_write_table(const bb_grid *grid, bb_text *out);

/// Appends the table of `show --full`, as wide as it is. A pipeline is marked `*` when no other is
/// at most as high in loss (bb_front_loss) and bytes, and lower in one. Time joins them where all
/// pipelines computed on a GPU, times that differ by less than 10 % being equal: a cpu's time is
/// that of emulated formats, and both change from run to run. An answer with a relative error of 1
/// takes no part. `within` is a price, NaN for none: the pipeline of fewest bytes, then least time,
/// whose price is at most that is named. Pipelines that failed show their status and
/// `-`, and take no part. Where a pipeline has draws its price is the
/// worst of those that finished, in a column that says so; one of which some failed is `unsafe` and
/// takes no part either. Errors: BB_INVALID (results without pipelines), BB_MEMORY.
BB_CHECKED bb_status bb_summary_write_full(const bb_experiment *experiment,
                                           const bb_results *results, double max_loss,
                                           bb_text *out);

#endif
