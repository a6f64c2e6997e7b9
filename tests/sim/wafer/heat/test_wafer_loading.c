// SPDX-License-Identifier: Apache-2.0
//
// Consecutive wafers: the ledger closes over all of them, the first equals a single wafer, the
// clamp passes its heat to the next wafer, and probes record everything.
#include "tests/sim/wafer/heat/heated.h"

#define THREE_FIELDS "scan.order=given", "scan.sequence=[50, 49, 48]", "scan.fields=[2]"
#define PROBES                                                                                     \
    "probes=[{name: middle}, {name: low, x_mm: -20.0, y_mm: -40.0, layer: clamp}, "                \
    "{name: wide, x_mm: 30.5, y_mm: 16.5}]"

TEST_FULL(the_ledger_closes_over_wafers)
{
    static const driver_case cases[] = {
        {CONFIG_WAFER_SMALL, {THREE_FIELDS, "wafers={count: 4, exchange_s: 2.0}"}},
        {CONFIG_WAFER_SMALL,
         {THREE_FIELDS, "wafers={count: 3, exchange_s: 0.5, arrival_rise_k: -0.05}",
          "hood={exchange_w_per_m2_k: 300, rise_k: 0.1}", "ring.width_mm=9.0",
          "mesh.stepping=crank-nicolson"}},
        {CONFIG_WAFER_SMALL,
         {"scan.order=given", "scan.sequence=[0, 95, 6]", "scan.fields=[1]", "ring.width_mm=12.0",
          "wafers={count: 3, exchange_s: 0.333, arrival_rise_k: 0.02}"}},
        {CONFIG_WAFER_SMALL,
         {THREE_FIELDS, "mesh.through_thickness=two_mode", "response.axes=[x, y]",
          "wafers={count: 3, exchange_s: 0.5, arrival_rise_k: 0.05}",
          "hood={exchange_w_per_m2_k: 3000, rise_k: -0.1}", "ring.width_mm=9.0"}},
        {CONFIG_WAFER_SMALL,
         {THREE_FIELDS, "mesh.through_thickness=two_mode", "response.axes=[x, y]",
          "wafers={count: 3, exchange_s: 0.5, arrival_rise_k: -0.05}",
          "hood={exchange_w_per_m2_k: 3000, rise_k: 0.1}", "ring.width_mm=9.0",
          "mesh.stepping=crank-nicolson"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autocall(drop) heated scene;
        heat(&cases[c], &scene);
        const bb_wafer_heating *all = &scene.heating;
        assert_int_equal(all->exposed_count, (all->wafer_count - 1) * 3 + (c == 2 ? 2 : 3));
        double worst = 0.0;
        for (bb_index f = 0; f < all->exposed_count; ++f) {
            worst = fmax(worst, fabs(all->imbalance[f]));
        }
        print_message("case %zu: imbalance at most %.1e\n", c, worst);
        assert_true(worst < 1e-12);
        double unloaded = 0.0;
        for (bb_index w = 0; w + 1 < all->wafer_count; ++w) {
            unloaded += all->wafers[w].unloaded_joules;
            check_relative(all->ledgers[3 * (w + 1)].unloaded, unloaded, 1e-14);
            check_relative(all->wafers[w].unloaded_joules, all->ledgers[3 * w + 2].stored_wafer,
                           1e-14);
        }
        const double brought = all->ledgers[all->exposed_count - 1].arrived;
        const double rise = scene.problem->arrival_rise;
        double capacity = 0.0;
        for (bb_index i = 0; i < scene.problem->mesh->node_count; ++i) {
            capacity += scene.problem->thermal->capacity[i];
        }
        check_close(brought, (double)all->wafer_count * rise * capacity, 1e-12, capacity);
    }
}

// Temperatures and balance of the first wafer equal those of a single one, bit for bit.
TEST(the_first_wafer_is_as_if_alone)
{
    const driver_case one = {CONFIG_WAFER_SMALL, {THREE_FIELDS, PROBES}};
    autocall(drop) heated a;
    autocall(drop) heated b;
    heat(&one, &a);
    heat(CASE(CONFIG_WAFER_SMALL, {THREE_FIELDS, PROBES, "wafers={count: 2, exchange_s: 0.1}"}),
         &b);
    const bb_wafer_probes *probes = &a.heating.probes;
    assert_int_equal(probes->taken, 3 * 35);
    assert_int_equal(probes->taken, probes->capacity);
    assert_int_equal(b.heating.probes.taken, 2 * 3 * 35 + 10);
    assert_int_equal(b.heating.probes.taken, b.heating.probes.capacity);
    assert_memory_equal(a.heating.ledgers, b.heating.ledgers, 3 * sizeof *a.heating.ledgers);
    assert_memory_equal(probes->rows, b.heating.probes.rows,
                        (size_t)(probes->taken * probes->width) * sizeof(double));
    // The second wafer is warmer by the heat left in the clamp.
    const bb_index last = a.heating.light_steps - 1;
    const double *cold = bb_wafer_heating_input(&a.heating, 0, last);
    const double *warm = bb_wafer_heating_input(&b.heating, 0, last);
    double more = 0.0;
    for (bb_index j = 0; j < a.heating.cell_count; ++j) {
        assert_true(warm[j] >= cold[j]);
        more = fmax(more, warm[j] - cold[j]);
    }
    assert_true(more > 1e-5);
}

// Without conduction in the clamp every rise decays by one factor, that of Crank-Nicolson.
TEST(the_bare_clamp_cools_at_its_rate)
{
    autocall(drop) heated scene;
    heat(CASE(CONFIG_WAFER_SMALL, {THREE_FIELDS, "clamp.conductivity_w_per_m_k=0.0",
                                   "wafers={count: 2, exchange_s: 3.0}"}),
         &scene);
    const double z = 3000.0 * 10e-3 / (2e6 * 8e-3);
    const double kept = pow((1.0 - 0.5 * z) / (1.0 + 0.5 * z), 300.0);
    const double rest = scene.heating.ledgers[2].stored_clamp;
    check_relative(scene.heating.wafers[1].clamp_joules, rest * kept, 1e-10);
    check_relative(kept, exp(-3.0 * 3000.0 / (2e6 * 8e-3)), 1e-6);
    double capacity = 0.0;
    for (bb_index i = 0; i < scene.problem->thermal->clamp_count; ++i) {
        capacity += scene.problem->thermal->capacity[scene.problem->thermal->node_count + i];
    }
    check_relative(scene.heating.wafers[1].clamp_rise, rest * kept / capacity, 1e-10);
}

// A longer wait approaches a cold clamp.
TEST_FULL(carry_over_fades)
{
    static const char *const waits[] = {"wafers={count: 2, exchange_s: 0.5}",
                                        "wafers={count: 2, exchange_s: 5.0}",
                                        "wafers={count: 2, exchange_s: 50.0}"};
    double met[3];
    for (int k = 0; k < 3; ++k) {
        autocall(drop) heated scene;
        heat(CASE(CONFIG_WAFER_SMALL, {THREE_FIELDS, waits[k]}), &scene);
        assert_true(scene.heating.wafers[0].clamp_joules == 0.0);
        assert_true(isnan(scene.heating.wafers[1].unloaded_joules));
        met[k] = scene.heating.wafers[1].clamp_joules;
    }
    assert_true(met[0] > met[1] && met[1] > met[2] && met[2] > 0.0 && met[2] < 1e-3 * met[0]);
}

TEST(probes_follow_wafer_and_clamp)
{
    const driver_case study = {CONFIG_WAFER_SMALL,
                               {THREE_FIELDS, PROBES, "wafers={count: 2, exchange_s: 0.1}"}};
    autoptr(bb_results) results = driver_results(&study);
    driver_check_output_plan(&study, results);
    const bb_dataset *time = bb_results_find(results, "probes/time_s");
    const bb_dataset *wafer = bb_results_find(results, "probes/wafer");
    const bb_dataset *middle = bb_results_find(results, "probes/middle_k");
    const bb_dataset *low = bb_results_find(results, "probes/low_k");
    assert_true(time->is_axis && strcmp(time->unit, "s") == 0);
    assert_string_equal(middle->unit, "K");
    assert_string_equal(middle->long_name,
                        "temperature rise of the wafer above the water at (0, 0) mm");
    assert_string_equal(low->long_name,
                        "temperature rise of the clamp above the water at (-20, -40) mm");
    const bb_index steps = 3 * 35;
    for (bb_index i = 0; i < time->count; ++i) {
        const bool bare = i >= steps && i < steps + 10;
        const double expected = i < steps        ? 2e-3 * (double)(i + 1)
                                : i < steps + 10 ? 0.21 + 0.01 * (double)(i - steps + 1)
                                                 : 0.31 + 2e-3 * (double)(i - steps - 9);
        check_relative(time->numbers[i], expected, 1e-14);
        assert_true(wafer->numbers[i] == (i < steps + 10 ? 0.0 : 1.0));
        assert_true(isnan(middle->numbers[i]) == bare);
        assert_true(isfinite(low->numbers[i]));
    }
    const bb_dataset *met = bb_results_find(results, "wafers/clamp_at_load_j");
    assert_int_equal(met->count, 2);
    assert_true(met->numbers[1] > 0.0);
}

TEST(bits_do_not_depend_on_threads)
{
    driver_check_threads(
        CASE(CONFIG_WAFER_SMALL,
             {THREE_FIELDS, PROBES, "wafers={count: 2, exchange_s: 0.5}", "ring.width_mm=9.0"}));
}

TEST(what_cannot_be_probed_is_refused)
{
    static const char *const bad[] = {"probes=[{name: a, x_mm: 150.1}]",
                                      "probes=[{name: a}, {name: a}]",
                                      "probes=[{name: a b}]",
                                      "wafers.exchange_s=0.0",
                                      "wafers.count=0",
                                      "wafers.scored=first",
                                      "probes=[{name: a, layer: ring}]"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        bb_config *config = NULL;
        assert_int_equal(driver_load(CASE(CONFIG_WAFER_SMALL, {bad[k]}), &config), BB_INVALID);
        assert_null(config);
    }
}

TEST_GROUP(.is_quiet = true);
