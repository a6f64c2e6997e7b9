// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/edge_ring.h"
#include "physics/wafer/heat/exposure.h"
#include "physics/wafer/heat/thermal.h"
#include "physics/wafer/scan.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const double PI = 3.14159265358979323846;

static const bb_ring_config RING = {
    .width_mm = 20.0,
    .thickness_mm = 5.0,
    .heat_capacity_j_per_m3_k = 2e6,
    .conductivity_w_per_m_k = 1.3,
    .water_exchange_w_per_m2_k = 3000.0,
    .gap_exchange_w_per_m2_k = 100.0,
};

// Wafer and ring cells make up the disc of the outer radius, each cell once, also if the radius is
// not a multiple of the spacing.
TEST(ring_and_wafer_make_up_a_disc)
{
    static const double spacings[] = {0.0005, 0.00073, 0.003};
    for (int k = 0; k < 3; ++k) {
        autoptr(bb_disc_mesh) wafer = disc_mesh(0.150, spacings[k]);
        autoptr(bb_disc_mesh) mesh = disc_mesh(0.170, spacings[k]);
        autoptr(bb_edge_ring) ring = new_object(bb_edge_ring, wafer, &SILICON, &RING);
        assert_int_equal(ring->mesh->cell_count + wafer->cell_count, mesh->cell_count);
        const bb_index shift = (ring->mesh->columns - wafer->columns) / 2;
        double sum = 0.0;
        for (bb_index c = 0; c < ring->contact_count; ++c) {
            const bb_ring_contact *contact = &ring->contacts[c];
            check_close(bb_disc_mesh_x(wafer, contact->wafer_node),
                        bb_disc_mesh_x(ring->mesh, contact->ring_node), 1e-14, 1.0);
            check_close(bb_disc_mesh_y(wafer, contact->wafer_node),
                        bb_disc_mesh_y(ring->mesh, contact->ring_node), 1e-14, 1.0);
            assert_true(contact->conductance > 0.0);
            sum += contact->conductance;
        }
        check_relative(sum, 100.0 * 775e-6 * 2.0 * PI * 0.150, 1e-12);
        for (bb_index cell = 0; cell < ring->mesh->cell_count; ++cell) {
            bb_index corner = ring->mesh->cell_nodes[4 * cell];
            assert_false(bb_disc_mesh_has_cell(wafer, ring->mesh->node_column[corner] - shift,
                                               ring->mesh->node_row[corner] - shift));
        }
    }
}

TEST(narrow_rings_are_refused)
{
    bb_edge_ring *ring = NULL;
    bb_ring_config narrow = RING;
    narrow.width_mm = 0.9;
    autoptr(bb_disc_mesh) wafer = disc_mesh(0.150, 0.001);
    check_fails(bb_edge_ring_create(wafer, &SILICON, &narrow, &ring), BB_INVALID,
                "ring.width_mm = 0.9, expected at least the spacing of the mesh, 1 mm");
    narrow.width_mm = 0.0;
    assert_false(bb_edge_ring_wanted(&narrow) || bb_edge_ring_wanted(NULL));
}

// The dose of an edge field: wafer, ring and the rest; with a wide ring there is no rest.
TEST(dose_is_shared)
{
    autoptr(bb_disc_mesh) wafer = disc_mesh(0.150, 0.001);
    autoptr(bb_scan) scan = fast_scan();
    static const double widths[] = {5.0, 60.0};
    for (int k = 0; k < 2; ++k) {
        bb_ring_config config = RING;
        config.width_mm = widths[k];
        autoptr(bb_edge_ring) ring = new_object(bb_edge_ring, wafer, &SILICON, &config);
        autoptr(bb_exposure) on_wafer = new_object(bb_exposure, wafer, scan, 0, 1.0);
        autoptr(bb_exposure) on_ring = new_object(bb_exposure, ring->mesh, scan, 0, 1.0);
        const bb_field *field = &on_wafer->field;
        const double reach = 0.150 + 1e-3 * widths[k];
        double beside = bb_field_area_inside(reach, field->x - 0.013, field->x + 0.013,
                                             field->y - 0.0165, field->y + 0.0165) -
                        bb_field_area_inside(0.150, field->x - 0.013, field->x + 0.013,
                                             field->y - 0.0165, field->y + 0.0165);
        check_close(on_ring->total, 300.0 * beside, 1e-2, 300.0 * 0.026 * 0.033);
        assert_true(on_ring->total <= on_wafer->clipped * (1.0 + 1e-12));
        if (k == 1) {
            check_relative(on_ring->total, on_wafer->clipped, 1e-12);
        }
    }
}

static double entry(const bb_csr *matrix, bb_index row, bb_index column)
{
    for (bb_index i = matrix->row_start[row]; i < matrix->row_start[row + 1]; ++i) {
        if (matrix->column[i] == column) {
            return matrix->value[i];
        }
    }
    return 0.0;
}

// K + H is symmetric to the bit, its rows sum to the losses, and A of explicit steps is derived
// from it.
TEST(conductance_is_symmetric_and_keeps_heat)
{
    autoptr(bb_thermal) implicit = NULL;
    autoptr(bb_thermal) explicit = NULL;
    autoptr(bb_disc_mesh) wafer = disc_mesh(0.030, 0.001);
    bb_wafer_material_config small = SILICON;
    small.diameter_mm = 60.0;
    autoptr(bb_edge_ring) ring = new_object(bb_edge_ring, wafer, &small, &RING);
    bb_thermal_setting setting = {.ring = ring, .stepping = BB_STEPPING_CRANK_NICOLSON};
    // Ten times over the explicit limit.
    check_ok(
        bb_thermal_create_in(wafer, &small, &CLAMP, BB_CLAMP_LAYER, 0.05, &setting, &implicit));
    setting.stepping = BB_STEPPING_EXPLICIT;
    check_ok(
        bb_thermal_create_in(wafer, &small, &CLAMP, BB_CLAMP_LAYER, 1e-3, &setting, &explicit));
    const bb_csr *s = &implicit->conductance;
    assert_int_equal(bb_csr_nonzeros(&implicit->step_matrix), 0);
    assert_int_equal(bb_csr_nonzeros(&explicit->conductance), 0);
    assert_int_equal(implicit->ring_count, ring->mesh->node_count);
    for (bb_index row = 0; row < s->rows; ++row) {
        double sum = 0.0;
        double kept = 0.0;
        for (bb_index i = s->row_start[row]; i < s->row_start[row + 1]; ++i) {
            assert_true(s->value[i] == entry(s, s->column[i], row));
            sum += s->value[i];
            kept += entry(&explicit->step_matrix, row, s->column[i]);
        }
        check_close(sum, implicit->loss[row], 1e-12, 1.0);
        check_close(kept, 1.0 - 1e-3 * explicit->loss[row] / explicit->capacity[row], 1e-14, 1.0);
    }
}

// Heat mirrored in y = 0 over wafer and ring stays mirrored; the ledger closes.
TEST(mirrored_heat_stays_mirrored)
{
    autoptr(bb_thermal) thermal = NULL;
    bb_ledger ledger = {0};
    bb_wafer_material_config small = SILICON;
    small.diameter_mm = 60.0;
    autoptr(bb_disc_mesh) wafer = disc_mesh(0.030, 0.001);
    autoptr(bb_edge_ring) ring = new_object(bb_edge_ring, wafer, &small, &RING);
    const bb_thermal_setting setting = {.ring = ring};
    check_ok(bb_thermal_create_in(wafer, &small, &CLAMP, BB_CLAMP_LAYER, 1e-3, &setting, &thermal));
    autofree double *t = zeros(thermal->size);
    autofree double *next = zeros(thermal->size);
    const bb_disc_mesh *mesh = ring->mesh;
    const bb_index first = thermal->node_count + thermal->clamp_count;
    bb_index pair[2] = {-1, -1};
    for (bb_index c = 0; c < ring->contact_count && pair[0] < 0; ++c) {
        bb_index node = ring->contacts[c].ring_node;
        if (mesh->node_row[node] < mesh->rows / 2 - 3) {
            pair[0] = node;
            pair[1] =
                mesh->node_at[(mesh->node_rows - 1 - mesh->node_row[node]) * mesh->node_columns +
                              mesh->node_column[node]];
        }
    }
    for (int k = 0; k < 2; ++k) {
        t[first + pair[k]] = thermal->per_joule[first + pair[k]];
    }
    ledger.deposited = 2.0;
    for (int n = 0; n < 300; ++n) {
        bb_ledger_add(&ledger, thermal, t, 0.0);
        check_ok(bb_csr_multiply(&thermal->step_matrix, t, next));
        double *swap = t;
        t = next;
        next = swap;
    }
    double gap = bb_ledger_close(&ledger, thermal, t);
    print_message("ring: lost %.3e J, wafer %.3e J, gap %.1e\n", ledger.lost_ring,
                  ledger.stored_wafer, gap);
    check_close(gap, 0.0, 1e-13, 1.0);
    assert_true(ledger.stored_wafer > 0.0 && ledger.lost_ring > 0.0);
    for (bb_index node = 0; node < wafer->node_count; ++node) {
        bb_index mirror =
            wafer->node_at[(wafer->node_rows - 1 - wafer->node_row[node]) * wafer->node_columns +
                           wafer->node_column[node]];
        check_close(t[node], t[mirror], 1e-14, t[first + pair[0]]);
    }
}
