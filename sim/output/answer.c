// SPDX-License-Identifier: Apache-2.0
#include "sim/output/answer.h"

#include "sim/output/cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// How a measure is asked for and stated.
typedef struct words {
    const char *least, *noun, *unit;
    double scale;
} words;

static const words measures[BB_FRONT_MEASURES] = {
    [BB_FRONT_BYTES] = {"Fewest bytes", "number of bytes", "MB", 1e-6},
    [BB_FRONT_TIME] = {"Least time", "time", "ms", 1e3},
    [BB_FRONT_JOULES] = {"Least energy", "energy", "J", 1.0},
    [BB_FRONT_COST] = {"Least cost", "cost", "USD", 1.0},
};

typedef struct asking {
    const bb_experiment *experiment;
    const bb_results *results;
    const bb_front *front;
} asking;

// "overlay error 0.02 nm" of a price named "overlay error [nm]".
static bb_status add_price(const bb_experiment *experiment, const char *number, bb_text *out)
{
    const char *name = experiment->price_name;
    const char *open = strstr(name, " [");
    const int length = open == NULL ? (int)strlen(name) : (int)(open - name);
    const char *unit = open == NULL ? "" : open + 2;
    return bb_text_add(out, "%.*s %s%s%.*s", length, name, number, unit[0] == '\0' ? "" : " ",
                       (int)strcspn(unit, "]"), unit);
}

// "Strehl ratio 0.5920", first of its row; nothing where the results lack it.
static bb_status add_score(const bb_column *score, const bb_results *results, bb_index row,
                           bb_index count, const char *before, bb_text *out)
{
    char path[128];
    char number[BB_CELL_BYTES];
    (void)snprintf(path, sizeof path, "results/%.100s", score->dataset);
    const bb_dataset *dataset = bb_results_find(results, path);
    if (dataset == NULL || dataset->is_text || dataset->rank < 1 || dataset->shape[0] != count) {
        return BB_OK;
    }
    bb_cell_item(dataset->unit, score->scale, dataset->numbers, dataset->count,
                 row * (dataset->count / count), number);
    const bool pure = strcmp(dataset->unit, "1") == 0;
    return bb_text_add(out, "%s %s %s%s%s", before, score->header, number, pure ? "" : " ",
                       pure ? "" : dataset->unit);
}

static bb_status add_reference(const bb_experiment *experiment, const bb_results *results,
                               const bb_front *front, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_dataset *names = front->names;
    const bb_index row = front->reference;
    const double bytes = front->costs[row].measures[BB_FRONT_BYTES];
    const char *before = ":";
    char number[BB_CELL_BYTES];
    const bool plain = strcmp(names->texts[row], "reference") == 0;
    BB_TRY(bb_text_add(out, "Reference%s%s", plain ? "" : " ", plain ? "" : names->texts[row]));
    for (bb_index i = 0; i < experiment->score_count; ++i) {
        const bb_index length = out->length;
        BB_TRY(add_score(&experiment->scores[i], results, row, names->count, before, out));
        before = out->length > length ? "," : before;
    }
    if (isfinite(bytes)) {
        bb_cell_number(1e-6 * bytes, number);
        BB_TRY(bb_text_add(out, "%s %s MB", before, number));
    }
    BB_TRY(bb_text_add(out, "."));
done:
    return status;
}

// Bytes of a row in fp32 over its own, as the table's `ratio`; NaN where the results lack it.
static double compression_of(const bb_results *results, bb_index row, bb_index count)
{
    const bb_dataset *ratios = bb_results_find(results, "results/compression_ratio");
    return ratios == NULL || ratios->is_text || ratios->count != count ? NAN : ratios->numbers[row];
}

// "hp2 (strehl loss 0.001, 2.450 MB, 1.8 times fewer than fp32)".
static bb_status add_choice(const asking *about, bb_index row, bb_front_measure measure,
                            bb_text *out)
{
    bb_status status = BB_OK;
    char price[BB_CELL_BYTES];
    char value[BB_CELL_BYTES];
    const bb_front *front = about->front;
    const double own = front->costs[row].measures[measure];
    double ratio = front->costs[front->reference].measures[measure] / own;
    const double compression = compression_of(about->results, row, front->names->count);
    const bool to_fp32 = measure == BB_FRONT_BYTES && isfinite(compression);
    ratio = to_fp32 ? compression : ratio;
    if (front->counts) {
        (void)snprintf(price, sizeof price, "%.0f", front->costs[row].price);
    } else {
        bb_cell_number(front->costs[row].price, price);
    }
    bb_cell_number(isinf(own) ? NAN : measures[measure].scale * own, value);
    BB_TRY(bb_text_add(out, "%s (", front->names->texts[row]));
    BB_TRY(add_price(about->experiment, price, out));
    BB_TRY(bb_text_add(out, ", %s %s", value, measures[measure].unit));
    if (isfinite(ratio) && own > 0.0 && ratio > 1.05) {
        BB_TRY(bb_text_add(out, ", %.*g times %s than %s", ratio < 99.5 ? 2 : 6,
                           ratio < 99.5 ? ratio : round(ratio),
                           measure == BB_FRONT_BYTES ? "fewer" : "less",
                           to_fp32 ? "fp32" : "the reference"));
    }
    BB_TRY(bb_text_add(out, ")"));
done:
    return status;
}

// What keeps a price; the experiment's tolerance where the user names none.
static bb_status add_asked(const asking *about, const bb_answer_question *question, bb_text *out)
{
    bb_status status = BB_OK;
    const words *asked = &measures[question->measure];
    const bool assumed = isnan(question->within);
    const double within = assumed ? about->experiment->tolerance : question->within;
    const bb_index best = bb_front_least(about->front, within, question->measure);
    const bool any = bb_front_least(about->front, within, BB_FRONT_BYTES) >= 0;
    char limit[BB_CELL_BYTES];
    (void)snprintf(limit, sizeof limit, "%.6g", within);
    BB_TRY(best >= 0 ? bb_text_add(out, " %s within ", asked->least)
                     : bb_text_add(out, " No pipeline%s within ", any ? "" : " is"));
    BB_TRY(add_price(about->experiment, limit, out));
    BB_TRY(bb_text_add(out, assumed ? ", assumed (set it by --within)" : ""));
    if (best >= 0) {
        BB_TRY(bb_text_add(out, ": "));
        BB_TRY(add_choice(about, best, question->measure, out));
    } else if (any) {
        BB_TRY(bb_text_add(out, " has a known %s", asked->noun));
    }
    BB_TRY(bb_text_add(out, "."));
    if (best >= 0 && question->measure == BB_FRONT_TIME && !about->front->timed) {
        BB_TRY(bb_text_add(out, " Times are a cpu's, which emulates narrow formats."));
    }
done:
    return status;
}

bb_status bb_answer_write_front(const bb_experiment *experiment, const bb_results *results,
                                const bb_front *front, bb_text *out)
{
    bb_status status = BB_OK;
    const asking about = {experiment, results, front};
    const bb_index knee = bb_front_knee(front);
    bb_index fewest = bb_front_least(front, INFINITY, BB_FRONT_BYTES);
    if (fewest < 0) {
        return bb_text_add(out, "No pipeline has a price.");
    }
    // Of equal bytes the one that costs less.
    for (bb_index i = 0; i < front->names->count; ++i) {
        const bb_front_cost *cost = &front->costs[i];
        const bb_front_cost *best = &front->costs[fewest];
        if (cost->takes_part && cost->measures[BB_FRONT_BYTES] == best->measures[BB_FRONT_BYTES] &&
            cost->loss < best->loss) {
            fewest = i;
        }
    }
    if (knee >= 0) {
        BB_TRY(bb_text_add(out, "Fewest bytes before the price climbs: "));
        BB_TRY(add_choice(&about, knee, BB_FRONT_BYTES, out));
        BB_TRY(bb_text_add(out, ". "));
    }
    BB_TRY(bb_text_add(out, "Fewest bytes at any price: "));
    BB_TRY(add_choice(&about, fewest, BB_FRONT_BYTES, out));
    BB_TRY(bb_text_add(out, "."));
done:
    return status;
}

bb_status bb_answer_write(const bb_experiment *experiment, const bb_results *results,
                          const bb_front *front, const bb_answer_question *question, bb_text *out)
{
    bb_status status = BB_OK;
    const asking about = {experiment, results, front};
    BB_TRY(add_reference(experiment, results, front, out));
    BB_TRY(add_asked(&about, question, out));
done:
    return status;
}
