// SPDX-License-Identifier: Apache-2.0
//
// Data kept from one study for the next: results are the same with and without it.
#include "core/store.h"
#include "tests/sim/driver.h"

#define SMALL_AO                                                                                   \
    "wavelengths_um=[1.65]", "sensors.lenslets=4", "targets=[{x_arcsec: 0, y_arcsec: 0}]"
static const driver_case ao_cases[] = {
    {CONFIG_AO_SMALL, {SMALL_AO, "pipelines.hp3.policy.width=1"}},
    {CONFIG_AO_SMALL, {SMALL_AO, "pipelines.hp3.policy.width=4"}},
    {CONFIG_AO_SMALL, {SMALL_AO, "pipelines.hp3.arithmetic=hp1", "solver.tile=10"}},
    {CONFIG_AO_SMALL, {SMALL_AO, "atmosphere.outer_scale_m=20"}},
    {CONFIG_AO_SMALL, {SMALL_AO, "pipelines.hp3.policy.width=4"}},
};
#define SMALL_WAFER                                                                                \
    "clamp.spacing_mm=12.0", "mesh.spacing_mm=6.0", "scan.fields=[0]", "response.axes=[x, y]"
static const driver_case wafer_cases[] = {
    {CONFIG_WAFER_SMALL, {SMALL_WAFER, "scan.dose_mj_per_cm2=20"}},
    {CONFIG_WAFER_SMALL, {SMALL_WAFER, "scan.dose_mj_per_cm2=40"}},
    {CONFIG_WAFER_SMALL, {SMALL_WAFER, "pipelines.fp16.scale=none"}},
    {CONFIG_WAFER_SMALL, {SMALL_WAFER, "wafer.expansion_per_k=1.1e-6"}},
    {CONFIG_WAFER_SMALL, {SMALL_WAFER, "response.grid.columns=44"}},
    {CONFIG_WAFER_SMALL, {SMALL_WAFER, "scan.dose_mj_per_cm2=40"}},
};

static void digest(const driver_case *study, char out[BB_DIGEST_BYTES])
{
    autoptr(bb_results) results = NULL;
    bb_store_next_study();
    check_ok(driver_run(study, 1, &results));
    check_ok(bb_results_digest(results, true, out));
}

// Checks that cases run one after the other with a store of this size give the same results as
// separately.
static void compare(const driver_case *cases, int count, double bytes)
{
    char cold[8][BB_DIGEST_BYTES];
    char warm[BB_DIGEST_BYTES];
    bb_store_allow(0.0);
    for (int i = 0; i < count; ++i) {
        digest(&cases[i], cold[i]);
    }
    bb_store_allow(bytes);
    for (int i = 0; i < count; ++i) {
        digest(&cases[i], warm);
        if (strcmp(cold[i], warm) != 0) {
            print_error("case %d differs where it finds what others left\n", i);
            fail();
        }
    }
    assert_string_not_equal(cold[0], cold[1]);
    assert_string_equal(cold[1], cold[count - 1]);
    bb_store_allow(0.0);
}

TEST_FULL(a_warm_ao_study_computes_what_a_cold_one_does)
{
    compare(ao_cases, sizeof ao_cases / sizeof *ao_cases, 1e9);
    compare(ao_cases, sizeof ao_cases / sizeof *ao_cases, 2e5); // room for a part of it
}

TEST(a_warm_wafer_study_computes_what_a_cold_one_does)
{
    compare(wafer_cases, sizeof wafer_cases / sizeof *wafer_cases, 1e9);
    compare(wafer_cases, sizeof wafer_cases / sizeof *wafer_cases, 2e6);
}

// Unchanged data are found: the second study of a pair stores only its own data.
TEST(what_does_not_change_is_kept)
{
    char ignored[BB_DIGEST_BYTES];
    const driver_case *const pairs[] = {&ao_cases[0], &wafer_cases[0]};
    const bb_index own[] = {1, 0}; // the pipeline of another width; rows do not depend on the dose
    for (int i = 0; i < 2; ++i) {
        bb_store_allow(1e9);
        digest(pairs[i], ignored);
        const bb_index blocks = bb_memory_blocks();
        assert_true(blocks > 0);
        digest(pairs[i] + 1, ignored);
        assert_int_equal(bb_memory_blocks(), blocks + own[i]);
        bb_store_allow(0.0);
    }
}
