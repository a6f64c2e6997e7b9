// SPDX-License-Identifier: Apache-2.0
//
// Observed orders of the wafer's heat in space and time, for the study of a configuration.
//
// Against closed forms, with the study's material, exchange with an isothermal clamp and spacings:
//   cosine  cos(q x) cos(q y) on a periodic square, q = 2 pi / side, decays at 2 kappa q^2 + h_c/C
//           (space: rate of the mesh itself; time: against the decay of the mesh's own mode, so
//           that nothing but the time stepping errs);
//   mode    J_1(j' r / R) cos theta on the study's disc decays at kappa j'^2/R^2 + h_c/C,
//           j' = 1.84118.
// Of the study itself, where there is none:
//   field   the first full field of scan.fields (else the first) is exposed on a cold wafer with
//           clamp, hood and ring. The temperatures at the end of its light and of its dark steps
//           are compared with those of the next finer level: norm of the difference over that of
//           the finest level, over the finest's nodes, coarser meshes interpolated bilinearly.
//           Differences of three levels give an order (Richardson).
#ifndef BB_SIM_WAFER_WAFER_CONVERGENCE_H
#define BB_SIM_WAFER_WAFER_CONVERGENCE_H

#include "core/text.h"
#include "sim/output/results.h"

/// Runs the studies for a bb_wafer_study, writes /results and appends the table to `table`. Errors:
/// BB_INVALID, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_convergence_run(const void *study, bb_results *results,
                                              bb_text *table);

#endif
