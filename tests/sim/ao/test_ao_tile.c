// SPDX-License-Identifier: Apache-2.0
//
// solver.tile: auto, and a tile that a device rounds up. No GPU is needed.
#include "sim/ao/ao_extent.h"
#include "sim/ao/ao_plan.h"
#include "sim/ao/ao_study.h"
#include "tests/sim/driver.h"

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2, policy: "          \
    "{kind: band, width: 1, inside: sp}}]"

TEST(auto_is_the_default_and_is_written_out)
{
    static const char *const keys[] = {"solver.tile=auto", "solver.tile=24"};
    static const char *const lines[] = {"  tile: auto\n", "  tile: 24\n"};
    for (int i = 0; i < 2; ++i) {
        autoptr(bb_config) config = driver_config(CASE(CONFIG_AO_SMALL, {keys[i]}));
        const bb_ao_study *ao = bb_config_study(config);
        autorelease(bb_text) text = {0};
        assert_int_equal(ao->solver.common.tile, i == 0 ? BB_INTEGER_UNSET : 24);
        check_ok(bb_config_resolved(config, &text));
        assert_non_null(strstr(bb_text_string(&text), lines[i]));
    }
}

TEST(other_words_are_refused_with_the_rule)
{
    static const char *const overrides[] = {"solver.tile=automatic"};
    autorelease(bb_problems) problems = {0};
    bb_config *config = NULL;
    check_fails(
        bb_experiment_load(&bb_experiments, CONFIG_AO_SMALL, overrides, 1, &problems, &config),
        BB_INVALID, "1 problem");
    assert_non_null(strstr(bb_text_string(&problems.lines),
                           "solver.tile = automatic: expected an integer in [8, 65536], or the "
                           "word auto"));
}

// On the CPU auto is 128, bit for bit, and an explicit tile is used as it is.
TEST(results_say_the_tile)
{
    static const char *const keys[] = {"solver.tile=auto", "solver.tile=128", "solver.tile=20"};
    static const double tiles[] = {128.0, 128.0, 20.0};
    double strehl[3];
    for (int i = 0; i < 3; ++i) {
        const driver_case study = {CONFIG_AO_SMALL, {"device=cpu", PIPELINES, keys[i]}};
        autoptr(bb_results) results = driver_results(&study);
        check_close(driver_number(results, "tile_size", "reference"), tiles[i], 1e-12, 1.0);
        check_close(driver_number(results, "tile_size", "hp2"), tiles[i], 1e-12, 1.0);
        strehl[i] = driver_number(results, "strehl", "hp2");
    }
    assert_true(strehl[0] == strehl[1]);
    assert_true(strehl[0] != strehl[2]); // one tile, and several
}

// 168 and 13,248 measurements: auto selects the CPU for the first.
TEST(studies_know_their_size)
{
    static const char *const paths[] = {CONFIG_AO_SMALL,
                                        BB_SOURCE_DIR "/configs/ao/fig2-13248.yaml"};
    for (int i = 0; i < 2; ++i) {
        autoptr(bb_config) config = driver_config(CASE(paths[i], {"device=auto"}));
        bb_ao_study resolved;
        check_ok(bb_ao_extent_resolve(bb_config_study(config), &resolved));
        assert_int_equal(bb_device_choice_wish(resolved.common.device, -1),
                         i == 0 ? BB_DEVICE_CPU : BB_DEVICE_AUTO);
    }
}

// Tile (7, 0) of the spectrum exists in tiles of 20, but not in tiles of 128.
TEST(a_plan_says_the_tile_of_cuda_once)
{
    const bb_run_options options = {.threads = 1};
    autorelease(bb_plan) plan = {0};
    autoptr(bb_config) config =
        driver_config(CASE(CONFIG_AO_SMALL, {"device=cuda", PIPELINES, "solver.tile=20",
                                             "solver.spectrum.tiles=[{row: 7, column: 0}]"}));
    check_ok(bb_ao_plan(bb_config_study(config), &options, &plan));
    const char *text = bb_text_string(&plan.lines);
    const char *said = strstr(text, "solver.tile = 20: CUDA needs a multiple of 128; using 128");
    assert_non_null(said);
    assert_null(strstr(said + 1, "solver.tile = 20"));
}

TEST_GROUP(.is_quiet = true);
