// SPDX-License-Identifier: Apache-2.0
//
// Hood, ring and Crank-Nicolson in the heat of a wafer study: a closed form and energy balances.
#include "sim/wafer/heat/wafer_heating.h"
#include "sim/wafer/wafer_study.h"
#include "tests/sim/driver.h"

static const double CAPACITY = 2330.0 * 712.0 * 775e-6;

static bb_wafer_problem *problem_of(const driver_case *study, bb_config **config)
{
    check_ok(bb_threads_set(2));
    check_ok(driver_load(study, config));
    const bb_wafer_config physics = bb_wafer_study_physics(bb_config_study(*config));
    bb_wafer_problem *problem = new_object(bb_wafer_problem, &physics);
    return problem;
}

// No dose and no clamp under a hood larger than the wafer: every node approaches the hood's
// temperature by the same factor per step.
TEST(a_wide_hood_warms_the_wafer_evenly)
{
    static const char *const steppings[] = {"mesh.stepping=explicit",
                                            "mesh.stepping=crank-nicolson"};
    for (int k = 0; k < 2; ++k) {
        const driver_case study = {
            CONFIG_WAFER_SMALL,
            {"clamp.exchange_w_per_m2_k=0.0", "scan.dose_mj_per_cm2=0.0", "scan.order=given",
             "scan.sequence=[50, 49]", "scan.fields=[1]", steppings[k],
             "hood={exchange_w_per_m2_k: 800, width_mm: 500, height_mm: 500, rise_k: 2.5}"}};
        autoptr(bb_config) config = NULL;
        autorelease(bb_heat_simulation) simulation;
        autoptr(bb_wafer_problem) problem = problem_of(&study, &config);
        check_ok(bb_heat_simulation_open(problem, NULL, &simulation));
        double z = 800.0 * 2e-3 / CAPACITY;
        double factor = k == 0 ? 1.0 - z : (1.0 - 0.5 * z) / (1.0 + 0.5 * z);
        for (bb_index field = 0; field < 2; ++field) {
            check_ok(bb_heat_simulation_expose(&simulation, field));
            for (bb_index part = 0; part < 35; ++part) {
                check_ok(bb_heat_simulation_step(&simulation, part));
            }
        }
        const double *t = bb_stepper_state(simulation.stepper);
        for (bb_index i = 0; i < problem->thermal->node_count; ++i) {
            check_relative(t[i], 2.5 * (1.0 - pow(factor, 70.0)), 1e-12);
        }
        double gap = bb_ledger_close(&simulation.ledger, problem->thermal, t);
        check_close(gap, 0.0, 1e-13, simulation.ledger.stored_wafer);
        check_relative(-simulation.ledger.lost_hood, simulation.ledger.stored_wafer, 1e-13);
    }
}

// Partial fields at the edge, ring and hood, explicit and implicit steps, also far above the
// explicit limit: the ledger closes to rounding, and the whole dose is accounted for.
TEST_FULL(energy_is_accounted_for_everywhere)
{
    static const driver_case cases[] = {
        {CONFIG_WAFER_SMALL,
         {"ring.width_mm=12.0", "hood.exchange_w_per_m2_k=300", "hood.rise_k=-0.3"}},
        {CONFIG_WAFER_SMALL,
         {"ring.width_mm=12.0", "hood.exchange_w_per_m2_k=300", "hood.rise_k=-0.3",
          "mesh.stepping=crank-nicolson"}},
        {CONFIG_WAFER_SMALL,
         {"ring.width_mm=60.0", "mesh.stepping=crank-nicolson", "mesh.spacing_mm=1.0",
          "mesh.step_ms=20.0", "response.slit_points={columns: 6, rows: 60}"}},
        {CONFIG_WAFER_SMALL,
         {"ring={width_mm: 12.0, gap_exchange_w_per_m2_k: 0}", "mesh.substeps=2"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autoptr(bb_config) config = NULL;
        autorelease(bb_wafer_heating) heating;
        autoptr(bb_wafer_problem) problem = problem_of(&cases[c], &config);
        check_ok(bb_wafer_heating_resume(problem, NULL, &heating));
        double clipped = 0.0;
        double worst = 0.0;
        for (bb_index f = 0; f < heating.exposed_count; ++f) {
            const bb_ledger *ledger = &heating.ledgers[f];
            worst = fmax(worst, fabs(heating.imbalance[f]));
            clipped += heating.clipped_joules[f];
            check_relative(ledger->deposited + clipped, (double)(f + 1) * 0.2574, 1e-10);
        }
        const bb_ledger *last = &heating.ledgers[heating.exposed_count - 1];
        print_message("deposited %.4f J; lost water %.2e, hood %.2e, ring %.2e J; stored wafer "
                      "%.3f, clamp %.3f, ring %.3f J; clipped %.3f J; imbalance %.1e\n",
                      last->deposited, last->lost, last->lost_hood, last->lost_ring,
                      last->stored_wafer, last->stored_clamp, last->stored_ring, clipped, worst);
        assert_true(worst < 1e-13);
        assert_true((last->lost_hood > 0.0) == (c < 2));
        assert_true(last->lost_ring > 0.0 && last->stored_ring > 0.0);
        if (c == 2) {
            assert_true(clipped < 1e-12);
        }
    }
}

// The dose on the wafer does not depend on the ring; without gap exchange neither do its
// temperatures.
TEST(a_ring_apart_leaves_the_wafer_alone)
{
    static const driver_case cases[] = {
        {CONFIG_WAFER_SMALL, {"hood={exchange_w_per_m2_k: 0, rise_k: 7.0}"}},
        {CONFIG_WAFER_SMALL, {"ring={width_mm: 15.0, gap_exchange_w_per_m2_k: 0}"}},
        {CONFIG_WAFER_SMALL, {"ring={width_mm: 15.0, gap_exchange_w_per_m2_k: 1.0e+4}"}},
    };
    bb_config *config = NULL;
    autorelease(bb_wafer_heating) plain;
    bb_wafer_problem *problem = problem_of(CASE(CONFIG_WAFER_SMALL, {NULL}), &config);
    check_ok(bb_wafer_heating_resume(problem, NULL, &plain));
    bb_wafer_problem_destroy(&problem);
    bb_config_destroy(&config);
    size_t count = (size_t)(2 * plain.light_steps * plain.cell_count);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autorelease(bb_wafer_heating) heating;
        problem = problem_of(&cases[c], &config);
        check_ok(bb_wafer_heating_resume(problem, NULL, &heating));
        bool same = memcmp(heating.inputs, plain.inputs, count * sizeof(double)) == 0;
        assert_true(same == (c < 2));
        bb_wafer_problem_destroy(&problem);
        bb_config_destroy(&config);
    }
}

static double entry(const bb_results *results, const char *name, bb_index exposure)
{
    const bb_dataset *dataset = dataset_in(results, "energy", name);
    assert_int_equal(dataset->count, 3);
    assert_string_equal(dataset->axes[0], "exposure");
    assert_string_equal(dataset->unit, strcmp(name, "imbalance") == 0 ? "1" : "J");
    assert_true(strlen(dataset->long_name) > 10);
    return dataset->numbers[exposure];
}

// The balance in the file closes exposure by exposure.
TEST(the_ledger_is_published_by_exposure)
{
    autoptr(bb_config) config = NULL;
    autorelease(bb_wafer_heating) heating;
    autoptr(bb_wafer_problem) problem = problem_of(
        CASE(CONFIG_WAFER_SMALL, {"hood.exchange_w_per_m2_k=300", "ring.width_mm=9.0"}), &config);
    check_ok(bb_wafer_heating_resume(problem, NULL, &heating));
    autoptr(bb_results) results = empty_results();
    check_ok(bb_wafer_heating_publish(&heating, results));
    for (bb_index f = 0; f < 3; ++f) {
        double lost = entry(results, "lost_j", f);
        double put = entry(results, "deposited_j", f);
        double stored = entry(results, "stored_wafer_j", f) + entry(results, "stored_clamp_j", f) +
                        entry(results, "stored_ring_j", f);
        check_close(lost,
                    entry(results, "lost_water_j", f) + entry(results, "lost_hood_j", f) +
                        entry(results, "lost_ring_j", f),
                    1e-15, put);
        check_close((put - lost - stored) / put, entry(results, "imbalance", f), 1e-14, 1.0);
        assert_true(entry(results, "clipped_j", f) >= 0.0);
        assert_true(f == 0 || put > entry(results, "deposited_j", f - 1));
    }
}

TEST(implicit_steps_and_hood_keep_their_bits)
{
    driver_check_threads(
        CASE(CONFIG_WAFER_SMALL, {"mesh.stepping=crank-nicolson", "hood.exchange_w_per_m2_k=300",
                                  "ring.width_mm=9.0"}));
}

TEST_GROUP(.is_quiet = true);
