// SPDX-License-Identifier: Apache-2.0
//
// Storage searches of ao: the result is within max_loss, equals a study with that storage bit for
// bit, and one step narrower loses more.
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"

#define REFERENCE "{name: reference, arithmetic: dp}"
#define SCALED    "column_scale: remainder, storage: {codec: quantiser, rounding: sweep}"
// Pipeline with a storage, and with max_loss.
#define STORING(name, storage)          "{name: " name ", arithmetic: dp, " storage "}"
#define ASKING(name, storage, max_loss) STORING(name, storage ", max_loss: " max_loss)
#define BARE                            "score=stationary", "error_terms.fitting=false", "wavelengths_um=[1.65]"
#define CONFIG_MCAO                     BB_SOURCE_DIR "/tests/configs/small/mcao.yaml"

enum { TEXT = 1536, MOST = 9 };

// Pipelines with searches, and their other keys.
typedef struct asked {
    const char *name, *codec, *rest;
    double loss;
} asked;

static const asked cases[MOST] = {
    {"nearest", "integer", "", 1e-3},
    {"means", "integer", ", filter: means", 1e-4},
    {"swept", "integer, rounding: sweep", "", 1e-4},
    {"shared", "bfp, rounding: sweep", "", 1e-3},
    {"scaled", "quantiser, rounding: sweep", ", column_scale: remainder", 1e-4},
    {"commands", "quantiser, rounding: sweep", ", operator: commands, column_scale: remainder",
     1e-3},
    {"rates", "zfp, mode: rate, dimensions: 1", "", 1e-3},
    {"slopes", "float, exponent: 5, rounding: sweep", ", slopes: {bits: 14}", 1e-3},
    {"clipped", "integer, rounding: sweep, clip: best", "", 1e-3},
};

static void add_pipeline(const asked *item, const char *bits, const char *max_loss, char *out)
{
    const size_t length = strlen(out);
    (void)snprintf(out + length, TEXT - length,
                   ", {name: %s, arithmetic: dp, storage: {codec: %s%s}%s%s}", item->name,
                   item->codec, bits, item->rest, max_loss);
}

static void begin(char *out)
{
    (void)snprintf(out, TEXT, "pipelines=[" REFERENCE);
}

// Cases [first, first + count) as searches.
static bb_results *search(const char *correction, int first, int count)
{
    char pipelines[TEXT];
    char max_loss[64];
    begin(pipelines);
    for (int i = first; i < first + count; ++i) {
        (void)snprintf(max_loss, sizeof max_loss, ", max_loss: %g", cases[i].loss);
        add_pipeline(&cases[i], "", max_loss, pipelines);
    }
    strcat(pipelines, "]");
    return driver_results(&(driver_case){CONFIG_AO_SMALL, {BARE, correction, pipelines}});
}

// Rejected trial of a pipeline that is one step narrower than the result.
static bb_index find_narrower(const bb_results *results, const char *pipeline)
{
    const bb_dataset *names = bb_results_find(results, "search/pipeline");
    const double *accepted = bb_results_find(results, "search/accepted")->numbers;
    const double *bytes = bb_results_find(results, "search/operator_bytes")->numbers;
    bb_index nearest = -1;
    for (bb_index i = 0; i < names->count; ++i) {
        const bool fails = strcmp(names->texts[i], pipeline) == 0 && accepted[i] == 0.0;
        nearest = fails && (nearest < 0 || bytes[i] > bytes[nearest]) ? i : nearest;
    }
    return nearest;
}

// Value along the ladder's key in a description of a storage, such as "integer 9 in the sweep".
static void tell(const char *storage, double tolerance, char out[64])
{
    int bits = 0;
    int exponent = 0;
    if (!isnan(tolerance)) {
        (void)snprintf(out, 64, ", tolerance_of_range: %.17g", tolerance);
    } else if (sscanf(storage, "zfp rate %d", &bits) == 1) {
        (void)snprintf(out, 64, ", bits: %d", bits);
    } else if (sscanf(storage, "float e%dm%d", &exponent, &bits) == 2) {
        (void)snprintf(out, 64, ", mantissa: %d", bits);
    } else {
        assert_int_equal(sscanf(storage, "%*s %d", &bits), 1);
        (void)snprintf(out, 64, ", bits: %d", bits);
    }
}

// The storage found, given explicitly, has the same results; one step narrower exceeds max_loss.
static void check_case(const bb_results *results, const char *correction, const asked *item)
{
    char pipelines[TEXT];
    char bits[64];
    const bb_dataset *storage = bb_results_find(results, "search/storage");
    const double *tolerance = bb_results_find(results, "search/tolerance")->numbers;
    const bb_index narrower = find_narrower(results, item->name);
    asked told[2] = {*item, *item};
    bb_index found = 0;
    assert_string_equal(driver_text(results, "status", item->name), "ok");
    while (strcmp(storage->texts[found], driver_text(results, "storage", item->name)) != 0) {
        ++found;
    }
    assert_true(narrower >= 0);
    begin(pipelines);
    tell(storage->texts[found], tolerance[found], bits);
    told[0].name = "found";
    add_pipeline(&told[0], bits, "", pipelines);
    tell(storage->texts[narrower], tolerance[narrower], bits);
    told[1].name = "narrower";
    add_pipeline(&told[1], bits, "", pipelines);
    strcat(pipelines, "]");
    bb_results *plain =
        driver_results(&(driver_case){CONFIG_AO_SMALL, {BARE, correction, pipelines}});
    static const char *const same[] = {"strehl_loss", "reconstructor_bits", "solved_bits",
                                       "operator_bytes"};
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        assert_true(driver_number(results, same[i], item->name) ==
                    driver_number(plain, same[i], "found"));
    }
    double losses[2] = {-INFINITY, -INFINITY}; // the worst of both directions
    for (int t = 0; t < 2; ++t) {
        const double exact = driver_row(plain, "strehl_by", "reference")[t];
        losses[0] = fmax(losses[0], exact - driver_row(plain, "strehl_by", "found")[t]);
        losses[1] = fmax(losses[1], exact - driver_row(plain, "strehl_by", "narrower")[t]);
    }
    print_message("%s: %s, %.3e at %.3f bits; %s, %.3e\n", item->name, storage->texts[found],
                  losses[0], driver_number(plain, "reconstructor_bits", "found"),
                  storage->texts[narrower], losses[1]);
    assert_true(losses[0] <= item->loss && losses[1] > item->loss);
    if (!isnan(tolerance[found])) { // neighbours of a fine ladder
        assert_in_range(1e3 * tolerance[narrower] / tolerance[found], 1030, 1045);
    }
    bb_results_destroy(&plain);
}

TEST_FULL(the_result_is_the_narrowest_within_max_loss)
{
    autoptr(bb_results) results = search("correction=moao", 0, MOST);
    for (int i = 0; i < MOST; ++i) {
        check_case(results, "correction=moao", &cases[i]);
    }
}

// One reconstructor for two directions, of which the worse must be within max_loss.
TEST_FULL(a_shared_reconstructor_meets_it_everywhere)
{
    static const char *const corrections[] = {"correction=ltao", "correction=glao"};
    for (int c = 0; c < 2; ++c) {
        autoptr(bb_results) results = search(corrections[c], 4, 2);
        check_case(results, corrections[c], &cases[4]);
        check_case(results, corrections[c], &cases[5]);
    }
}

TEST_FULL(commands_of_several_mirrors_are_found)
{
    autoptr(bb_results) results = driver_results(
        &(driver_case){CONFIG_MCAO,
                       {"pipelines=[" REFERENCE ", " ASKING("found", SCALED, "1e-3") ", " STORING(
                           "first", SCALED ", max_loss: 1e-3, search: {over: first}") "]"}});
    double worst = -INFINITY;
    for (int t = 0; t < 5; ++t) {
        worst = fmax(worst, driver_row(results, "strehl_by", "reference")[t] -
                                driver_row(results, "strehl_by", "found")[t]);
    }
    const double bits = driver_number(results, "reconstructor_bits", "found");
    print_message("%s, %.3e at worst\n", driver_text(results, "status_detail", "found"), worst);
    assert_true(worst <= 1e-3 && worst > 8e-4);
    assert_true(driver_number(results, "solved_bits", "found") == bits); // M is the solution
    assert_true(driver_number(results, "reconstructor_bits", "first") <= bits);
    assert_true(driver_number(results, "strehl_loss", "first") <= 1e-3);
}

// The study continues, and the pipeline's only results are those of the nearest trial.
TEST(what_no_width_meets_is_recorded)
{
    autoptr(bb_results) results = driver_results(&(driver_case){
        CONFIG_AO_SMALL,
        {BARE, "shake_test_arcsec=0.1",
         "pipelines=[" ASKING("never", "storage: integer", "1e-12") ", " REFERENCE ", " ASKING(
             "loose", "storage: integer", "1.0") "]"}});
    print_message("%s\n", driver_text(results, "status_detail", "never"));
    assert_string_equal(driver_text(results, "status", "never"), "not_converged");
    assert_non_null(strstr(driver_text(results, "status_detail", "never"),
                           "max_loss 1e-12: not met in 2 trials; nearest is "
                           "integer 16, loss "));
    assert_string_equal(driver_text(results, "storage", "never"), "");
    static const char *const unset[] = {"strehl",      "strehl_loss",    "reconstructor_bits",
                                        "solved_bits", "operator_bytes", "strehl_loss_shaken",
                                        "loss_worst"};
    for (size_t i = 0; i < sizeof unset / sizeof *unset; ++i) {
        assert_true(isnan(driver_number(results, unset[i], "never")));
    }
    assert_string_equal(driver_text(results, "storage", "loose"), "integer 2");
    assert_string_equal(driver_text(results, "storage", "reference"), "");
}

// Draws round again; the worst of them is within max_loss, which needs at least as many bits.
TEST(max_loss_is_met_in_every_draw)
{
    autoptr(bb_results) results = driver_results(&(driver_case){
        CONFIG_AO_SMALL,
        {BARE, "pipelines=[" REFERENCE ", " ASKING("one", SCALED, "1e-4") ", " ASKING(
                   "many", "draws: 6, " SCALED,
                   "1e-4") ", " STORING("told", "draws: 6, storage: {codec: bfp, bits: "
                                                "8}") ", " STORING("rows", "draws: 6, storage: "
                                                                           "{codec: integer, "
                                                                           "bits: 8}") "]"}});
    print_message("one: %s\nmany: %s, %.2e +- %.1e\n", driver_text(results, "status_detail", "one"),
                  driver_text(results, "status_detail", "many"),
                  driver_number(results, "loss_mean", "many"),
                  driver_number(results, "loss_std", "many"));
    assert_true(driver_number(results, "draws", "many") == 6.0);
    assert_true(driver_number(results, "draws_failed", "many") == 0.0);
    assert_true(driver_number(results, "loss_worst", "many") <= 1e-4);
    assert_true(driver_number(results, "loss_worst", "many") >=
                driver_number(results, "strehl_loss", "many"));
    assert_true(driver_number(results, "loss_std", "many") > 1e-7);
    assert_true(driver_number(results, "reconstructor_bits", "many") >=
                driver_number(results, "reconstructor_bits", "one"));
    // Explicit storages have draws too, if their draws differ.
    assert_true(driver_number(results, "loss_std", "told") > 1e-7);
    assert_true(driver_number(results, "loss_std", "rows") < 1e-9);
}

// Scores of the shake test equal the scores of a study with that shake.
TEST_FULL(a_shake_test_is_a_score_beside)
{
#define SIX "storage: {codec: integer, bits: 6, rounding: sweep}"
#define SHAKEN                                                                                     \
    "pipelines=[" REFERENCE ", " STORING("slopes", SIX ", slopes: {bits: 9}") ", " STORING(        \
        "commands", "operator: commands, " SIX) "]"
    autoptr(bb_results) still = driver_results(&(driver_case){CONFIG_AO_SMALL, {SHAKEN}});
    bb_results *tested =
        driver_results(&(driver_case){CONFIG_AO_SMALL, {SHAKEN, "shake_test_arcsec=0.05"}});
    bb_results *shaken =
        driver_results(&(driver_case){CONFIG_AO_SMALL, {SHAKEN, "error_terms.shake_arcsec=0.05"}});
    static const char *const names[] = {"reference", "slopes", "commands"};
    assert_null(bb_results_find(still, "results/strehl_shaken"));
    for (int p = 0; p < 3; ++p) {
        assert_true(driver_number(tested, "strehl", names[p]) ==
                    driver_number(still, "strehl", names[p]));
        check_relative(driver_number(tested, "strehl_shaken", names[p]),
                       driver_number(shaken, "strehl", names[p]), 1e-12);
        check_close(driver_number(tested, "strehl_loss_shaken", names[p]),
                    driver_number(shaken, "strehl_loss", names[p]), 1e-12, 1.0);
    }
    assert_true(driver_number(tested, "strehl_loss_shaken", "slopes") > 1e-6);
    bb_results_destroy(&tested);
    bb_results_destroy(&shaken);
}

TEST_FULL(threads_do_not_change_a_bit)
{
    driver_check_threads(
        CASE(CONFIG_AO_SMALL,
             {"shake_test_arcsec=0.1",
              "pipelines=[" REFERENCE ", " ASKING("found", "draws: 2, " SCALED, "1e-3") ", " ASKING(
                  "commands", "operator: commands, storage: integer", "1e-3") "]"}));
}

// The plan includes the trials and their time.
TEST(plans_say_what_is_searched)
{
    static const char *const pipelines[] = {
        "pipelines=[" REFERENCE
        ", {name: told, arithmetic: dp, storage: {codec: integer, bits: 8}}]",
        "pipelines=[" REFERENCE
        ", {name: drawn, arithmetic: dp, draws: 3, storage: quantiser, max_loss: 1e-3}, "
        "{name: rates, arithmetic: dp, storage: {codec: zfp, mode: rate, dimensions: 1}, max_loss: "
        "1e-3}, {name: either, arithmetic: dp, storage: {codec: zfp, dimensions: 1}, "
        "max_loss: 1e-3}]"};
    bb_plan plans[2];
    for (int i = 0; i < 2; ++i) {
        check_ok(driver_plan(CASE(CONFIG_AO_SMALL, {pipelines[i]}), 1, &plans[i]));
    }
    const char *lines = bb_text_string(&plans[1].lines);
    assert_non_null(strstr(lines, "storage by max_loss 0.001, up to 13 trials of 3 draws"));
    assert_non_null(strstr(lines, "storage by max_loss 0.001, up to 9 trials"));
    assert_non_null(strstr(lines, "storage by max_loss 0.001, up to 22 trials"));
    assert_true(plans[1].estimated_seconds > plans[0].estimated_seconds);
    assert_true(plans[1].host_bytes > plans[0].host_bytes);
    bb_plan_release(&plans[0]);
    bb_plan_release(&plans[1]);
}

// A successful and a failed search, with allocations failing in turn.
TEST_FULL(allocations_may_fail_anywhere)
{
    autoptr(bb_config) config = driver_config(
        CASE(CONFIG_AO_SMALL,
             {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
              "wavelengths_um=[1.65]", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
              "shake_test_arcsec=0.1",
              "pipelines=[" REFERENCE ", " ASKING(
                  "found",
                  "draws: 2, operator: commands, filter: means, column_scale: remainder, storage: "
                  "{codec: bfp, rounding: sweep}",
                  "1e-2") ", " ASKING("never", "storage: integer", "1e-13") "]"}));
    bb_log_set_level(BB_LOG_QUIET);
    bb_threads_stop(); // used by earlier tests
    allocation_walk("storage search", driver_run_alone, config, 211, 20);
}

TEST_GROUP(.is_quiet = true);
