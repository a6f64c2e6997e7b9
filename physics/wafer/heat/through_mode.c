// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/through_mode.h"

#include <math.h>

static double thickness(const bb_wafer_material_config *wafer)
{
    return 1e-6 * wafer->thickness_um;
}

// (C/3) / (4 k/d), s.
static double relaxation_time(const bb_wafer_material_config *wafer)
{
    const double d = thickness(wafer);
    return wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k * d * d /
           (12.0 * wafer->conductivity_w_per_m_k);
}

bb_through_mode bb_through_mode_make(const bb_wafer_material_config *wafer, int stepping,
                                     double step)
{
    const double relaxation = 4.0 * wafer->conductivity_w_per_m_k / thickness(wafer);
    const double x = step / relaxation_time(wafer);
    // M_tau = relaxation * dt times what M_tau dtau = -relaxation dt tau has to be divided by.
    const double part =
        stepping == (int)BB_STEPPING_EXPLICIT ? 1.0 / -expm1(-x) : 0.5 / tanh(0.5 * x);
    return (bb_through_mode){
        .relaxation = relaxation,
        .capacity = relaxation * step * part,
        .conductance = wafer->conductivity_w_per_m_k * thickness(wafer) / 3.0,
    };
}

// Rows of tau have M_tau^-1 S <= (relaxation + 4 (k d/3) / h^2 + exchange) / M_tau, and a step
// times that is (1 - exp -x) (1 + r) <= 2.
double bb_through_mode_limit(const bb_wafer_material_config *wafer, double spacing, double exchange)
{
    const double d = thickness(wafer);
    const double r =
        d * d / (3.0 * spacing * spacing) + exchange * d / (4.0 * wafer->conductivity_w_per_m_k);
    return r <= 1.0 ? INFINITY : -relaxation_time(wafer) * log1p(-2.0 / (1.0 + r));
}
