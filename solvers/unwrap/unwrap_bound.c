// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_bound.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>
#include <string.h>

// Classes of edges, by the exponent of the weight; the last one is without weight.
enum { NO_EDGE = 32 };

// Neighbours of a point along edges of its tree, and whether the point is listed.
enum { RIGHT = 1, BELOW = 2, LEFT = 4, ABOVE = 8, NEIGHBOURS = 15, LISTED = 16 };

// Bins of resistances to the root, four an octave from 2^FIRST on, and the share of points beyond
// the widest.
enum { BINS = 256, OCTAVE = 4, FIRST = -8 };
static const double most_beyond = 1e-3;

// Work of a range of points or places.
typedef struct range_work {
    bb_unwrap_bound *bound;
    const void *w[2];       // words of weights
    unsigned char *classes; // [2][points]
} range_work;

bb_status bb_unwrap_bound_create(const bb_unwrap_parts *parts, bool is_double, bb_unwrap_bound *out)
{
    bb_status status = BB_OK;
    const bb_index points = parts->point_count;
    *out = (bb_unwrap_bound){
        .parts = parts, .is_double = is_double, .grain = points / BB_UNWRAP_RANGES + 1};
    BB_TRY(BB_ALLOCATE(points, &out->order));
    BB_TRY(BB_ALLOCATE(parts->columns * parts->rows, &out->ends));
    BB_TRY(BB_ALLOCATE(points, &out->parents));
    BB_TRY(BB_ALLOCATE(points, &out->resistances));
    BB_TRY(BB_ALLOCATE(points + 1, &out->sums));
done:
    return status;
}

void bb_unwrap_bound_release(bb_unwrap_bound *bound)
{
    BB_RELEASE(&bound->order);
    BB_RELEASE(&bound->ends);
    BB_RELEASE(&bound->parents);
    BB_RELEASE(&bound->resistances);
    BB_RELEASE(&bound->sums);
}

static double read_word(const bb_unwrap_bound *bound, const void *words, bb_index p)
{
    return bound->is_double ? ((const double *)words)[p] : (double)((const float *)words)[p];
}

// Exponent of a positive double, from -1023 on, and the first bits behind it, as one number.
static int leading_bits(double value, int bits)
{
    uint64_t word = 0;
    memcpy(&word, &value, sizeof word);
    return (int)(word >> (52 - bits)) - (1023 << bits);
}

static unsigned char class_of(double weight)
{
    const int class = -1 - leading_bits(weight, 0);
    const int kept = class < 0 ? 0 : class < NO_EDGE ? class : NO_EDGE - 1;
    return (unsigned char)(weight > 0.0 ? kept : NO_EDGE);
}

// Classes of the edges to the right of points, and below.
static bb_status classify(void *context, bb_index begin, bb_index end)
{
    const range_work *work = context;
    const bb_index points = work->bound->parts->columns * work->bound->parts->rows;
    for (bb_index p = begin; p < end; ++p) {
        work->classes[p] = class_of(read_word(work->bound, work->w[0], p));
        work->classes[points + p] = class_of(read_word(work->bound, work->w[1], p));
    }
    return BB_OK;
}

// Marks the edges of Kruskal's forest, class by class: of equal ones rows before columns, which
// keeps neighbours of a tree close in memory. `roots` is scratch.
static void choose_edges(const bb_unwrap_parts *parts, const unsigned char *classes, int32_t *roots,
                         unsigned char *flags)
{
    const bb_index points = parts->columns * parts->rows;
    const unsigned char *const end = classes + 2 * points;
    for (bb_index p = 0; p < points; ++p) {
        roots[p] = (int32_t)p;
    }
    for (int class = 0; class < NO_EDGE; ++class) {
        const unsigned char *at = classes;
        for (; (at = memchr(at, class, (size_t)(end - at))) != NULL; ++at) {
            const bool is_right = at - classes < points;
            const bb_index p = at - classes - (is_right ? 0 : points);
            const bb_index next = p + (is_right ? 1 : parts->columns);
            if (bb_unwrap_parts_join(roots, (int32_t)p, (int32_t)next)) {
                flags[p] |= is_right ? RIGHT : BELOW;
                flags[next] |= is_right ? LEFT : ABOVE;
            }
        }
    }
}

// Lists the tree of a point depth first, from place `count` on; returns the places then. Edges
// lose their marks.
static bb_index list_tree(bb_unwrap_bound *bound, unsigned char *flags, int32_t p, bb_index count)
{
    static const unsigned char lowest[] = {0, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0};
    static const unsigned char back[] = {LEFT, ABOVE, RIGHT, BELOW};
    const int32_t columns = (int32_t)bound->parts->columns;
    const int32_t steps[] = {1, columns, -1, -columns}, root = (int32_t)count;
    int32_t place = root;
    bound->order[count] = p;
    bound->parents[count++] = root;
    flags[p] |= LISTED;
    while (place != root || (flags[p] & NEIGHBOURS) != 0) {
        const int k = lowest[flags[p] & NEIGHBOURS];
        if ((flags[p] & NEIGHBOURS) != 0) {
            flags[p] &= (unsigned char)~(1 << k);
            p += steps[k];
            flags[p] = (unsigned char)((flags[p] & ~back[k]) | LISTED);
            bound->order[count] = p;
            bound->parents[count] = place;
            place = (int32_t)count++;
        } else {
            bound->ends[place] = (int32_t)count;
            place = bound->parents[place];
            p = bound->order[place];
        }
    }
    bound->ends[root] = (int32_t)count;
    return count;
}

// Lists all trees, the first one of a part from the left end of its middle row, where others meet.
static void list_trees(bb_unwrap_bound *bound, unsigned char *flags)
{
    const bb_unwrap_parts *parts = bound->parts;
    bb_index count = 0;
    for (bb_index part = 0, first = 0; part < parts->count; first += parts->sizes[part++]) {
        int32_t middle = parts->order[first + parts->sizes[part] / 2];
        while (middle % parts->columns > 0 && parts->labels[middle - 1] == part) {
            --middle;
        }
        for (bb_index i = -1; i < parts->sizes[part]; ++i) {
            const int32_t p = i < 0 ? middle : parts->order[first + i];
            if ((flags[p] & LISTED) == 0) {
                count = list_tree(bound, flags, p, count);
            }
        }
    }
}

// Resistances of the edges between points and their parents.
static bb_status resist(void *context, bb_index begin, bb_index end)
{
    const range_work *work = context;
    const bb_unwrap_bound *bound = work->bound;
    const bb_index columns = bound->parts->columns;
    for (bb_index i = begin; i < end; ++i) {
        const int32_t p = bound->order[i], parent = bound->order[bound->parents[i]];
        const int axis = parent - p == columns || p - parent == columns; // also where it is 1
        bound->resistances[i] =
            parent == p ? 0.0f
                        : (float)(1.0 / read_word(bound, work->w[axis], parent < p ? parent : p));
    }
    return BB_OK;
}

bb_status bb_unwrap_bound_measure(bb_unwrap_bound *bound, const void *wx, const void *wy)
{
    bb_status status = BB_OK;
    const bb_index count = bound->parts->point_count;
    range_work work = {.bound = bound, .w = {wx, wy}};
    bb_index bins[BINS] = {0}, beyond = 0;
    int bin = BINS;
    BB_TRY(bb_thread_ranges(count, bound->grain, resist, &work));
    for (bb_index i = 0; i < count; ++i) {
        const int32_t parent = bound->parents[i];
        bound->sums[i] = (double)bound->resistances[i] + (parent == i ? 0.0 : bound->sums[parent]);
        const int place = leading_bits(bound->sums[i], 2) - OCTAVE * (FIRST - 1);
        ++bins[place < 0 ? 0 : place < BINS ? place : BINS - 1];
    }
    while (bin > 0 && (double)(beyond += bins[bin - 1]) <= most_beyond * (double)count) {
        --bin;
    }
    const double edge = ldexp(1.0 + (double)(bin % OCTAVE) / OCTAVE, bin / OCTAVE + FIRST - 1);
    bound->widest = bin == BINS ? INFINITY : 2.0 * edge;
done:
    return status;
}

bb_status bb_unwrap_bound_build(bb_unwrap_bound *bound, const void *wx, const void *wy)
{
    bb_status status = BB_OK;
    const bb_index points = bound->parts->columns * bound->parts->rows;
    range_work work = {.bound = bound, .w = {wx, wy}};
    unsigned char *flags = NULL; // [points]
    BB_TRY(BB_ZEROED(points, &flags));
    BB_TRY(BB_ALLOCATE(2 * points, &work.classes));
    BB_TRY(bb_thread_ranges(points, points / BB_UNWRAP_RANGES + 1, classify, &work));
    choose_edges(bound->parts, work.classes, bound->ends, flags);
    list_trees(bound, flags);
    BB_TRY(bb_unwrap_bound_measure(bound, wx, wy));
done:
    BB_RELEASE(&flags);
    BB_RELEASE(&work.classes);
    return status;
}

// Takes `mean` off the residual of a tree, and sums it along the places.
static void sum_tree(const bb_unwrap_bound *bound, void *residual, bb_index root, double mean)
{
    double sum = bound->sums[root];
    for (bb_index i = root; i < bound->ends[root]; ++i) {
        const bb_index p = bound->order[i];
        const double value = read_word(bound, residual, p) - mean;
        bound->sums[i + 1] = sum += value;
        if (bound->is_double) {
            ((double *)residual)[p] = value;
        } else {
            ((float *)residual)[p] = (float)value;
        }
    }
}

// Energy of the flow through the edges of a range of places.
static bb_status flow(void *context, bb_index begin, bb_index end)
{
    bb_unwrap_bound *bound = context;
    double energy = 0.0;
    for (bb_index i = begin; i < end; ++i) {
        const double through = bound->sums[bound->ends[i]] - bound->sums[i];
        energy += through * through * (double)bound->resistances[i];
    }
    bound->energies[begin / bound->grain] = energy;
    return BB_OK;
}

bb_status bb_unwrap_bound_error(bb_unwrap_bound *bound, void *residual, double *error)
{
    bb_status status = BB_OK;
    const bb_index count = bound->parts->point_count;
    double energy = 0.0;
    bound->sums[0] = 0.0;
    for (bb_index root = 0, end = 0; root < count; root = end) {
        double total = 0.0;
        for (end = root; end < bound->ends[root]; ++end) {
            total += read_word(bound, residual, bound->order[end]);
        }
        sum_tree(bound, residual, root, total / (double)(end - root));
    }
    BB_TRY(bb_thread_ranges(count, bound->grain, flow, bound));
    for (bb_index k = 0; k * bound->grain < count; ++k) {
        energy += bound->energies[k];
    }
    *error = energy == 0.0 ? 0.0 : bound->widest * energy;
done:
    return status;
}
