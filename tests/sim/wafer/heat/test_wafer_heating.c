// SPDX-License-Identifier: Apache-2.0
//
// Heating shared by all pipelines of a wafer study: energy balances at every exposure, linearity in
// the dose, and stored inputs that do not depend on the other scored fields.
#include "tests/sim/wafer/heat/heated.h"

// Energy of one whole field, J: dose times area.
static double field_joules(const heated *scene)
{
    const bb_scan_config *scan = scene->physics.scan;
    return 1e-3 * scan->dose_mj_per_cm2 * 1e-2 * scan->field_width_mm * scan->field_height_mm;
}

TEST(every_exposure_has_its_dose)
{
    const driver_case study = {CONFIG_WAFER_SMALL,
                               {"scan.order=given", "scan.sequence=[50, 49, 48]", "scan.fields=[2]",
                                "scan.doses=[{exposure: 1, dose_mj_per_cm2: 75.0}]"}};
    const double fields[] = {1.0, 2.5, 1.0};
    autocall(drop) heated scene;
    heat(&study, &scene);
    double total = 0.0;
    assert_int_equal(scene.heating.exposed_count, 3);
    for (bb_index f = 0; f < 3; ++f) {
        total += fields[f] * field_joules(&scene);
        check_relative(scene.heating.ledgers[f].deposited, total, 1e-10);
        assert_true(fabs(scene.heating.imbalance[f]) < 1e-12);
    }
}

// Forward Euler: halving the substep halves the temperature errors; heat is conserved.
TEST(substeps_converge_to_first_order)
{
    static const char *const substeps[] = {"mesh.substeps=1", "mesh.substeps=2", "mesh.substeps=4",
                                           "mesh.substeps=32"};
    heated scene[4];
    double errors[3];
    for (int s = 0; s < 4; ++s) {
        heat(CASE(CONFIG_WAFER_SMALL, {"scan.fields=[2]", "mesh.step_ms=8.0", substeps[s]}),
             &scene[s]);
        assert_true(fabs(scene[s].heating.imbalance[2]) < 1e-12);
        check_relative(scene[s].heating.ledgers[2].deposited, scene[0].heating.ledgers[2].deposited,
                       1e-12);
    }
    const bb_wafer_heating *fine = &scene[3].heating;
    const double *expected = bb_wafer_heating_input(fine, 0, fine->light_steps - 1);
    for (int s = 0; s < 3; ++s) {
        const double *got = bb_wafer_heating_input(&scene[s].heating, 0, fine->light_steps - 1);
        errors[s] = 0.0;
        for (bb_index j = 0; j < fine->cell_count; ++j) {
            errors[s] = fmax(errors[s], fabs(got[j] - expected[j]));
        }
    }
    print_message("errors %.2e %.2e %.2e K\n", errors[0], errors[1], errors[2]);
    // Against 32 substeps the errors have the ratio 31 : 15 : 7.
    check_relative(errors[0] / errors[1], 31.0 / 15.0, 0.1);
    check_relative(errors[1] / errors[2], 15.0 / 7.0, 0.1);
    for (int s = 0; s < 4; ++s) {
        drop(&scene[s]);
    }
}

TEST_FULL(energy_is_accounted_for)
{
    static const driver_case cases[] = {
        {BB_SOURCE_DIR "/configs/wafer/quick.yaml", {NULL}},
        {CONFIG_WAFER_SMALL, {"scan.fields=[50]"}},
        // No exchange with the clamp or the water.
        {CONFIG_WAFER_SMALL, {"clamp.exchange_w_per_m2_k=0.0"}},
        {CONFIG_WAFER_SMALL, {"clamp.water_exchange_w_per_m2_k=0.0"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autocall(drop) heated scene;
        heat(&cases[c], &scene);
        double worst = 0.0;
        double clipped = 0.0;
        double per_field = field_joules(&scene);
        for (bb_index f = 0; f < scene.heating.exposed_count; ++f) {
            const bb_ledger *ledger = &scene.heating.ledgers[f];
            worst = fmax(worst, fabs(scene.heating.imbalance[f]));
            assert_true(fabs(scene.heating.imbalance[f]) < 1e-12);
            // The dose outside the wafer is known; the rest is deposited.
            clipped += scene.heating.clipped_joules[f];
            assert_true(scene.heating.clipped_joules[f] >= 0.0);
            check_relative(ledger->deposited + clipped, (double)(f + 1) * per_field, 1e-10);
            check_close(ledger->deposited - ledger->lost - ledger->stored_wafer -
                            ledger->stored_clamp,
                        0.0, 1e-11, ledger->deposited);
        }
        const bb_ledger *last = &scene.heating.ledgers[scene.heating.exposed_count - 1];
        assert_true((last->stored_clamp > 0.0) == (c != 2));
        assert_true((last->lost > 0.0) == (c < 2));
        print_message("%td exposures, %.4g J, imbalance at most %.1e\n",
                      scene.heating.exposed_count, last->deposited, worst);
    }
}

TEST(heating_is_linear_in_the_dose)
{
    autocall(drop) heated a;
    autocall(drop) heated b;
    heat(CASE(CONFIG_WAFER_SMALL, {NULL}), &a);
    heat(CASE(CONFIG_WAFER_SMALL, {"scan.dose_mj_per_cm2=60.0"}), &b);
    bb_index count = 2 * a.heating.light_steps * a.heating.cell_count;
    double peak = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        peak = fmax(peak, a.heating.inputs[i]);
        check_relative(b.heating.inputs[i], 2.0 * a.heating.inputs[i], 1e-12);
    }
    assert_true(peak > 0.01 && peak < 1.0); // K, of 30 mJ/cm2 in 775 um of silicon: 0.23 at most
}

// Temperatures of a scored field do not depend on the set of scored fields.
TEST(scored_fields_do_not_disturb)
{
    autocall(drop) heated a;
    autocall(drop) heated b;
    heat(CASE(CONFIG_WAFER_SMALL, {"scan.fields=[0, 1, 2]"}), &a);
    heat(CASE(CONFIG_WAFER_SMALL, {"scan.fields=[2]"}), &b);
    assert_int_equal(a.heating.exposed_count, 3);
    assert_int_equal(b.heating.exposed_count, 3);
    size_t bytes = (size_t)a.heating.cell_count * sizeof(double);
    for (bb_index step = 0; step < a.heating.light_steps; ++step) {
        assert_memory_equal(bb_wafer_heating_input(&a.heating, 2, step),
                            bb_wafer_heating_input(&b.heating, 0, step), bytes);
    }
    assert_memory_equal(a.heating.ledgers, b.heating.ledgers, 3 * sizeof *a.heating.ledgers);
}

// The first light step starts from a cold wafer: its input is half of the state at its end, which
// has all heat deposited so far. Heat in cells: sum of S times area times heat capacity.
TEST(inputs_are_means_over_a_step)
{
    // Without exchange all heat stays in the wafer; a full field.
    autocall(drop) heated scene;
    heat(CASE(CONFIG_WAFER_SMALL,
              {"clamp.exchange_w_per_m2_k=0.0", "scan.usable_radius_mm=40.0", "scan.fields=[0]"}),
         &scene);
    const bb_wafer_material_config *wafer = scene.physics.wafer;
    double per_area =
        wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k * 1e-6 * wafer->thickness_um;
    const bb_temperature_grid *grid = scene.problem->grid;
    double total = scene.heating.ledgers[0].deposited;
    double before = 0.0;
    for (bb_index step = 0; step < scene.heating.light_steps; ++step) {
        double joules = 0.0;
        const double *s = bb_wafer_heating_input(&scene.heating, 0, step);
        for (bb_index j = 0; j < grid->cell_count; ++j) {
            joules += per_area * grid->area[j] * s[j];
        }
        assert_true(joules > before && joules < total);
        before = joules;
    }
    // Halfway through the last step all dose except the tail of the slit is deposited.
    check_relative(before, total, 1e-2);
}

static void fail_everywhere(const driver_case *study)
{
    autocall(drop) heated scene;
    bb_status status = BB_OK;
    heat(study, &scene);
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autorelease(bb_wafer_heating) again;
        status = bb_wafer_heating_resume(scene.problem, NULL, &again);
        assert_true((status == BB_OK) == (again.inputs != NULL));
    }
}

TEST_FULL(a_failure_leaves_nothing)
{
    static const driver_case cases[] = {
        {CONFIG_WAFER_SMALL, {NULL}},
        {CONFIG_WAFER_SMALL,
         {"hood.exchange_w_per_m2_k=200", "ring.width_mm=9.0", "mesh.stepping=crank-nicolson"}},
        {CONFIG_WAFER_SMALL,
         {"scan.order=given", "scan.sequence=[50, 49]", "scan.fields=[1]",
          "wafers={count: 2, exchange_s: 0.1}", "probes=[{name: a}, {name: b, layer: clamp}]"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        fail_everywhere(&cases[c]);
    }
}

TEST_GROUP(.is_quiet = true);
