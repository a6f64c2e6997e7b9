// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/pass/wafer_part.h"

#include "core/memory.h"
#include "core/team.h"

#include <math.h>

bb_status bb_wafer_part_take(bb_wafer_evaluation *evaluation, int axis, bb_wafer_part *out)
{
    bb_status status = BB_OK;
    bb_evaluation *common = &evaluation->common;
    const bb_index wafers = evaluation->wafer_count;
    *out = (bb_wafer_part){.outcome = common->outcome,
                           .flops = common->flops,
                           .solve_seconds = common->solve_seconds,
                           .live_values = evaluation->live_values,
                           .coding = evaluation->coding[axis],
                           .certificate = evaluation->certificate[axis]};
    BB_TRY(BB_ALLOCATE(2 * wafers, &out->squares));
    for (bb_index w = 0; w < wafers; ++w) {
        out->squares[2 * w] = evaluation->wafers[w].squared_error;
        out->squares[2 * w + 1] = evaluation->wafers[w].squared_norm;
    }
    if (isnan(evaluation->live_values)) {
        goto done;
    }
    common->outcome = (bb_outcome){0};
    common->flops = common->solve_seconds = evaluation->live_values = 0.0;
    evaluation->coding[axis] = bb_coding_report_start();
    evaluation->certificate[axis] = (bb_certificate_tally){0};
    for (bb_index w = 0; w < wafers; ++w) {
        evaluation->wafers[w].squared_error = evaluation->wafers[w].squared_norm = 0.0;
    }
done:
    return status;
}

void bb_wafer_part_release(bb_wafer_part *part)
{
    BB_RELEASE(&part->squares);
}

void bb_wafer_part_add(const bb_wafer_part *part, int axis, bb_index points,
                       bb_wafer_evaluation *evaluation)
{
    bb_evaluation *common = &evaluation->common;
    if (common->outcome.kind == BB_OUTCOME_OK) {
        common->outcome = part->outcome;
    }
    if (isnan(part->live_values) || isnan(evaluation->live_values)) {
        bb_wafer_evaluation_unset(evaluation, points);
        return;
    }
    common->flops += part->flops;
    common->solve_seconds += part->solve_seconds;
    evaluation->live_values += part->live_values;
    bb_coding_report_add(&evaluation->coding[axis], &part->coding);
    bb_certificate_tally_merge(&evaluation->certificate[axis], &part->certificate);
    for (bb_index w = 0; w < evaluation->wafer_count; ++w) {
        evaluation->wafers[w].squared_error += part->squares[2 * w];
        evaluation->wafers[w].squared_norm += part->squares[2 * w + 1];
    }
}

bb_status bb_wafer_part_share(int root, const bb_wafer_span *span, bb_wafer_evaluation *evaluation,
                              bb_wafer_part *part)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    const size_t bytes = (size_t)span->count * sizeof(double);
    double *squares = part->squares; // of this process
    BB_TRY(team->broadcast(root, part, sizeof *part));
    part->squares = squares;
    BB_TRY(team->broadcast(root, squares, 2 * (size_t)evaluation->wafer_count * sizeof *squares));
    for (bb_index w = 0; w < evaluation->wafer_count; ++w) {
        const bb_wafer_displacements *placed = &evaluation->wafers[w];
        double *const arrays[] = {placed->mean[span->axis], placed->deviation[span->axis],
                                  placed->residual[span->axis],
                                  placed->residual_deviation[span->axis]};
        for (size_t a = 0; a < sizeof arrays / sizeof *arrays; ++a) {
            BB_TRY(team->broadcast(root, arrays[a] + span->first, bytes));
        }
    }
done:
    return status;
}
