// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/outcome.h"
#include "sim/ao/ao_run.h"
#include "sim/run/dump.h"

#include <stdio.h>

enum { NAME_BYTES = 64 };

// Copy of an estimate that outlives its pipeline.
typedef struct estimate {
    double *values; // [m][n]
    bb_view view;
    bb_matrix_source source;
} estimate;

// Objects that the operators' sources read; owned by the results.
typedef struct operands {
    bb_tomography *problem;
    estimate *estimates; // [count]
    bb_index count;
    bb_view vectors_view, weights_view; // vectors and weights of the low-rank part of Cmm
    bb_matrix_source vectors, weights;
} operands;

static void release(void *object)
{
    operands *all = object;
    for (bb_index i = 0; i < all->count; ++i) {
        BB_RELEASE(&all->estimates[i].values);
    }
    BB_RELEASE(&all->estimates);
    bb_tomography_destroy(&all->problem);
    BB_RELEASE(&all);
}

// Factored matrix and low-rank part: Cmm = Cmm_core + U diag(w) U^T. Infinite weights cannot be
// written and are left out.
static bb_status add_parts(operands *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_tilt_vectors *tilts = &all->problem->tilts;
    const bb_index n = all->problem->cmm_core->rows;
    BB_TRY(bb_results_operator(
        results, "Cmm_core",
        "covariance of the measurements, without its low-rank part; the matrix that is factored",
        all->problem->cmm_core));
    if (tilts->columns == 0) {
        goto done;
    }
    all->vectors_view = bb_view_matrix(tilts->vectors, n, tilts->columns);
    all->vectors = bb_matrix_source_dense(&all->vectors_view, "U", "1");
    BB_TRY(bb_results_operator(results, "Cmm_low_rank",
                               "columns U of the low-rank part of Cmm, U diag(w) U^T",
                               &all->vectors));
    if (bb_outcome_first_non_finite(tilts->variance, tilts->columns) < 0) {
        all->weights_view = bb_view_matrix(tilts->variance, tilts->columns, 1);
        all->weights =
            bb_matrix_source_dense(&all->weights_view, "w", all->problem->cmm_core->unit);
        BB_TRY(bb_results_operator(results, "Cmm_weights", "weights w of the columns of U",
                                   &all->weights));
    }
done:
    return status;
}

static bb_status add_covariances(const char *names, const bb_tomography *problem,
                                 bb_results *results)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    if (bb_dump_wanted(names, "Cmm")) {
        BB_TRY(bb_results_operator(results, "Cmm", "covariance of the measurements", problem->cmm));
    }
    for (bb_index t = 0; t < problem->target_count; ++t) {
        if (bb_dump_wanted(names, "Ctm")) {
            (void)snprintf(name, sizeof name, "Ctm_%td", t);
            BB_TRY(bb_results_operator(results, name, "covariance of truth sensor and measurements",
                                       problem->targets[t].ctm));
        }
        if (bb_dump_wanted(names, "Ctt")) {
            (void)snprintf(name, sizeof name, "Ctt_%td", t);
            BB_TRY(bb_results_operator(results, name, "covariance of the truth sensor",
                                       problem->targets[t].ctt));
        }
    }
done:
    return status;
}

// Long name of an estimate, such as "reconstructor of pipeline sp, target 1".
static void name_estimate(const bb_ao_evaluation *evaluation, bool together, bb_index target,
                          size_t size, char *out)
{
    const bool commands = together || evaluation->kind == BB_RESIDUAL_COMMANDS;
    char aim[32];
    (void)snprintf(aim, sizeof aim, "target %td", target);
    (void)snprintf(out, size, "%s of pipeline %.120s, %s",
                   together   ? "commands of all mirrors"
                   : commands ? "commands of its mirror"
                              : "reconstructor",
                   evaluation->common.pipeline,
                   together || evaluation->shared ? "all targets" : aim);
}

static bb_status add_estimates(operands *all, bb_index pipelines, bb_ao_evaluation *evaluations,
                               bb_results *results)
{
    bb_status status = BB_OK;
    bb_index targets = all->problem->target_count;
    char name[NAME_BYTES];
    char long_name[192];
    BB_TRY(BB_ZEROED(pipelines * targets, &all->estimates));
    for (bb_index i = 0; i < pipelines * targets; ++i) {
        bb_ao_evaluation *evaluation = &evaluations[i / targets];
        const bool together = all->problem->commands != NULL;
        const bool commands = together || evaluation->kind == BB_RESIDUAL_COMMANDS;
        const bb_index rows = bb_ao_commands_rows(all->problem, evaluation, i % targets);
        estimate *kept = &all->estimates[all->count];
        if (evaluation->common.outcome.kind != BB_OUTCOME_OK ||
            evaluation->r[i % targets] == NULL) {
            continue; // a failed pipeline has no reconstructor
        }
        kept->values = evaluation->r[i % targets];
        evaluation->r[i % targets] = NULL;
        ++all->count;
        kept->view = bb_view_matrix(kept->values, rows, all->problem->cmm->columns);
        kept->source = commands ? bb_matrix_source_dense(&kept->view, "M", "V/arcsec")
                                : bb_matrix_source_dense(&kept->view, "R", "1");
        (void)snprintf(name, sizeof name, "R_%td_%td", i / targets, i % targets);
        name_estimate(evaluation, together, i % targets, sizeof long_name, long_name);
        BB_TRY(bb_results_operator(results, name, long_name, &kept->source));
        bb_matrix_metadata metadata = {0};
        (void)snprintf(metadata.rows, sizeof metadata.rows, "/%s_%td",
                       commands ? "actuators" : "truth_slopes", i % targets);
        bb_results_operator_metadata(results, &metadata);
        BB_TRY(commands ? bb_ao_commands_publish(all->problem, i % targets, results) : BB_OK);
    }
done:
    return status;
}

static bb_status run(void *part_work, bb_results *results)
{
    bb_status status = BB_OK;
    bb_ao_work *work = part_work;
    const char *names = work->dump;
    operands *all = NULL;
    if (names == NULL || names[0] == '\0') {
        goto done;
    }
    BB_TRY(BB_ZEROED(1, &all));
    bb_ao_scoring_release(&work->scoring); // its projection uses the problem
    all->problem = work->problem;
    work->problem = NULL;
    BB_TRY(bb_results_own(results, all, release));
    BB_TRY(add_covariances(names, all->problem, results));
    if (bb_dump_wanted(names, "Cmm_core")) {
        BB_TRY(add_parts(all, results));
    }
    if (bb_dump_wanted(names, "pupil")) {
        BB_TRY(bb_results_operator(results, "pupil", "transmission of the pupil, y by x",
                                   bb_point_spread_pupil(all->problem->targets[0].spread)));
    }
    if (bb_dump_wanted(names, "R")) {
        BB_TRY(add_estimates(all, work->study->pipelines.count, work->evaluations, results));
    }
done:
    return status;
}

// Part that dumps the operators named on the command line. It is the last part: the problem and the
// estimates move into the results, which own them until the file is written.
const bb_part bb_ao_dump_part = {
    .name = "operators",
    .run = run,
    .outputs = BB_OUTPUTS(&bb_ao_commands_actuators),
};
