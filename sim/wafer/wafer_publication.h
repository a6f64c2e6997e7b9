// SPDX-License-Identifier: Apache-2.0
//
// How what the pipelines of a wafer study gave goes into the file.
#ifndef BB_SIM_WAFER_WAFER_PUBLICATION_H
#define BB_SIM_WAFER_WAFER_PUBLICATION_H

#include "sim/output/output_table.h"
#include "sim/wafer/heat/wafer_heating.h"
#include "sim/wafer/wafer_evaluation.h"

extern const bb_output_table bb_wafer_publication_pipelines, bb_wafer_publication_points,
    bb_wafer_publication_displacements;

/// Writes /results, /view and /energy from the evaluations [pipelines of the study]. Overlay error
/// of a pipeline is |mean| + 3 sigma of its displacement minus the reference's; the quantity of
/// interest is u over x and y, all scored points and steps, its error ||u - u_ref|| / ||u_ref||.
BB_CHECKED bb_status bb_wafer_publication_write(const bb_wafer_study *study,
                                                const bb_wafer_problem *problem,
                                                const bb_wafer_heating *heating,
                                                bb_wafer_evaluation *evaluations,
                                                bb_results *results);

#endif
