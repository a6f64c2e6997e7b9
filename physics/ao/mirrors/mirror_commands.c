// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/mirror_commands.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

// Columns of Ctm and rows of R' per block: fixed, so that the bits do not depend on the threads.
enum { COLUMNS = 128, ROWS = 64 };

static void set_weights(const bb_ao_config *config, bb_mirror_commands *commands)
{
    double sum = 0.0;
    for (bb_index t = 0; t < config->target_count; ++t) {
        sum += config->targets[t].weight;
    }
    for (bb_index t = 0; t < config->target_count; ++t) {
        commands->weight[t] = config->targets[t].weight / sum;
        commands->slope_count += commands->weight[t] > 0.0 ? commands->slopes[t] : 0;
    }
}

// The matrices sqrt(w_p) D_p one below the other, [slope_count][actuators].
static void stack_up(const bb_mirror_commands *commands, double *stacked)
{
    const bb_index actuators = commands->stack.actuator_count;
    double *next = stacked;
    for (bb_index t = 0; t < commands->target_count; ++t) {
        const double factor = sqrt(commands->weight[t]);
        const bb_index items = commands->slopes[t] * actuators;
        for (bb_index i = 0; factor > 0.0 && i < items; ++i) {
            *next++ = factor * commands->interaction[t][i];
        }
    }
}

// Converts the pseudo-inverse of the stacked matrices to F w_p D_p^T.
static void scale_projector(bb_mirror_commands *commands)
{
    double *next = commands->projector;
    for (bb_index a = 0; a < commands->stack.actuator_count; ++a) {
        for (bb_index t = 0; t < commands->target_count; ++t) {
            const double factor = sqrt(commands->weight[t]);
            for (bb_index i = 0; factor > 0.0 && i < commands->slopes[t]; ++i) {
                *next++ *= factor;
            }
        }
    }
}

// Positions of all mirrors' actuators, [2][actuators] in m, and the mirror of each.
static void list_places(const bb_mirror_stack *stack, double *from_axis, bb_index *mirrors)
{
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        const bb_conjugate_mirror *mirror = &stack->mirrors[k];
        for (bb_index i = 0; i < mirror->count; ++i) {
            from_axis[mirror->first + i] = mirror->x_m[i];
            from_axis[stack->actuator_count + mirror->first + i] = mirror->y_m[i];
            mirrors[mirror->first + i] = k;
        }
    }
}

static bb_status project(bb_mirror_commands *commands)
{
    bb_status status = BB_OK;
    const bb_index actuators = commands->stack.actuator_count;
    double *stacked = NULL;   // [slope_count][actuators]
    double *from_axis = NULL; // [2][actuators]
    bb_index *mirrors = NULL; // [actuators]
    BB_TRY(BB_ALLOCATE(commands->slope_count * actuators, &stacked));
    BB_TRY(BB_ALLOCATE(commands->slope_count * actuators, &commands->projector));
    BB_TRY(BB_ALLOCATE(2 * actuators, &from_axis));
    BB_TRY(BB_ALLOCATE(actuators, &mirrors));
    stack_up(commands, stacked);
    list_places(&commands->stack, from_axis, mirrors);
    const bb_actuator_places places = {from_axis, from_axis + actuators, mirrors};
    BB_TRY(bb_mirror_projector_make(commands->slope_count, actuators, commands->condition, &places,
                                    stacked, commands->projector, &commands->dropped_modes,
                                    &commands->weak));
    scale_projector(commands);
done:
    BB_RELEASE(&stacked);
    BB_RELEASE(&from_axis);
    BB_RELEASE(&mirrors);
    return status;
}

bb_status bb_mirror_commands_check(const bb_ao_config *config, const bb_sensor *const *truths)
{
    bb_status status = BB_OK;
    bb_mirror_stack stack = {0};
    bool moves = false;
    BB_TRY(bb_mirror_stack_create(config, &stack));
    for (bb_index t = 0; t < config->target_count; ++t) {
        const bool corrected = config->targets[t].weight > 0.0;
        char who[40];
        (void)snprintf(who, sizeof who, "targets[%td]", t);
        BB_TRY(bb_mirror_stack_check_coverage(&stack, truths[t], corrected, who));
        moves = moves || (corrected && bb_mirror_stack_moves(&stack, truths[t]));
    }
    BB_REQUIRE(moves, BB_INVALID,
               "mirrors: none of %td actuators moves a slope of a target with a weight",
               stack.actuator_count);
done:
    bb_mirror_stack_release(&stack);
    return status;
}

bb_status bb_mirror_commands_create(const bb_ao_config *config, const bb_sensor *const *truths,
                                    bb_mirror_commands **out)
{
    bb_status status = BB_OK;
    const bb_index targets = config->target_count;
    bb_mirror_commands *commands = NULL;
    BB_TRY(BB_ZEROED(1, &commands));
    BB_TRY(bb_mirror_commands_check(config, truths));
    commands->condition = config->mirrors_condition;
    commands->weak.margin = BB_MIRROR_COMMANDS_MARGIN;
    BB_TRY(bb_mirror_stack_create(config, &commands->stack));
    BB_TRY(BB_ZEROED(targets, &commands->interaction));
    commands->target_count = targets;
    BB_TRY(BB_ALLOCATE(targets, &commands->weight));
    BB_TRY(BB_ALLOCATE(targets, &commands->slopes));
    for (bb_index t = 0; t < targets; ++t) {
        const bb_index slopes = 2 * truths[t]->count;
        commands->slopes[t] = slopes;
        BB_TRY(BB_ALLOCATE(slopes * commands->stack.actuator_count, &commands->interaction[t]));
        BB_TRY(bb_mirror_stack_interaction(&commands->stack, truths[t], commands->interaction[t]));
    }
    set_weights(config, commands);
    BB_TRY(project(commands));
    *out = commands;
    commands = NULL;
done:
    bb_mirror_commands_destroy(&commands);
    return status;
}

void bb_mirror_commands_destroy(bb_mirror_commands **owner)
{
    bb_mirror_commands *commands = *owner;
    if (commands == NULL) {
        return;
    }
    for (bb_index t = 0; t < commands->target_count; ++t) {
        BB_RELEASE(&commands->interaction[t]);
    }
    BB_RELEASE(&commands->interaction);
    BB_RELEASE(&commands->weight);
    BB_RELEASE(&commands->slopes);
    BB_RELEASE(&commands->projector);
    bb_weak_modes_release(&commands->weak);
    bb_mirror_stack_release(&commands->stack);
    BB_RELEASE(owner);
}

bb_need bb_mirror_commands_resident(const bb_ao_config *config, double slopes, double corrected)
{
    const double actuators = bb_mirror_stack_actuators(config);
    // Reported modes: three times as many as along an edge, and those that no slope measures.
    const double modes = 3.0 * ceil(sqrt(actuators)) + fmax(0.0, actuators - corrected);
    const bb_need matrices = {.host_bytes =
                                  sizeof(double) * actuators * (slopes + corrected + modes) +
                                  3.0 * sizeof(double) * (double)config->target_count +
                                  sizeof(bb_mirror_commands)};
    return bb_need_together(bb_mirror_stack_need(config), matrices);
}

// Computes the weights of directions at (x, y).
static double weight_at(const bb_ao_config *config, double x_arcsec, double y_arcsec)
{
    static const double same_arcsec = 1e-6;
    double sum = 0.0;
    for (bb_index t = 0; t < config->target_count; ++t) {
        const bb_target_config *target = &config->targets[t];
        const bool is_there = fabs(target->x_arcsec - x_arcsec) < same_arcsec &&
                              fabs(target->y_arcsec - y_arcsec) < same_arcsec;
        sum += is_there ? target->weight : 0.0;
    }
    return sum;
}

// Returns whether both reflection symmetries are likely to hold: those of the field, of the pupil
// and of the mirrors.
static bool is_even(const bb_ao_config *config)
{
    bool even = config->pupil_mask == NULL;
    for (bb_index k = 0; k < config->mirror_count; ++k) {
        even = even && config->mirrors[k].influence.file == NULL;
    }
    for (bb_index t = 0; t < config->target_count && even; ++t) {
        const double x = config->targets[t].x_arcsec;
        const double y = config->targets[t].y_arcsec;
        const double weight = weight_at(config, x, y);
        even = fabs(weight_at(config, -x, y) - weight) <= 1e-12 * weight &&
               fabs(weight_at(config, x, -y) - weight) <= 1e-12 * weight;
    }
    return even;
}

bb_need bb_mirror_commands_need(const bb_ao_config *config, double slopes, double corrected)
{
    const double actuators = bb_mirror_stack_actuators(config);
    // Exponentials of the influence functions; then D^T D, and the projector's two solves.
    const double seconds =
        2.0e-8 * slopes * actuators + 6.0 * corrected * actuators * actuators / BB_NEED_FP64_RATE;
    const bb_need stacked = {.host_bytes = sizeof(double) * (corrected + 3.0) * actuators,
                             .seconds = seconds};
    // Memory without reflection symmetries, which may be absent; time with them.
    bb_need projector = bb_mirror_projector_need((bb_index)actuators, false);
    projector.seconds = bb_mirror_projector_need((bb_index)actuators, is_even(config)).seconds;
    return bb_need_together(
        bb_need_together(bb_mirror_commands_resident(config, slopes, corrected), stacked),
        projector);
}

typedef struct gathering {
    const bb_mirror_commands *commands;
    const bb_matrix_source *const *ctm;
    bb_index n;
    bb_index most_slopes; // measurements of a target
    double *out;
} gathering;

// Computes a panel of columns of B, over the directions.
static bb_status gather(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const gathering *work = context;
    const bb_mirror_commands *commands = work->commands;
    const int actuators = (int)commands->stack.actuator_count;
    const int width = (int)(end - begin);
    const double *projector = commands->projector;
    double beta = 0.0;
    double *block = NULL; // [m][width] of Ctm
    BB_TRY(BB_ALLOCATE(work->most_slopes * (end - begin), &block));
    for (bb_index t = 0; t < commands->target_count; ++t) {
        const bb_index slopes = commands->slopes[t];
        if (commands->weight[t] == 0.0) {
            continue;
        }
        BB_TRY(bb_matrix_source_fill(work->ctm[t], 0, begin,
                                     bb_view_matrix(block, slopes, end - begin)));
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, actuators, width, (int)slopes, 1.0,
                    projector, (int)commands->slope_count, block, width, beta, work->out + begin,
                    (int)work->n);
        projector += slopes;
        beta = 1.0;
    }
done:
    BB_RELEASE(&block);
    return status;
}

bb_status bb_mirror_commands_gather(const bb_mirror_commands *commands,
                                    const bb_matrix_source *const *ctm, double *out)
{
    gathering work = {.commands = commands, .ctm = ctm, .n = ctm[0]->columns, .out = out};
    for (bb_index t = 0; t < commands->target_count; ++t) {
        if (commands->slopes[t] > work.most_slopes) {
            work.most_slopes = commands->slopes[t];
        }
    }
    return bb_thread_ranges(work.n, COLUMNS, gather, &work);
}

bb_need bb_mirror_commands_gather_need(double most_slopes, bb_index n, double actuators,
                                       double corrected, double threads)
{
    const double flops = 2.0 * actuators * corrected * (double)n;
    const bb_need need = {.host_bytes = sizeof(double) * threads * most_slopes *
                                        fmin((double)COLUMNS, (double)n),
                          .seconds = flops / BB_NEED_FP64_RATE};
    return bb_need_shared(need, threads);
}

typedef struct seeing {
    const double *interaction, *m;
    double *r;
    bb_index actuators, n;
} seeing;

static bb_status multiply_rows(void *context, bb_index begin, bb_index end)
{
    const seeing *work = context;
    const int n = (int)work->n;
    const int actuators = (int)work->actuators;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - begin), n, actuators, 1.0,
                work->interaction + begin * actuators, actuators, work->m, n, 0.0,
                work->r + begin * n, n);
    return BB_OK;
}

bb_status bb_mirror_commands_apply_influence(const bb_mirror_commands *commands, bb_index target,
                                             bb_index n, const double *m, double *r)
{
    seeing work = {commands->interaction[target], m, r, commands->stack.actuator_count, n};
    return bb_thread_ranges(commands->slopes[target], ROWS, multiply_rows, &work);
}

enum { POLYNOMIALS = 6 };

// Fractions of a mode's squared strokes: the minimum in polynomials for a plate-scale mode, and the
// maximum in one mirror for opposed ones.
static const double least_share = 0.5;
static const double most_alone = 0.9;

const char *const bb_plate_shape_names[BB_PLATE_SHAPES] = {"piston", "tilt", "curvature"};

static const bb_plate_shape shapes[POLYNOMIALS] = {BB_PLATE_PISTONS,    BB_PLATE_TILTS,
                                                   BB_PLATE_TILTS,      BB_PLATE_CURVATURES,
                                                   BB_PLATE_CURVATURES, BB_PLATE_CURVATURES};

// Orthonormal polynomials over the actuators of a mirror, [POLYNOMIALS][count], by two Gram-Schmidt
// passes. With few actuators the last ones are zero.
static void make_polynomials(const bb_conjugate_mirror *mirror, double *basis)
{
    const int count = (int)mirror->count;
    const double step = mirror->cube != NULL ? mirror->cube->spacing_m : mirror->pitch_m;
    for (int a = 0; a < count; ++a) {
        const double x = mirror->x_m[a] / step;
        const double y = mirror->y_m[a] / step;
        const double values[POLYNOMIALS] = {1.0, x, y, x * x + y * y, x * x - y * y, x * y};
        for (int k = 0; k < POLYNOMIALS; ++k) {
            basis[k * count + a] = values[k];
        }
    }
    for (int k = 0; k < POLYNOMIALS; ++k) {
        double *row = basis + k * count;
        const double before = cblas_dnrm2(count, row, 1);
        for (int i = 0; i < 2 * k; ++i) {
            const double *other = basis + i % k * count;
            cblas_daxpy(count, -cblas_ddot(count, row, 1, other, 1), other, 1, row, 1);
        }
        const double norm = cblas_dnrm2(count, row, 1);
        cblas_dscal(count, norm > 1e-9 * before ? 1.0 / norm : 0.0, row, 1);
    }
}

// Squared strokes of a mode, volts times the peak influence, relative to the first mirror: mirrors
// of unequal strokes oppose each other by unequal volts.
static double measure_strokes(const bb_mirror_stack *stack, const double *volts)
{
    double sum = 0.0;
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        const bb_conjugate_mirror *mirror = &stack->mirrors[k];
        const double stroke = mirror->stroke_m / stack->mirrors[0].stroke_m *
                              cblas_dnrm2((int)mirror->count, volts + mirror->first, 1);
        sum += stroke * stroke;
    }
    return sum;
}

// Adds the fractions of one mirror to those of every weak mode.
static bb_status add_shares(const bb_mirror_commands *commands, bb_index k, bb_plate_mode *modes)
{
    bb_status status = BB_OK;
    const bb_mirror_stack *stack = &commands->stack;
    const bb_conjugate_mirror *mirror = &stack->mirrors[k];
    const double stroke = mirror->stroke_m / stack->mirrors[0].stroke_m;
    const int count = (int)mirror->count;
    double *basis = NULL;
    BB_TRY(BB_ALLOCATE(POLYNOMIALS * mirror->count, &basis));
    make_polynomials(mirror, basis);
    for (bb_index q = 0; q < commands->weak.count; ++q) {
        const double *volts = commands->weak.volts + q * stack->actuator_count;
        const double scale = stroke / sqrt(measure_strokes(stack, volts));
        double sum = 0.0;
        for (int p = 0; p < POLYNOMIALS; ++p) {
            const double part =
                scale * cblas_ddot(count, volts + mirror->first, 1, basis + p * count, 1);
            modes[q].share[shapes[p]] += part * part;
            sum += part * part;
        }
        modes[q].alone = fmax(modes[q].alone, sum);
    }
done:
    BB_RELEASE(&basis);
    return status;
}

// Completes a mode; returns whether it is a plate-scale mode near the condition.
static bool complete_mode(const bb_mirror_commands *commands, bb_plate_mode *mode)
{
    const double step = mode->ratio * commands->condition;
    double sum = 0.0;
    for (int s = 0; s < BB_PLATE_SHAPES; ++s) {
        sum += mode->share[s];
        mode->shape = mode->share[s] > mode->share[mode->shape] ? (bb_plate_shape)s : mode->shape;
    }
    mode->opposed = mode->alone < most_alone * sum;
    return commands->stack.mirror_count > 1 && sum > least_share && step < commands->weak.margin &&
           step * commands->weak.margin > 1.0;
}

bb_status bb_plate_modes_find(const bb_mirror_commands *commands, bb_plate_mode **out,
                              bb_index *count)
{
    bb_status status = BB_OK;
    const bb_weak_modes *weak = &commands->weak;
    bb_plate_mode *modes = NULL; // [weak->count], found first
    bb_index found = 0;
    BB_TRY(BB_ZEROED(weak->count, &modes));
    for (bb_index k = 0; k < commands->stack.mirror_count; ++k) {
        BB_TRY(add_shares(commands, k, modes));
    }
    for (bb_index q = 0; q < weak->count; ++q) {
        bb_plate_mode mode = modes[q];
        mode.ratio = weak->ratios[q];
        mode.dropped = q < commands->dropped_modes;
        if (complete_mode(commands, &mode)) {
            modes[found++] = mode;
        }
    }
    *out = modes;
    *count = found;
    modes = NULL;
done:
    BB_RELEASE(&modes);
    return status;
}
