// SPDX-License-Identifier: Apache-2.0
//
// Measured phases and frames: results do not depend on the layout, and bad input is refused with
// its message.
#include "sim/fringe/fringe_work.h"
#include "sim/output/reader.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/dumped.h"

#define CONFIG CONFIG_FRINGE_SMALL
#define PLAIN  "pipelines=[{name: reference, arithmetic: fp64}]"

enum { COLUMNS = 96, ROWS = 72, POINTS = COLUMNS * ROWS };

// Runs lines of Python with h5py: `f` is a new in.h5; `a` is small.h5, a run with --dump phase; t
// and w are its true and wrapped phase.
#define INPUT(lines)                                                                               \
    run_python("import h5py, numpy as n\n"                                                         \
               "f = h5py.File('in.h5', 'w')\n"                                                     \
               "a = h5py.File('small.h5', 'r')\n"                                                  \
               "t = a['operators/phase_truth'][:]\n"                                               \
               "w = a['operators/phase_wrapped'][:]\n" lines "\n")

static int run_small_study(void **state)
{
    (void)state;
    CALL("run", CONFIG, "-o", "small.h5", "--dump", "phase", PLAIN);
    return run.code;
}

// Runs the small study on in.h5.
static bb_results *results_of(const char *input, const char *pipelines, const char *extra)
{
    return driver_results(CASE(CONFIG, {input, pipelines, "zernike_terms=0", extra}));
}

static double fact(const bb_results *results, const char *name)
{
    return driver_dataset(results, name)->numbers[0];
}

static const double *unwrapped(const bb_results *results)
{
    return numbers_at(results, "maps/unwrapped");
}

// Checks that two phases are equal, with NaN at the same points. Returns the number of finite
// points.
static bb_index check_same(const double *got, const double *expected)
{
    bb_index points = 0;
    for (bb_index p = 0; p < POINTS; ++p) {
        assert_true(got[p] == expected[p] || (isnan(got[p]) && isnan(expected[p])));
        points += isfinite(got[p]);
    }
    return points;
}

TEST(a_dumped_phase_gives_its_bits_again)
{
    // The spectrum has no effect.
    CALL_EXPECT(0, "results: ", "run", CONFIG, "-o", "again.h5", PLAIN,
                "size={columns: 5, rows: 7}",
                "surface.spectrum={rms_nm: 1, low_cycles: 9, high_cycles: 8}",
                "input={file: small.h5, dataset: /operators/phase_wrapped}");
    autoptr(bb_results) first = read_all_results("small.h5", NULL);
    autoptr(bb_results) second = read_all_results("again.h5", NULL);
    assert_true(check_same(unwrapped(second), unwrapped(first)) > 3000);
    assert_true(isnan(fact(second, "wrong_cycles")) && fact(second, "wrong_cycles_reference") == 0);
    assert_true(isnan(fact(second, "full_scale")) && isnan(fact(second, "wavefront_error_nm")));
    assert_null(bb_results_find(second, "maps/truth"));
    for (int j = 0; j < 11; ++j) { // disc of the file's size
        assert_true(numbers_at(first, "results/zernike_nm")[j] ==
                    numbers_at(second, "results/zernike_nm")[j]);
    }
    assert_non_null(bb_results_find(second, "provenance/input_digest"));
}

// A turned phase gives the turned result, except for the piston of each part.
static void check_turned(const bb_results *turned, const double *upright, bool transposed)
{
    const double *phase = unwrapped(turned);
    const double *parts = numbers_at(turned, "maps/parts");
    double offsets[2] = {NAN, NAN};
    bb_index points = 0;
    for (bb_index p = 0; p < POINTS; ++p) {
        const bb_index row = p / COLUMNS, column = p % COLUMNS;
        // numpy.rot90: row 0 of the result is the last column; fliplr reverses rows.
        const bb_index place =
            transposed ? (COLUMNS - 1 - column) * ROWS + row : row * COLUMNS + COLUMNS - 1 - column;
        assert_true(isnan(upright[p]) == isnan(phase[place]));
        if (isfinite(upright[p])) {
            double *offset = &offsets[(int)parts[place]];
            *offset = isnan(*offset) ? phase[place] - upright[p] : *offset;
            check_close(phase[place] - upright[p], *offset, 1e-9, 1.0);
            ++points;
        }
    }
    assert_true(points > 3000 && isfinite(offsets[0]) && isfinite(offsets[1]));
}

TEST(turned_phases_have_turned_answers)
{
    autoptr(bb_results) upright = read_all_results("small.h5", NULL);
    INPUT("f['wrapped'] = n.rot90(w)");
    autoptr(bb_results) turned = results_of("input={file: in.h5}", PLAIN, NULL);
    check_turned(turned, unwrapped(upright), true);
    INPUT("f['wrapped'] = n.fliplr(w)");
    autoptr(bb_results) mirrored = results_of("input={file: in.h5}", PLAIN, NULL);
    check_turned(mirrored, unwrapped(upright), false);
}

// A hole of NaN, a stripe removed by the mask, a truth known only partly; single precision, from 0
// to 2 pi.
TEST(holes_and_masks_are_left_out)
{
    INPUT("w = n.where(w < 0, w + 2 * n.pi, w)\n"
          "w[30:40, 20:28] = n.nan\n"
          "w[50, 30] = n.inf\n"
          "m = n.ones(w.shape, dtype=bool)\n"
          "m[20] = False\n"
          "t[21:25] = n.nan\n"
          "f['wrapped'] = w.astype('f4')\n"
          "f['mask'] = m\n"
          "f['truth'] = t");
    autoptr(bb_results) results =
        results_of("input={file: in.h5, mask: /mask, truth: truth}", PLAIN, NULL);
    const double *phase = unwrapped(results);
    const double *truth = numbers_at(results, "maps/truth");
    assert_true(fact(results, "wrong_cycles") == 0.0 && fact(results, "missing") == 0.0);
    assert_true(fact(results, "parts") == 4.0); // two parts, each cut by the stripe
    assert_true(isnan(phase[35 * COLUMNS + 24]) && isnan(phase[50 * COLUMNS + 30]));
    for (bb_index column = 0; column < COLUMNS; ++column) {
        assert_true(isnan(phase[20 * COLUMNS + column]));
    }
    assert_true(isfinite(phase[22 * COLUMNS + 40]) && isnan(truth[22 * COLUMNS + 40]));
}

#define STEPS                                                                                      \
    "s = n.array([0, 1.1, 2.3, 3.9, 5.2])\n"                                                       \
    "i = 0.5 + 0.4 * n.cos(t + s[:, None, None])\n"                                                \
    "i[:, n.isnan(t)] = 0.5\n"                                                                     \
    "i[0, 0, 0] = 1\n"                                                                             \
    "f['truth'] = t\n"
#define FRAMES                                                                                     \
    "input={file: in.h5, dataset: /frames, truth: /truth, steps_rad: [0, 1.1, 2.3, 3.9, 5.2]}"

TEST(frames_of_any_steps_give_their_phase)
{
    INPUT(STEPS "f['frames'] = i");
    autoptr(bb_results) results = results_of(FRAMES, PLAIN, NULL);
    assert_true(fact(results, "wrong_cycles") == 0.0 && fact(results, "full_scale") == 1.0);
    assert_true(fact(results, "wavefront_error_nm") < 1e-9);
    assert_true(numbers_at(results, "maps/interferogram")[36 * COLUMNS + 30] > 0.0);
}

// Counts of a 12-bit camera in 16-bit words; one pipeline stores two bits of them.
TEST(frames_of_integers_have_their_full_scale)
{
    static const char pipelines[] = "pipelines=[{name: reference, arithmetic: fp64}, "
                                    "{name: coarse, bits: 2, draws: 3}]";
    INPUT(STEPS "f['frames'] = n.rint(4095 * i).astype('u2')");
    autoptr(bb_results) results = results_of(FRAMES, pipelines, NULL);
    assert_true(fact(results, "full_scale") == 4095.0);
    const double fine = driver_number(results, "wavefront_error_nm", "reference");
    // One level over sqrt(12), sqrt(2 / 5) of it over 0.4, 50.4 nm a radian; phase steps are
    // unequal.
    check_relative(fine, 50.4 * sqrt(0.4 / 12.0) / 4095.0 / 0.4, 0.2);
    assert_true(driver_number(results, "wavefront_error_nm", "coarse") > 100.0 * fine);
    assert_true(driver_number(results, "bits", "coarse") == 2.0);
    assert_true(driver_number(results, "draws", "coarse") == 1.0);
    autoptr(bb_results) given = results_of("input={file: in.h5, dataset: frames, full_scale: 8190, "
                                           "steps_rad: [0, 1.1, 2.3, 3.9, 5.2]}",
                                           PLAIN, "detection.least_modulation=0.19");
    assert_true(fact(given, "full_scale") == 8190.0 && fact(given, "points") > 3000.0);
}

// A hot pixel outside the mask, or one with an undefined value, does not affect the full scale.
TEST(masked_pixels_set_no_full_scale)
{
    static const char pipelines[] =
        "pipelines=[{name: reference, arithmetic: fp64}, {name: coarse, bits: 4}]";
    static const struct {
        const char *dataset;
        double full_scale;
    } cases[] = {{"clean", 4095}, {"hot", 4095}, {"fill", 4095}, {"floats", 1}};
    double error = NAN;
    INPUT(STEPS "m = n.ones(t.shape, bool); m[0, :9] = False; m[20:40, 30] = False\n"
                "i[0, 0, 0] = 0.5; h = 20, 30; c = n.rint(4095 * i).astype('u2')\n"
                "k = c.copy(); k[2][h] = 65535; z = c / 4095; z[2][h] = 1e4\n"
                "f['mask'] = m; f['clean'] = c; f['hot'] = k; f['fill'] = k; f['floats'] = z\n"
                "f['fill'].attrs['_FillValue'] = n.uint16(65535)");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char input[160];
        (void)snprintf(input, sizeof input,
                       "input={file: in.h5, dataset: %s, mask: mask, truth: truth, "
                       "steps_rad: [0, 1.1, 2.3, 3.9, 5.2]}",
                       cases[k].dataset);
        autoptr(bb_results) results =
            results_of(input, pipelines, "detection.least_modulation=0.05");
        assert_true(fact(results, "full_scale") == cases[k].full_scale);
        assert_true(isnan(unwrapped(results)[30 * COLUMNS + 30]));
        const double coarse = driver_number(results, "wavefront_error_nm", "coarse");
        error = k == 0 ? coarse : error;
        check_relative(coarse, error, 1e-12);
    }
}

// Phase values outside the mask are ignored; packed and undefined values are decoded.
TEST(undefined_and_masked_phases_are_left_out)
{
    INPUT("m = n.isfinite(w); m[30] = False; w[~m] = n.nan\n"
          "f['mask'] = m.astype('u1'); f['filled'] = n.where(m, 1, 255).astype('u1')\n"
          "f['filled'].attrs['_FillValue'] = n.uint8(255)\n"
          "f['wrapped'] = n.where(m, w, -9999)\n"
          "f['fill'] = f['wrapped'][:]; f['fill'].attrs['_FillValue'] = -9999.0\n"
          "f['packed'] = n.where(m, n.rint(1e4 * w), 0).astype('i2')\n"
          "f['packed'].attrs.update(scale_factor=1e-4, units=n.bytes_('Radians '))\n"
          "f['truth'] = t");
#define WRAPPED(keys) results_of("input={file: in.h5, " keys ", truth: truth}", PLAIN, NULL)
    autoptr(bb_results) masked = WRAPPED("dataset: wrapped, mask: mask");
    autoptr(bb_results) filled = WRAPPED("dataset: fill");
    autoptr(bb_results) packed = WRAPPED("dataset: packed, mask: filled");
    const double *phase = unwrapped(masked);
    check_same(unwrapped(filled), phase);
    for (bb_index p = 0; p < POINTS; ++p) {
        const double near = unwrapped(packed)[p];
        assert_true(isnan(phase[p]) ? isnan(near) : fabs(phase[p] - near) < 1e-3);
    }
}

TEST(four_frames_suit_carre)
{
    INPUT("s = 0.7 * n.array([-3, -1, 1, 3])\n"
          "f['frames'] = 100 * (1 + n.cos(t + s[:, None, None]))\n"
          "f['truth'] = t");
    autoptr(bb_results) results = results_of("input={file: in.h5, dataset: frames, truth: truth}",
                                             PLAIN, "detection.algorithm=carre");
    assert_true(fact(results, "wrong_cycles") == 0.0);
    assert_true(fact(results, "wavefront_error_nm") < 1e-4);
}

#define QUARTER "detection={algorithm: carrier, carrier: {x: 0.25, y: 0}}"

// A quarter of a cycle per column, removed again.
TEST(a_frame_with_a_carrier_gives_its_phase)
{
    INPUT("y, x = n.mgrid[0:72, 0:96]\n"
          "t = t * 0 + 3 * n.sin(x / 20) + 6 * n.cos(y / 15)\n"
          "f['frame'] = 100 * (1 + n.cos(t + n.pi / 2 * x))[None]\n"
          "f['truth'] = t\n"
          "f['mask'] = n.isfinite(t)");
    autoptr(bb_results) results =
        results_of("input={file: in.h5, dataset: frame, truth: truth, mask: mask}", PLAIN, QUARTER);
    assert_true(fact(results, "points") > 2000.0);
    assert_true(fact(results, "wrong_cycles") == 0.0);
}

// Camera data outside the pupil do not affect the pupil's phase.
TEST(what_is_masked_is_in_no_window)
{
    INPUT("y, x = n.mgrid[0:72, 0:96]\n"
          "m = n.isfinite(t)\n"
          "t = t * 0 + 3 * n.sin(x / 20) + 6 * n.cos(y / 15)\n"
          "f['frame'] = (100 * (1 + n.cos(t + n.pi / 2 * x)))[None]\n"
          "f['lit'] = n.where(m, 100 * (1 + n.cos(t + n.pi / 2 * x)), 777.0)[None]\n"
          "f['mask'] = m");
#define MASKED(frame) "input={file: in.h5, mask: mask, full_scale: 1000, dataset: " frame "}"
    autoptr(bb_results) dark = results_of(MASKED("frame"), PLAIN, QUARTER);
    autoptr(bb_results) lit = results_of(MASKED("lit"), PLAIN, QUARTER);
    check_same(unwrapped(lit), unwrapped(dark));
}

static void check_refused(const char *input, const char *extra, bb_status code, const char *text)
{
    const driver_case study = {CONFIG, {input, PLAIN, "zernike_terms=0", extra}};
    bb_results *results = NULL;
    check_fails(driver_run(&study, 1, &results), code, text);
    assert_int_not_equal(bb_status_message()[0], '\''); // key before the file
}

TEST(what_does_not_fit_is_refused)
{
    INPUT("f['wrapped'] = w\n"
          "f['mask'] = n.zeros(w.shape, dtype='u1')\n"
          "f['narrow'] = n.ones((72, 95), dtype='u1')\n"
          "f['truth'] = n.full(w.shape, n.nan)\n"
          "f['short'] = t[1:]\n"
          "f['height'] = t\n"
          "f['height'].attrs['units'] = n.bytes_('nm')\n"
          "f['nothing'] = n.full(w.shape, n.nan)\n"
          "f['codes'] = n.ones(w.shape, dtype='i4')\n"
          "f['unwrapped'] = 0.2 * n.arange(72)[:, None] + 0 * w\n"
          "f['degrees'] = n.degrees(w)\n"
          "f['between'] = n.where(w > 3, 3.2, w)\n"
          "f['over'] = n.where(w < 0, w + 2 * n.pi, w) + 0.01\n"
          "f['frames'] = n.ones((5,) + w.shape)");
    static const struct {
        const char *input, *extra;
        bb_status code;
        const char *text;
    } cases[] = {
        {"input={file: none.h5}", NULL, BB_IO, "'none.h5': No such file"},
        {"input={file: script.py}", NULL, BB_IO, "not an HDF5 file"},
        {"input={file: in.h5, dataset: wraped}", NULL, BB_IO, "(the file has /wrapped)"},
        {"input={file: in.h5, mask: narrow}", NULL, BB_INVALID,
         "72 rows and 95 columns, expected 72 and 96"},
        {"input={file: in.h5, mask: wrapped}", NULL, BB_INVALID, "has floats, expected integers"},
        {"input={file: in.h5, truth: short}", NULL, BB_INVALID, "71 rows and 96 columns"},
        {"input={file: in.h5, truth: truth}", NULL, BB_INVALID, "the true phase is not finite at"},
        {"input={file: in.h5, dataset: height}", NULL, BB_INVALID, "values in nm, expected rad"},
        {"input={file: in.h5, dataset: nothing}", NULL, BB_INVALID, "no phase to unwrap"},
        {"input={file: in.h5, mask: mask}", NULL, BB_INVALID, "where 'mask' is not 0"},
        {"input={file: in.h5, dataset: codes}", NULL, BB_INVALID, "expected a phase in rad"},
        {"input={file: in.h5, dataset: unwrapped}", NULL, BB_INVALID,
         "expected a wrapped phase, from -pi to pi or from 0 to 2 pi: is it unwrapped already"},
        {"input={file: in.h5, dataset: degrees}", NULL, BB_INVALID, "values from -1"},
        {"input={file: in.h5, dataset: between}", NULL, BB_INVALID, " to 3.2, expected a wrapped"},
        {"input={file: in.h5, dataset: over}", NULL, BB_INVALID, " to 6.293, expected a wrapped"},
        {"input={file: in.h5, steps_rad: [0, 1, 2]}", NULL, BB_INVALID, "has two axes"},
        {"input={file: in.h5, dataset: frames}", NULL, BB_INVALID, "input.steps_rad is missing"},
        {"input={file: in.h5, dataset: frames, steps_rad: [0, 1, 2]}", NULL, BB_INVALID,
         "has 3 steps, but 'in.h5', dataset 'frames' has 5 frames"},
        {"input={file: in.h5, dataset: frames}", "detection.algorithm=carre", BB_INVALID,
         "has 5 frames, expected 4"},
        {"input={file: in.h5, dataset: frames}", "detection={algorithm: carrier}", BB_INVALID,
         "has 5 frames, expected 1"},
        {"input={file: in.h5}", "pipelines=[{name: r, arithmetic: fp64}, {name: b, bits: 8}]",
         BB_INVALID, "pipelines.1.bits = 8: 'in.h5', dataset '/wrapped' has no frames"},
        {"input={file: in.h5, full_scale: 2}", NULL, BB_INVALID,
         "input.full_scale = 2: 'in.h5', dataset '/wrapped' has no frames"},
        {"input={file: in.h5, dataset: frames, steps_rad: [0, 1, 2, 3, 4]}",
         "detection.least_modulation=0.99", BB_INVALID,
         "no point has a phase; constant or saturated frames do not reach "
         "detection.least_modulation = 0.99"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        check_refused(cases[i].input, cases[i].extra, cases[i].code, cases[i].text);
    }
}

#ifdef BB_HAVE_CFITSIO
// HDUs of a FITS file in order: (EXTNAME, BUNIT, array).
#define FITS(path, parts)                                                                          \
    "def card(k, v): return f'{k:8s}= {v:>20s}'.ljust(80)\n"                                       \
    "def hdu(i, name, unit, a):\n"                                                                 \
    "    b = {'f': -8, 'i': 8, 'u': 8}[a.dtype.kind] * a.dtype.itemsize\n"                         \
    "    c = card('XTENSION', \"'IMAGE   '\") if i else card('SIMPLE', 'T')\n"                     \
    "    c += card('BITPIX', str(b)) + card('NAXIS', str(a.ndim))\n"                               \
    "    c += ''.join(card(f'NAXIS{k+1}', str(m)) for k, m in enumerate(a.shape[::-1]))\n"         \
    "    c += card('PCOUNT', '0') + card('GCOUNT', '1') if i else card('EXTEND', 'T')\n"           \
    "    c += card('EXTNAME', f\"'{name:8s}'\") + card('BUNIT', f\"'{unit:8s}'\") + "              \
    "'END'.ljust(80)\n"                                                                            \
    "    d = a.astype(a.dtype.newbyteorder('>')).tobytes()\n"                                      \
    "    return c.ljust(-(-len(c) // 2880) * 2880).encode() + d.ljust(-(-len(d) // 2880) * 2880, " \
    "b'\\0')\n"                                                                                    \
    "open('" path "', 'wb').write(b''.join(hdu(i, *p) for i, p in enumerate([" parts "])))"

// The same data in HDUs of a FITS file: a phase with mask and truth by name, and frames.
TEST(fits_files_are_read_as_hdf5_files)
{
    INPUT(
        "w[30:40, 20:28] = n.nan\n"
        "m = n.ones(w.shape, dtype='u1'); m[20] = 0\n"
        "f['wrapped'] = w; f['mask'] = m; f['truth'] = t\n"
        "s = n.array([0, 1.1, 2.3, 3.9, 5.2])\n"
        "i = 0.5 + 0.4 * n.cos(t + s[:, None, None]); f['frames'] = i\n" FITS(
            "phase.fits",
            "('PHI', 'radian', w), ('MASK', '', m), ('TRUTH', 'rad', t)") "\n" FITS("frames.fits",
                                                                                    "('', '', i), "
                                                                                    "('TRUTH', '', "
                                                                                    "t)"));
    autoptr(bb_results) first =
        results_of("input={file: in.h5, mask: mask, truth: truth}", PLAIN, NULL);
    autoptr(bb_results) second =
        results_of("input={file: phase.fits, mask: MASK, truth: TRUTH}", PLAIN, NULL);
    assert_true(check_same(unwrapped(second), unwrapped(first)) > 3000);
    assert_true(fact(second, "wrong_cycles") == 0.0 && fact(second, "parts") == 4.0);
    autoptr(bb_results) third = results_of("input={file: in.h5, dataset: frames, "
                                           "steps_rad: [0, 1.1, 2.3, 3.9, 5.2]}",
                                           PLAIN, NULL);
    autoptr(bb_results) fourth = results_of("input={file: frames.fits, truth: '2', "
                                            "steps_rad: [0, 1.1, 2.3, 3.9, 5.2]}",
                                            PLAIN, NULL);
    assert_true(check_same(unwrapped(fourth), unwrapped(third)) > 3000);
    static const char *const bad[][2] = {
        {"input={file: phase.fits, mask: TRUTH}", "'phase.fits': has floats, expected integers"},
        {"input={file: phase.fits, dataset: MASK}", "integers, expected a phase in rad"},
        {"input={file: phase.fits, truth: none}", "'phase.fits': no part 'none'"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        check_refused(bad[k][0], NULL, k == 2 ? BB_IO : BB_INVALID, bad[k][1]);
    }
}
#endif

// Errors that `check` finds without the file.
TEST(keys_that_do_not_fit_are_refused)
{
    static const char *const cases[][3] = {
        {"input={mask: mask}", NULL, "input.file is missing"},
        {"input={full_scale: 2}", NULL, "input.file is missing"},
        {"input={file: in.h5, dataset: frames, steps_rad: [0, 6.283185307179586, 1]}", NULL,
         "input.steps_rad: 3 steps that do not determine a phase"},
        {"input={file: in.h5, dataset: frames, steps_rad: [0, 1]}", NULL, "2 steps, expected 3"},
        {"input={file: in.h5, steps_rad: [0, 1, 2, 3]}", "detection.algorithm=carre",
         "needs detection.algorithm steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const char *const overrides[] = {cases[i][0], PLAIN, cases[i][1]};
        autorelease(bb_problems) problems = {0};
        bb_config *config = NULL;
        assert_int_equal(bb_experiment_load(&bb_experiments, CONFIG, overrides,
                                            cases[i][1] == NULL ? 2 : 3, &problems, &config),
                         BB_INVALID);
        assert_int_equal(problems.count, 1);
        assert_non_null(strstr(bb_text_string(&problems.lines), cases[i][2]));
    }
}

static bb_status open_and_release(void *context)
{
    autorelease(bb_fringe_input) input = {0};
    const bb_status status = bb_fringe_input_open(context, &input);
    return status;
}

TEST(allocations_may_fail)
{
    double steps[] = {0.0, 1.1, 2.3, 3.9, 5.2};
    INPUT(STEPS "f['frames'] = i\nf['mask'] = n.isfinite(t)");
    bb_fringe_study study = {.input = {.file = "in.h5",
                                       .dataset = "frames",
                                       .mask = "mask",
                                       .truth = "truth",
                                       .steps_rad = {steps, 5},
                                       .full_scale = NAN}};
    allocation_walk("an input of frames", open_and_release, &study, 1, 5);
}

TEST_GROUP(.begin = fixture_start_hdf5, .enter = run_small_study, .has_folder = true);
