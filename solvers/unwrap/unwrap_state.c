// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_state.h"

#include "core/memory.h"

#include <math.h>

// Creates the field that is 1 within the mask.
static bb_status create_inside(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    const bb_unwrap_parts *parts = &unwrap->parts;
    const bb_index points = parts->columns * parts->rows;
    int32_t *values = NULL; // [points]
    BB_TRY(BB_ALLOCATE(points, &values));
    for (bb_index p = 0; p < points; ++p) {
        values[p] = parts->labels[p] >= 0;
    }
    BB_TRY(bb_unwrap_field_integers(unwrap->context, values, parts->columns, parts->rows,
                                    &unwrap->inside));
    BB_TRY(bb_device_wait(bb_kernel_context_device(unwrap->context)));
    unwrap->inside.indices = NULL; // no index
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status create_integers(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    bb_unwrap_parts *parts = &unwrap->parts;
    const bb_index columns = parts->columns, rows = parts->rows;
    const struct {
        bb_unwrap_field *field;
        int32_t *values;
        bb_index columns, rows;
    } integers[] = {{&unwrap->labels, parts->labels, columns, rows},
                    {&unwrap->order, parts->order, parts->point_count, 1},
                    {&unwrap->starts, parts->starts, parts->run_count + 1, 1},
                    {&unwrap->owners, parts->owners, parts->run_count, 1},
                    {&unwrap->heads, parts->heads, parts->group_count + 1, 1},
                    {&unwrap->firsts, parts->firsts, parts->count + 1, 1},
                    {&unwrap->sizes, parts->sizes, parts->count, 1},
                    {&unwrap->held, NULL, columns, rows},
                    {&unwrap->width, NULL, columns, rows}};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; ++i) {
        BB_TRY(bb_unwrap_field_integers(unwrap->context, integers[i].values, integers[i].columns,
                                        integers[i].rows, integers[i].field));
    }
done:
    return status;
}

static bb_status create_fields(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    bb_kernel_context *context = unwrap->context;
    bb_unwrap_parts *parts = &unwrap->parts;
    const bb_index columns = parts->columns, rows = parts->rows;
    const bb_format gradient = unwrap->config.slots[BB_UNWRAP_GRADIENT].storage;
    const bb_format smoother = unwrap->config.slots[BB_UNWRAP_SMOOTHER].storage;
    const bb_format result = unwrap->config.slots[BB_UNWRAP_CONGRUENCE].storage;
    const bb_index sample_columns = (columns + BB_UNWRAP_STRIDE - 1) / BB_UNWRAP_STRIDE;
    const bb_index sample_rows = 2 * ((rows + BB_UNWRAP_STRIDE - 1) / BB_UNWRAP_STRIDE);
    bb_unwrap_field *const gradients[] = {&unwrap->wrapped,   &unwrap->gx,       &unwrap->gy,
                                          &unwrap->bx,        &unwrap->by,       &unwrap->mx,
                                          &unwrap->my,        &unwrap->edges[0], &unwrap->edges[1],
                                          &unwrap->shares[0], &unwrap->shares[1]};
    const struct {
        bb_unwrap_field *field;
        bb_index columns, rows;
    } doubles[] = {{&unwrap->first_thresholds, BB_UNWRAP_THRESHOLDS, 1},
                   {&unwrap->thresholds[0], BB_UNWRAP_THRESHOLDS, 1},
                   {&unwrap->thresholds[1], BB_UNWRAP_THRESHOLDS, 1},
                   {&unwrap->tallies, sample_rows, BB_UNWRAP_THRESHOLDS},
                   {&unwrap->totals, BB_UNWRAP_THRESHOLDS, 1},
                   {&unwrap->limits, BB_UNWRAP_LIMITS, 1},
                   {&unwrap->changed, 1, 1},
                   {&unwrap->jumps, 1, 1},
                   {&unwrap->row_jumps, 2 * rows, 1},
                   {&unwrap->least, 1, 1},
                   {&unwrap->rejected, rows, 1},
                   {&unwrap->cosines, parts->run_count, 1},
                   {&unwrap->sines, parts->run_count, 1},
                   {&unwrap->offsets, parts->run_count, 1},
                   {&unwrap->group_cosines, parts->group_count, 1},
                   {&unwrap->group_sines, parts->group_count, 1},
                   {&unwrap->group_offsets, parts->group_count, 1},
                   {&unwrap->pistons, parts->count, 1}};
    for (size_t i = 0; i < sizeof gradients / sizeof gradients[0]; ++i) {
        BB_TRY(bb_unwrap_field_create(context, gradient, columns, rows, gradients[i]));
    }
    BB_TRY(bb_unwrap_field_create(context, gradient, columns, rows + BB_UNWRAP_WINDOW - 1,
                                  &unwrap->sums));
    BB_TRY(bb_unwrap_field_create(context,
                                  gradient == BB_FORMAT_FP64 ? BB_FORMAT_FP64 : BB_FORMAT_FP32,
                                  sample_columns, sample_rows, &unwrap->samples));
    BB_TRY(bb_unwrap_field_create(context, smoother, columns, rows, &unwrap->settled));
    BB_TRY(bb_unwrap_field_create(context, result, columns, rows, &unwrap->phase));
    BB_TRY(bb_unwrap_field_create(context, result, columns, rows, &unwrap->kept));
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; ++i) {
        BB_TRY(bb_unwrap_field_create(context, BB_FORMAT_FP64, doubles[i].columns, doubles[i].rows,
                                      doubles[i].field));
    }
    BB_TRY(create_integers(unwrap));
    BB_TRY(create_inside(unwrap));
done:
    return status;
}

// Sets thresholds from 0 to 2 pi in equal steps, and one above every edge.
static bb_status fill_thresholds(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(unwrap->context);
    double values[BB_UNWRAP_THRESHOLDS];
    for (int k = 0; k < BB_UNWRAP_THRESHOLDS; ++k) {
        values[k] = k == BB_UNWRAP_THRESHOLDS - 1
                        ? 1e15
                        : 6.283185307179586 * k / (BB_UNWRAP_THRESHOLDS - 2);
    }
    BB_TRY(bb_device_upload(device, unwrap->first_thresholds.block, values, sizeof values));
    BB_TRY(bb_device_wait(device));
done:
    return status;
}

// Binds the types of each slot's storage and arithmetic.
static const char *stored(const bb_unwrap *unwrap, bb_unwrap_slot slot)
{
    return bb_unwrap_field_type(unwrap->config.slots[slot].storage);
}

static const char *working(const bb_unwrap *unwrap, bb_unwrap_slot slot)
{
    return bb_unwrap_field_type(unwrap->config.slots[slot].arithmetic);
}

// Adds a step of a slot: placeholder `name` is bound to the slot's storage, WORK to its arithmetic.
static bb_status add(bb_unwrap *unwrap, bb_unwrap_recipe recipe, const char *file, const char *name,
                     bb_unwrap_slot slot, bool works, bb_unwrap_step *out)
{
    bb_kernel_use *use = &recipe.use;
    use->file = file;
    if (name != NULL) {
        use->types[use->type_count++] = (bb_type_binding){name, stored(unwrap, slot)};
    }
    if (works) {
        use->types[use->type_count++] = (bb_type_binding){"WORK", working(unwrap, slot)};
    }
    return bb_unwrap_step_create(unwrap->context, &recipe, out);
}

static bb_status create_gradients(bb_unwrap *u)
{
    bb_status status = BB_OK;
    bb_unwrap_grids *grid = &u->grids;
    const bb_unwrap_field *const g[] = {&u->gx, &u->gy};
    const bb_unwrap_field *const m[] = {&u->mx, &u->my};
    const bb_unwrap_slot slot = BB_UNWRAP_GRADIENT;
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(add(u,
                   (bb_unwrap_recipe){.use = {.types = {{"I", stored(u, slot)}}, .type_count = 1},
                                      .fields = {&u->wrapped, &u->edges[axis], g[axis]},
                                      .parameters = {{.integer = 1 - axis}, {.integer = axis}},
                                      .written = {g[axis]}},
                   "unwrap_gradient.kernel", "G", slot, true, &u->gradient[axis]));
        BB_TRY(add(u, (bb_unwrap_recipe){.fields = {g[axis], &u->sums}, .written = {&u->sums}},
                   "unwrap_row_sums.kernel", "G", slot, true, &u->row_sums[axis]));
        BB_TRY(add(u,
                   (bb_unwrap_recipe){.fields = {&u->sums, &u->shares[axis], m[axis]},
                                      .written = {m[axis]}},
                   "unwrap_means.kernel", "G", slot, true, &u->means[axis]));
    }
    BB_TRY(
        add(u, // rejection overwrites the means with the gradients of the first least-squares solve
            (bb_unwrap_recipe){.fields = {&u->mx, &u->my, &grid->wx, &grid->wy, &grid->f},
                               .written = {&grid->f}},
            "unwrap_divergence.kernel", "G", slot, true, &u->first_divergence));
    BB_TRY(add(u,
               (bb_unwrap_recipe){.fields = {&u->gx, &u->gy, &grid->wx, &grid->wy, &grid->f},
                                  .written = {&grid->f}},
               "unwrap_divergence.kernel", "G", slot, true, &u->divergence));
done:
    return status;
}

// Computes the edges, which depend on the mask only.
static bb_status compute_edges(bb_unwrap *u)
{
    bb_status status = BB_OK;
    bb_unwrap_step steps[5] = {{.launch = NULL}};
    const bb_unwrap_slot slot = BB_UNWRAP_GRADIENT;
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->inside, &u->edges[0], &u->edges[1]}},
               "unwrap_edges.kernel", "G", slot, false, &steps[0]));
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->edges[axis], &u->sums}},
                   "unwrap_row_sums.kernel", "G", slot, true, &steps[1 + 2 * axis]));
        BB_TRY(add(u,
                   (bb_unwrap_recipe){.fields = {&u->edges[axis], &u->sums, &u->shares[axis]},
                                      .written = {&u->shares[axis]}},
                   "unwrap_shares.kernel", "G", slot, true, &steps[2 + 2 * axis]));
    }
    for (int i = 0; i < 5; ++i) {
        BB_TRY(bb_unwrap_step_run(&steps[i]));
    }
done:
    for (int i = 0; i < 5; ++i) {
        bb_unwrap_step_release(&steps[i]);
    }
    return status;
}

static bb_status create_rejection(bb_unwrap *u)
{
    bb_status status = BB_OK;
    bb_unwrap_grids *grid = &u->grids;
    const bb_unwrap_field *const w[] = {&grid->wx, &grid->wy};
    const bb_unwrap_field *const g[] = {&u->gx, &u->gy};
    const bb_unwrap_field *const m[] = {&u->mx, &u->my};
    const bb_unwrap_field *const b[] = {&u->bx, &u->by};
    const bb_unwrap_slot slot = BB_UNWRAP_GRADIENT;
    const double fixed = isfinite(u->fixed_limit) ? u->fixed_limit : 10.0;
    BB_TRY(fill_thresholds(u));
    BB_TRY(add(u,
               (bb_unwrap_recipe){.use = {.types = {{"T", "DP"}}, .type_count = 1},
                                  .fields = {&u->first_thresholds, &u->thresholds[0]}},
               "copy.kernel", NULL, slot, false, &u->open_bracket));
    BB_TRY(add(u,
               (bb_unwrap_recipe){
                   .fields = {g[0], g[1], m[0], m[1], &u->edges[0], &u->edges[1], &u->samples}},
               "unwrap_samples.kernel", "G", slot, false, &u->sample));
    for (int i = 0; i < 2; ++i) {
        BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->samples, &u->thresholds[i], &u->tallies}},
                   "unwrap_tally.kernel", "G", slot, false, &u->tally[i]));
        BB_TRY(add(
            u, (bb_unwrap_recipe){.fields = {&u->thresholds[i], &u->totals, &u->thresholds[1 - i]}},
            "unwrap_bracket.kernel", NULL, slot, false, &u->bracket[i]));
    }
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->tallies, &u->totals}}, "unwrap_totals.kernel",
               NULL, slot, false, &u->total));
    BB_TRY(add(u,
               (bb_unwrap_recipe){.fields = {&u->thresholds[0], &u->limits},
                                  .parameters = {{.parts = {fixed}},
                                                 {.parts = {BB_UNWRAP_LEAST_LIMIT}},
                                                 {.parts = {BB_UNWRAP_MOST_LIMIT}},
                                                 {.parts = {BB_UNWRAP_SMOOTH}}}},
               "unwrap_limit.kernel", NULL, slot, false, &u->limit));
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(add(
            u,
            (bb_unwrap_recipe){.fields = {m[axis], &u->edges[axis], &u->limits, g[axis], w[axis]},
                               .parameters = {{.parts = {BB_UNWRAP_WEAK}}},
                               .written = {g[axis], w[axis]}},
            "unwrap_reject.kernel", "G", slot, true, &u->reject[axis]));
        BB_TRY(add(
            u,
            (bb_unwrap_recipe){.fields = {g[axis], m[axis], &u->edges[axis], &u->limits, b[axis]},
                               .written = {b[axis]}},
            "unwrap_bases.kernel", "G", slot, true, &u->bases[axis]));
    }
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {w[0], w[1], &u->rejected}}, "unwrap_share.kernel",
               "G", slot, false, &u->share));
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->inside, w[0], w[1], &u->held, &u->width}},
               "unwrap_held.kernel", "G", slot, false, &u->hold));
done:
    return status;
}

static bb_status add_groups(bb_unwrap *u, const bb_unwrap_field *runs,
                            const bb_unwrap_field *groups, bb_unwrap_step *out)
{
    return add(u, (bb_unwrap_recipe){.fields = {runs, &u->heads, groups}}, "unwrap_groups.kernel",
               NULL, BB_UNWRAP_CONGRUENCE, false, out);
}

static bb_status create_pistons(bb_unwrap *u)
{
    bb_status status = BB_OK;
    const bb_unwrap_field *solution = &u->grids.u;
    const bb_unwrap_slot slot = BB_UNWRAP_CONGRUENCE;
    const bb_kernel_use mixed = {.types = {{"I", stored(u, BB_UNWRAP_GRADIENT)}}, .type_count = 1};
    // Operands of a sum must not be wider than its arithmetic.
    const bool is_wide = solution->format == BB_FORMAT_FP64;
    const bb_kernel_use settled = {.types = {{"U", stored(u, BB_UNWRAP_SMOOTHER)},
                                             {"WORK", is_wide ? "DP" : working(u, slot)}},
                                   .type_count = 2};
    bb_kernel_use congruent = mixed;
    congruent.types[congruent.type_count++] = (bb_type_binding){"U", stored(u, BB_UNWRAP_SMOOTHER)};
    BB_TRY(add(u,
               (bb_unwrap_recipe){.use = settled,
                                  .fields = {solution, &u->width, &u->held, &u->settled},
                                  .written = {&u->settled}},
               "unwrap_settle.kernel", NULL, slot, false, &u->settle));
    BB_TRY(add(u,
               (bb_unwrap_recipe){.use = congruent,
                                  .fields = {&u->wrapped, &u->settled, &u->order, &u->starts,
                                             &u->cosines, &u->sines},
                                  .as_vectors = true},
               "unwrap_directions.kernel", NULL, slot, false, &u->directions));
    BB_TRY(add_groups(u, &u->cosines, &u->group_cosines, &u->cosine_groups));
    BB_TRY(add_groups(u, &u->sines, &u->group_sines, &u->sine_groups));
    BB_TRY(add(
        u,
        (bb_unwrap_recipe){.fields = {&u->group_cosines, &u->group_sines, &u->firsts, &u->pistons}},
        "unwrap_angles.kernel", NULL, slot, false, &u->angles));
    BB_TRY(add(u,
               (bb_unwrap_recipe){.use = congruent,
                                  .fields = {&u->wrapped, &u->settled, &u->order, &u->starts,
                                             &u->owners, &u->pistons, &u->offsets},
                                  .as_vectors = true},
               "unwrap_offsets.kernel", NULL, slot, false, &u->offset));
    BB_TRY(add_groups(u, &u->offsets, &u->group_offsets, &u->offset_groups));
    BB_TRY(add(
        u, (bb_unwrap_recipe){.fields = {&u->group_offsets, &u->firsts, &u->sizes, &u->pistons}},
        "unwrap_pistons.kernel", NULL, slot, false, &u->correct));
    BB_TRY(add(
        u,
        (bb_unwrap_recipe){.use = congruent,
                           .fields = {&u->wrapped, &u->settled, &u->labels, &u->pistons, &u->phase},
                           .written = {&u->phase}},
        "unwrap_congruent.kernel", "P", slot, true, &u->congruent));
done:
    return status;
}

// Creates the steps that select the least-squares phase with the least jumps.
static bb_status create_choice(bb_unwrap *u)
{
    bb_status status = BB_OK;
    const bb_unwrap_slot slot = BB_UNWRAP_CONGRUENCE;
    const bb_kernel_use edges = {.types = {{"G", stored(u, BB_UNWRAP_GRADIENT)}}, .type_count = 1};
    const bb_kernel_use numbers = {.types = {{"T", "DP"}}, .type_count = 1};
    const bb_unwrap_field *const g[] = {&u->gx, &u->gy};
    const bb_unwrap_field *const b[] = {&u->bx, &u->by};
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->phase, &u->kept, &u->inside, &u->changed}},
               "unwrap_changes.kernel", "P", slot, false, &u->changes));
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(add(u,
                   (bb_unwrap_recipe){.use = edges,
                                      .fields = {&u->phase, g[axis], b[axis], &u->row_jumps},
                                      .parameters = {{.integer = 1 - axis},
                                                     {.integer = axis},
                                                     {.integer = axis * u->parts.rows}}},
                   "unwrap_jumps.kernel", "P", slot, false, &u->count_jumps[axis]));
    }
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->row_jumps, &u->jumps}}, "unwrap_total.kernel",
               NULL, slot, false, &u->total_jumps));
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->phase, &u->kept}, .as_vectors = true},
               "copy.kernel", "T", slot, false, &u->keep));
    BB_TRY(add(u, (bb_unwrap_recipe){.use = numbers, .fields = {&u->jumps, &u->least}},
               "copy.kernel", NULL, slot, false, &u->keep_jumps));
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->phase, &u->jumps, &u->least, &u->kept}},
               "unwrap_select.kernel", "P", slot, false, &u->select));
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->jumps, &u->least}}, "unwrap_least.kernel", NULL,
               slot, false, &u->lower));
    BB_TRY(add(u, (bb_unwrap_recipe){.fields = {&u->kept, &u->phase}, .as_vectors = true},
               "copy.kernel", "T", slot, false, &u->give));
done:
    return status;
}

bb_status bb_unwrap_state_create(bb_unwrap *unwrap)
{
    bb_status status = BB_OK;
    BB_TRY(bb_unwrap_grids_create(unwrap->context, &unwrap->config, unwrap->parts.columns,
                                  unwrap->parts.rows, &unwrap->grids));
    BB_TRY(create_fields(unwrap));
    BB_TRY(compute_edges(unwrap));
    BB_TRY(create_gradients(unwrap));
    BB_TRY(create_rejection(unwrap));
    BB_TRY(create_pistons(unwrap));
    BB_TRY(create_choice(unwrap));
done:
    return status;
}

bb_status bb_unwrap_state_reweight(bb_unwrap *unwrap, bb_index round, bb_unwrap_step *out)
{
    bb_unwrap_grids *grid = &unwrap->grids;
    const int halvings = round < BB_UNWRAP_HALVINGS ? (int)round : BB_UNWRAP_HALVINGS;
    const double d = ldexp(BB_UNWRAP_FIRST_SOFTNESS, -halvings);
    return add(unwrap,
               (bb_unwrap_recipe){
                   .use = {.types = {{"U", stored(unwrap, BB_UNWRAP_SMOOTHER)}}, .type_count = 1},
                   .fields = {&grid->u, &unwrap->gx, &unwrap->gy, &unwrap->bx, &unwrap->by,
                              &grid->wx, &grid->wy},
                   .parameters = {{.parts = {d}}},
                   .written = {&grid->wx, &grid->wy}},
               "unwrap_reweight.kernel", "G", BB_UNWRAP_GRADIENT, true, out);
}

// Lists all fields outside the grids; returns their number.
enum { FIELDS = 44 };
static int list_fields(bb_unwrap *u, bb_unwrap_field *out[FIELDS])
{
    bb_unwrap_field *const fields[] = {&u->wrapped,
                                       &u->gx,
                                       &u->gy,
                                       &u->bx,
                                       &u->by,
                                       &u->mx,
                                       &u->my,
                                       &u->sums,
                                       &u->edges[0],
                                       &u->edges[1],
                                       &u->shares[0],
                                       &u->shares[1],
                                       &u->settled,
                                       &u->phase,
                                       &u->kept,
                                       &u->cosines,
                                       &u->sines,
                                       &u->offsets,
                                       &u->pistons,
                                       &u->group_cosines,
                                       &u->group_sines,
                                       &u->group_offsets,
                                       &u->samples,
                                       &u->first_thresholds,
                                       &u->thresholds[0],
                                       &u->thresholds[1],
                                       &u->tallies,
                                       &u->totals,
                                       &u->limits,
                                       &u->rejected,
                                       &u->changed,
                                       &u->jumps,
                                       &u->row_jumps,
                                       &u->least,
                                       &u->inside,
                                       &u->held,
                                       &u->width,
                                       &u->labels,
                                       &u->order,
                                       &u->starts,
                                       &u->owners,
                                       &u->heads,
                                       &u->firsts,
                                       &u->sizes};
    for (int i = 0; i < FIELDS; ++i) {
        out[i] = fields[i];
    }
    return FIELDS;
}

void bb_unwrap_state_release(bb_unwrap *u)
{
    bb_unwrap_step *const steps[] = {
        &u->gradient[0],  &u->gradient[1],    &u->bases[0],       &u->bases[1],
        &u->row_sums[0],  &u->row_sums[1],    &u->means[0],       &u->means[1],
        &u->sample,       &u->tally[0],       &u->tally[1],       &u->total,
        &u->bracket[0],   &u->bracket[1],     &u->limit,          &u->reject[0],
        &u->reject[1],    &u->share,          &u->divergence,     &u->first_divergence,
        &u->hold,         &u->settle,         &u->directions,     &u->cosine_groups,
        &u->sine_groups,  &u->angles,         &u->offset,         &u->offset_groups,
        &u->correct,      &u->congruent,      &u->changes,        &u->keep,
        &u->open_bracket, &u->count_jumps[0], &u->count_jumps[1], &u->total_jumps,
        &u->keep_jumps,   &u->select,         &u->lower,          &u->give};
    bb_unwrap_field *fields[FIELDS];
    const int count = list_fields(u, fields);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        bb_unwrap_step_release(steps[i]);
    }
    for (bb_index i = 0; u->reweights != NULL && i < u->config.method.reweight; ++i) {
        bb_unwrap_step_release(&u->reweights[i]);
    }
    BB_RELEASE(&u->reweights);
    for (int i = 0; i < count; ++i) {
        bb_unwrap_field_release(u->context, fields[i]);
    }
    bb_unwrap_descent_release(&u->descent);
    bb_unwrap_grids_release(&u->grids);
}

static double number_bytes(const bb_unwrap_field *field, bool in_fp32)
{
    const double bytes = in_fp32 ? 4.0 : bb_format_describe(field->format)->bytes;
    return (double)field->columns * (double)field->rows * bytes;
}

double bb_unwrap_state_bytes(bb_unwrap *u, bool in_fp32)
{
    const bb_unwrap_field *const fields[] = {
        &u->wrapped,  &u->gx,        &u->gy,        &u->bx,       &u->by,        &u->mx,
        &u->my,       &u->sums,      &u->edges[0],  &u->edges[1], &u->shares[0], &u->shares[1],
        &u->settled,  &u->phase,     &u->kept,      &u->grids.u,  &u->grids.f,   &u->grids.wx,
        &u->grids.wy, &u->descent.u, &u->descent.p, &u->descent.q};
    const size_t count = sizeof fields / sizeof fields[0];
    double bytes = 0.0;
    for (size_t i = 0; i < (bb_unwrap_config_supports_cg(&u->config) ? count : count - 3); ++i) {
        bytes += number_bytes(fields[i], in_fp32);
    }
    for (int level = 0; level < u->grids.count; ++level) {
        bb_unwrap_field *grid[BB_UNWRAP_LEVEL_FIELDS];
        bb_unwrap_grids_fields(&u->grids.levels[level], grid);
        for (int k = 0; k < BB_UNWRAP_LEVEL_FIELDS; ++k) {
            bytes += number_bytes(grid[k], in_fp32);
        }
    }
    return bytes;
}
