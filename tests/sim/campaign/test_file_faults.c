// SPDX-License-Identifier: Apache-2.0
//
// Failing allocations in file operations: writing results with operators, opening a matrix
// (including the process that inspects it), and studies with a user's matrices and inputs. Each
// gives a memory error and leaks nothing; no final or temporary file remains.
#include "core/file.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_file.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"

#include <dirent.h>

// Long shear lags keep the kernel tables short.
#define WAFER_TINY                                                                                 \
    "mesh.spacing_mm=10.0",                                                                        \
        "clamp={spacing_mm: 10.0, tangential_stiffness_n_per_m3: 1.0e+9, "                         \
        "normal_stiffness_n_per_m3: 1.0e+4}",                                                      \
        "scan={fields: [1], light_steps: 2, dark_steps: 1}", "metrology={columns: 2, rows: 2}",    \
        "response.grid={columns: 8, rows: 7}", "response.slit_points={columns: 2, rows: 3}",       \
        "response.axes=[x, y]",                                                                    \
        "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}]"

static const driver_case wafer = {CONFIG_WAFER_SMALL, {WAFER_TINY}};
static const driver_case wafer_again = {
    CONFIG_WAFER_SMALL, {WAFER_TINY, "response.generator=file", "response.file=rows.h5"}};
static const driver_case product = {BB_SOURCE_DIR "/tests/configs/small/product.yaml",
                                    {"matrix={file: rows.h5, dataset: /operators/C_y_1}",
                                     "layout={mesh_columns: 8, row_columns: 2}"}};
static const driver_case product_on_inputs = {BB_SOURCE_DIR "/tests/configs/small/product.yaml",
                                              {"matrix={file: rows.h5, dataset: /operators/C_y_1}",
                                               "layout={mesh_columns: 8, row_columns: 2}",
                                               "inputs={file: rows.h5, dataset: /operators/S_1}"}};

static const driver_case ao = {CONFIG_AO_SMALL,
                               {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
                                "wavelengths_um=[1.65]", "score=stationary",
                                "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
                                "pipelines=[{name: reference, arithmetic: dp}]"}};
static const driver_case reconstructor = {
    BB_SOURCE_DIR "/tests/configs/small/reconstructor.yaml",
    {"covariance.file=ao.h5", "cross_covariance.file=ao.h5", "truth_covariance.file=ao.h5"}};

// Checks that the folder contains only the inputs of this test.
static void check_no_file(void)
{
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        bool known = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                     strcmp(entry->d_name, "rows.h5") == 0 || strcmp(entry->d_name, "ao.h5") == 0;
        if (!known) {
            print_error("'%s' is left behind\n", entry->d_name);
            fail();
        }
    }
    (void)closedir(folder);
}

// Runs a study with its operators, like `run --dump NAMES`.
static bb_status run_and_dump(const bb_config *config, bb_results **out)
{
    bb_status status = BB_OK;
    autoptr(bb_results) results = NULL;
    const bb_experiment *experiment =
        bb_experiment_find(&bb_experiments, bb_config_schema(config)->name);
    bool covariances = strcmp(experiment->name, "ao") == 0;
    const bb_run_options options = {.threads = 1,
                                    .dump = covariances ? "Cmm,Ctm,Ctt,R" : "rows,inputs"};
    *out = NULL;
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_results_note(results, "", "source", "bitbudget of a test"));
    BB_TRY(experiment->run(bb_config_study(config), &options, results));
    *out = results;
    results = NULL;
done:
    return status;
}

static bb_status whole_run(void *context)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    BB_TRY(run_and_dump(context, &results));
    BB_TRY(bb_file_write_by("run.h5", false, fixture_write, results));
done:
    bb_results_destroy(&results);
    if (status == BB_OK) {
        assert_int_equal(unlink("run.h5"), 0);
        // Only syncing the folder may fail without an error: the file is complete by then.
        status = bb_memory_failure_happened() ? BB_MEMORY : BB_OK;
    }
    check_no_file();
    return status;
}

static void walk_in(bb_index stride, const char *what, const driver_case *study,
                    allocation_task task, bb_index minimum)
{
    autoptr(bb_config) config = driver_config(study);
    allocation_walk(what, task, config, stride, minimum);
}

static void walk(const char *what, const driver_case *study, allocation_task task, bb_index minimum)
{
    walk_in(1, what, study, task, minimum);
}

TEST_FULL(runs_with_operators)
{
    walk("wafer with --dump, to the file", &wafer, whole_run, 300);
    // test_driver_faults walks the driver with smaller strides; this test is for the file output.
    walk_in(7, "ao with --dump, to the file", &ao, whole_run, 50);
}

// A dataset to open; if `symmetric`, the matrix is symmetric.
typedef struct opening {
    const char *dataset;
    bool symmetric;
} opening;

static bb_status open_and_load(void *context)
{
    bb_status status = BB_OK;
    const opening *what = context;
    const bb_matrix_place place = {"rows.h5", what->dataset};
    autoclose(bb_matrix_file) file = NULL;
    autofree double *values = NULL;
    BB_TRY(bb_matrix_file_open(&place, what->symmetric, "C", &file));
    const bb_matrix_source *source = bb_matrix_file_source(file);
    BB_TRY(BB_ALLOCATE(source->rows * source->columns, &values));
    BB_TRY(bb_matrix_source_load(source, values));
done:
    return status;
}

TEST(opening_a_matrix)
{
    opening rows = {"/operators/C_x_1", false};
    opening covariance = {"/operators/even", true};
    allocation_walk("matrix", open_and_load, &rows, 1, 4);
    allocation_walk("symmetric matrix", open_and_load, &covariance, 1, 6);
}

static bb_status plan_loaded(void *context)
{
    const bb_run_options options = {.threads = 1};
    autorelease(bb_plan) plan = {0};
    const bb_experiment *experiment =
        bb_experiment_find(&bb_experiments, bb_config_schema(context)->name);
    bb_status status = experiment->plan(bb_config_study(context), &options, &plan);
    return status;
}

TEST_FULL(studies_on_matrices)
{
    walk("product", &product, driver_run_alone, 100);
    walk("product on inputs", &product_on_inputs, driver_run_alone, 100);
    walk("reconstructor", &reconstructor, driver_run_alone, 100);
    walk("plan of a product", &product, plan_loaded, 4);
    walk("wafer on rows from a file", &wafer_again, driver_run_alone, 300);
    walk("plan of wafer", &wafer, plan_loaded, 4);
}

static bb_status write_covariances(const bb_config *config)
{
    bb_status status = BB_OK;
    autoptr(bb_results) results = NULL;
    BB_TRY(run_and_dump(config, &results));
    BB_TRY(bb_file_write_by("ao.h5", false, fixture_write, results));
done:
    return status;
}

// Writes rows and inputs of the run, and a symmetric matrix.
static bb_status write_rows(const bb_config *config)
{
    bb_status status = BB_OK;
    static double even[5 * 5];
    autoptr(bb_results) results = NULL;
    for (int i = 0; i < 25; ++i) {
        even[i] = 1.0 / (1.0 + abs(i / 5 - i % 5));
    }
    const bb_view view = bb_view_matrix(even, 5, 5);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "C", "1");
    BB_TRY(run_and_dump(config, &results));
    BB_TRY(bb_results_operator(results, "even", "for a test", &source));
    BB_TRY(bb_file_write_by("rows.h5", false, fixture_write, results));
done:
    return status;
}

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    autoptr(bb_config) config = driver_config(&wafer);
    check_ok(write_rows(config));
    bb_config_destroy(&config);
    check_ok(driver_load(&ao, &config));
    check_ok(write_covariances(config));
    return 0;
}

TEST_GROUP(.begin = begin, .has_folder = true, .is_quiet = true);
