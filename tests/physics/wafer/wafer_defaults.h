// SPDX-License-Identifier: Apache-2.0
//
// Materials and clamp of shared/examples/wafer.yaml, and the canonical fast scan, for the tests.
#ifndef BB_TESTS_WAFER_DEFAULTS_H
#define BB_TESTS_WAFER_DEFAULTS_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/scan.h"
#include "physics/wafer/wafer_config.h"
#include "tests/physics/doubles.h"

static const bb_wafer_material_config SILICON = {
    .diameter_mm = 300.0,
    .thickness_um = 775.0,
    .conductivity_w_per_m_k = 148.0,
    .density_kg_per_m3 = 2330.0,
    .specific_heat_j_per_kg_k = 712.0,
    .expansion_per_k = 2.6e-6,
    .youngs_modulus_gpa = 160.0,
    .poisson_ratio = 0.28,
    .absorption = 1.0,
};

static const bb_clamp_config CLAMP = {
    .exchange_w_per_m2_k = 1500.0,
    .tangential_stiffness_n_per_m3 = 1e11,
    .normal_stiffness_n_per_m3 = 1e12,
    .spacing_mm = 3.0,
    .thickness_mm = 8.0,
    .heat_capacity_j_per_m3_k = 2e6,
    .conductivity_w_per_m_k = 1.3,
    .water_exchange_w_per_m2_k = 3000.0,
};

static const bb_scan_config FAST_SCAN = {
    .field_width_mm = 26.0,
    .field_height_mm = 33.0,
    .usable_radius_mm = 147.0,
    .order = BB_SCAN_MEANDER,
    .fields = {0, BB_LIST_ALL},
    .dose_mj_per_cm2 = 30.0,
    .light_steps = 34,
    .dark_steps = 36,
    .slit_width_mm = 1.6,
    .slit_arc_radius_mm = 30.0,
};

/// The fast scan in steps of 1 ms. Owner: the caller.
static inline bb_scan *fast_scan(void)
{
    bb_scan *scan = new_object(bb_scan, &FAST_SCAN, 1e-3);
    return scan;
}

/// Owner: the caller.
static inline bb_disc_mesh *disc_mesh(double radius, double spacing)
{
    bb_disc_mesh *mesh = new_object(bb_disc_mesh, radius, spacing);
    return mesh;
}

#endif
