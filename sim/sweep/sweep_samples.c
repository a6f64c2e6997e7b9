// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_samples.h"

#include "core/memory.h"
#include "core/random.h"
#include "sim/config/scalar.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_end(const bb_node *map, const char *name, double *out)
{
    const bb_node *node = bb_node_member(map, name);
    return node != NULL && node->kind == BB_NODE_SCALAR && bb_scalar_double(node->text, out);
}

bool bb_sweep_range_read(const bb_node *map, bb_sweep_range *out)
{
    const bb_node *log = bb_node_member(map, "log");
    out->logarithmic = log != NULL && log->kind == BB_NODE_SCALAR && strcmp(log->text, "true") == 0;
    return read_end(map, "from", &out->first) && read_end(map, "to", &out->last) &&
           out->first != out->last;
}

double bb_sweep_range_value(const bb_sweep_range *range, double share)
{
    if (share <= 0.0) {
        return range->first;
    }
    if (share >= 1.0) {
        return range->last;
    }
    return range->logarithmic
               ? exp(log(range->first) + share * (log(range->last) - log(range->first)))
               : range->first + share * (range->last - range->first);
}

double bb_sweep_range_tidy(double value, double slack)
{
    char digits[BB_SCALAR_BYTES];
    for (int precision = 1; precision <= 17; ++precision) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, value);
        const double shorter = strtod(digits, NULL);
        if (fabs(shorter - value) <= slack) {
            return shorter;
        }
    }
    return value;
}

// Where each sample's stratum lies: the samples in the order of random keys.
typedef struct draw {
    double key;
    bb_index sample;
} draw;

static int compare(const void *a, const void *b)
{
    const draw *x = a;
    const draw *y = b;
    return x->key < y->key   ? -1
           : x->key > y->key ? 1
                             : (x->sample > y->sample) - (x->sample < y->sample);
}

static bb_status draw_hypercube(const bb_sweep_samples *plan, bb_index dimension, double *out)
{
    bb_status status = BB_OK;
    draw *order = NULL;
    const bb_index n = plan->samples;
    BB_TRY(BB_ALLOCATE(n, &order));
    const uint64_t first = 2 * (uint64_t)dimension * (uint64_t)n;
    for (bb_index i = 0; i < n; ++i) {
        order[i] = (draw){bb_random_uniform(plan->seed, BB_STREAM_SWEEP, first + (uint64_t)i), i};
    }
    qsort(order, (size_t)n, sizeof *order, compare);
    for (bb_index i = 0; i < n; ++i) {
        const uint64_t index = first + (uint64_t)n + (uint64_t)i;
        out[order[i].sample] =
            ((double)i + bb_random_uniform(plan->seed, BB_STREAM_SWEEP, index)) / (double)n;
    }
done:
    BB_RELEASE(&order);
    return status;
}

static bb_status draw_sobol(const bb_sweep_samples *plan, bb_index dimension, double *out)
{
    bb_status status = BB_OK;
    double point[BB_SWEEP_DIMENSIONS];
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)plan->dimensions);
    BB_REQUIRE(sequence != NULL, BB_MEMORY, "no memory for a Sobol sequence of %td dimensions",
               plan->dimensions);
    const double shift =
        plan->seed == 0 ? 0.0 : bb_random_uniform(plan->seed, BB_STREAM_SWEEP, (uint64_t)dimension);
    for (bb_index i = 0; i < plan->samples; ++i) {
        (void)gsl_qrng_get(sequence, point);
        out[i] = fmod(point[dimension] + shift, 1.0);
    }
done:
    if (sequence != NULL) {
        gsl_qrng_free(sequence);
    }
    return status;
}

bb_status bb_sweep_samples_draw(const bb_sweep_samples *plan, bb_index dimension, double *out)
{
    return plan->sobol ? draw_sobol(plan, dimension, out) : draw_hypercube(plan, dimension, out);
}
