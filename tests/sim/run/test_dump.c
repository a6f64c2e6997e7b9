// SPDX-License-Identifier: Apache-2.0
//
// Round trips: files written by --dump give the same results as inputs, bit for bit.
#include "core/stage.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_file.h"
#include "sim/output/reader.h"
#include "sim/run/dump.h"
#include "tests/sim/dumped.h"

#include <sys/stat.h>

// Results of the last run, which must succeed.
static bb_results *results_in(const char *file)
{
    bb_results *results = NULL;
    program_expect(&run, 0, "results: ");
    check_ok(bb_reader_read(file, &results));
    return results;
}

// Writes rows and inputs of a wafer to "rows.h5".
static int enter_with_rows(void)
{
    check_ok(bb_hdf5_library_start());
    CALL("run", CONFIG_WAFER_SMALL, "-q", "-o", "rows.h5", "--dump", "rows,inputs");
    return run.code;
}

TEST(lists_are_held_to_the_offer)
{
    check_ok(bb_dump_check(NULL, NULL));
    check_ok(bb_dump_check("Cmm,R", "Cmm,Ctm,R"));
    check_fails(bb_dump_check("Cm", "Cmm,Ctm"), BB_INVALID, "'Cm' is not one of");
    check_fails(bb_dump_check("R,,Cmm", "Cmm,R"), BB_INVALID, "'' is not one of");
    check_fails(bb_dump_check("R", NULL), BB_INVALID, "none");
    assert_true(bb_dump_wanted("Cmm,R", "R"));
    assert_false(bb_dump_wanted("Cmm,Rx", "R"));
    assert_false(bb_dump_wanted(NULL, "R"));
}

// Checks that rows of rows.h5 refused by a run are refused by check with the same message.
static void check_agrees(const char *override, int code, const char *words)
{
    static const char *const commands[] = {"run", "check"};
    static char said[sizeof run.printed];
    for (int c = 0; c < 2; ++c) {
        CALL_EXPECT(code, words, commands[c], CONFIG_WAFER_SMALL, "response.generator=file",
                    "response.file=rows.h5", override, "-q", "-o", "refused.h5");
        if (c == 1) {
            assert_string_equal(run.printed, said);
        }
        memcpy(said, run.printed, sizeof said);
    }
}

TEST_FULL(wafer_rows_round_trip)
{
    autoptr(bb_results) made = read_results("rows.h5");
    CALL("run", CONFIG_WAFER_SMALL, "response.generator=file", "response.file=rows.h5", "-q", "-o",
         "again.h5");
    autoptr(bb_results) read = results_in("again.h5");
    assert_null(strstr(run.printed, "made for another study"));
    check_same_digest(made, read);
    CALL_EXPECT(2, "dataset '/operators/C_x_0'", "run", CONFIG_WAFER_SMALL,
                "response.generator=file", "response.file=rows.h5", "response.grid.columns=41",
                "-q", "-o", "other.h5");
    check_agrees("response.grid.columns=41", 2, "slit points of a field x ");
    check_agrees("response.grid={columns: 37, rows: 40}", 2, "expected the 37 columns of resp");
    check_agrees("scan.fields=[1]", 3, "no dataset '/operators/C_x_1'");
    check_agrees("scan.fields=[0, 3]", 3, "no dataset '/operators/C_x_3'");
    CALL_EXPECT(3, "'nowhere.h5': No such file", "check", CONFIG_WAFER_SMALL,
                "response.generator=file", "response.file=nowhere.h5");
    assert_int_not_equal(access("other.h5", F_OK), 0);
}

// Largest difference of two operators of one shape, read row by row; the second in two unequal
// parts of a row.
static double largest_difference(const char *plain, const char *stored, const char *dataset)
{
    autoclose(bb_matrix_file) one = opened(plain, dataset);
    autoclose(bb_matrix_file) two = opened(stored, dataset);
    const bb_matrix_source *a = bb_matrix_file_source(one);
    const bb_matrix_source *b = bb_matrix_file_source(two);
    double largest = 0.0;
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    autofree double *values = new_array(double, 2 * a->columns);
    double *others = values + a->columns;
    for (bb_index row = 0; row < a->rows; ++row) {
        const bb_index part = 1 + row * 7 % (a->columns - 1);
        check_ok(bb_matrix_source_fill(a, row, 0, bb_view_matrix(values, 1, a->columns)));
        check_ok(bb_matrix_source_fill(b, row, 0, bb_view_matrix(others, 1, part)));
        check_ok(bb_matrix_source_fill(b, row, part,
                                       bb_view_matrix(others + part, 1, a->columns - part)));
        for (bb_index j = 0; j < a->columns; ++j) {
            largest = fmax(largest, fabs(values[j] - others[j]));
        }
    }
    return largest;
}

// Rows in zfp by HDF5's plugin: within the tolerance, smaller, and valid as input.
TEST_FULL(rows_in_zfp_round_trip)
{
    if (!bb_hdf5_library_has_zfp()) {
        print_message("skipped: no hdf5-filter-plugin-zfp-serial\n");
        skip();
    }
    struct stat plain;
    struct stat stored;
    CALL("run", CONFIG_WAFER_SMALL, "dump.filter=zfp", "dump.tolerance_m_per_k=1e-14", "-q", "-o",
         "zfp.h5", "--dump", "rows");
    autoptr(bb_results) made = results_in("zfp.h5");
    CALL("run", CONFIG_WAFER_SMALL, "response.generator=file", "response.file=zfp.h5", "-q", "-o",
         "from_zfp.h5");
    autoptr(bb_results) read = results_in("from_zfp.h5");
    double error = largest_difference("rows.h5", "zfp.h5", "/operators/C_x_0");
    assert_int_equal(stat("rows.h5", &plain), 0);
    assert_int_equal(stat("zfp.h5", &stored), 0);
    print_message("error %.2e of a tolerance of 1e-14, %.2f MB for %.2f MB\n", error,
                  1e-6 * (double)stored.st_size, 1e-6 * (double)plain.st_size);
    assert_true(error > 0.0 && error <= 1e-14);
    assert_true(2 * stored.st_size < plain.st_size);
    // The loss of the rows changes the reference's overlay by as little.
    double one = driver_row(made, "overlay_x_nm", "reference")[0];
    double two = driver_row(read, "overlay_x_nm", "reference")[0];
    check_relative(two, one, 1e-3);
    assert_true(one != two);
    // The same number of cells on another mesh is refused.
    CALL_EXPECT(2, "grid rows of 40 cells, expected the 37 of response.grid", "run",
                CONFIG_WAFER_SMALL, "response.generator=file", "response.file=zfp.h5",
                "response.grid={columns: 37, rows: 40}", "-q", "-o", "turned.h5");
}

// Without the plugin a run that needs it ends before it computes, and names the package.
TEST(without_the_plugin_the_package_is_named)
{
    (void)setenv("HDF5_PLUGIN_PATH", "/nonexistent", 1);
    CALL_EXPECT(3, "hdf5-filter-plugin-zfp-serial", "run", CONFIG_WAFER_SMALL, "dump.filter=zfp",
                "-q", "-o", "none.h5", "--dump", "rows");
    if (access("zfp.h5", F_OK) == 0) {
        CALL_EXPECT(3, "hdf5-filter-plugin-zfp-serial", "run", CONFIG_WAFER_SMALL,
                    "response.generator=file", "response.file=zfp.h5", "-q", "-o", "none.h5");
    }
    (void)unsetenv("HDF5_PLUGIN_PATH");
    assert_int_not_equal(access("none.h5", F_OK), 0);
}

// The rows of the wafer study without its physics, on its own inputs.
TEST(a_product_study_takes_them)
{
    write_text("product.yaml",
               "experiment: product\n"
               "matrix: {file: rows.h5, dataset: /operators/C_y_2}\n"
               "inputs: {file: rows.h5, dataset: /operators/S_2}\n"
               "layout: {mesh_columns: 40, row_columns: 6}\n"
               "pipelines:\n"
               "  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}\n"
               "  - {name: fp32, storage: fp32, multiply: fp32, accumulate: fp64}\n"
               "  - {name: bfp8, storage: {codec: bfp, bits: 8}, multiply: fp32, "
               "accumulate: fp64}\n"
               "  - {name: zfp, storage: {codec: zfp, mode: accuracy, tolerance_of_range: 1.0e-4, "
               "dimensions: 4}, multiply: fp32, accumulate: fp64}\n");
    CALL("run", "product.yaml", "-q", "-o", "product.h5");
    autoptr(bb_results) results = results_in("product.h5");
    assert_true(driver_number(results, "qoi_relative_error", "reference") == 0.0);
    double fp32 = driver_number(results, "qoi_relative_error", "fp32");
    double bfp8 = driver_number(results, "qoi_relative_error", "bfp8");
    double zfp = driver_number(results, "qoi_relative_error", "zfp");
    print_message("errors fp32 %.1e, bfp8 %.1e, zfp %.1e\n", fp32, bfp8, zfp);
    assert_true(fp32 > 0.0 && fp32 < 1e-6);
    assert_true(bfp8 > fp32 && bfp8 < 1e-2);
    assert_true(zfp > fp32 && zfp < 1e-2);
    assert_true(driver_number(results, "worst_relative_error", "bfp8") >= bfp8);
    assert_true(driver_number(results, "bits_per_value", "fp32") == 32.0);
    CALL_EXPECT(0, "matrix", "check", "product.yaml");
    CALL_EXPECT(3, "no dataset '/operators/C_q'", "run", "product.yaml",
                "matrix.dataset=/operators/C_q", "-o", "none.h5");
}

// Draw 0 equals the study without draws; the others are of similar size, and equal for fp64.
TEST(a_product_study_has_draws)
{
    CALL("run", "product.yaml", "-q", "-o", "one.h5");
    autoptr(bb_results) once = results_in("one.h5");
    CALL("run", "product.yaml", "pipelines.0.draws=5", "pipelines.2.draws=5", "-q", "-o",
         "five.h5");
    autoptr(bb_results) again = results_in("five.h5");
    double loss = driver_number(once, "qoi_relative_error", "bfp8");
    assert_true(driver_number(again, "qoi_relative_error", "bfp8") == loss);
    assert_true(driver_number(once, "loss_worst", "bfp8") == loss);
    assert_true(driver_number(again, "loss_worst", "bfp8") >= loss);
    check_relative(driver_number(again, "loss_mean", "bfp8"), loss, 0.5);
    assert_true(driver_number(again, "loss_std", "bfp8") > 0.0);
    assert_true(driver_number(again, "draws", "bfp8") == 5.0);
    assert_true(driver_number(again, "loss_worst", "reference") < 1e-12);
}

// A scale in the reference's own storage does not change the matrix.
TEST(a_scaled_reference_is_the_same_matrix)
{
    static const char *const names[] = {"qoi_relative_error", "rmse"};
    static const char *const pipelines[] = {"fp32", "bfp8", "zfp"};
    CALL("run", "product.yaml", "-q", "-o", "plain.h5");
    autoptr(bb_results) once = results_in("plain.h5");
    CALL("run", "product.yaml", "pipelines.0.scale=row", "-q", "-o", "scaled.h5");
    autoptr(bb_results) again = results_in("scaled.h5");
    for (int n = 0; n < 2; ++n) {
        for (int p = 0; p < 3; ++p) {
            assert_true(driver_number(again, names[n], pipelines[p]) ==
                        driver_number(once, names[n], pipelines[p]));
        }
    }
}

// Checked before anything is computed.
TEST(a_layout_that_does_not_fit_is_refused_by_check)
{
    static const struct {
        const char *key, *words;
    } wrong[] = {
        {"layout.mesh_columns=0", "pipeline zfp: zfp in 4 dimensions needs columns on a mesh"},
        {"layout.row_columns=5", "pipeline reference: a grid of 5 across does not divide"},
        {"inputs.dataset=/operators/none", "no dataset '/operators/none'"},
        {"inputs.dataset=/operators/C_y_2_row", "expected rows and columns"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        CALL("check", "product.yaml", wrong[i].key);
        program_expect(&run, i == 2 ? 3 : 2, wrong[i].words);
    }
    CALL_EXPECT(2, "one of the operators of this experiment: Y,C", "check", "product.yaml",
                "--dump", "R");
}

// Covariances of an ao study without its physics: the same factor and the same reconstructor.
TEST(a_reconstructor_study_takes_covariances)
{
    CALL("run", CONFIG_AO_SMALL, "solver.lgs_tilt=constant_block", "-q", "-o", "ao.h5", "--dump",
         "Cmm,Ctm,Ctt,R");
    autoptr(bb_results) made = results_in("ao.h5");
    write_text("reconstructor.yaml",
               "experiment: reconstructor\n"
               "covariance: {file: ao.h5, dataset: /operators/Cmm}\n"
               "cross_covariance: {file: ao.h5, dataset: /operators/Ctm_0}\n"
               "truth_covariance: {file: ao.h5, dataset: /operators/Ctt_0}\n"
               "solver: {tile: 32}\n"
               "pipelines:\n"
               "  - {name: reference, arithmetic: dp}\n"
               "  - {name: sp, arithmetic: sp}\n"
               "  - {name: hp1, arithmetic: hp1, policy: {kind: band, width: 1, inside: sp}}\n");
    CALL("run", "reconstructor.yaml", "machine.price_usd=1e9", "-q", "-o", "reconstructor.h5");
    autoptr(bb_results) read = results_in("reconstructor.h5");
    double sp = driver_number(read, "qoi_relative_error", "sp");
    double hp1 = driver_number(read, "qoi_relative_error", "hp1");
    print_message("errors of R: sp %.1e, hp1 %.1e; of variance: %.1e, %.1e\n", sp, hp1,
                  driver_number(read, "variance_loss", "sp"),
                  driver_number(read, "variance_loss", "hp1"));
    assert_true(driver_number(read, "qoi_relative_error", "reference") == 0.0);
    assert_true(sp > 0.0 && sp < 1e-2 && hp1 > sp);
    // The residual is smallest for the exact reconstructor, and second order in its error.
    double loss = driver_number(read, "variance_loss", "hp1");
    assert_true(loss > 0.0 && loss < hp1);
    assert_true(driver_number(read, "residual_trace", "reference") > 0.0);
    const double cost = driver_number(read, "cost_usd", "hp1");
    check_close(cost, driver_number(read, "wall_s", "hp1") * 1e9 / (5.0 * 365.25 * 86400.0), 1e-12,
                cost);
    CALL_EXPECT(2, "expected a square matrix", "run", "reconstructor.yaml",
                "covariance.dataset=/operators/Ctm_0", "-o", "x.h5");
    assert_int_equal(
        system("cp ao.h5 mixed.h5 && /usr/bin/python3 -c \"import h5py\n"
               "h5py.File('mixed.h5','r+')['operators/Ctm_0'].attrs['units']='nm^2'\""),
        0);
    CALL_EXPECT(
        2, "'mixed.h5', dataset '/operators/Ctm_0': values in nm^2, other datasets in arcsec^2",
        "check", "reconstructor.yaml", "cross_covariance.file=mixed.h5");
}

static void read_operator(const char *file, const char *dataset, bb_index *items, double **out)
{
    const bb_matrix_place place = {file, dataset};
    autoclose(bb_matrix_file) opened = NULL;
    check_ok(bb_matrix_file_open(&place, false, "R", &opened));
    const bb_matrix_source *source = bb_matrix_file_source(opened);
    *items = source->rows * source->columns;
    check_ok(BB_ALLOCATE(*items, out));
    check_ok(bb_matrix_source_load(source, *out));
}

// The two parts of nx456 as inputs give the same R, also for hp2, for which the sum of the parts
// fails with tiles that divide a sensor's slopes.
TEST(a_low_rank_part_stays_out_of_narrow_formats)
{
    static const char pipelines[] =
        "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]";
    double *r[2] = {NULL};
    bb_index items = 0;
    CALL("run", CONFIG_NX456, pipelines, "device=cpu", "-q", "-o", "parts.h5", "--dump",
         "Cmm,Cmm_core,Ctm,Ctt,R");
    autoptr(bb_results) first = results_in("parts.h5");
    write_text("parts.yaml", "experiment: reconstructor\nseed: 1\ndevice: cpu\n"
                             "covariance: {file: parts.h5, dataset: /operators/Cmm}\n"
                             "cross_covariance: {file: parts.h5, dataset: /operators/Ctm_0}\n"
                             "truth_covariance: {file: parts.h5, dataset: /operators/Ctt_0}\n"
                             "solver: {tile: 76}\n"
                             "pipelines:\n  - {name: reference, arithmetic: dp}\n");
    CALL("run", "parts.yaml", pipelines, "covariance.dataset=/operators/Cmm_core",
         "low_rank={file: parts.h5, dataset: /operators/Cmm_low_rank, weights: "
         "/operators/Cmm_weights}",
         "-q", "-o", "rejoined.h5", "--dump", "R");
    autoptr(bb_results) again = results_in("rejoined.h5");
    assert_string_equal(driver_text(first, "status", "hp2"), "ok");
    assert_string_equal(driver_text(again, "status", "hp2"), "ok");
    for (int p = 0; p < 2; ++p) {
        const char *dataset = p == 0 ? "/operators/R_0_0" : "/operators/R_1_0";
        read_operator("parts.h5", dataset, &items, &r[0]);
        read_operator("rejoined.h5", dataset, &items, &r[1]);
        assert_int_equal(items, 152 * 912);
        assert_memory_equal(r[0], r[1], (size_t)items * sizeof(double));
        BB_RELEASE(&r[0]);
        BB_RELEASE(&r[1]);
    }
    // Trace of Cee by the numpy implementation (docs/lab/physics-ao.md, 3.5).
    check_relative(driver_number(again, "residual_trace", "reference"), 0.00972807438, 1e-5);
    double loss = driver_number(again, "variance_loss", "hp2");
    assert_true(loss > 0.0 && loss < 0.01);
    CALL("run", "parts.yaml", pipelines, "solver.tile=128", "-q", "-o", "undivided.h5");
    autoptr(bb_results) lost = results_in("undivided.h5");
    assert_string_equal(driver_text(lost, "status", "hp2"), "not_spd");
    check_relative(driver_number(lost, "residual_trace", "reference"), 0.00972807438, 1e-5);
}

// A reconstructor with a NaN would be refused when the file is read back, and the run would be
// lost.
TEST(failed_pipelines_give_no_reconstructor)
{
    const bb_run_options options = {.threads = 1, .dump = "R"};
    autoptr(bb_config) config = driver_config(CASE(CONFIG_AO_SMALL, {NULL}));
    autoptr(bb_results) results = empty_results();
    bb_stage_plant("reconstructor", NAN, 7);
    const bb_experiment *experiment = bb_experiment_find(&bb_experiments, "ao");
    check_ok(experiment->run(bb_config_study(config), &options, results));
    bb_stage_plant(NULL, 0.0, 0);
    assert_string_equal(driver_text(results, "status", "reference"), "non_finite");
    assert_true(bb_results_operator_count(results) > 0);
    for (bb_index i = 0; i < bb_results_operator_count(results); ++i) {
        assert_string_not_equal(bb_results_operator_at(results, i)->name, "R_0_0");
    }
}

// Limits the size of files to emulate a full disk at every part of the file.
TEST(a_full_disk_is_the_disks_fault)
{
    const char *const arguments[PROGRAM_ARGUMENTS] = {"run",     CONFIG_AO_SMALL, "-q",     "-o",
                                                      "full.h5", "--force",       "--dump", "Cmm"};
    struct stat about;
    struct rlimit usual;
    program_call(arguments, &run);
    bb_results *results = results_in("full.h5");
    bb_results_destroy(&results);
    assert_int_equal(stat("full.h5", &about), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    (void)unlink("full.h5");
    for (int part = 0; part < 8; ++part) {
        struct rlimit small = usual;
        // From two thirds up: a limit below the size of the results is refused before the run.
        small.rlim_cur = (rlim_t)about.st_size - (rlim_t)about.st_size * (unsigned)part / 24 - 1;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        program_call(arguments, &run);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
        program_expect(&run, 3, "cannot write");
        assert_int_not_equal(access("full.h5", F_OK), 0);
    }
}

// The annulus is read back as a mask: the same subapertures (5 and 6 lenslets, none cut near its
// centre), pupil and results.
TEST_FULL(the_pupil_round_trips)
{
    CALL("run", CONFIG_AO_SMALL, "telescope.obstruction=0.2", "-q", "-o", "annulus.h5", "--dump",
         "pupil");
    autoptr(bb_results) made = results_in("annulus.h5");
    CALL("run", CONFIG_AO_SMALL, "telescope.obstruction=0.2", "telescope.pupil.file=annulus.h5",
         "-q", "-o", "mask.h5", "--dump", "pupil");
    autoptr(bb_results) read = results_in("mask.h5");
    check_same_digest(made, read);
}

TEST(unknown_operators_are_refused_before_the_run)
{
    CALL_EXPECT(2, "'Cmm' is not one of the operators of this experiment: rows,inputs", "run",
                CONFIG_WAFER_SMALL, "--dump", "Cmm", "-o", "never.h5");
}

TEST_GROUP(.begin = enter_with_rows, .has_folder = true);
