// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_mcao.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/text.h"
#include "physics/ao/mirrors/mirror_commands.h"

#include <math.h>

struct bb_ao_mcao {
    double *values; // B [actuators][n]
    bb_view view;
    bb_matrix_source source;
    const bb_matrix_source *side; // right-hand side of a factor problem
};

bb_status bb_ao_mcao_create(const bb_tomography *problem, const bb_matrix_source *const *ctm,
                            bb_ao_mcao **out)
{
    bb_status status = BB_OK;
    bb_ao_mcao *mcao = NULL;
    const bb_index n = ctm[0]->columns;
    *out = NULL;
    if (problem->commands == NULL) {
        goto done;
    }
    const bb_index actuators = problem->commands->stack.actuator_count;
    BB_TRY(BB_ZEROED(1, &mcao));
    BB_TRY(BB_ALLOCATE(actuators * n, &mcao->values));
    BB_TRY(bb_mirror_commands_gather(problem->commands, ctm, mcao->values));
    mcao->view = bb_view_matrix(mcao->values, actuators, n);
    mcao->source = bb_matrix_source_dense(&mcao->view, "B", "V arcsec");
    mcao->side = &mcao->source;
    *out = mcao;
    mcao = NULL;
done:
    bb_ao_mcao_destroy(&mcao);
    return status;
}

void bb_ao_mcao_destroy(bb_ao_mcao **mcao)
{
    if (*mcao != NULL) {
        BB_RELEASE(&(*mcao)->values);
        BB_RELEASE(mcao);
    }
}

void bb_ao_mcao_set_sides(const bb_ao_mcao *mcao, bb_factor_problem *factor_problem)
{
    if (mcao != NULL) {
        factor_problem->target_count = 1;
        factor_problem->sides = &mcao->side;
    }
}

bb_status bb_ao_mcao_project_commands(const bb_tomography *problem, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_index n = problem->cmm->columns;
    const double *m = evaluation->r[0];
    if (problem->commands == NULL || evaluation->common.outcome.kind != BB_OUTCOME_OK ||
        m == NULL) {
        goto done;
    }
    BB_TRY(BB_ZEROED(problem->target_count, &evaluation->seen));
    for (bb_index t = 0; t < problem->target_count; ++t) {
        BB_TRY(BB_ALLOCATE(problem->targets[t].ctm->rows * n, &evaluation->seen[t]));
        BB_TRY(bb_mirror_commands_apply_influence(problem->commands, t, n, m, evaluation->seen[t]));
    }
done:
    return status;
}

bb_index bb_ao_mcao_rows(const bb_tomography *problem, bb_index target)
{
    return problem->commands != NULL ? problem->commands->stack.actuator_count
                                     : problem->targets[target].ctm->rows;
}

// Groups modes of one kind and strength, such as "2 opposed tilts at largest/49.9, kept".
static bb_status describe_modes(const bb_plate_mode *modes, bb_index count, bb_text *out)
{
    bb_status status = BB_OK;
    bb_index next = 0;
    for (bb_index q = 0; q < count; q = next) {
        const bb_plate_mode *mode = &modes[q];
        next = q + 1;
        while (next < count && modes[next].shape == mode->shape &&
               modes[next].opposed == mode->opposed && modes[next].dropped == mode->dropped &&
               modes[next].ratio < 1.01 * mode->ratio) {
            ++next;
        }
        BB_TRY(bb_text_add(out, "%s%td %s%s%s at largest/%.3g, %s", q == 0 ? "" : "; ", next - q,
                           mode->opposed ? "opposed " : "", bb_plate_shape_names[mode->shape],
                           next - q == 1 ? "" : "s", 1.0 / mode->ratio,
                           mode->dropped ? "left out" : "kept"));
    }
done:
    return status;
}

static const double like_strokes =
    10.0; // largest ratio of strokes between mirrors without a warning

// Warns of actuators without influence, and of mirrors whose stroke per volt differs widely.
static void warn_influences(const bb_mirror_stack *stack)
{
    bb_index weakest = 0;
    bb_index strongest = 0;
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        const bb_conjugate_mirror *mirror = &stack->mirrors[k];
        const bb_index idle = mirror->cube == NULL ? 0 : bb_influence_cube_idle(mirror->cube);
        if (idle > 0) {
            bb_log_warning(
                "mirrors[%td].influence: %td of %td actuators have no influence and stay at 0 V", k,
                idle, mirror->count);
        }
        weakest = mirror->stroke_m < stack->mirrors[weakest].stroke_m ? k : weakest;
        strongest = mirror->stroke_m > stack->mirrors[strongest].stroke_m ? k : strongest;
    }
    const double low = stack->mirrors[weakest].stroke_m;
    const double high = stack->mirrors[strongest].stroke_m;
    if (high > like_strokes * low) {
        bb_log_warning("mirrors[%td] makes %.3g m of wavefront per volt, mirrors[%td] %.3g m: "
                       "mirrors_condition compares modes at equal voltage and drops those of the "
                       "latter; check that influence functions are in m per volt",
                       strongest, high, weakest, low);
    }
}

bb_status bb_ao_mcao_caution(const bb_tomography *problem)
{
    bb_status status = BB_OK;
    const bb_mirror_commands *commands = problem->commands;
    bb_plate_mode *modes = NULL;
    bb_index count = 0;
    bb_text text = {0};
    if (commands == NULL) {
        goto done;
    }
    bb_log_info("%td actuators of %td mirror(s), %td mode(s) left out",
                commands->stack.actuator_count, commands->stack.mirror_count,
                commands->dropped_modes);
    warn_influences(&commands->stack);
    BB_TRY(bb_plate_modes_find(commands, &modes, &count));
    BB_TRY(describe_modes(modes, count, &text));
    if (count > 0) {
        bb_log_warning("mirrors_condition = %g is within 20 %% of plate-scale modes, which slopes "
                       "hardly measure: %s",
                       commands->condition, bb_text_string(&text));
    }
done:
    bb_text_release(&text);
    BB_RELEASE(&modes);
    return status;
}

static const double usual_condition = 100.0; // the default of mirrors_condition

// Checks that mirrors and correction agree.
static bb_status check_presence(const bb_ao_study *study, const bb_config *config,
                                bb_problems *problems)
{
    bb_status status = BB_OK;
    const bool together = study->correction == (int)BB_AO_CORRECTION_MCAO;
    const bool given = study->mirrors.count > 0;
    BB_TRY(bb_study_refuse(together && !given, config, problems,
                           "correction: mcao needs mirrors, expected at least one"));
    BB_TRY(bb_study_refuse(given && !together, config, problems,
                           "mirrors: no effect with correction: %s, expected correction: mcao",
                           bb_ao_correction_names[study->correction]));
    BB_TRY(bb_study_refuse(!given && study->mirrors_condition != usual_condition, config, problems,
                           "mirrors_condition: no effect without mirrors"));
    BB_TRY(bb_study_refuse(given && !isnan(study->mirror.condition), config, problems,
                           "mirror: remove it; use mirrors_condition with mirrors"));
done:
    return status;
}

bb_status bb_ao_mcao_check(const bb_ao_study *study, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_target_config *targets = study->targets.items;
    const bool together = study->correction == (int)BB_AO_CORRECTION_MCAO;
    BB_TRY(check_presence(study, config, problems));
    BB_TRY(bb_ao_input_influences_check(study, config, problems));
    for (bb_index t = 0; !together && t < study->targets.count; ++t) {
        BB_TRY(bb_study_refuse(
            targets[t].weight != 1.0, config, problems,
            "targets[%td].weight: no effect with correction: %s, expected correction: mcao", t,
            bb_ao_correction_names[study->correction]));
    }
done:
    return status;
}

static const char title[] = "/results, ao";

typedef struct stack_record {
    double actuators, dropped_modes;
    const double *weight;
} stack_record;

static const bb_output stack_rows[] = {
    {"mirrors_actuators", "", "1", "actuators of all mirrors",
     .member = offsetof(stack_record, actuators)},
    {"mirrors_dropped_modes", "", "1", "modes that the projector of all mirrors leaves out",
     .member = offsetof(stack_record, dropped_modes)},
    {"target_weight", "target", "1", "weight of the direction in the minimised residual",
     .note = "their sum is 1", .member = offsetof(stack_record, weight)},
};

const bb_output_table bb_ao_mcao_outputs = {.title = title,
                                            .when = "With `correction: mcao`:",
                                            .group = "results",
                                            BB_OUTPUT_ROWS(stack_rows)};

typedef struct mirror_row {
    double index, height_m, pitch_m, spacing_m, actuators;
} mirror_row;

static const bb_output mirror_rows[] = {
    {"mirror", "mirror", "1", "index of the mirror", .member = offsetof(mirror_row, index)},
    {"mirror_height_m", "mirror", "m", "conjugate height of the mirror",
     .member = offsetof(mirror_row, height_m), .coordinate = true},
    {"mirror_pitch_m", "mirror", "m", "actuator pitch on the conjugate",
     .note = "NaN with influence functions from a file", .member = offsetof(mirror_row, pitch_m)},
    {"mirror_spacing_m", "mirror", "m",
     "sample spacing of its influence functions on the conjugate", .note = "NaN with Gaussian ones",
     .member = offsetof(mirror_row, spacing_m)},
    {"mirror_actuators", "mirror", "1", "number of its actuators",
     .member = offsetof(mirror_row, actuators)},
};

const bb_output_table bb_ao_mcao_mirrors = {
    .title = title, .group = "results", .axes = "mirror", BB_OUTPUT_ROWS(mirror_rows)};

bb_status bb_ao_mcao_publish(const bb_tomography *problem, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_mirror_commands *commands = problem->commands;
    mirror_row *rows = NULL; // [mirrors]
    if (commands == NULL) {
        goto done;
    }
    const bb_index count = commands->stack.mirror_count;
    const stack_record record = {(double)commands->stack.actuator_count,
                                 (double)commands->dropped_modes, commands->weight};
    BB_TRY(bb_output_table_publish(&bb_ao_mcao_outputs, &record, NULL, results));
    BB_TRY(BB_ALLOCATE(count, &rows));
    for (bb_index k = 0; k < count; ++k) {
        const bb_conjugate_mirror *mirror = &commands->stack.mirrors[k];
        const double spacing_m = mirror->cube == NULL ? (double)NAN : mirror->cube->spacing_m;
        rows[k] = (mirror_row){(double)k, mirror->height_m, mirror->pitch_m, spacing_m,
                               (double)mirror->count};
    }
    BB_TRY(bb_output_table_publish_records(&bb_ao_mcao_mirrors, rows, sizeof *rows, count, NULL,
                                           results));
done:
    BB_RELEASE(&rows);
    return status;
}
