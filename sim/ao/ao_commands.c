// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_commands.h"

#include "core/memory.h"
#include "sim/ao/ao_mcao.h"
#include "sim/pipelines/storage/sum_rounding.h"

#include <stdio.h>

void bb_ao_commands_release(bb_ao_commands *self)
{
    for (bb_index t = 0; self->truths != NULL && t < self->problem->target_count; ++t) {
        bb_truth_commands_release(&self->truths[t]);
    }
    BB_RELEASE(&self->truths);
}

static const bb_deformable_mirror *mirror_of(const bb_tomography *problem, bb_index target)
{
    return bb_point_spread_mirror(problem->targets[target].spread);
}

bb_status bb_ao_commands_take(const bb_tomography *problem, const bb_factor_pipeline *pipeline,
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
        const bb_deformable_mirror *mirror = mirror_of(problem, t);
        if (evaluation->r[t] == NULL) {
            continue;
        }
        BB_TRY(BB_ALLOCATE(mirror->actuator_count * n, &commands));
        BB_TRY(bb_truth_commands_project(mirror, n, evaluation->r[t], commands));
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
    return evaluation->kind == BB_RESIDUAL_COMMANDS ? mirror_of(problem, target)->actuator_count
                                                    : bb_ao_mcao_rows(problem, target);
}

// Nothing is made twice.
static bb_status make_truth(bb_ao_commands *self, bb_index target)
{
    bb_status status = BB_OK;
    const bb_tomography_target *aim = &self->problem->targets[target];
    if (self->truths == NULL) {
        BB_TRY(BB_ZEROED(self->problem->target_count, &self->truths));
    }
    if (self->truths[target].own == NULL) {
        BB_TRY(bb_truth_commands_create(mirror_of(self->problem, target), aim->ctm, aim->ctt,
                                        &self->truths[target]));
    }
done:
    return status;
}

bb_status bb_ao_commands_task(bb_ao_commands *self, const bb_ao_evaluation *evaluation,
                              bb_index target, bb_residual_task *out)
{
    bb_status status = BB_OK;
    const bb_tomography_target *aim = &self->problem->targets[target];
    const double *r = bb_ao_evaluation_reconstructor(evaluation, target);
    *out = (bb_residual_task){r, aim->ctm, aim->ctt, NULL};
    if (evaluation->kind == BB_RESIDUAL_COMMANDS) {
        BB_TRY(make_truth(self, target));
        *out = (bb_residual_task){r, &self->truths[target].ctm, &self->truths[target].ctt, NULL};
    }
done:
    return status;
}

// What a study has that does not follow what a pipeline asks for; NULL: nothing.
static const char *part_beside(const bb_ao_study *study)
{
    return study->time_domain.frames > 0              ? "time_domain"
           : study->night.source != (int)BB_NIGHT_OFF ? "night"
                                                      : NULL;
}

static bb_status check_operator(const bb_ao_study *study, bb_index p, const bb_config *config,
                                bb_problems *problems)
{
    bb_status status = BB_OK;
    const char *const other = part_beside(study);
    char path[64];
    (void)snprintf(path, sizeof path, "pipelines.%td.operator", p);
    if (p == bb_factor_pipelines_reference(&study->pipelines)) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                               "pipelines[%td].operator: commands, expected slopes of the "
                               "reference, whose noise is told in slopes",
                               p));
    }
    if (other != NULL) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                               "pipelines[%td].operator: commands, expected slopes beside %s, "
                               "which does not follow stored commands yet",
                               p, other));
    }
done:
    return status;
}

static bb_status check_sums(const bb_ao_study *study, bb_index p, const bb_config *config,
                            bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const bool together = study->correction == (int)BB_AO_CORRECTION_MCAO;
    const char *const other = together ? "correction: mcao" : part_beside(study);
    char path[64];
    (void)snprintf(path, sizeof path, "pipelines.%td.accumulate", p);
    if (other != NULL) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                               "pipelines[%td].accumulate: %s, expected fp64 beside %s, which does "
                               "not follow narrow sums yet",
                               p, bb_format_names[pipelines[p].accumulate], other));
    }
done:
    return status;
}

bb_status bb_ao_commands_check(const bb_ao_study *study, const bb_config *config,
                               bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const bool together = study->correction == (int)BB_AO_CORRECTION_MCAO;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        if (!together && pipelines[p].stored == (int)BB_STORED_COMMANDS) {
            BB_TRY(check_operator(study, p, config, problems));
        }
        if (bb_sum_rounding_is_given(&pipelines[p])) {
            BB_TRY(check_sums(study, p, config, problems));
        }
    }
done:
    return status;
}
