// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/night/profile_series.h"

#include "core/memory.h"
#include "core/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

// Bits of an address: the layer, a flag for values between steps, and the step or the microsecond.
enum { LAYER_BIT = 44, BRIDGE_BIT = 43 };

static uint64_t step_address(bb_index layer, bb_index step)
{
    return ((uint64_t)layer << LAYER_BIT) | (uint64_t)step;
}

static uint64_t time_address(bb_index layer, double time_s)
{
    return ((uint64_t)layer << LAYER_BIT) | ((uint64_t)1 << BRIDGE_BIT) |
           (uint64_t)llround(1e6 * fmax(0.0, time_s));
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

// Orders rows by layer, then by time.
static int compare(const void *first, const void *second)
{
    const bb_profile_row *a = first;
    const bb_profile_row *b = second;
    int sign = order(a->height_m, b->height_m);
    sign = sign != 0 ? sign : order(a->outer_scale_m, b->outer_scale_m);
    return sign != 0 ? sign : order(a->time_s, b->time_s);
}

static bool same_layer(const bb_profile_row *a, const bb_profile_row *b)
{
    return a->height_m == b->height_m && a->outer_scale_m == b->outer_scale_m;
}

static int compare_times(const void *first, const void *second)
{
    return order(*(const double *)first, *(const double *)second);
}

static bb_status list_times(const bb_profile_row *rows, bb_index count, bb_profile_series *out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(count, &out->time_s));
    for (bb_index i = 0; i < count; ++i) {
        out->time_s[i] = rows[i].time_s;
    }
    qsort(out->time_s, (size_t)count, sizeof *out->time_s, compare_times);
    out->time_count = 0;
    for (bb_index i = 0; i < count; ++i) {
        if (out->time_count == 0 || out->time_s[i] > out->time_s[out->time_count - 1]) {
            out->time_s[out->time_count++] = out->time_s[i];
        }
    }
done:
    return status;
}

// Fills in unknown winds from the nearest time with a known one.
static void spread_winds(bb_profile_series *series)
{
    const bb_index layers = series->layer_count;
    for (bb_index i = layers; i < series->time_count * layers; ++i) {
        series->wind[i] = isnan(series->wind[i]) ? series->wind[i - layers] : series->wind[i];
    }
    for (bb_index i = (series->time_count - 1) * layers - 1; i >= 0; --i) {
        series->wind[i] = isnan(series->wind[i]) ? series->wind[i + layers] : series->wind[i];
    }
}

// Sorts rows by layer and time into the arrays of layers and times.
static bb_status place_rows(const bb_profile_row *rows, bb_index count, bb_profile_series *out)
{
    bb_status status = BB_OK;
    bb_index layer = -1;
    bb_index time = 0;
    for (bb_index i = 0; i < count; ++i) {
        const bool begins = i == 0 || !same_layer(&rows[i - 1], &rows[i]);
        BB_REQUIRE(begins || rows[i - 1].time_s < rows[i].time_s, BB_INVALID,
                   "two rows for the layer at %g m, outer scale %g m, at %g s", rows[i].height_m,
                   rows[i].outer_scale_m, rows[i].time_s);
        layer += begins ? 1 : 0;
        time = begins ? 0 : time;
        while (out->time_s[time] < rows[i].time_s) {
            ++time;
        }
        out->height_m[layer] = rows[i].height_m;
        out->outer_scale_m[layer] = rows[i].outer_scale_m;
        out->strength[time * out->layer_count + layer] = rows[i].strength;
        out->wind[time * out->layer_count + layer] = rows[i].wind_m_per_s;
    }
    spread_winds(out);
done:
    return status;
}

bb_status bb_profile_series_create(const bb_profile_row *rows, bb_index count,
                                   bb_profile_series *out)
{
    bb_status status = BB_OK;
    bb_profile_row *sorted = NULL; // [count]
    bb_profile_series made = {0};
    BB_REQUIRE(count > 0, BB_INVALID, "a series without profiles, expected at least one row");
    BB_TRY(BB_ALLOCATE(count, &sorted));
    for (bb_index i = 0; i < count; ++i) {
        sorted[i] = rows[i];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (bb_index i = 0; i < count; ++i) {
        made.layer_count += i == 0 || !same_layer(&sorted[i - 1], &sorted[i]) ? 1 : 0;
    }
    BB_TRY(list_times(rows, count, &made));
    const bb_index cells = made.time_count * made.layer_count;
    BB_TRY(BB_ALLOCATE(made.layer_count, &made.height_m));
    BB_TRY(BB_ALLOCATE(made.layer_count, &made.outer_scale_m));
    BB_TRY(BB_ZEROED(cells, &made.strength));
    BB_TRY(BB_ALLOCATE(cells, &made.wind));
    for (bb_index i = 0; i < cells; ++i) {
        made.wind[i] = NAN;
    }
    BB_TRY(place_rows(sorted, count, &made));
    *out = made;
    made = (bb_profile_series){0};
done:
    BB_RELEASE(&sorted);
    bb_profile_series_release(&made);
    return status;
}

void bb_profile_series_release(bb_profile_series *series)
{
    BB_RELEASE(&series->height_m);
    BB_RELEASE(&series->outer_scale_m);
    BB_RELEASE(&series->time_s);
    BB_RELEASE(&series->strength);
    BB_RELEASE(&series->wind);
    BB_RELEASE(&series->walk);
    *series = (bb_profile_series){0};
}

bb_status bb_profile_series_walk(bb_profile_series *series, double deviation, double correlation_s,
                                 double step_s, bb_index step_count, uint64_t seed)
{
    bb_status status = BB_OK;
    const bb_index layers = series->layer_count;
    const double rho = exp(-step_s / correlation_s);
    const double fresh = deviation * sqrt(-expm1(-2.0 * step_s / correlation_s));
    BB_TRY(BB_ALLOCATE((step_count + 1) * layers, &series->walk));
    series->deviation = deviation;
    series->correlation_s = correlation_s;
    series->step_s = step_s;
    series->step_count = step_count;
    series->seed = seed;
    for (bb_index l = 0; l < layers; ++l) {
        double x = deviation * bb_random_normal(seed, BB_STREAM_NIGHT_WALK, step_address(l, 0));
        series->walk[l] = x;
        for (bb_index k = 1; k <= step_count; ++k) {
            x = rho * x + fresh * bb_random_normal(seed, BB_STREAM_NIGHT_WALK, step_address(l, k));
            series->walk[k * layers + l] = x;
        }
    }
done:
    return status;
}

// Returns ln of the factor of a layer.
static double log_factor(const bb_profile_series *series, bb_index layer, double time_s)
{
    const double steps = fmin(fmax(0.0, time_s / series->step_s), (double)series->step_count);
    const double nearest = round(steps);
    const bb_index layers = series->layer_count;
    if (fabs(steps - nearest) * series->step_s < 0.5e-6) {
        return series->walk[(bb_index)nearest * layers + layer];
    }
    const bb_index k = (bb_index)floor(steps);
    const double a = (steps - (double)k) * series->step_s / series->correlation_s;
    const double b = ((double)k + 1.0 - steps) * series->step_s / series->correlation_s;
    const double whole_span = -expm1(-2.0 * (a + b));
    const double before = -expm1(-2.0 * a) / whole_span; // (1 - p^2) / (1 - p^2 q^2)
    const double after = -expm1(-2.0 * b) / whole_span;
    const double mean = exp(-a) * after * series->walk[k * layers + layer] +
                        exp(-b) * before * series->walk[(k + 1) * layers + layer];
    const double variance = before * -expm1(-2.0 * b);
    return mean +
           series->deviation * sqrt(variance) *
               bb_random_normal(series->seed, BB_STREAM_NIGHT_WALK, time_address(layer, time_s));
}

void bb_profile_series_at(const bb_profile_series *series, double time_s, double *strength,
                          double *wind)
{
    const bb_index layers = series->layer_count;
    const bb_index last = series->time_count - 1;
    const double *times = series->time_s;
    bb_index j = 0;
    while (j < last && times[j + 1] <= time_s) {
        ++j;
    }
    const bb_index next = j < last ? j + 1 : last;
    const double span_s = times[next] - times[j];
    const double share = span_s > 0.0 ? fmax(0.0, (time_s - times[j]) / span_s) : 0.0;
    for (bb_index l = 0; l < layers; ++l) {
        const bb_index early = j * layers + l;
        const bb_index late = next * layers + l;
        strength[l] = (1.0 - share) * series->strength[early] + share * series->strength[late];
        if (series->walk != NULL) {
            strength[l] *= exp(log_factor(series, l, time_s));
        }
        if (wind != NULL) {
            wind[l] = (1.0 - share) * series->wind[early] + share * series->wind[late];
        }
    }
}

double bb_profile_series_learning_deviation(double frames)
{
    return 0.05 * sqrt(480.0 / frames);
}

void bb_profile_series_learn(uint64_t seed, double deviation, double time_s, bb_index count,
                             double *strength)
{
    for (bb_index l = 0; l < count; ++l) {
        const double z = bb_random_normal(seed, BB_STREAM_NIGHT_LEARNING, time_address(l, time_s));
        strength[l] *= exp(deviation * z);
    }
}

double bb_profile_series_weight(double age_s, double correlation_s)
{
    return exp(-age_s / correlation_s);
}

bb_need bb_profile_series_need(double rows, double layers, double times, double steps)
{
    const double cells = (steps > 0.0 ? (steps + 1.0) * layers : 0.0) + 2.0 * times * layers;
    return (bb_need){.host_bytes = sizeof(bb_profile_row) * rows +
                                   sizeof(double) * (cells + 2.0 * layers + rows),
                     .seconds = 1.0e-7 * (cells + rows)};
}
