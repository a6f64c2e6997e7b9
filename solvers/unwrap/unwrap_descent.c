// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_descent.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>
#include <string.h>

// Classes of edges by the exponent of the weight; NO_EDGE: weight 0.
enum { NO_EDGE = 32 };

// Directions of a point's tree edges, and a flag for points already listed.
enum { RIGHT = 1, BELOW = 2, LEFT = 4, ABOVE = 8, NEIGHBOURS = 15, LISTED = 16 };

// Histogram bins of resistances to the root, four per octave from 2^FIRST on; and the share of
// points allowed beyond `widest`.
enum { BINS = 256, OCTAVE = 4, FIRST = -8 };
static const double most_beyond = 1e-3;

// Arguments for a range of points or places.
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

// Exponent of a positive double, from -1023 on, and its first significand bits, as one integer.
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

// Computes the classes of the edges to the right of points, and below.
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

// Marks the edges of Kruskal's forest, class by class. Within a class rows come before columns,
// which keeps neighbours of a tree close in memory. `roots` is scratch.
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

// Lists the tree of a point depth first, from place `count` on; returns the next free place. Clears
// the marks of its edges.
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

// Lists all trees. The first tree of a part starts at the left end of its middle row, where the
// other parts meet it.
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

// Computes the resistances of the edges between points and their parents.
static bb_status resist(void *context, bb_index begin, bb_index end)
{
    const range_work *work = context;
    const bb_unwrap_bound *bound = work->bound;
    const bb_index columns = bound->parts->columns;
    for (bb_index i = begin; i < end; ++i) {
        const int32_t p = bound->order[i], parent = bound->order[bound->parents[i]];
        const int axis = parent - p == columns || p - parent == columns; // true also for r = 1
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

// Subtracts `mean` from the residual of a tree, and computes its prefix sums along the places.
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

// Computes the energy of the flow through the edges of a range of places.
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

// Squared energy norms relative to that of the solution: stopping tolerance, and bound of the true
// residual.
static const double enough = 1e-10, most = 1e-6;

// Squared error of a difference [rad^2] at which conjugate gradients stop: a sixth of half a cycle.
static const double tolerable = 0.25;

// Number of steps after which conjugate gradients stop if the bound is tolerable, or if the bound
// is still above this share of its earlier value. The bound falls to a third or less in 100 steps
// on corridors of 872,000 points.
enum { PATIENCE = 100 };
static const double most_kept = 0.8;

// Trees of earlier weights usually give an equally low bound. New trees cost as much as this number
// of steps. They are built if the bound still prevents the iteration from stopping this many steps
// after the energy alone would have stopped it.
enum { TREE_STEPS = 6 };

static bb_status add_inner(bb_unwrap_descent *descent, const bb_unwrap_field *a,
                           const bb_unwrap_field *b, const bb_unwrap_field *whole,
                           bb_unwrap_inner *out)
{
    bb_status status = BB_OK;
    bb_kernel_context *context = descent->grids->context;
    const bb_unwrap_recipe rows = {.use = {.file = "unwrap_dot.kernel",
                                           .types = {{"A", bb_unwrap_field_type(a->format)},
                                                     {"B", bb_unwrap_field_type(b->format)}},
                                           .type_count = 2},
                                   .fields = {a, b, &descent->products}};
    const bb_unwrap_recipe total = {.use = {.file = "unwrap_total.kernel"},
                                    .fields = {&descent->products, whole}};
    BB_TRY(bb_unwrap_step_create(context, &rows, &out->rows));
    BB_TRY(bb_unwrap_step_create(context, &total, &out->total));
done:
    return status;
}

static bb_status run_inner(const bb_unwrap_inner *inner)
{
    bb_status status = BB_OK;
    BB_TRY(bb_unwrap_step_run(&inner->rows));
    BB_TRY(bb_unwrap_step_run(&inner->total));
done:
    return status;
}

// b += sign (top / bottom) a.
static bb_status add_move(bb_kernel_context *context, const char *work, const bb_unwrap_field *a,
                          const bb_unwrap_field *const ratio[2], const bb_unwrap_field *b,
                          double sign, bb_unwrap_step *out)
{
    const bb_unwrap_recipe recipe = {.use = {.file = "unwrap_move.kernel",
                                             .types = {{"A", bb_unwrap_field_type(a->format)},
                                                       {"B", bb_unwrap_field_type(b->format)},
                                                       {"WORK", work}},
                                             .type_count = 3},
                                     .fields = {a, ratio[0], ratio[1], b},
                                     .parameters = {{.parts = {sign}}}};
    return bb_unwrap_step_create(context, &recipe, out);
}

static bb_status add_apply(bb_unwrap_descent *descent, const char *work, const bb_unwrap_field *p,
                           bb_unwrap_step *out)
{
    const bb_unwrap_grids *grids = descent->grids;
    const bb_unwrap_recipe recipe = {
        .use = {.file = "unwrap_apply.kernel",
                .types = {{"U", bb_unwrap_field_type(p->format)},
                          {"W", bb_unwrap_field_type(grids->wx.format)},
                          {"WORK", work}},
                .type_count = 3},
        .fields = {p, &grids->wx, &grids->wy, &descent->q},
    };
    return bb_unwrap_step_create(grids->context, &recipe, out);
}

static bb_status add_copy(bb_kernel_context *context, const bb_unwrap_field *from,
                          const bb_unwrap_field *to, bb_unwrap_step *out)
{
    const bb_unwrap_recipe recipe = {
        .use = {.file = "copy.kernel",
                .types = {{"T", bb_unwrap_field_type(from->format)}},
                .type_count = 1},
        .fields = {from, to},
        .as_vectors = true,
    };
    return bb_unwrap_step_create(context, &recipe, out);
}

static bb_status create_fields(bb_unwrap_descent *descent)
{
    bb_status status = BB_OK;
    bb_unwrap_grids *grids = descent->grids;
    bb_device *device = bb_kernel_context_device(grids->context);
    const bb_format word = grids->u.format == BB_FORMAT_FP64 ? BB_FORMAT_FP64 : BB_FORMAT_FP32;
    static const double one = 1.0;
    bb_unwrap_field *const planes[] = {&descent->u, &descent->p, &descent->q};
    bb_unwrap_field *const numbers[] = {&descent->one, &descent->zq, &descent->pq, &descent->pr};
    for (size_t i = 0; i < sizeof planes / sizeof planes[0]; ++i) {
        BB_TRY(bb_unwrap_field_create(grids->context, word, grids->u.columns, grids->u.rows,
                                      planes[i]));
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        BB_TRY(bb_unwrap_field_create(grids->context, BB_FORMAT_FP64, 1, 1, numbers[i]));
    }
    BB_TRY(bb_unwrap_field_create(grids->context, BB_FORMAT_FP64, grids->u.rows, 1,
                                  &descent->products));
    BB_TRY(bb_device_upload(device, descent->one.block, &one, sizeof one));
    BB_TRY(bb_device_wait(device));
done:
    return status;
}

bb_status bb_unwrap_descent_create(bb_unwrap_grids *grids, const bb_unwrap_parts *parts,
                                   const bb_unwrap_config *config, bb_unwrap_descent *out)
{
    bb_status status = BB_OK;
    bb_kernel_context *context = grids->context;
    const bb_unwrap_numbers *numbers = &config->slots[BB_UNWRAP_SMOOTHER];
    const char *work = bb_unwrap_field_type(numbers->arithmetic);
    *out = (bb_unwrap_descent){.grids = grids};
    const bb_unwrap_field *const whole[] = {&out->one, &out->one};
    const bb_unwrap_field *const length[] = {&out->pr, &out->pq};
    const bb_unwrap_recipe turn = {
        .use = {.file = "unwrap_direction.kernel",
                .types = {{"U", bb_unwrap_field_type(numbers->storage)}, {"WORK", work}},
                .type_count = 2},
        .fields = {&grids->u, &out->zq, &out->pq, &out->p},
    };
    BB_TRY(create_fields(out));
    BB_TRY(bb_unwrap_bound_create(parts, grids->f.format == BB_FORMAT_FP64, &out->bound));
    for (int i = 0; i < 2; ++i) {
        BB_TRY(bb_memory_allocate(1, grids->wx.bytes, &out->words[i]));
    }
    BB_TRY(add_copy(context, &grids->u, &out->u, &out->start));
    BB_TRY(add_copy(context, &out->u, &grids->u, &out->finish));
    BB_TRY(add_apply(out, work, &out->u, &out->image));
    BB_TRY(add_apply(out, work, &out->p, &out->product));
    BB_TRY(add_move(context, work, &out->q, whole, &grids->f, -1.0, &out->take_off));
    BB_TRY(add_move(context, work, &out->p, length, &out->u, 1.0, &out->advance));
    BB_TRY(add_move(context, work, &out->q, length, &grids->f, -1.0, &out->reduce));
    BB_TRY(bb_unwrap_step_create(context, &turn, &out->turn));
    BB_TRY(add_inner(out, &grids->u, &out->q, &out->zq, &out->with_z));
    BB_TRY(add_inner(out, &out->u, &out->q, &out->zq, &out->with_u));
    BB_TRY(add_inner(out, &out->p, &out->q, &out->pq, &out->with_p));
    BB_TRY(add_inner(out, &out->p, &grids->f, &out->pr, &out->slope));
    BB_TRY(add_inner(out, &grids->u, &grids->f, &out->pr, &out->residual));
done:
    return status;
}

void bb_unwrap_descent_release(bb_unwrap_descent *descent)
{
    bb_unwrap_step *const steps[] = {
        &descent->start,        &descent->image,         &descent->finish,
        &descent->take_off,     &descent->turn,          &descent->product,
        &descent->advance,      &descent->reduce,        &descent->with_z.rows,
        &descent->with_z.total, &descent->with_u.rows,   &descent->with_u.total,
        &descent->with_p.rows,  &descent->with_p.total,  &descent->slope.rows,
        &descent->slope.total,  &descent->residual.rows, &descent->residual.total};
    bb_unwrap_field *const fields[] = {&descent->u,        &descent->p,   &descent->q,
                                       &descent->products, &descent->one, &descent->zq,
                                       &descent->pq,       &descent->pr};
    if (descent->grids == NULL) {
        return;
    }
    bb_device_graph_destroy(&descent->step);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        bb_unwrap_step_release(steps[i]);
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
        bb_unwrap_field_release(descent->grids->context, fields[i]);
    }
    bb_unwrap_bound_release(&descent->bound);
    bb_memory_release(&descent->words[0]);
    bb_memory_release(&descent->words[1]);
    descent->grids = NULL;
}

static bb_status queue_step(void *context)
{
    bb_status status = BB_OK;
    bb_unwrap_descent *descent = context;
    BB_TRY(bb_unwrap_grids_precondition(descent->grids));
    BB_TRY(run_inner(&descent->with_z));
    BB_TRY(bb_unwrap_step_run(&descent->turn));
    BB_TRY(bb_unwrap_step_run(&descent->product));
    BB_TRY(run_inner(&descent->with_p));
    BB_TRY(run_inner(&descent->slope));
    BB_TRY(bb_unwrap_step_run(&descent->advance));
    BB_TRY(bb_unwrap_step_run(&descent->reduce));
done:
    return status;
}

// Energy of the solution; leaves the residual in f.
static bb_status compute_residual(bb_unwrap_descent *descent, double *energy)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(descent->grids->context);
    BB_TRY(bb_unwrap_step_run(&descent->image));
    BB_TRY(run_inner(&descent->with_u));
    BB_TRY(bb_unwrap_step_run(&descent->take_off));
    BB_TRY(bb_device_download(device, energy, descent->zq.block, sizeof *energy));
    *energy = fabs(*energy);
done:
    return status;
}

// Updates the trees for the weights of the grids, by re-measuring old trees or building new ones.
// `next` is the value of r B r below which their bound can be tolerable: the bound is at most the
// energy of the error times the widest resistance.
static bb_status update_trees(bb_unwrap_descent *descent, bool are_new, double *next)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(descent->grids->context);
    const bb_unwrap_field *const w[] = {&descent->grids->wx, &descent->grids->wy};
    void *const *words = descent->words;
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(bb_device_download(device, words[axis], w[axis]->block, w[axis]->bytes));
    }
    BB_TRY(are_new ? bb_unwrap_bound_build(&descent->bound, words[0], words[1])
                   : bb_unwrap_bound_measure(&descent->bound, words[0], words[1]));
    descent->has_old_trees = !are_new;
    *next = tolerable / descent->bound.widest;
done:
    return status;
}

// Bounds the squared error of a difference, and removes the means of the residual, which no
// solution can reduce.
static bb_status bound_error(bb_unwrap_descent *descent, double *error)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(descent->grids->context);
    const bb_unwrap_field *residual = &descent->grids->f;
    BB_TRY(bb_device_download(device, descent->words[0], residual->block, residual->bytes));
    BB_TRY(bb_unwrap_bound_error(&descent->bound, descent->words[0], error));
    BB_TRY(bb_device_upload(device, residual->block, descent->words[0], residual->bytes));
done:
    return status;
}

// Performs one step; `left`: r B r before it.
static bb_status step_on(bb_unwrap_descent *descent, double *left)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(descent->grids->context);
    BB_TRY(descent->step != NULL
               ? bb_device_graph_replay(descent->step)
               : bb_device_graph_create(device, queue_step, descent, &descent->step));
    BB_TRY(bb_device_download(device, left, descent->pr.block, sizeof *left));
    *left = fabs(*left);
done:
    return status;
}

static bb_status descend(bb_unwrap_descent *descent, double energy, bb_index *steps, bool *reached)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(descent->grids->context);
    const bb_unwrap_field *const zeros[] = {&descent->p, &descent->q, &descent->pq};
    double next = 0.0, due = INFINITY; // r B r at the next bound; bound of PATIENCE steps ago
    int first = 0;                     // step at which the energy alone would stop
    bool goes_on = true;
    *reached = false;
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; ++i) {
        BB_TRY(bb_device_zero(device, zeros[i]->block, zeros[i]->bytes));
    }
    BB_TRY(update_trees(descent, descent->bound.widest == 0.0, &next));
    for (int i = 1; i <= BB_UNWRAP_DESCENT_STEPS && goes_on; ++i) {
        const bool is_due = i % PATIENCE == 0;
        double left = 0.0, error = 0.0;
        BB_TRY(step_on(descent, &left));
        energy = fmax(energy, left); // energy of the solution when starting from zero
        goes_on = isfinite(energy) && isfinite(left);
        first = first == 0 && (is_due || left <= enough * energy) ? i : first;
        ++*steps;
        if (goes_on && descent->has_old_trees && first > 0 && i == first + TREE_STEPS) {
            BB_TRY(update_trees(descent, true, &next));
        }
        if (goes_on && (is_due || left <= fmin(enough * energy, next))) {
            BB_TRY(bound_error(descent, &error));
            *reached = error <= tolerable;
            goes_on = !*reached && (!is_due || error <= most_kept * due);
            next = left * fmin(fmax(tolerable / error, 0.02), 0.5);
            due = is_due ? error : due;
        }
    }
done:
    return status;
}

bb_status bb_unwrap_descent_solve(bb_unwrap_descent *descent, const bb_unwrap_step *divergence,
                                  bb_index *steps, bool *reached)
{
    bb_status status = BB_OK;
    double energy = 0.0;
    BB_TRY(bb_unwrap_step_run(&descent->start));
    BB_TRY(bb_kernel_launch_queue(divergence->launch)); // without rounding
    BB_TRY(compute_residual(descent, &energy));
    BB_TRY(descend(descent, energy, steps, reached));
done:
    return status;
}

bb_status bb_unwrap_descent_run(bb_unwrap_descent *descent, const bb_unwrap_step *divergence,
                                bb_index *steps, bool *converged)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(descent->grids->context);
    double energy = 0.0, left = 0.0;
    BB_TRY(bb_unwrap_descent_solve(descent, divergence, steps, converged));
    BB_TRY(bb_unwrap_step_run(divergence));
    BB_TRY(compute_residual(descent, &energy));
    BB_TRY(bb_unwrap_grids_precondition(descent->grids));
    BB_TRY(run_inner(&descent->residual));
    BB_TRY(bb_device_download(device, &left, descent->pr.block, sizeof left));
    *converged = *converged && fabs(left) <= most * energy;
    BB_TRY(bb_unwrap_step_run(&descent->finish));
    BB_TRY(bb_unwrap_grids_restore(descent->grids));
done:
    return status;
}
