// SPDX-License-Identifier: Apache-2.0
//
// Phase structure function of von Karman turbulence.
//
// D(r) = k1 (L0 / r0)^(5/3) [k2 - x^(5/6) K_{5/6}(x)], x = 2 pi r / L0,
// k1 = 2 Gamma(11/6) 2^(-5/6) pi^(-8/3) (24/5 Gamma(6/5))^(5/6), k2 = 2^(-1/6) Gamma(5/6)
// (Conan 2000). Slope covariances are second differences of D, so D is wanted to the last bits at
// every distance: the ascending series, with the constant k2 taken out by hand, for x <= 1, and
// beyond it the trapezoidal rule on K_nu(x) = Int_0^inf exp(-x cosh t) cosh(nu t) dt, whose terms
// are positive and whose error falls faster than any power of the step.
#ifndef BB_PHYSICS_AO_COVARIANCE_STRUCTURE_FUNCTION_H
#define BB_PHYSICS_AO_COVARIANCE_STRUCTURE_FUNCTION_H

#include "core/need.h"
#include "core/status.h"
#include "physics/ao/covariance/structure_function_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/// D(r) for r0 = 1 m, rad^2 at the wavelength of r0; r_m >= 0, outer_scale_m > 0. About 1 us.
double bb_structure_function(double r_m, double outer_scale_m);

/// Tabulates D for the fast evaluator of structure_function_core.h; within 1e-14 relative of the
/// exact function. Errors: BB_MEMORY. Release with bb_structure_table_release.
BB_CHECKED bb_status bb_structure_table_create(double outer_scale_m, bb_structure_table *out);

/// What it takes, and what `values` of D by bb_structure_table_add take.
bb_need bb_structure_table_need(void);
bb_need bb_structure_table_add_need(double values);

/// A structure function of the distance (m).
typedef double (*bb_structure_law)(const void *context, double r_m);

/// Tabulates a structure function that is smooth in (r / scale_m)^2 and `far` from 8 scale_m on.
/// Errors: BB_MEMORY. Release with bb_structure_table_release.
BB_CHECKED bb_status bb_structure_table_fit(bb_structure_law law, const void *context,
                                            double scale_m, double far, bb_structure_table *out);

/// sums[j] += weight D(|(x, y) - (to_x[j], to_y[j])|) for `count` points (m). The bits of a sum do
/// not depend on its place in the list.
void bb_structure_table_add(bb_structure_table table, double weight, double x, double y,
                            const double *to_x, const double *to_y, bb_index count, double *sums);

/// Frees the coefficients of a table made by bb_structure_table_create; safe on a zeroed struct.
void bb_structure_table_release(bb_structure_table *table);

#ifdef __cplusplus
}
#endif

#endif
