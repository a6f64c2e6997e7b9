// SPDX-License-Identifier: Apache-2.0
//
// Counted unknowns against those of created meshes.
#include "physics/wafer/heat/clamp_grid.h"
#include "physics/wafer/heat/edge_ring.h"
#include "physics/wafer/heat/heat_sizes.h"
#include "tests/physics/wafer/wafer_defaults.h"

TEST(counts_are_those_of_the_meshes)
{
    static const double spacings[] = {10.0, 7.3, 5.0, 3.0, 2.0, 1.3, 1.0};
    static const double coarse[] = {10.0, 11.0, 12.5, 6.0, 3.0, 7.7};
    static const double diameters[] = {300.0, 200.0, 47.0};
    bb_ring_config ring = {.thickness_mm = 5.0,
                           .heat_capacity_j_per_m3_k = 2e6,
                           .conductivity_w_per_m_k = 1.3,
                           .water_exchange_w_per_m2_k = 3000.0,
                           .gap_exchange_w_per_m2_k = 100.0};
    for (int i = 0; i < 7 * 6 * 3; ++i) {
        bb_wafer_material_config wafer = SILICON;
        bb_clamp_config clamp = CLAMP;
        const bb_mesh_config mesh = {.spacing_mm = spacings[i % 7]};
        wafer.diameter_mm = diameters[i / 42];
        clamp.spacing_mm = fmax(coarse[i / 7 % 6], mesh.spacing_mm);
        ring.width_mm = 2.5 * mesh.spacing_mm;
        autoptr(bb_disc_mesh) disc = disc_mesh(0.5e-3 * wafer.diameter_mm, 1e-3 * mesh.spacing_mm);
        autoptr(bb_clamp_grid) grid = new_object(bb_clamp_grid, disc, 1e-3 * clamp.spacing_mm);
        autoptr(bb_edge_ring) around = new_object(bb_edge_ring, disc, &wafer, &ring);
        const bb_heat_sizes sizes = bb_heat_sizes_of(&wafer, &mesh, &clamp, &ring);
        assert_int_equal((bb_index)sizes.nodes, disc->node_count);
        assert_int_equal((bb_index)sizes.clamp, grid->node_count);
        assert_int_equal((bb_index)sizes.ring, around->mesh->node_count);
        assert_true(bb_heat_sizes_of(&wafer, &mesh, &clamp, NULL).ring == 0.0);
    }
}

// The wafer of Bamakhrama et al. has 283,993 nodes and a clamp of 8,209; a mesh too large for any
// machine is counted too.
TEST(any_size_is_counted)
{
    bb_mesh_config mesh = {.spacing_mm = 0.5};
    const bb_heat_sizes seed = bb_heat_sizes_of(&SILICON, &mesh, &CLAMP, NULL);
    assert_true(seed.nodes == 283993.0 && seed.clamp == 8209.0);
    bb_wafer_material_config wafer = SILICON;
    mesh.spacing_mm = 0.05;
    wafer.diameter_mm = 450.0;
    const double area = acos(-1.0) / 4.0 * 9000.0 * 9000.0;
    check_relative(bb_heat_sizes_of(&wafer, &mesh, &CLAMP, NULL).nodes, area, 1e-3);
}
