// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: a cached factor of a plate. Bytes between the header and the digest change and
// the digest is recomputed, to reach the checks of sizes and indices. The file is ignored, or gives
// a factor whose solve stays inside its arrays. fuzz_checkpoint covers incomplete files.
//
// Input: places, two bytes, and the byte that comes there.
#include "core/digest.h"
#include "core/store.h"
#include "physics/wafer/response/plate_factor.h"
#include "tests/fuzz/fuzz_input.h"

enum { UNKNOWNS = 6, SUM_BYTES = 32, MOST_BYTES = 1 << 14 };

static const char key[] = "key";
static size_t header_bytes; // magic to key
static uint8_t *sound;
static size_t sound_bytes;
static char folder[300];
static char *path;

// Stores the factor of a tridiagonal matrix, with a valid header.
static void keep_factor(void)
{
    int64_t start[UNKNOWNS + 1] = {0};
    int64_t row[2 * UNKNOWNS];
    double value[2 * UNKNOWNS];
    const int64_t order[UNKNOWNS] = {0, 1, 2, 3, 4, 5};
    int64_t count = 0;
    bb_plate_factor *factor = NULL;
    for (int64_t j = 0; j < UNKNOWNS; ++j) {
        for (int64_t i = j > 0 ? j - 1 : 0; i <= j; ++i) {
            row[count] = i;
            value[count++] = i == j ? 4.0 : -1.0;
        }
        start[j + 1] = count;
    }
    const bb_upper_triangle matrix = {UNKNOWNS, start, row, value};
    fuzz_demand(bb_plate_factor_create(&matrix, order, &factor) == BB_OK, "a factor");
    fuzz_demand(bb_plate_factor_store(factor, folder, key) == BB_OK, "a kept factor");
    bb_plate_factor_destroy(&factor);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    static char held[400];
    (void)count;
    (void)arguments;
    (void)snprintf(folder, sizeof folder, "%s", fuzz_path(""));
    fuzz_demand(bb_store_path(folder, "factor", key, &path) == BB_OK, "a path");
    fuzz_demand(bb_store_save(folder, "factor", key, NULL, 0) == BB_OK, "a header");
    header_bytes = fuzz_read(path, &sound) - SUM_BYTES;
    free(sound);
    keep_factor();
    (void)snprintf(held, sizeof held, "%s", path);
    BB_RELEASE(&path); // the target counts allocated blocks
    path = held;
    sound_bytes = fuzz_read(path, &sound);
    fuzz_demand(sound_bytes > header_bytes && sound_bytes < MOST_BYTES - SUM_BYTES, "a factor");
    return 0;
}

static void write_file(fuzz_input in)
{
    static uint8_t bytes[MOST_BYTES];
    const size_t end = sound_bytes - SUM_BYTES;
    memcpy(bytes, sound, end);
    while (in.size > 0) {
        const unsigned place = fuzz_take(&in);
        const size_t offset = (place | (unsigned)fuzz_take(&in) << 8) % (end - header_bytes);
        bytes[header_bytes + offset] = fuzz_take(&in);
    }
    bb_digest_of(bytes, end, (char *)bytes + end);
    fuzz_write(path, bytes, sound_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bb_plate_factor *factor = NULL;
    double x[UNKNOWNS] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
    write_file((fuzz_input){data, size});
    bb_status status = bb_plate_factor_load(folder, key, UNKNOWNS, &factor);
    if (status == BB_OK && factor != NULL) {
        const int64_t *places = bb_plate_factor_places(factor);
        for (int i = 0; i < UNKNOWNS; ++i) {
            fuzz_demand(places[i] >= 0 && places[i] < UNKNOWNS, "a place in the factor");
        }
        status = bb_supernodes_solve(bb_plate_factor_supernodes(factor), 1, 0, NULL, x);
    }
    bb_plate_factor_destroy(&factor);
    fuzz_settle(status);
    return 0;
}
