// SPDX-License-Identifier: Apache-2.0
//
// bb_results_digest: what tells one set of results from another.
#include "sim/output/results.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static void add_text(XXH3_state_t *state, const char *text)
{
    (void)XXH3_128bits_update(state, text, strlen(text) + 1);
}

static void add_dataset(XXH3_state_t *state, const bb_dataset *dataset)
{
    add_text(state, dataset->name);
    add_text(state, dataset->unit);
    for (int a = 0; a < dataset->rank; ++a) {
        uint64_t size = (uint64_t)dataset->shape[a];
        (void)XXH3_128bits_update(state, &size, sizeof size);
        add_text(state, dataset->axes[a]);
    }
    for (bb_index i = 0; dataset->is_text && i < dataset->count; ++i) {
        add_text(state, dataset->texts[i]);
    }
    if (!dataset->is_text && dataset->count > 0) {
        (void)XXH3_128bits_update(state, dataset->numbers,
                                  (size_t)dataset->count * sizeof dataset->numbers[0]);
    }
}

// Order of writing must not matter: the next name in the alphabet after `last`, NULL at the end.
static const bb_dataset *next_by_name(const bb_results *results, const char *last)
{
    const bb_dataset *next = NULL;
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *candidate = bb_results_dataset(results, i);
        if (strcmp(candidate->group, "results") != 0 ||
            (last != NULL && strcmp(candidate->name, last) <= 0)) {
            continue;
        }
        if (next == NULL || strcmp(candidate->name, next->name) < 0) {
            next = candidate;
        }
    }
    return next;
}

bb_status bb_results_digest(const bb_results *results, bool reproducible_only,
                            char out[BB_DIGEST_BYTES])
{
    bb_status status = BB_OK;
    XXH3_state_t *state = XXH3_createState();
    BB_REQUIRE(state != NULL, BB_MEMORY, "host memory exhausted: state of a digest");
    (void)XXH3_128bits_reset(state);
    const bb_dataset *dataset = next_by_name(results, NULL);
    while (dataset != NULL) {
        if (!reproducible_only || !dataset->measured) {
            add_dataset(state, dataset);
        }
        dataset = next_by_name(results, dataset->name);
    }
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    (void)snprintf(out, BB_DIGEST_BYTES, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
done:
    (void)XXH3_freeState(state);
    return status;
}
