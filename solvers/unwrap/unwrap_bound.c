// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_bound.h"

#include "core/memory.h"

#include <math.h>

// Classes of edges, by the exponent of the weight; the last one is without weight.
enum { NO_EDGE = 32, CLASSES = NO_EDGE + 1 };

// Flags of the edges of a tree: to the right of a point, and below.
enum { RIGHT = 1, BELOW = 2 };

// Bins of resistances to the root, four an octave from 2^FIRST on, and the share of points beyond
// the widest.
enum { BINS = 256, OCTAVE = 4, FIRST = -8 };
static const double most_beyond = 1e-3;

bb_status bb_unwrap_bound_create(const bb_unwrap_parts *parts, bb_unwrap_bound *out)
{
    bb_status status = BB_OK;
    const bb_index points = parts->columns * parts->rows;
    *out = (bb_unwrap_bound){.parts = parts};
    BB_TRY(BB_ALLOCATE(parts->point_count, &out->order));
    BB_TRY(BB_ALLOCATE(points, &out->parents));
    BB_TRY(BB_ALLOCATE(points, &out->resistances));
    BB_TRY(BB_ALLOCATE(points, &out->flows));
done:
    return status;
}

void bb_unwrap_bound_release(bb_unwrap_bound *bound)
{
    BB_RELEASE(&bound->order);
    BB_RELEASE(&bound->parents);
    BB_RELEASE(&bound->resistances);
    BB_RELEASE(&bound->flows);
}

static unsigned char class_of(double weight)
{
    int exponent = 0;
    if (!(weight > 0.0)) {
        return NO_EDGE;
    }
    (void)frexp(weight, &exponent);
    return (unsigned char)(exponent > 0 ? 0 : exponent <= -NO_EDGE ? NO_EDGE - 1 : -exponent);
}

// Classes of the edges: 2 p to the right of point p, 2 p + 1 below.
static void classify(const bb_unwrap_parts *parts, const double *const w[2], unsigned char *classes)
{
    const bb_index columns = parts->columns, rows = parts->rows;
    for (bb_index p = 0; p < columns * rows; ++p) {
        const bool is_inside = parts->labels[p] >= 0;
        const bool has_right = p % columns + 1 < columns && parts->labels[p + 1] >= 0;
        const bool has_below = p / columns + 1 < rows && parts->labels[p + columns] >= 0;
        classes[2 * p] = is_inside && has_right ? class_of(w[0][p]) : NO_EDGE;
        classes[2 * p + 1] = is_inside && has_below ? class_of(w[1][p]) : NO_EDGE;
    }
}

// Edges in the order of their classes, by a counting sort; returns how many have weight.
static bb_index sort_edges(const unsigned char *classes, bb_index count, uint32_t *edges)
{
    bb_index starts[CLASSES + 1] = {0};
    for (bb_index i = 0; i < count; ++i) {
        ++starts[classes[i] + 1];
    }
    for (int class = 0; class < CLASSES; ++class) {
        starts[class + 1] += starts[class];
    }
    for (bb_index i = 0; i < count; ++i) {
        if (classes[i] != NO_EDGE) {
            edges[starts[classes[i]]++] = (uint32_t)i;
        }
    }
    return starts[NO_EDGE];
}

// Flags of the edges of Kruskal's forest. `roots` is scratch.
static bb_status choose_edges(const bb_unwrap_parts *parts, const double *const w[2],
                              int32_t *roots, unsigned char *flags)
{
    bb_status status = BB_OK;
    const bb_index points = parts->columns * parts->rows;
    unsigned char *classes = NULL; // [2 * points]
    uint32_t *edges = NULL;        // [2 * points]
    BB_TRY(BB_ALLOCATE(2 * points, &classes));
    BB_TRY(BB_ALLOCATE(2 * points, &edges));
    for (bb_index p = 0; p < points; ++p) {
        roots[p] = (int32_t)p;
    }
    classify(parts, w, classes);
    const bb_index count = sort_edges(classes, 2 * points, edges);
    for (bb_index i = 0; i < count; ++i) {
        const int32_t p = (int32_t)(edges[i] / 2);
        const bool is_right = edges[i] % 2 == 0;
        if (bb_unwrap_parts_join(roots, p, p + (is_right ? 1 : (int32_t)parts->columns))) {
            flags[p] |= is_right ? RIGHT : BELOW;
        }
    }
done:
    BB_RELEASE(&classes);
    BB_RELEASE(&edges);
    return status;
}

// Lists the tree of a point breadth first from there; returns its points.
static bb_index list_tree(bb_unwrap_bound *bound, const unsigned char *flags, int32_t root,
                          int32_t *order)
{
    const int32_t columns = (int32_t)bound->parts->columns;
    bb_index count = 0;
    order[count++] = root;
    bound->parents[root] = root;
    for (bb_index i = 0; i < count; ++i) {
        const int32_t p = order[i];
        const bool has_edge[] = {(flags[p] & RIGHT) != 0, (flags[p] & BELOW) != 0,
                                 p % columns > 0 && (flags[p - 1] & RIGHT) != 0,
                                 p >= columns && (flags[p - columns] & BELOW) != 0};
        const int32_t steps[] = {1, columns, -1, -columns};
        for (int k = 0; k < 4; ++k) {
            if (has_edge[k] && p + steps[k] != bound->parents[p]) {
                bound->parents[p + steps[k]] = p;
                order[count++] = p + steps[k];
            }
        }
    }
    return count;
}

// The point whose branches have at most half of the points each, by the tree from any root. `sizes`
// is scratch.
static int32_t find_centre(const bb_unwrap_bound *bound, const int32_t *order, bb_index count,
                           double *sizes)
{
    bb_index i = count;
    for (bb_index k = 0; k < count; ++k) {
        sizes[order[k]] = 1.0;
    }
    while (2.0 * sizes[order[--i]] < (double)count) {
        sizes[bound->parents[order[i]]] += sizes[order[i]];
    }
    return order[i];
}

// Resistance of the edge between a point and its parent.
static double resistance_of(const bb_unwrap_bound *bound, const double *const w[2], int32_t p)
{
    const int32_t parent = bound->parents[p], first = parent < p ? parent : p;
    const int axis = parent == p + 1 || parent == p - 1 ? 0 : 1;
    return parent == p ? 0.0 : 1.0 / w[axis][first];
}

// Resistances of the edges, and twice the one to the root that at most `most_beyond` of the points
// exceed.
static void measure(bb_unwrap_bound *bound, const double *const w[2])
{
    const bb_index count = bound->parts->point_count;
    bb_index bins[BINS] = {0}, beyond = 0;
    int bin = BINS;
    for (bb_index i = 0; i < count; ++i) {
        const int32_t p = bound->order[i];
        int exponent = 0;
        bound->resistances[p] = resistance_of(bound, w, p);
        bound->flows[p] = bound->resistances[p] +
                          (bound->parents[p] == p ? 0.0 : bound->flows[bound->parents[p]]);
        const double fraction = 2.0 * frexp(bound->flows[p], &exponent) - 1.0;
        const int place = OCTAVE * (exponent - FIRST) + (int)(OCTAVE * fraction);
        ++bins[place < 0 || bound->flows[p] == 0.0 ? 0 : place < BINS ? place : BINS - 1];
    }
    while (bin > 0 && (double)(beyond += bins[bin - 1]) <= most_beyond * (double)count) {
        --bin;
    }
    const double edge = ldexp(1.0 + (double)(bin % OCTAVE) / OCTAVE, bin / OCTAVE + FIRST - 1);
    bound->widest = bin == BINS ? INFINITY : 2.0 * edge;
}

bb_status bb_unwrap_bound_build(bb_unwrap_bound *bound, const double *wx, const double *wy)
{
    bb_status status = BB_OK;
    const bb_unwrap_parts *parts = bound->parts;
    const double *const w[2] = {wx, wy};
    const bb_index points = parts->columns * parts->rows;
    unsigned char *flags = NULL; // [points]
    bb_index listed = 0;
    BB_TRY(BB_ZEROED(points, &flags));
    BB_TRY(choose_edges(parts, w, bound->parents, flags));
    for (bb_index p = 0; p < points; ++p) {
        bound->parents[p] = -1;
    }
    for (bb_index i = 0; i < parts->point_count; ++i) {
        int32_t *order = bound->order + listed;
        if (bound->parents[parts->order[i]] < 0) {
            const bb_index count = list_tree(bound, flags, parts->order[i], order);
            const int32_t centre = find_centre(bound, order, count, bound->flows);
            listed += list_tree(bound, flags, centre, order);
        }
    }
    measure(bound, w);
done:
    BB_RELEASE(&flags);
    return status;
}

// Takes the mean over each tree off the residual.
static void remove_means(const bb_unwrap_bound *bound, double *residual)
{
    const bb_index points = bound->parts->point_count;
    for (bb_index begin = 0, end = 0; begin < points; begin = end) {
        double sum = 0.0;
        do {
            sum += residual[bound->order[end++]];
        } while (end < points && bound->parents[bound->order[end]] != bound->order[end]);
        for (bb_index i = begin; i < end; ++i) {
            residual[bound->order[i]] -= sum / (double)(end - begin);
        }
    }
}

double bb_unwrap_bound_error(bb_unwrap_bound *bound, double *residual)
{
    double energy = 0.0;
    remove_means(bound, residual);
    for (bb_index i = 0; i < bound->parts->point_count; ++i) {
        bound->flows[bound->order[i]] = residual[bound->order[i]];
    }
    for (bb_index i = bound->parts->point_count - 1; i >= 0; --i) {
        const int32_t p = bound->order[i];
        const double flow = bound->flows[p];
        energy += flow * flow * bound->resistances[p];
        bound->flows[bound->parents[p]] += bound->parents[p] == p ? 0.0 : flow;
    }
    return energy == 0.0 ? 0.0 : bound->widest * energy;
}
