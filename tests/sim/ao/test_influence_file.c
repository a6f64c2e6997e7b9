// SPDX-License-Identifier: Apache-2.0
//
// Influence functions of mirrors from user files, through the driver: sampled Gaussians reproduce
// the Strehl ratios of analytic ones; an asymmetric mirror; plans; error messages.
#include "sim/ao/ao_input.h"
#include "sim/ao/realtime/ao_realtime.h"
#include "sim/input/hdf5_library.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/ao/keeping.h"
#include "tests/sim/program.h"

#define CONFIG  BB_SOURCE_DIR "/tests/configs/small/mcao.yaml"
#define ALONE   "pipelines=[{name: reference, arithmetic: dp}]"
#define KEYS(x) "mirrors=[{height_m: 0.0}, {height_m: 11000.0, influence: {" x "}}]"

enum { DIRECTIONS = 5 };

// By numpy: the two mirrors of the study on finer and finer grids, 'oblong' and 'transposed'
// without symmetry, and invalid files.
static const char script[] =
    "import h5py, numpy as n\n"
    "corners = [(i, j) for j in range(11) for i in range(11)\n"
    "           if 0.1 < n.hypot(i / 5 - 1, j / 5 - 1) < 1.14]\n"
    "ground = [(0.8 * i - 4, 0.8 * j - 4) for i, j in corners]\n"
    "radius = 4 + 11000 * 20 * n.pi / 648000 + 0.56\n"
    "high = [(0.8 * i, 0.8 * j) for j in range(-8, 9) for i in range(-8, 9)\n"
    "        if n.hypot(0.8 * i, 0.8 * j) <= radius]\n"
    "def gauss(places, half, step, xx=1, yy=1, xy=0, peak=1e-6):\n"
    "    m = int(n.ceil(half / step))\n"
    "    x = step * n.arange(-m, m + 1)\n"
    "    u = [[x - a, (x - b)[:, None]] for a, b in places]\n"
    "    k = n.log(0.2) / 0.64\n"
    "    return n.array([peak * n.exp(k * (xx * p * p + yy * q * q + xy * p * q)) for p, q in u])\n"
    "f = h5py.File('dm.h5', 'w')\n"
    "def put(name, cube, step=None, **attributes):\n"
    "    f[name] = cube\n"
    "    f[name].attrs.update({'spacing_m': step, **attributes} if step else attributes)\n"
    "for step in (0.4, 0.2, 0.1, 0.05):\n"
    "    put('high%g' % step, gauss(high, 5.1, step), step)\n"
    "put('ground', gauss(ground, 4.0, 0.05), 0.05)\n"
    "fine = f['high0.1'][:]\n"
    "put('micrometres', 1e6 * fine, 0.1, units=n.bytes_('um/V'))\n"
    "put('bare', fine)\n"
    "turned = gauss(high[:40], 5.1, 0.2, 0.4, 1.5, 0.3, 2e-6)\n"
    "put('oblong', turned, 0.2)\n"
    "put('transposed', turned.swapaxes(1, 2), 0.2)\n"
    "put('narrow', fine[:, 2:-2, 2:-2], 0.1)\n"
    "put('flat', fine[3], 0.1)\n"
    "put('zero', 0 * fine[:3], 0.1)\n"
    "put('none', fine[:0], 0.1)\n"
    "put('small', fine[:, :3, :], 0.1)\n"
    "put('radians', fine[:3], 0.1, units=n.bytes_('rad'))\n"
    "put('words', n.full((2, 5, 5), b'x'), 0.1)\n"
    "put('backward', fine[:3], -0.1)\n"
    "hole = fine[:7].copy(); hole[5, 4, 3] = n.nan; put('hole', hole, 0.1)\n"
    "idle = gauss(high, 5.1, 0.2); idle[[3, 7]] = 0; put('idle', idle, 0.2)\n"
    "put('tiny', gauss(high[60:63], 5.2, 0.8), 0.8)\n"
    "put('sharp', gauss([(0, 0), (0.8, 0)], 5.1, 0.2), 0.2)\n"
    "def write(name, a, bits, cut=0, card=None):\n" // as in test_ao_pupil.c
    "    cards = ['SIMPLE  = %20s' % 'T', 'BITPIX  = %20d' % bits, 'NAXIS   = %20d' % a.ndim]\n"
    "    cards += ['NAXIS%d  = %20d' % (k + 1, e) for k, e in enumerate(a.shape[::-1])]\n"
    "    cards += [card] if card else []\n"
    "    head = ''.join(c.ljust(80) for c in cards + ['END']).ljust(2880).encode()\n"
    "    data = a.tobytes()\n"
    "    data += bytes(-len(data) % 2880)\n"
    "    open(name, 'wb').write(head + data[:len(data) - cut])\n"
    "write('high.fits', fine.astype('>f8'), -64)\n"
    "write('oblong.fits', turned.astype('>f8'), -64)\n"
    "write('nano.cube', (1e9 * fine).astype('>f4'), -32, card=\"BUNIT   = 'nm      '\")\n"
    "write('flat.fits', fine[3].astype('>f4'), -32)\n"
    "write('cut.fits', fine.astype('>f4'), -32, 3 << 20)\n"
    "write('rad.fits', fine[:3].astype('>f4'), -32, card=\"BUNIT   = 'rad     '\")\n"
    "open('text.h5', 'w').write('no file')\n";

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    run_python(script);
    return 0;
}

static void strehl_of(const char *mirrors, double out[DIRECTIONS])
{
    autoptr(bb_results) results = driver_results(CASE(CONFIG, {ALONE, mirrors}));
    memcpy(out, driver_dataset(results, "strehl_by")->numbers, DIRECTIONS * sizeof *out);
}

static double compare(const double *a, const double *b)
{
    double worst = 0.0;
    for (int q = 0; q < DIRECTIONS; ++q) {
        worst = fmax(worst, fabs(a[q] - b[q]));
    }
    return worst;
}

// With both mirrors at 0.05 m, 2e-6 of Strehl remains; with the upper alone, less with every
// halving.
TEST_FULL(samples_of_gaussian_mirrors_have_their_strehl_ratios)
{
    static const struct {
        const char *mirrors;
        double bound;
    } grids[] = {
        {KEYS("file: dm.h5, dataset: high0.4"), 1e-3},
        {KEYS("file: dm.h5, dataset: high0.2"), 1e-4},
        {KEYS("file: dm.h5, dataset: high0.1"), 2e-5},
        {KEYS("file: dm.h5, dataset: high0.05"), 1e-6},
        {"mirrors=[{height_m: 0.0, influence: {file: dm.h5, dataset: ground}}, {height_m: "
         "11000.0, influence: {file: dm.h5, dataset: high0.05}}]",
         2e-6},
    };
    double expected[DIRECTIONS], strehl[DIRECTIONS];
    strehl_of(ALONE, expected);
    for (size_t k = 0; k < sizeof grids / sizeof *grids; ++k) {
        strehl_of(grids[k].mirrors, strehl);
        const double worst = compare(strehl, expected);
        print_message("%s: off by %.1e\n", grids[k].mirrors, worst);
        assert_true(worst < grids[k].bound);
    }
}

// The first pixel of a FITS image is the sample at the most negative x and y, as in a dataset.
TEST_FULL(fits_images_are_mirrors_too)
{
    double from_hdf5[DIRECTIONS], strehl[DIRECTIONS];
#ifdef BB_HAVE_CFITSIO
    strehl_of(KEYS("file: dm.h5, dataset: oblong"), from_hdf5);
    strehl_of(KEYS("file: oblong.fits, spacing_m: 0.2"), strehl);
    assert_memory_equal(strehl, from_hdf5, sizeof strehl);
    strehl_of(KEYS("file: dm.h5, dataset: high0.1"), from_hdf5);
    strehl_of(KEYS("file: high.fits, dataset: '1', spacing_m: 0.1"), strehl);
    assert_memory_equal(strehl, from_hdf5, sizeof strehl);
    strehl_of(KEYS("file: nano.cube, spacing_m: 0.1"), strehl); // 32 bits
    assert_true(compare(strehl, from_hdf5) < 1e-6);
#else
    const driver_case study = {CONFIG, {ALONE, KEYS("file: high.fits, spacing_m: 0.1")}};
    bb_results *results = NULL;
    (void)strehl;
    check_fails(driver_run(&study, 2, &results), BB_UNSUPPORTED,
                "this build cannot read FITS files");
    (void)from_hdf5;
#endif
    strehl_of(KEYS("file: dm.h5, dataset: micrometres"), strehl);
    strehl_of(KEYS("file: dm.h5, dataset: bare, spacing_m: 0.1"), from_hdf5);
    assert_true(compare(strehl, from_hdf5) < 1e-9);
}

// Rows are along y: the same cube with swapped axes is another mirror.
TEST_FULL(an_asymmetric_mirror_is_not_its_transpose)
{
    const driver_case study = {CONFIG, {KEYS("file: dm.h5, dataset: oblong")}};
    double strehl[DIRECTIONS], turned[DIRECTIONS];
    strehl_of(KEYS("file: dm.h5, dataset: oblong"), strehl);
    strehl_of(KEYS("file: dm.h5, dataset: transposed"), turned);
    print_message("Strehl ratios %.5f to %.5f apart\n", compare(strehl, turned),
                  fabs(strehl[0] - turned[0]));
    assert_true(compare(strehl, turned) > 1e-3);
    driver_check_threads(&study);
    autoptr(bb_results) results = driver_results(&study);
    driver_check_output_plan(&study, results);
    assert_true(driver_dataset(results, "mirrors_actuators")->numbers[0] == 140.0);
    assert_true(driver_dataset(results, "mirror_actuators")->numbers[1] == 40.0);
    assert_true(driver_dataset(results, "mirror_spacing_m")->numbers[1] == 0.2);
    assert_true(isnan(driver_dataset(results, "mirror_spacing_m")->numbers[0]));
    assert_true(isnan(driver_dataset(results, "mirror_pitch_m")->numbers[1]));
}

// An idle actuator is a mode without slopes: each of them adds one dropped mode of 249.
TEST(idle_actuators_stay_at_rest)
{
    const driver_case study = {CONFIG, {ALONE, KEYS("file: dm.h5, dataset: idle")}};
    autoptr(bb_results) results = driver_results(&study);
    assert_true(driver_dataset(results, "mirrors_dropped_modes")->numbers[0] == 5.0);
    assert_string_equal(driver_text(results, "status", "reference"), "ok");
}

// Runs and plans alike.
static void check_refused(const driver_case *study, bb_status code, const char *words)
{
    bb_results *results = NULL;
    autorelease(bb_plan) plan = {0};
    autoptr(bb_config) config = driver_config(study);
    check_fails(driver_run_loaded(config, 2, &results), code, words);
    assert_null(results);
    check_fails(driver_plan_loaded(config, 2, &plan), code, words);
}

TEST(files_that_cannot_be_are_refused)
{
    static const struct {
        const char *mirrors;
        bb_status code;
        const char *words;
    } bad[] = {
        {KEYS("file: none.h5"), BB_IO, "mirrors[1].influence: 'none.h5': No such file"},
        {KEYS("file: text.h5"), BB_IO, "not an HDF5 file"},
        {KEYS("file: dm.h5"), BB_IO,
         "mirrors[1].influence: 'dm.h5', dataset '/influence': no dataset of this name"},
        {KEYS("file: dm.h5, dataset: oblongs"), BB_IO, "(the file has /oblong)"},
        {KEYS("file: dm.h5, dataset: flat"), BB_INVALID,
         "'flat': has 2 axes, expected 3: [actuator][rows][columns]"},
        {KEYS("file: dm.h5, dataset: none"), BB_INVALID, "has 0 actuators, expected 1 to"},
        {KEYS("file: dm.h5, dataset: words"), BB_INVALID, "is not numeric"},
        {KEYS("file: dm.h5, dataset: radians"), BB_INVALID,
         "mirrors[1].influence: values in 'rad', expected one of: m/V, um/V, nm/V, m, um, nm"},
        {KEYS("file: dm.h5, dataset: hole"), BB_INVALID,
         "mirrors[1].influence: actuator 5, row 4, column 3 is nan, expected a finite value"},
        {KEYS("file: dm.h5, dataset: zero"), BB_INVALID, "the values of all 3 actuators are 0"},
        {KEYS("file: dm.h5, dataset: small"), BB_INVALID,
         "3 rows and 103 columns, expected at least 4 of each"},
        {KEYS("file: dm.h5, dataset: backward"), BB_INVALID, "samples -0.1 m apart, expected a"},
        {KEYS("file: dm.h5, dataset: bare"), BB_INVALID,
         "mirrors[1].influence: spacing_m is missing, and dataset 'bare' of 'dm.h5' has no "
         "attribute spacing_m"},
        {KEYS("file: dm.h5, dataset: high0.1, spacing_m: 0.11"), BB_INVALID,
         "spacing_m = 0.11, dataset 'high0.1' of 'dm.h5' has 0.1, expected the same"},
        {KEYS("file: dm.h5, dataset: narrow"), BB_INVALID,
         "the grid of 99 x 99 samples 0.1 m apart reaches 4.95 m from the axis along x, expected "
         "5.06659 m: the footprint of targets[1] on the conjugate at 11000 m"},
#ifdef BB_HAVE_CFITSIO
        {KEYS("file: none.fits, spacing_m: 0.1"), BB_IO, "'none.fits': No such file"},
        {KEYS("file: flat.fits, spacing_m: 0.1"), BB_INVALID, "parts is an image with three axes"},
        {KEYS("file: flat.fits, dataset: '1', spacing_m: 0.1"), BB_INVALID,
         "part '1' is not an image with three axes"},
        {KEYS("file: high.fits, dataset: IF, spacing_m: 0.1"), BB_IO, "no part 'IF'"},
        {KEYS("file: cut.fits, spacing_m: 0.1"), BB_IO, "'cut.fits': declares 6322964 bytes"},
        {KEYS("file: rad.fits, spacing_m: 0.1"), BB_INVALID, "values in 'rad', expected one of"},
#endif
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        check_refused(CASE(CONFIG, {ALONE, bad[i].mirrors}), bad[i].code, bad[i].words);
    }
}

// Errors of a file in a plan have the position of its key, in check and run alike.
TEST(failures_say_where_the_file_is_named)
{
    static const char *const commands[2] = {"check", "run"};
    write_text("study.yaml", "base: " CONFIG "\nmirrors:\n  - {height_m: 0.0}\n"
                             "  - height_m: 11000.0\n    influence: {file: none.h5}\n");
    for (int k = 0; k < 2; ++k) {
        CALL_EXPECT(3, "study.yaml:5:16: mirrors[1].influence: 'none.h5': No such file",
                    commands[k], "study.yaml");
        CALL_EXPECT(2, "mirrors[1].influence: spacing_m is missing, and dataset 'bare'",
                    commands[k], "study.yaml", "mirrors.1.influence.file=dm.h5",
                    "mirrors.1.influence.dataset=bare");
    }
}

// A scored target and guide stars of a closed loop may look past the grid if functions are zero
// there: the laser stars at 60 arcsec, the natural ones at 40.
TEST_FULL(beams_past_the_grid_need_functions_that_have_ended)
{
    driver_case study = {CONFIG,
                         {ALONE, KEYS("file: dm.h5, dataset: high0.1"),
                          "targets=[{x_arcsec: 0.0, y_arcsec: 0.0}, {x_arcsec: 25.0, y_arcsec: "
                          "0.0, weight: 0.0}]"}};
    check_refused(&study, BB_INVALID,
                  "of the peak at the rim of the grid, 5.15 m from the axis along x, expected at "
                  "most 0.01: the footprint of targets[1] on the conjugate at 11000 m extends to "
                  "5.33324 m");
    study.overrides[1] = KEYS("file: dm.h5, dataset: sharp");
    autoptr(bb_results) results = driver_results(&study);
    bb_results_destroy(&results);
    driver_case timed = {CONFIG,
                         {ALONE, KEYS("file: dm.h5, dataset: high0.1"), "score=pairs",
                          "error_terms={fitting: false, wind_m_per_s: [5.0, 10.0, 20.0]}",
                          "monte_carlo={pixels_per_subaperture: 8, screen_oversize: 1.5}",
                          "time_domain={frames: 1, realisations: 2, delay_ms: 2.0, loop: closed, "
                          "settle_frames: 1}"}};
    check_refused(&timed, BB_INVALID,
                  "expected at most 0.01: the footprint of guide_stars[4] on the");
    timed.overrides[1] = KEYS("file: dm.h5, dataset: sharp");
    results = driver_results(&timed);
    assert_true(driver_dataset(results, "strehl_time_domain")->numbers[0] > 0.0);
}

TEST(the_plan_counts_the_samples)
{
    const driver_case study = {CONFIG, {ALONE, KEYS("file: dm.h5, dataset: high0.05")}};
    const double peak = driver_check_memory_plan(&study, "2 with 249 actuators");
    assert_true(peak > 149.0 * 205.0 * 205.0 * sizeof(double));
}

// The realtime loop multiplies by the commands of such a mirror.
TEST(a_loop_of_frames_has_them)
{
    autorelease(bb_text) table = {0};
    autoptr(bb_config) config =
        driver_config(CASE(CONFIG, {"pipelines=[{name: reference, arithmetic: dp}, {name: fp16, "
                                    "arithmetic: dp, storage: fp16, scale: row}]",
                                    KEYS("file: dm.h5, dataset: oblong"), "realtime.frames=2",
                                    "realtime.warm_up_frames=0", "realtime.rate_hz=0"}));
    autoptr(bb_results) results = empty_results();
    check_ok(bb_ao_realtime_run(bb_config_study(config), results, &table));
    assert_non_null(strstr(bb_text_string(&table), "140"));
}

// A checkpoint belongs to the samples that it was computed with.
TEST(restarts_know_the_file)
{
    const driver_case study = {CONFIG, {ALONE, KEYS("file: kept.h5, dataset: tiny")}};
    bb_text subjects[2] = {{0}, {0}};
    autoptr(bb_config) config = driver_config(&study);
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(system(k == 0 ? "cp dm.h5 kept.h5" : "cp high.fits kept.h5"), 0);
        check_ok(write_subject(config, &subjects[k]));
        assert_non_null(strstr(bb_text_string(&subjects[k]), "mirrors.1.influence.file: "));
    }
    assert_string_not_equal(bb_text_string(&subjects[0]), bb_text_string(&subjects[1]));
    bb_text_release(&subjects[0]);
    bb_text_release(&subjects[1]);
}

static bb_status load_alone(void *context)
{
    const bb_ao_study *study = bb_config_study(context);
    bb_ao_config physics = bb_ao_study_physics(study);
    bb_influence_cube *cubes = NULL;
    const bb_status status = bb_ao_input_influences(study, &physics, &cubes);
    bb_ao_input_influences_release(study, &cubes);
    return status;
}

TEST_FULL(no_failed_allocation_is_lost)
{
    const driver_case image = {CONFIG, {ALONE, KEYS("file: oblong.fits, spacing_m: 0.2")}};
    check_ok(bb_threads_set(1));
    autoptr(bb_config) config = driver_config(CASE(
        CONFIG,
        {ALONE, "mirrors=[{height_m: 0.0, influence: {file: dm.h5, dataset: tiny}}, {height_m: "
                "11000.0, influence: {file: dm.h5, dataset: tiny}}]"}));
    allocation_walk("influence functions of a dataset", load_alone, config, 1, 3);
    bb_config_destroy(&config);
#ifdef BB_HAVE_CFITSIO
    check_ok(driver_load(&image, &config));
    allocation_walk("influence functions of an image", load_alone, config, 1, 2);
    bb_config_destroy(&config);
#else
    (void)image;
#endif
    check_ok(driver_load(
        CASE(CONFIG, {ALONE, "sensors.lenslets=3", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
                      "guide_stars=[{kind: lgs, altitude_km: 90.0, x_arcsec: 9.0, y_arcsec: 2.0}]",
                      "solver.tile=12", KEYS("file: dm.h5, dataset: tiny")}),
        &config));
    allocation_walk("a run with influence functions", driver_run_alone, config, 29, 4);
}

TEST_GROUP(.begin = begin, .has_folder = true, .is_quiet = true);
