// SPDX-License-Identifier: Apache-2.0
#include "sim/output/front.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

// Times with a smaller ratio count as equal: repeated runs on one machine vary by as much.
static const double time_spread = 1.1;

// Answers with this relative error are invalid and excluded from the front, however few their
// bytes.
static const double lost = 0.999;

// Relative rounding error of an fp64 score: sums of some thousand terms in varying order.
static const double score_rounding = 1e-12;

const bb_dataset *bb_front_column(const bb_results *results, const char *name, bb_index count)
{
    const bb_dataset *dataset = bb_results_in(results, "results", name);
    bool fits = dataset != NULL && dataset->rank == 1 && dataset->count == count &&
                strcmp(dataset->axes[0], "pipeline") == 0;
    return fits ? dataset : NULL;
}

static double number_of(const bb_results *results, const char *name, bb_index count, bb_index row)
{
    const bb_dataset *dataset = bb_front_column(results, name, count);
    return dataset == NULL || dataset->is_text ? NAN : dataset->numbers[row];
}

static bool is_ok(const bb_results *results, bb_index count, bb_index row)
{
    const bb_dataset *dataset = bb_front_column(results, "status", count);
    return dataset == NULL || !dataset->is_text || strcmp(dataset->texts[row], "ok") == 0;
}

// Loss of a row with one draw, NaN if unknown.
static double plain_loss(const bb_experiment *experiment, const bb_results *results, bb_index count,
                         bb_index row)
{
    double largest = -INFINITY;
    for (bb_index i = 0; i < experiment->loss_count; ++i) {
        if (bb_front_column(results, experiment->losses[i], count) == NULL) {
            continue;
        }
        double loss = number_of(results, experiment->losses[i], count, row);
        largest = isnan(loss) || isnan(largest) ? NAN : fmax(largest, loss);
    }
    return isinf(largest) ? NAN : largest;
}

double bb_front_magnitude(double loss, double score)
{
    const double magnitude = fabs(loss);
    return magnitude <= score_rounding * score ? 0.0 : magnitude;
}

// Row of the reference: the one with that name, else the first, as in a study.
static bb_index reference_of(const bb_dataset *names)
{
    for (bb_index i = 0; i < names->count; ++i) {
        if (strcmp(names->texts[i], "reference") == 0) {
            return i;
        }
    }
    return 0;
}

// Largest score of the reference, the scale of its rounding error; 0 without a score.
static double reference_score(const bb_experiment *experiment, const bb_results *results,
                              const bb_front *front)
{
    double largest = 0.0;
    for (bb_index i = 0; i < experiment->score_count; ++i) {
        const bb_dataset *scores = bb_results_in(results, "results", experiment->scores[i].dataset);
        if (scores != NULL && !scores->is_text && scores->rank > 0 &&
            scores->shape[0] == front->names->count) {
            const bb_index items = scores->count / front->names->count;
            largest = fmax(largest, fabs(scores->numbers[front->reference * items]));
        }
    }
    return largest;
}

static bb_front_cost cost_of(const bb_experiment *experiment, const bb_results *results,
                             bb_index count, bb_index row)
{
    static const char *const datasets[BB_FRONT_MEASURES] = {"operator_bytes", "solve_time_s",
                                                            "energy_j", "cost_usd"};
    bb_front_cost cost = {.plain_loss = plain_loss(experiment, results, count, row)};
    bool drawn = number_of(results, "draws", count, row) > 1.0;
    double loss = drawn ? number_of(results, "loss_worst", count, row) : cost.plain_loss;
    cost.loss = isnan(loss) ? INFINITY : loss;
    for (int m = 0; m < BB_FRONT_MEASURES; ++m) {
        double value = number_of(results, datasets[m], count, row);
        cost.measures[m] = isnan(value) ? INFINITY : value;
    }
    cost.is_eligible = isfinite(cost.loss) && is_ok(results, count, row) &&
                       !(number_of(results, "qoi_relative_error", count, row) >= lost);
    return cost;
}

// True if all successful pipelines ran on a GPU, where times are those of the formats; a cpu
// emulates them.
static bool are_timed(const bb_results *results, const bb_front_cost *costs, bb_index count)
{
    const bb_dataset *devices = bb_front_column(results, "device", count);
    bool timed = devices != NULL && devices->is_text;
    for (bb_index i = 0; timed && i < count; ++i) {
        timed = !costs[i].is_eligible || strcmp(devices->texts[i], "cuda") == 0;
    }
    return timed;
}

static bool are_counts(const bb_experiment *experiment, const bb_front *front)
{
    bool whole = strchr(experiment->loss_name, '[') == NULL;
    for (bb_index i = 0; whole && i < front->names->count; ++i) {
        const double loss = front->costs[i].loss; // infinite if unknown
        whole = loss == rint(loss);
    }
    return whole;
}

bb_status bb_front_find(const bb_experiment *experiment, const bb_results *results, bb_front *out)
{
    bb_status status = BB_OK;
    *out = (bb_front){.names = bb_results_find(results, "results/pipeline")};
    BB_REQUIRE(out->names != NULL && out->names->is_text && out->names->is_axis, BB_INVALID,
               "results without an axis 'pipeline' of names; expected a file of 'bitbudget run'");
    BB_TRY(BB_ALLOCATE(out->names->count, &out->costs));
    out->reference = reference_of(out->names);
    const double score = reference_score(experiment, results, out);
    for (bb_index i = 0; i < out->names->count; ++i) {
        out->costs[i] = cost_of(experiment, results, out->names->count, i);
        out->costs[i].magnitude = bb_front_magnitude(out->costs[i].loss, score);
    }
    out->counts = are_counts(experiment, out);
    out->timed = are_timed(results, out->costs, out->names->count);
done:
    return status;
}

void bb_front_release(bb_front *front)
{
    BB_RELEASE(&front->costs);
}

static double seconds_of(const bb_front *front, bb_index row)
{
    return front->timed ? front->costs[row].measures[BB_FRONT_TIME] : 0.0;
}

static bool beats(const bb_front *front, bb_index i, bb_index j)
{
    const bb_front_cost *a = &front->costs[i];
    const bb_front_cost *b = &front->costs[j];
    const double a_bytes = a->measures[BB_FRONT_BYTES];
    const double b_bytes = b->measures[BB_FRONT_BYTES];
    const double a_seconds = seconds_of(front, i);
    const double b_seconds = seconds_of(front, j);
    return a->is_eligible && a->magnitude <= b->magnitude && a_bytes <= b_bytes &&
           a_seconds <= time_spread * b_seconds &&
           (a->magnitude < b->magnitude || a_bytes < b_bytes ||
            time_spread * a_seconds < b_seconds);
}

bool bb_front_has(const bb_front *front, bb_index row)
{
    if (!front->costs[row].is_eligible) {
        return false;
    }
    for (bb_index other = 0; other < front->names->count; ++other) {
        if (beats(front, other, row)) {
            return false;
        }
    }
    return true;
}

bb_index bb_front_least(const bb_front *front, double max_loss, bb_front_measure measure)
{
    bb_index best = -1;
    for (bb_index i = 0; i < front->names->count; ++i) {
        const bb_front_cost *cost = &front->costs[i];
        const double value = cost->measures[measure];
        if (!cost->is_eligible || cost->loss > max_loss ||
            (measure != BB_FRONT_BYTES && isinf(value))) {
            continue;
        }
        const double least = best < 0 ? INFINITY : front->costs[best].measures[measure];
        if (best < 0 || value < least ||
            (value == least && seconds_of(front, i) < seconds_of(front, best))) {
            best = i;
        }
    }
    return best;
}

bb_index bb_front_knee(const bb_front *front)
{
    double magnitude[2] = {INFINITY, -INFINITY}; // minimum and maximum
    double size[2] = {INFINITY, -INFINITY};      // logarithms of bytes
    double farthest = 0.0;
    bb_index knee = -1;
    for (int pass = 0; pass < 2; ++pass) {
        for (bb_index i = 0; i < front->names->count; ++i) {
            const bb_front_cost *cost = &front->costs[i];
            const double bytes = cost->measures[BB_FRONT_BYTES];
            if (!bb_front_has(front, i) || !isfinite(bytes) || bytes <= 0.0) {
                continue;
            }
            if (pass == 0) {
                magnitude[0] = fmin(magnitude[0], cost->magnitude);
                magnitude[1] = fmax(magnitude[1], cost->magnitude);
                size[0] = fmin(size[0], log(bytes));
                size[1] = fmax(size[1], log(bytes));
                continue;
            }
            const double below = 1.0 -
                                 (cost->magnitude - magnitude[0]) / (magnitude[1] - magnitude[0]) -
                                 (log(bytes) - size[0]) / (size[1] - size[0]);
            if (below > farthest + 1e-9) { // end points lie on the line except for rounding
                farthest = below;
                knee = i;
            }
        }
    }
    return knee;
}
