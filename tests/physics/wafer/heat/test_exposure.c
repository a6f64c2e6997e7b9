// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/wafer/heat/exposure.h"
#include "physics/wafer/heat/thermal.h"
#include "tests/check.h"
#include "tests/physics/wafer/wafer_defaults.h"

typedef struct setup {
    bb_disc_mesh *mesh;
    bb_scan *scan;
} setup;

static setup make(double spacing)
{
    setup made = {NULL, NULL};
    check_ok(bb_disc_mesh_create(0.150, spacing, &made.mesh));
    check_ok(bb_scan_create(&FAST_SCAN, 1e-3, &made.scan));
    return made;
}

static void drop(setup *made)
{
    bb_scan_destroy(&made->scan);
    bb_disc_mesh_destroy(&made->mesh);
}

static void covered_nodes_get_exactly_the_dose(void **state)
{
    (void)state;
    setup scene = make(0.0005);
    bb_exposure *exposure = NULL;
    for (bb_index field = 44; field < 46; ++field) {
        assert_true(scene.scan->fields[field].full);
        check_ok(bb_exposure_create(scene.mesh, scene.scan, field, 1.0, &exposure));
        double *sum = NULL;
        double *energy = NULL;
        check_ok(BB_ZEROED(exposure->count, &sum));
        check_ok(BB_ZEROED(exposure->count, &energy));
        double total = 0.0;
        for (bb_index step = 0; step < 34; ++step) {
            total += bb_exposure_energy(exposure, step, 1, energy);
            for (bb_index i = 0; i < exposure->count; ++i) {
                sum[i] += energy[i];
            }
        }
        // 53 x 67 nodes touch 26 x 33 mm; inner ones own a whole cell.
        assert_int_equal(exposure->count, 53 * 67);
        for (bb_index i = 0; i < exposure->count; ++i) {
            bb_index column = i % 53;
            bb_index row = i / 53;
            double part = (column % 52 ? 1.0 : 0.5) * (row % 66 ? 1.0 : 0.5);
            // Whole cells to 1e-13; on the border the coordinates of the field are rounded.
            check_relative(sum[i], 300.0 * part * 0.25e-6, part == 1.0 ? 1e-13 : 1e-12);
        }
        check_relative(total, 300.0 * 0.026 * 0.033, 1e-13);
        check_relative(exposure->total, total, 1e-12);
        check_close(exposure->clipped, 0.0, 1e-12, total);
        BB_RELEASE(&sum);
        BB_RELEASE(&energy);
        bb_exposure_destroy(&exposure);
    }
    drop(&scene);
}

// Away from start and end the slit power is dose * width * speed in every step: 8.6 W.
// Parts of a step telescope to the step.
static void parts_make_up_a_step(void **state)
{
    (void)state;
    setup scene = make(0.0007);
    bb_exposure *exposure = NULL;
    double *energy = NULL;
    double *sum = NULL;
    check_ok(bb_exposure_create(scene.mesh, scene.scan, 41, 1.0, &exposure));
    check_ok(BB_ALLOCATE(exposure->count, &energy));
    for (bb_index step = 0; step < 34; step += 11) {
        check_ok(BB_ZEROED(exposure->count, &sum));
        for (bb_index part = 3 * step; part < 3 * (step + 1); ++part) {
            (void)bb_exposure_energy(exposure, part, 3, energy);
            for (bb_index i = 0; i < exposure->count; ++i) {
                sum[i] += energy[i];
            }
        }
        double total = bb_exposure_energy(exposure, step, 1, energy);
        for (bb_index i = 0; i < exposure->count; ++i) {
            check_close(sum[i], energy[i], 1e-12, total);
        }
        BB_RELEASE(&sum);
    }
    BB_RELEASE(&energy);
    bb_exposure_destroy(&exposure);
    drop(&scene);
}

static void power_is_steady_and_follows_absorption(void **state)
{
    (void)state;
    setup scene = make(0.0007);
    bb_exposure *exposure = NULL;
    double *energy = NULL;
    check_ok(bb_exposure_create(scene.mesh, scene.scan, 40, 1.25, &exposure));
    check_ok(BB_ALLOCATE(exposure->count, &energy));
    double expected = 1.25 * 300.0 * 0.026 * scene.scan->speed * 1e-3;
    for (bb_index step = 6; step < 28; ++step) {
        check_relative(bb_exposure_energy(exposure, step, 1, energy), expected, 1e-12);
    }
    BB_RELEASE(&energy);
    bb_exposure_destroy(&exposure);
    drop(&scene);
}

static void edge_fields_report_what_they_lose(void **state)
{
    (void)state;
    setup scene = make(0.0005);
    bb_exposure *exposure = NULL;
    double dose = 300.0 * 0.026 * 0.033;
    check_ok(bb_exposure_create(scene.mesh, scene.scan, 0, 1.0, &exposure));
    assert_true(exposure->clipped > 0.2 * dose && exposure->clipped < dose);
    check_relative(exposure->clipped + exposure->total, dose, 1e-13);
    const bb_field *field = &exposure->field;
    double inside = bb_scan_area_inside(0.15, field->x - 0.013, field->x + 0.013, field->y - 0.0165,
                                        field->y + 0.0165);
    check_relative(exposure->total, 300.0 * inside, 5e-3);
    bb_exposure_destroy(&exposure);
    drop(&scene);
}

// Light and dark steps of two fields, one of them over the edge: the ledger closes.
static void ledger_closes_over_fields(void **state)
{
    (void)state;
    setup scene = make(0.001);
    bb_thermal *thermal = NULL;
    bb_exposure *exposure = NULL;
    double *t = NULL;
    double *next = NULL;
    double *energy = NULL;
    bb_ledger ledger = {0};
    check_ok(bb_thermal_create(scene.mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3, &thermal));
    check_ok(BB_ZEROED(thermal->size, &t));
    check_ok(BB_ZEROED(thermal->size, &next));
    double highest = 0.0;
    for (bb_index field = 0; field < 2; ++field) {
        check_ok(bb_exposure_create(scene.mesh, scene.scan, field == 0 ? 0 : 40, 1.0, &exposure));
        check_ok(BB_ALLOCATE(exposure->count, &energy));
        for (bb_index step = 0; step < 70; ++step) {
            check_ok(bb_csr_multiply(&thermal->step_matrix, t, next));
            double put = step < 34
                             ? bb_exposure_deposit(exposure, step, thermal->per_joule, energy, next)
                             : 0.0;
            bb_ledger_add(&ledger, thermal, t, put);
            double *swap = t;
            t = next;
            next = swap;
            for (bb_index i = 0; i < thermal->node_count; ++i) {
                assert_true(t[i] >= 0.0);
                highest = fmax(highest, t[i]);
            }
        }
        BB_RELEASE(&energy);
        bb_exposure_destroy(&exposure);
    }
    double gap = bb_ledger_close(&ledger, thermal, t);
    print_message("deposited %.6f J, lost %.3e J, clamp %.3e J, gap %.1e, highest %.3f K\n",
                  ledger.deposited, ledger.lost, ledger.stored_clamp, gap, highest);
    check_close(gap, 0.0, 1e-12, 1.0);
    // 0.233 K adiabatic (docs/manual/physics-wafer.md 1.2), and a little more where the scan ends,
    // since heat runs ahead of the slit.
    assert_true(highest > 0.22 && highest < 0.25);
    BB_RELEASE(&t);
    BB_RELEASE(&next);
    bb_thermal_destroy(&thermal);
    drop(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covered_nodes_get_exactly_the_dose),
        cmocka_unit_test(parts_make_up_a_step),
        cmocka_unit_test(power_is_steady_and_follows_absorption),
        cmocka_unit_test(edge_fields_report_what_they_lose),
        cmocka_unit_test(ledger_closes_over_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
