// SPDX-License-Identifier: Apache-2.0
//
// Default generator of rows, and cautions about model omissions.
#include "physics/wafer/heat/exposure.h"
#include "sim/wafer/wafer_work.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

#define ONE "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}]"
#define WHOLE                                                                                      \
    ONE, "scan.fields=all", "mesh.spacing_mm=5.0", "response.axes=[x, y]",                         \
        "response.slit_points={columns: 3, rows: 5}", "metrology={columns: 3, rows: 3}"

// rms over points of the in-plane length of `a` or of a - b, nm.
static double rms(const bb_results *a, const bb_results *b)
{
    const bb_index points = driver_dataset(a, "displacement_nm")->shape[2];
    const double *values = driver_row(a, "displacement_nm", "reference");
    const double *off = b == NULL ? NULL : driver_row(b, "displacement_nm", "reference");
    double sum = 0.0;
    for (bb_index i = 0; i < 2 * points; ++i) {
        const double e = values[i] - (off == NULL ? 0.0 : off[i]);
        sum += e * e;
    }
    return sqrt(sum / (double)points);
}

static bb_wafer_edge_loss loss_of(const driver_case *study)
{
    bb_wafer_edge_loss loss;
    autoptr(bb_config) config = driver_config(study);
    check_ok(bb_wafer_edge_loss_find(bb_config_study(config), &loss));
    return loss;
}

// Over a whole wafer the error of rows without the edge agrees with the closed-form estimate, and
// default rows include the edge.
TEST_FULL(the_default_has_the_edge)
{
    const driver_case fem = {CONFIG_WAFER_SMALL, {WHOLE, "response.generator=fem"}};
    const driver_case kernel = {CONFIG_WAFER_SMALL, {WHOLE, "response.generator=kernel"}};
    autoptr(bb_results) a = driver_results(CASE(CONFIG_WAFER_SMALL, {WHOLE}));
    autoptr(bb_results) b = driver_results(&fem);
    autoptr(bb_results) c = driver_results(&kernel);
    const bb_wafer_edge_loss loss = loss_of(&kernel);
    const double lacking = rms(c, b) / rms(b, NULL);
    print_message("whole wafer: default %.2g of rms u off fem, kernel %.3f; estimated %.3f at %.1f "
                  "mm, %td of %td points near\n",
                  rms(a, b) / rms(b, NULL), lacking, loss.part, 1e3 * loss.radius, loss.near,
                  loss.points);
    assert_true(rms(a, b) <= 0.01 * rms(b, NULL));
    assert_true(lacking > 0.3);
    assert_true(loss.part > lacking / 1.3 && loss.part < 1.3 * lacking);
    assert_true(loss.near > loss.points / 2 && loss.near < loss.points);
}

// One field near the rim and one in the middle, compared with their estimates.
TEST(estimates_are_of_the_right_size)
{
    const char *const fields[] = {"scan.fields=[40]", "scan.fields=[48]"}; // r to 136, 27 mm
    double lacking[2];
    bb_wafer_edge_loss loss[2];
    for (int f = 0; f < 2; ++f) {
        const driver_case fem = {CONFIG_WAFER_SMALL, {ONE, "response.axes=[x, y]", fields[f]}};
        const driver_case kernel = {
            CONFIG_WAFER_SMALL,
            {ONE, "response.axes=[x, y]", fields[f], "response.generator=kernel"}};
        autoptr(bb_results) a = driver_results(&fem);
        autoptr(bb_results) b = driver_results(&kernel);
        lacking[f] = rms(b, a) / rms(a, NULL);
        loss[f] = loss_of(&kernel);
    }
    print_message("at the rim %.3f, estimated %.3f; in the middle %.3f, estimated %.3f\n",
                  lacking[0], loss[0].part, lacking[1], loss[1].part);
    assert_true(loss[0].part > lacking[0] / 1.6 && loss[0].part < 1.6 * lacking[0]);
    assert_true(loss[0].near == loss[0].points && loss[1].near == 0);
    assert_true(loss[1].part < 0.03 && lacking[1] < 0.1);
}

// Run and check with overrides print `text`; NULL: neither mentions an edge.
static void expect(const char *fields, const char *generator, const char *axes, const char *text)
{
    static const char *const commands[] = {"run", "check"};
    for (int c = 0; c < 2; ++c) {
        CALL_EXPECT(0, text == NULL ? "" : text, commands[c], CONFIG_WAFER_SMALL, ONE, fields,
                    generator, axes, "-q", c == 0 ? "-o" : NULL, "edge.h5", "--force");
        if (text == NULL) {
            assert_null(strstr(run.printed, "no edge"));
        }
    }
}

// Error of a coarse mesh against one that resolves the slit: the estimate has its size.
TEST_FULL(coarse_meshes_say_what_they_cost)
{
#define FIELD                                                                                      \
    ONE, "response.axes=[x, y]", "scan.fields=[12]", "response.grid={columns: 120, rows: 118}"
    const char *const spacings[] = {"mesh.spacing_mm=1.0", "mesh.spacing_mm=2.0",
                                    "mesh.spacing_mm=4.0"};
    bb_results *results[3];
    double estimate[3];
    for (int s = 0; s < 3; ++s) {
        const driver_case test_case = {CONFIG_WAFER_SMALL, {FIELD, spacings[s]}};
        results[s] = driver_results(&test_case);
        autoptr(bb_config) config = driver_config(&test_case);
        const bb_wafer_study *study = bb_config_study(config);
        estimate[s] = 1e9 * bb_exposure_mesh_error(&study->wafer, &study->scan,
                                                   1e-3 * study->mesh.spacing_mm);
    }
    for (int s = 1; s < 3; ++s) {
        const double error = rms(results[s], results[0]);
        print_message("mesh %d: %.3f nm off, estimated %.3f\n", s, error, estimate[s]);
        assert_true(estimate[s] > error / 2.0 && estimate[s] < 2.0 * error);
    }
    for (int s = 0; s < 3; ++s) {
        bb_results_destroy(&results[s]);
    }
    CALL_EXPECT(0, "mesh.spacing_mm = 1.7 is coarser than scan.slit_width_mm = 1.6: about 0.12 nm",
                "check", CONFIG_WAFER_SMALL, "mesh.spacing_mm=1.7");
    CALL_EXPECT(0, "thermal", "check", CONFIG_WAFER_SMALL, "mesh.spacing_mm=1.6");
    assert_null(strstr(run.printed, "coarser"));
}

TEST_FULL(users_are_told)
{
    const char *plane = "response.generator=kernel";
    const char *fem = "response.generator=fem";
    expect("scan.fields=[40]", plane, "response.axes=[x, y]",
           "response.generator kernel ignores the edge of the wafer: 35 of 35 scored points lie "
           "within "
           "2 l_s = 73.4 mm of it. At the outermost, r = 135.8 mm, about 37 % of the displacement "
           "in x and y is missing; generator fem");
    expect("scan.fields=[40]", plane, "response.axes=[x, y, z]",
           "about 37 % of the displacement in x and y is missing, up to about 15 % of the height");
    expect("scan.fields=[40]", fem, "response.axes=[x, y]", NULL);
    expect("scan.fields=[48]", plane, "response.axes=[x, y, z]", NULL);
    expect("scan.fields=[40]", "response.generator=plate", "response.axes=[x, y, z]", NULL);
}

// Overlay uses x and y: a height without edge is stated by check, without a warning in run.
TEST(a_height_without_edge_is_no_warning)
{
    static const char *const commands[] = {"run", "check"};
    for (int c = 0; c < 2; ++c) {
        CALL(commands[c], CONFIG_WAFER_SMALL, ONE, "scan.fields=[40]", "response.generator=fem",
             "response.axes=[x, y, z]", c == 0 ? "-o" : NULL, "height.h5", "--force");
        program_expect(
            &run, 0,
            "axis z of response.generator fem uses the kernel, which ignores the edge of "
            "the wafer: 35 of 35");
        assert_null(strstr(run.printed, "warning: axis z"));
    }
}

// A wafer without expansion has no errors: no caution, and no 0 / 0 in one.
TEST(rows_of_a_wafer_that_does_not_expand_lack_nothing)
{
    static const char *const commands[] = {"run", "check"};
    for (int c = 0; c < 2; ++c) {
        CALL_OK(commands[c], CONFIG_WAFER_SMALL, ONE, "scan.fields=[40]",
                "response.generator=kernel", "wafer.expansion_per_k=0", "mesh.spacing_mm=2.0",
                c == 0 ? "-o" : NULL, "still.h5", "--force");
        assert_null(strstr(run.printed, "no edge"));
        assert_null(strstr(run.printed, "coarser"));
        assert_null(strstr(run.printed, "nan %"));
    }
}

// `run` and `check` refuse the overrides with the same message.
static void expect_refused(const char *const overrides[4], const char *words)
{
    static char said[PROGRAM_OUTPUT_BYTES];
    for (int c = 0; c < 2; ++c) {
        CALL_EXPECT(2, words, c == 0 ? "run" : "check", CONFIG_WAFER_SMALL, "-q", "-o",
                    "refused.h5", overrides[0], overrides[1], overrides[2], overrides[3]);
        if (c == 1) {
            assert_string_equal(run.printed, said);
        }
        memcpy(said, run.printed, sizeof said);
    }
}

// Steps unstable for the wafer's exchange are refused by check and run.
TEST(steps_are_refused_alike)
{
#define WORDS ": explicit steps are unstable above that on a mesh of 3 mm, because of clamp"
    static const struct {
        const char *overrides[4];
        const char *words;
    } cases[] = {
        {{"clamp.thickness_mm=0.1", "clamp.exchange_w_per_m2_k=1e5", "mesh.step_ms=5"},
         "time step = 5 ms, expected above 0 and at most 1.97 ms" WORDS},
        {{"clamp.thickness_mm=0.1", "clamp.exchange_w_per_m2_k=1e5", "mesh.step_ms=5",
          "mesh.substeps=2"},
         "time step = 2.5 ms, expected above 0 and at most 1.97 ms" WORDS},
        {{"ring={width_mm: 9.0, gap_exchange_w_per_m2_k: 1e5}", "mesh.step_ms=40"},
         "time step = 40 ms, expected above 0 and at most "},
        {{"mesh.through_thickness=two_mode", "clamp.exchange_w_per_m2_k=1e5", "mesh.step_ms=10",
          "response.axes=[x, y]"},
         "time step = 10 ms, expected above 0 and at most "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        expect_refused(cases[i].overrides, cases[i].words);
    }
    CALL_EXPECT(0, "thermal", "check", CONFIG_WAFER_SMALL, "clamp.thickness_mm=0.1",
                "clamp.exchange_w_per_m2_k=1e5", "mesh.step_ms=1.96");
}

// A plate without burls has no support: check and run refuse it with the same message.
TEST(a_wafer_on_no_burl_is_refused)
{
#define BURLS "clamp.burls={pitch_mm: 5.0, footprint_mm: 1.0, missing_fraction: "
    static const char *const none[4] = {"response.generator=plate", BURLS "0.9999999}"};
    expect_refused(none, "clamp.burls: all burls under the wafer are missing");
    CALL_EXPECT(0, "plate", "check", CONFIG_WAFER_SMALL, "response.generator=plate", BURLS "0.5}");
}

// T of Equations 3 and 4 equals the size of the thermal model in a run, with ring and two modes,
// too.
TEST(a_plan_counts_what_a_run_has)
{
    static const char *const overrides[][3] = {
        {"response.axes=[x, y]", NULL, NULL},
        {"response.axes=[x, y]", "ring.width_mm=9.0", "mesh.through_thickness=two_mode"},
    };
    for (int c = 0; c < 2; ++c) {
        autoptr(bb_wafer_problem) problem = NULL;
        autoptr(bb_config) config = driver_config(
            CASE(CONFIG_WAFER_SMALL, {overrides[c][0], overrides[c][1], overrides[c][2]}));
        const bb_wafer_config physics = bb_wafer_study_physics(bb_config_study(config));
        check_ok(bb_wafer_problem_create_heat(&physics, &problem));
        CALL_EXPECT(0, " ms: T ", "check", CONFIG_WAFER_SMALL, overrides[c][0], overrides[c][1],
                    overrides[c][2]);
        const double unknowns = strtod(strstr(run.printed, " ms: T ") + 7, NULL);
        assert_int_equal((bb_index)unknowns, problem->thermal->size);
    }
}

static int begin(void)
{
    bb_log_set_level(BB_LOG_QUIET);
    return 0;
}

TEST_GROUP(.begin = begin, .has_folder = true);
