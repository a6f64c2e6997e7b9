// SPDX-License-Identifier: Apache-2.0
//
// The result table of a run as text: a row a pipeline, the Pareto front marked, and the cheapest
// pipeline within a price.
#ifndef BB_SIM_OUTPUT_TABLE_H
#define BB_SIM_OUTPUT_TABLE_H

#include "core/text.h"
#include "sim/experiment.h"
#include "sim/output/results.h"

#include <stdbool.h>

/// Writes the table. A pipeline is marked `*` when no other is at most as high in loss
/// (bb_front_loss) and bytes, and lower in one. Time joins them where all pipelines computed on a
/// GPU, times that differ by less than 10 % being equal: a cpu's time is that of emulated formats,
/// and both change from run to run. An answer with a relative error of 1 takes no part. `within` is
/// a price, NaN for none: the pipeline of fewest bytes, then least time, whose price is at most
/// that is named. Pipelines that failed show their status and
/// `-`, and take no part. Where a pipeline has draws its price is the
/// worst of those that finished, in a column that says so; one of which some failed is `unsafe` and
/// takes no part either. Errors: BB_INVALID (results without pipelines), BB_MEMORY.
BB_CHECKED bb_status bb_table_write(const bb_experiment *experiment, const bb_results *results,
                                    double within, bb_text *out);

/// What a pipeline asks and gives, as the table counts it.
typedef struct bb_table_cost {
    double price;    ///< largest of the experiment's, of draws the worst; infinite: not known
    double bytes;    ///< of the operator; infinite: not known
    bool takes_part; ///< computed, safe and not lost
    bool front;      ///< of loss and bytes alone
} bb_table_cost;

/// The costs of all pipelines in their order, out [pipelines]. Errors: BB_INVALID (results without
/// pipelines), BB_MEMORY.
BB_CHECKED bb_status bb_table_costs(const bb_experiment *experiment, const bb_results *results,
                                    bb_table_cost *out);

#endif
