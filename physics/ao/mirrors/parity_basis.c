// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/mirrors/mirror_projector.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FLIP_X, FLIP_Y, TURN, REFLECTIONS };
enum { HELD_ROWS = 64, FOLDED_ROWS = 32 };

// Tolerance relative to the largest diagonal entry: rounding gives 1e-14, a missing subaperture a
// percent.
static const double tolerance = 1e-12;
// Tolerance relative to the largest coordinate.
static const double place_step = 1e-7;

// Image of each actuator under each reflection, and which reflections are symmetries of the matrix.
typedef struct reflecting {
    bb_index count;
    const double *gram;
    bb_index *image[REFLECTIONS]; // [count]
    bool kept[REFLECTIONS];
    double limit;
    const bb_index *tried; // the image being tested against the matrix
    bool *differs;         // [ranges of HELD_ROWS]
} reflecting;

// A position in units of the matching tolerance.
typedef struct actuator_place {
    bb_index mirror;
    int64_t x, y;
    bb_index actuator;
} actuator_place;

static int compare_places(const void *a, const void *b)
{
    const actuator_place *one = a;
    const actuator_place *other = b;
    return one->mirror != other->mirror ? (one->mirror < other->mirror ? -1 : 1)
           : one->y != other->y         ? (one->y < other->y ? -1 : 1)
                                        : (one->x > other->x) - (one->x < other->x);
}

static actuator_place place_of(const bb_actuator_places *places, bb_index actuator, double step)
{
    return (actuator_place){.mirror = places->mirror == NULL ? 0 : places->mirror[actuator],
                            .x = llround(places->x[actuator] / step),
                            .y = llround(places->y[actuator] / step),
                            .actuator = actuator};
}

// Finds the actuator at the reflected position of each one; false if one is missing.
static bool reflect(const bb_actuator_places *places, double step, const actuator_place *sorted,
                    bb_index count, int reflection, bb_index *image)
{
    bool complete = true;
    for (bb_index i = 0; i < count && complete; ++i) {
        actuator_place key = place_of(places, i, step);
        key.x = reflection == FLIP_Y ? key.x : -key.x;
        key.y = reflection == FLIP_X ? key.y : -key.y;
        const actuator_place *found =
            bsearch(&key, sorted, (size_t)count, sizeof key, compare_places);
        complete = found != NULL;
        image[i] = complete ? found->actuator : -1;
    }
    return complete;
}

static bb_status compare_rows(void *context, bb_index begin, bb_index end)
{
    const reflecting *work = context;
    bool same = true;
    for (bb_index i = begin; i < end; ++i) {
        const double *row = work->gram + i * work->count;
        const double *image = work->gram + work->tried[i] * work->count;
        for (bb_index j = 0; j < work->count; ++j) {
            same = same && fabs(row[j] - image[work->tried[j]]) <= work->limit;
        }
    }
    work->differs[begin / HELD_ROWS] = !same;
    return BB_OK;
}

// Tests which reflections are symmetries of the matrix.
static bb_status test_symmetries(reflecting *work)
{
    bb_status status = BB_OK;
    const bb_index ranges = (work->count + HELD_ROWS - 1) / HELD_ROWS;
    double largest = 0.0;
    for (bb_index i = 0; i < work->count; ++i) {
        largest = fmax(largest, work->gram[i * work->count + i]);
    }
    work->limit = tolerance * largest;
    BB_TRY(BB_ZEROED(ranges, &work->differs));
    for (int reflection = 0; reflection < REFLECTIONS; ++reflection) {
        if (!work->kept[reflection]) {
            continue;
        }
        work->tried = work->image[reflection];
        BB_TRY(bb_thread_ranges(work->count, HELD_ROWS, compare_rows, work));
        for (bb_index range = 0; range < ranges; ++range) {
            work->kept[reflection] = work->kept[reflection] && !work->differs[range];
        }
    }
done:
    BB_RELEASE(&work->differs);
    return status;
}

static bb_status find_reflections(const bb_actuator_places *places, reflecting *work)
{
    bb_status status = BB_OK;
    actuator_place *sorted = NULL;
    double farthest = 0.0;
    for (bb_index i = 0; i < work->count; ++i) {
        farthest = fmax(farthest, fmax(fabs(places->x[i]), fabs(places->y[i])));
    }
    const double step = farthest > 0.0 ? place_step * farthest : 1.0;
    BB_TRY(BB_ALLOCATE(work->count, &sorted));
    for (bb_index i = 0; i < work->count; ++i) {
        sorted[i] = place_of(places, i, step);
    }
    qsort(sorted, (size_t)work->count, sizeof *sorted, compare_places);
    for (int reflection = 0; reflection < REFLECTIONS; ++reflection) {
        BB_TRY(BB_ALLOCATE(work->count, &work->image[reflection]));
        work->kept[reflection] =
            reflect(places, step, sorted, work->count, reflection, work->image[reflection]);
    }
    BB_TRY(test_symmetries(work));
done:
    BB_RELEASE(&sorted);
    return status;
}

// Images of one actuator under both generators; the second is NULL if there is one.
static void list_orbit(const bb_index *const generators[2], bb_index actuator, bb_index orbit[4])
{
    orbit[0] = actuator;
    orbit[1] = generators[0][actuator];
    orbit[2] = generators[1] != NULL ? generators[1][orbit[0]] : orbit[0];
    orbit[3] = generators[1] != NULL ? generators[1][orbit[1]] : orbit[1];
}

// Computes the pattern of an orbit with the signs of a block; size 0 if they cancel.
static bb_parity_vector make_vector(const bb_index orbit[4], int block)
{
    bb_parity_vector vector = {.size = 0};
    double sum[BB_PARITY_ORBIT] = {0.0};
    int used = 0;
    for (int k = 0; k < BB_PARITY_ORBIT; ++k) {
        const bool negative = ((k & block & 1) != 0) != ((k & block & 2) != 0);
        int place = 0;
        while (place < used && vector.member[place] != orbit[k]) {
            ++place;
        }
        if (place == used) {
            vector.member[used++] = orbit[k];
        }
        sum[place] += negative ? -1.0 : 1.0;
    }
    vector.size = sum[0] != 0.0 ? used : 0;
    for (int k = 0; k < vector.size; ++k) {
        vector.share[k] = copysign(1.0 / sqrt((double)used), sum[k]);
    }
    return vector;
}

static bb_status fill(const bb_index *const generators[2], bb_parity_basis *basis)
{
    bb_status status = BB_OK;
    bb_index made = 0;
    bb_index orbit[BB_PARITY_ORBIT];
    basis->blocks = generators[1] != NULL ? 4 : 2;
    BB_TRY(BB_ALLOCATE(basis->count, &basis->vectors));
    for (int block = 0; block < basis->blocks; ++block) {
        basis->first[block] = made;
        for (bb_index i = 0; i < basis->count; ++i) {
            list_orbit(generators, i, orbit);
            const bool leads = i <= orbit[1] && i <= orbit[2] && i <= orbit[3];
            const bb_parity_vector vector = make_vector(orbit, block);
            if (leads && vector.size > 0) {
                basis->vectors[made++] = vector;
            }
        }
    }
    basis->first[basis->blocks] = made;
done:
    return status;
}

bb_status bb_parity_basis_create(bb_index count, const bb_actuator_places *places,
                                 const double *gram, bb_parity_basis *out)
{
    bb_status status = BB_OK;
    reflecting work = {.count = count, .gram = gram};
    bb_parity_basis basis = {.count = count, .blocks = 1, .first = {0, count}};
    const bb_index *generators[2] = {NULL, NULL};
    if (places != NULL) {
        BB_TRY(find_reflections(places, &work));
    }
    if (work.kept[FLIP_X] && work.kept[FLIP_Y]) {
        generators[0] = work.image[FLIP_X];
        generators[1] = work.image[FLIP_Y];
    }
    for (int reflection = 0; generators[0] == NULL && reflection < REFLECTIONS; ++reflection) {
        generators[0] = work.kept[reflection] ? work.image[reflection] : NULL;
    }
    if (generators[0] != NULL) {
        BB_TRY(fill(generators, &basis));
    }
    *out = basis;
    basis = (bb_parity_basis){0};
done:
    for (int reflection = 0; reflection < REFLECTIONS; ++reflection) {
        BB_RELEASE(&work.image[reflection]);
    }
    bb_parity_basis_release(&basis);
    return status;
}

void bb_parity_basis_release(bb_parity_basis *basis)
{
    BB_RELEASE(&basis->vectors);
}

bb_need bb_parity_basis_need(bb_index count)
{
    return (bb_need){.host_bytes = (double)count *
                                   (double)(sizeof(bb_parity_vector) + sizeof(actuator_place) +
                                            REFLECTIONS * sizeof(bb_index))};
}

bb_index bb_parity_basis_size(const bb_parity_basis *basis, int block)
{
    return basis->first[block + 1] - basis->first[block];
}

typedef struct folding {
    const bb_parity_vector *vectors; // of the block
    bb_index count, size;
    const double *matrix;
    double *out;
} folding;

static bb_status fold_rows(void *context, bb_index begin, bb_index end)
{
    const folding *work = context;
    for (bb_index i = begin; i < end; ++i) {
        const bb_parity_vector *row = &work->vectors[i];
        for (bb_index j = 0; j < work->size; ++j) {
            const bb_parity_vector *column = &work->vectors[j];
            double sum = 0.0;
            for (int a = 0; a < row->size; ++a) {
                const double *values = work->matrix + row->member[a] * work->count;
                for (int b = 0; b < column->size; ++b) {
                    sum += row->share[a] * column->share[b] * values[column->member[b]];
                }
            }
            work->out[i * work->size + j] = sum;
        }
    }
    return BB_OK;
}

bb_status bb_parity_basis_fold(const bb_parity_basis *basis, int block, const double *matrix,
                               double *out)
{
    const bb_index size = bb_parity_basis_size(basis, block);
    if (basis->vectors == NULL) {
        memcpy(out, matrix, (size_t)(size * size) * sizeof *out);
        return BB_OK;
    }
    folding work = {basis->vectors + basis->first[block], basis->count, size, matrix, out};
    return bb_thread_ranges(size, FOLDED_ROWS, fold_rows, &work);
}

// Converts one row of actuators to coordinates, or back.
static void convert(const bb_parity_basis *basis, bool forward, const double *source,
                    double *target)
{
    for (bb_index v = 0; v < basis->count; ++v) {
        const bb_parity_vector *vector = &basis->vectors[v];
        for (int k = 0; k < vector->size; ++k) {
            const bb_index actuator = vector->member[k];
            if (forward) {
                target[v] += vector->share[k] * source[actuator];
            } else {
                target[actuator] += vector->share[k] * source[v];
            }
        }
    }
}

static bb_status convert_rows(const bb_parity_basis *basis, bool forward, bb_index rows,
                              double *values)
{
    bb_status status = BB_OK;
    const size_t bytes = (size_t)basis->count * sizeof *values;
    double *copy = NULL; // [count]
    if (basis->vectors == NULL || rows == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(basis->count, &copy));
    for (bb_index row = 0; row < rows; ++row) {
        memcpy(copy, values + row * basis->count, bytes);
        memset(values + row * basis->count, 0, bytes);
        convert(basis, forward, copy, values + row * basis->count);
    }
done:
    BB_RELEASE(&copy);
    return status;
}

bb_status bb_parity_basis_forward(const bb_parity_basis *basis, bb_index rows, double *values)
{
    return convert_rows(basis, true, rows, values);
}

bb_status bb_parity_basis_inverse(const bb_parity_basis *basis, bb_index rows, double *values)
{
    return convert_rows(basis, false, rows, values);
}
