// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_commands.h"

#include "core/memory.h"
#include "sim/ao/ao_mcao.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>

void bb_ao_commands_release(bb_ao_commands *self)
{
    for (bb_index t = 0; self->truths != NULL && t < self->problem->target_count; ++t) {
        BB_RELEASE(&self->truths[t].values);
        BB_RELEASE(&self->truths[t].variances);
    }
    BB_RELEASE(&self->truths);
}

bb_status bb_ao_commands_replace_estimates(const bb_tomography *problem,
                                           const bb_factor_pipeline *pipeline,
                                           bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_index n = problem->cmm->columns;
    double *commands = NULL;
    if (pipeline->stored != (int)BB_STORED_COMMANDS || problem->commands != NULL ||
        evaluation->common.outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    for (bb_index t = 0; t < problem->target_count; ++t) {
        const bb_deformable_mirror *mirror = bb_target_commands_mirror(problem, t);
        if (evaluation->r[t] == NULL) {
            continue;
        }
        BB_TRY(BB_ALLOCATE(mirror->actuator_count * n, &commands));
        BB_TRY(bb_target_commands_project(problem, t, n, evaluation->r[t], NULL, commands));
        BB_RELEASE(&evaluation->r[t]);
        evaluation->r[t] = commands;
        commands = NULL;
    }
    evaluation->kind = BB_RESIDUAL_COMMANDS;
done:
    BB_RELEASE(&commands);
    return status;
}

bb_index bb_ao_commands_rows(const bb_tomography *problem, const bb_ao_evaluation *evaluation,
                             bb_index target)
{
    return evaluation->kind == BB_RESIDUAL_COMMANDS
               ? bb_target_commands_mirror(problem, target)->actuator_count
               : bb_ao_mcao_rows(problem, target);
}

const void *bb_ao_commands_resident(const bb_tomography *problem,
                                    const bb_ao_evaluation *evaluation, bb_index target)
{
    const double *r = evaluation->resident.r;
    for (bb_index t = 0; r != NULL && !evaluation->shared && t < target; ++t) {
        r += problem->targets[t].ctm->rows * problem->targets[t].ctm->columns;
    }
    return r;
}

// Covariance of a target in commands, computed on the first call only.
static bb_status make_truth(bb_ao_commands *self, bb_index target)
{
    bb_status status = BB_OK;
    const bb_index actuators = bb_target_commands_mirror(self->problem, target)->actuator_count;
    double *values = NULL;
    double *variances = NULL;
    if (self->truths == NULL) {
        BB_TRY(BB_ZEROED(self->problem->target_count, &self->truths));
    }
    bb_ao_truth *truth = &self->truths[target];
    if (truth->values == NULL) {
        BB_TRY(BB_ALLOCATE(actuators * actuators, &values));
        BB_TRY(BB_ALLOCATE(self->problem->targets[target].ctt->rows, &variances));
        BB_TRY(bb_target_commands_truth(self->problem, target, values, variances));
        truth->view = bb_view_matrix(values, actuators, actuators);
        truth->ctt = bb_matrix_source_dense(&truth->view, "DxCttDx", "V^2");
        truth->values = values;
        truth->variances = variances;
        values = variances = NULL;
    }
done:
    BB_RELEASE(&values);
    BB_RELEASE(&variances);
    return status;
}

bb_status bb_ao_commands_task(bb_ao_commands *self, const bb_ao_evaluation *evaluation,
                              bb_index target, bb_residual_task *out)
{
    bb_status status = BB_OK;
    const bb_mirror_commands *together = self->problem->commands;
    const bb_tomography_target *aim = &self->problem->targets[target];
    const bool several = evaluation->shared && self->problem->target_count > 1;
    *out =
        (bb_residual_task){.ctm = aim->ctm, .ctt = aim->ctt, .rows = several ? aim->ctm->rows : 0};
    if (evaluation->kind == BB_RESIDUAL_COMMANDS) {
        BB_TRY(make_truth(self, target));
        out->ctt = &self->truths[target].ctt;
        out->rows = out->ctt->rows;
        out->truth_weights = bb_target_commands_mirror(self->problem, target)->projector;
    }
    if (together != NULL) {
        out->r = evaluation->r[0];
        out->rows = together->stack.actuator_count;
        out->weights = together->interaction[target];
    } else {
        out->r = bb_ao_evaluation_reconstructor(evaluation, target);
        out->device_r = bb_ao_commands_resident(self->problem, evaluation, target);
    }
done:
    return status;
}

bb_status bb_ao_commands_project(bb_ao_commands *self, bb_index target, bb_residual_task *task)
{
    bb_status status = BB_OK;
    BB_TRY(make_truth(self, target));
    task->ctt = &self->truths[target].ctt;
    task->truth_weights = bb_target_commands_mirror(self->problem, target)->projector;
done:
    return status;
}

bb_residual_kind bb_ao_commands_kind(const bb_residual_task *task)
{
    return task->truth_weights != NULL ? BB_RESIDUAL_COMMANDS : BB_RESIDUAL_SLOPES;
}

static bb_status fill_nothing(const bb_matrix_source *source, bb_index row, bb_index column,
                              bb_view out)
{
    (void)source;
    (void)row;
    (void)column;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        memset(bb_view_row(out, i), 0, (size_t)out.shape[1] * sizeof(double));
    }
    return BB_OK;
}

void bb_ao_commands_product(bb_ao_commands *self, const bb_ao_evaluation *evaluation,
                            bb_residual_task *out)
{
    const bb_index actuators = self->problem->commands->stack.actuator_count;
    self->zeros = (bb_matrix_source){.rows = actuators,
                                     .columns = self->problem->cmm->columns,
                                     .name = "nothing",
                                     .unit = "V arcsec",
                                     .fill = fill_nothing};
    *out = (bb_residual_task){.ctm = &self->zeros, .r = evaluation->r[0], .rows = actuators};
}

bb_status bb_ao_commands_shake(const bb_tomography *problem, bb_index target, bb_residual_kind kind,
                               double rms_arcsec, const bb_residual_task *task)
{
    bb_status status = BB_OK;
    const bb_index rows = bb_residual_task_rows(task);
    const bb_index size = bb_residual_task_size(task);
    double *made = NULL;      // [rows][2] tilt estimated by r
    double *estimated = NULL; // [q][2] tilt after the weights
    if (rms_arcsec == 0.0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(2 * rows, &made));
    BB_TRY(bb_error_terms_estimate_shake(&problem->guides, rows, task->r, made));
    if (task->weights != NULL) {
        BB_TRY(BB_ALLOCATE(2 * size, &estimated));
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)size, 2, (int)rows, 1.0,
                    task->weights, (int)rows, made, 2, 0.0, estimated, 2);
    }
    BB_TRY(bb_tomography_shake(problem, target, kind, rms_arcsec,
                               estimated != NULL ? estimated : made, task->cee));
done:
    BB_RELEASE(&made);
    BB_RELEASE(&estimated);
    return status;
}

typedef struct actuator_row {
    double index, mirror, height_m, x_m, y_m;
} actuator_row;

static const bb_output actuator_rows[] = {
    {"actuator", "actuator", "1", "index of the actuator: row of R",
     .member = offsetof(actuator_row, index)},
    {"mirror", "actuator", "1", "index of its mirror; 0 for a target's own mirror",
     .member = offsetof(actuator_row, mirror)},
    {"height_m", "actuator", "m", "conjugate height of the mirror",
     .member = offsetof(actuator_row, height_m)},
    {"x_m", "actuator", "m", "position on the conjugate, relative to the axis",
     .member = offsetof(actuator_row, x_m)},
    {"y_m", "actuator", "m", "position on the conjugate, relative to the axis",
     .member = offsetof(actuator_row, y_m)},
};

const bb_output_table bb_ao_commands_actuators = {.title = "/actuators_<t>, ao with `--dump R`",
                                                  .when = "Where R_p_t gives commands:",
                                                  .group = "actuators_<t>",
                                                  .axes = "actuator",
                                                  BB_OUTPUT_ROWS(actuator_rows)};

static bb_status publish_stack(const bb_mirror_stack *stack, const char *group, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_fill fill = {.group = group};
    actuator_row *rows = NULL; // [actuators]
    BB_TRY(BB_ALLOCATE(stack->actuator_count, &rows));
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        const bb_conjugate_mirror *mirror = &stack->mirrors[k];
        for (bb_index i = 0; i < mirror->count; ++i) {
            const bb_index a = mirror->first + i;
            rows[a] = (actuator_row){(double)a, (double)k, mirror->height_m, mirror->x_m[i],
                                     mirror->y_m[i]};
        }
    }
    BB_TRY(bb_output_table_publish_records(&bb_ao_commands_actuators, rows, sizeof *rows,
                                           stack->actuator_count, &fill, results));
done:
    BB_RELEASE(&rows);
    return status;
}

bb_status bb_ao_commands_publish(const bb_tomography *problem, bb_index target, bb_results *results)
{
    bb_status status = BB_OK;
    bb_mirror_stack own = {0};
    char group[48];
    char axis[64];
    (void)snprintf(group, sizeof group, "actuators_%td", target);
    (void)snprintf(axis, sizeof axis, "%s/actuator", group);
    if (bb_results_find(results, axis) != NULL) {
        goto done;
    }
    if (problem->commands == NULL) {
        BB_TRY(bb_mirror_stack_of_pupil(bb_target_commands_mirror(problem, target), &own));
    }
    BB_TRY(publish_stack(problem->commands == NULL ? &own : &problem->commands->stack, group,
                         results));
done:
    bb_mirror_stack_release(&own);
    return status;
}

bb_status bb_ao_commands_check(const bb_ao_study *study, const bb_config *config,
                               bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const bb_index reference = bb_factor_pipelines_reference(&study->pipelines);
    const bool together = study->correction == (int)BB_AO_CORRECTION_MCAO;
    BB_TRY(bb_study_refuse(!together && pipelines[reference].stored == (int)BB_STORED_COMMANDS,
                           config, problems,
                           "pipelines[%td].operator: commands, expected slopes: the noise term of "
                           "the reference is defined for slopes",
                           reference));
done:
    return status;
}
