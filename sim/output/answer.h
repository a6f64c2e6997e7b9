// SPDX-License-Identifier: Apache-2.0
//
// What a result says, in a sentence or two.
#ifndef BB_SIM_OUTPUT_ANSWER_H
#define BB_SIM_OUTPUT_ANSWER_H

#include "core/text.h"
#include "sim/output/front.h"

/// The question: the pipeline of least `measure` whose price is at most `within`, NaN: at most the
/// experiment's tolerance, and the answer says that it is assumed.
typedef struct bb_answer_question {
    double within;
    bb_front_measure measure;
} bb_answer_question;

/// Appends the reference's score and the pipeline that is asked for with its price and cost, or
/// that none is within the price. Bytes are compared with fp32's, as in the table, other measures
/// with the reference's. One line, no line end; names as they are. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_answer_write(const bb_experiment *experiment, const bb_results *results,
                                     const bb_front *front, const bb_answer_question *question,
                                     bb_text *out);

/// Appends the knee of the front of price and bytes, and the fewest bytes at any price. One line,
/// no line end. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_answer_write_front(const bb_experiment *experiment,
                                           const bb_results *results, const bb_front *front,
                                           bb_text *out);

#endif
