// SPDX-License-Identifier: Apache-2.0
//
// What a result says, in a sentence or two.
#ifndef BB_SIM_OUTPUT_ANSWER_H
#define BB_SIM_OUTPUT_ANSWER_H

#include "core/text.h"
#include "sim/output/front.h"

/// What is asked: the pipeline of least `measure` whose price is at most `within`, NaN: none is
/// asked for.
typedef struct bb_answer_question {
    double within;
    bb_front_measure measure;
} bb_answer_question;

/// Appends the reference's score and the pipeline that is asked for with its price and cost, or
/// that none is within the price; without a price, the knee of the front and its fewest bytes. One
/// line, no line end; names as they are. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_answer_write(const bb_experiment *experiment, const bb_results *results,
                                     const bb_front *front, const bb_answer_question *question,
                                     bb_text *out);

#endif
