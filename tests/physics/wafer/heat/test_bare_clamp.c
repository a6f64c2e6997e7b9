// SPDX-License-Identifier: Apache-2.0
//
// Clamp and ring without a wafer: a uniform rise decays as exp(-h_w t / C) in each, matrices taken
// from explicit and implicit models agree, and the wafer's unknowns are removed.
#include "physics/wafer/heat/bare_clamp.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const bb_ring_config RING = {
    .width_mm = 9.0,
    .thickness_mm = 5.0,
    .heat_capacity_j_per_m3_k = 2e6,
    .conductivity_w_per_m_k = 1.3,
    .water_exchange_w_per_m2_k = 2000.0,
    .gap_exchange_w_per_m2_k = 100.0,
};

typedef struct table {
    bb_disc_mesh *mesh;
    bb_edge_ring *ring;
    bb_thermal *thermal;
    bb_bare_clamp *bare;
} table;

static void make(int stepping, double duration, table *out)
{
    bb_wafer_material_config small = SILICON;
    small.diameter_mm = 60.0;
    check_ok(bb_disc_mesh_create(0.030, 0.001, &out->mesh));
    check_ok(bb_edge_ring_create(out->mesh, &small, &RING, &out->ring));
    const bb_thermal_setting setting = {.ring = out->ring, .stepping = stepping};
    check_ok(bb_thermal_create_in(out->mesh, &small, &CLAMP, BB_CLAMP_LAYER, 1e-3, &setting,
                                  &out->thermal));
    check_ok(bb_bare_clamp_create(out->thermal, duration, &out->bare));
}

static void drop(table *entries)
{
    bb_bare_clamp_destroy(&entries->bare);
    bb_thermal_destroy(&entries->thermal);
    bb_edge_ring_destroy(&entries->ring);
    bb_disc_mesh_destroy(&entries->mesh);
}

TEST(rows_sum_to_the_loss_to_the_water)
{
    table entries[2];
    for (int k = 0; k < 2; ++k) {
        make(k, 0.025, &entries[k]);
        const bb_bare_clamp *bare = entries[k].bare;
        assert_int_equal(bare->count, entries[k].thermal->size - entries[k].thermal->node_count);
        assert_int_equal(bare->steps, 3);
        check_relative(bare->step, 0.025 / 3.0, 1e-15);
        const bb_csr *s = &bare->conductance;
        for (bb_index row = 0; row < s->rows; ++row) {
            double sum = 0.0;
            for (bb_index i = s->row_start[row]; i < s->row_start[row + 1]; ++i) {
                sum += s->value[i];
                assert_true(s->column[i] == row || s->value[i] <= 0.0);
            }
            check_close(sum, entries[k].thermal->loss[bare->first + row], 1e-12, 1.0);
        }
    }
    const bb_csr *a = &entries[0].bare->conductance;
    const bb_csr *b = &entries[1].bare->conductance;
    assert_int_equal(bb_csr_nonzeros(a), bb_csr_nonzeros(b));
    check_all_close(a->value, b->value, bb_csr_nonzeros(a), 1e-12, 1.0);
    drop(&entries[0]);
    drop(&entries[1]);
}

// K of a uniform rise is the loss only, so that it decays at h_w / (c d) everywhere in a layer.
TEST(an_even_rise_falls_at_the_layers_rate)
{
    autocall(drop) table entries;
    bb_ledger ledger = {0};
    make(0, 1.0, &entries);
    const bb_bare_clamp *bare = entries.bare;
    autofree double *rise = doubles(bare->count);
    autofree double *through = doubles(bare->count);
    fill_array(rise, bare->count, i, 1.0);
    check_ok(bb_csr_multiply(&bare->conductance, rise, through));
    bb_bare_clamp_account(bare, rise, &ledger);
    double clamp = 0.0;
    double ring = 0.0;
    for (bb_index i = 0; i < bare->count; ++i) {
        const bool in_clamp = i < entries.thermal->clamp_count;
        const double rate = through[i] / entries.thermal->capacity[bare->first + i];
        check_relative(rate, in_clamp ? 3000.0 / (2e6 * 8e-3) : 2000.0 / (2e6 * 5e-3), 1e-10);
        *(in_clamp ? &clamp : &ring) += through[i] * bare->step;
    }
    check_relative(ledger.lost, clamp, 1e-10);
    check_relative(ledger.lost_ring, ring, 1e-10);
}

TEST(no_time_is_refused)
{
    autocall(drop) table entries;
    bb_bare_clamp *none = NULL;
    make(1, 1.0, &entries);
    check_fails(bb_bare_clamp_create(entries.thermal, 0.0, &none), BB_INVALID, "expected above 0");
    assert_null(none);
}
