// SPDX-License-Identifier: Apache-2.0
//
// Pupil masks from user files: an asymmetric one through the driver, and error messages.
#include "sim/input/hdf5_library.h"
#include "tests/sim/driver.h"

// 120 x 120 pixels by numpy: a disc with a hole, a spider along +y and a missing segment at (+x,
// -y); the same rotated; and invalid masks.
static const char script[] = "import h5py, numpy as n\n"
                             "f = h5py.File('masks.h5', 'w')\n"
                             "c = (2 * n.arange(120) + 1) / 120 - 1\n"
                             "x, y = n.meshgrid(c, c)\n"
                             "r = n.hypot(x, y)\n"
                             "p = ((r <= 1) & (r >= 0.14)).astype('f4')\n"
                             "f['disc'] = p\n"
                             "p[(x > 0.3) & (x < 0.7) & (y < 0) & (y > -0.4)] = 0\n"
                             "p[(y > 0) & (abs(x + 0.1) < 0.03)] = 0\n"
                             "f['pupil'] = p\n"
                             "f['flipped'] = p[:, ::-1]\n"
                             "f['transposed'] = p.T\n"
                             "f['wide'] = p[:100]\n"
                             "f['coarse'] = p[::11, ::11]\n"
                             "f['zero'] = 0 * p\n"
                             "f['dim'] = 0.3 * p\n"
                             "f['bright'] = 1.5 * p\n"
                             "q = p.astype('f8'); q[3, 4] = -0.25; f['negative'] = q\n"
                             "q = p.astype('f8'); q[3, 4] = n.nan; f['nan'] = q\n"
                             "f['integer'] = p.astype('i4')\n"
                             // Hand-written FITS: cards of 80 bytes, blocks of 2880, big-endian.
                             "def write(name, a, bits, cut=0):\n"
                             "    cards = ['SIMPLE  = %20s' % 'T', 'BITPIX  = %20d' % bits,\n"
                             "             'NAXIS   = %20d' % a.ndim]\n"
                             "    cards += ['NAXIS%d  = %20d' % (k + 1, e)\n"
                             "              for k, e in enumerate(a.shape[::-1])]\n"
                             "    head = ''.join(c.ljust(80) for c in cards + ['END'])\n"
                             "    data = a.tobytes()\n"
                             "    data += bytes(-len(data) % 2880)\n"
                             "    head = head.ljust(2880).encode()\n"
                             "    open(name, 'wb').write(head + data[:len(data) - cut])\n"
                             "write('float.fits', p.astype('>f4'), -32)\n"
                             "write('double.fit', p.astype('>f8'), -64)\n"
                             "write('byte.mask', p.astype('u1'), 8)\n"
                             "write('wide.fits', p[:100].astype('>f4'), -32)\n"
                             "write('cube.fits', p.reshape(4, 30, 120).astype('>f4'), -32)\n"
                             "write('cut.fits', p.astype('>f4'), -32, 30000)\n"
                             "q = p.astype('>f4'); q[3, 4] = n.nan; write('nan.fits', q, -32)\n"
                             "open('text.fits', 'w').write('no image')\n";

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    run_python(script);
    return 0;
}

static driver_case with(const char *mask)
{
    return (driver_case){CONFIG_AO_SMALL, {"telescope.pupil.file=masks.h5", mask}};
}

static void check_refused(const driver_case *study, bb_status code, const char *words)
{
    bb_results *results = NULL;
    check_fails(driver_run(study, 2, &results), code, words);
    assert_null(results);
}

TEST(masks_that_cannot_be_are_refused)
{
    static const struct {
        const char *dataset;
        bb_status code;
        const char *words;
    } bad[] = {
        {"telescope.pupil.dataset=wide", BB_INVALID, "100 x 120 pixels, expected a square"},
        {"telescope.pupil.dataset=coarse", BB_INVALID,
         "11 x 11 pixels, expected at least 2 a lenslet: sensors.lenslets = 6"},
        {"telescope.pupil.dataset=zero", BB_INVALID, "all 120 x 120 pixels are 0"},
        {"telescope.pupil.dataset=bright", BB_INVALID, "is 1.5, expected a transmission in [0, 1]"},
        {"telescope.pupil.dataset=negative", BB_INVALID, "row 3, column 4 is -0.25, expected"},
        {"telescope.pupil.dataset=nan", BB_INVALID,
         "row 3, column 4: nan, expected a finite value"},
        {"telescope.pupil.dataset=integer", BB_INVALID, "is not floating-point"},
        {"telescope.pupil.dataset=dim", BB_INVALID,
         "leaves no valid subaperture: none has a mean transmission of"},
        {"telescope.pupil.dataset=absent", BB_IO, "no dataset 'absent'"},
        {"telescope.pupil.file=none.h5", BB_IO, "'none.h5': No such file"},
        {"telescope.pupil.file=script.py", BB_IO, "not an HDF5 file"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        const driver_case study = with(bad[i].dataset);
        check_refused(&study, bad[i].code, bad[i].words);
    }
}

// A plan refuses the same masks as a run.
TEST(the_plan_reads_the_mask)
{
    autorelease(bb_plan) plan = {0};
    const driver_case pupil = with("telescope.pupil.dataset=pupil");
    const driver_case zero = with("telescope.pupil.dataset=zero");
    check_ok(driver_plan(&pupil, 2, &plan));
    assert_non_null(strstr(bb_text_string(&plan.lines), "mask of 120 x 120 pixels"));
    bb_plan_release(&plan);
    check_fails(driver_plan(&zero, 2, &plan), BB_INVALID, "pixels are 0");
}

TEST_FULL(every_pipeline_has_a_loss_with_an_asymmetric_mask)
{
    const driver_case cases[] = {
        with("telescope.pupil.dataset=pupil"), with("telescope.pupil.dataset=flipped"),
        with("telescope.pupil.dataset=transposed"), with("telescope.pupil.dataset=disc")};
    double strehl[4];
    for (int i = 0; i < 4; ++i) {
        autoptr(bb_results) results = driver_results(&cases[i]);
        const bb_dataset *names = driver_dataset(results, "pipeline");
        for (bb_index p = 0; p < names->count; ++p) {
            assert_string_equal(driver_text(results, "status", names->texts[p]), "ok");
            const double *values = driver_row(results, "strehl_by", names->texts[p]);
            assert_true(values[0] > 0.1 && values[0] < values[1] && values[1] < 1.0);
        }
        strehl[i] = driver_number(results, "strehl", "reference");
        const double *image = driver_row(results, "psf", "reference");
        check_relative(image[64 * 128 + 64], strehl[i], 1e-12);
    }
    print_message("Strehl %.5f, flipped %.5f, transposed %.5f, whole disc %.5f\n", strehl[0],
                  strehl[1], strehl[2], strehl[3]);
    // The sky is not rotated with the mask.
    assert_true(strehl[1] != strehl[0] && strehl[2] != strehl[0] && strehl[3] != strehl[0]);
    driver_check_threads(&cases[0]);
}

TEST(results_say_which_pupil_was_used)
{
    const driver_case annulus = {CONFIG_AO_SMALL, {NULL}};
    const driver_case mask = with("telescope.pupil.dataset=pupil");
    const driver_case flipped = with("telescope.pupil.dataset=flipped");
    char digest[BB_DIGEST_BYTES];
    autoptr(bb_results) results = driver_results(&annulus);
    assert_string_equal(bb_results_note_text(results, "provenance", "pupil"), "annulus");
    assert_null(bb_results_note_text(results, "provenance", "pupil_digest"));
    bb_results_destroy(&results);
    results = driver_results(&mask);
    assert_string_equal(bb_results_note_text(results, "provenance", "pupil"), "pupil in masks.h5");
    const char *noted = bb_results_note_text(results, "provenance", "pupil_digest");
    assert_int_equal(strlen(noted), sizeof digest - 1);
    memcpy(digest, noted, sizeof digest);
    bb_results_destroy(&results);
    results = driver_results(&flipped);
    assert_string_not_equal(bb_results_note_text(results, "provenance", "pupil_digest"), digest);
}

// The same mask from FITS files of three pixel types, one with another name, equals that of the
// HDF5 file bit for bit.
TEST_FULL(fits_images_are_masks_too)
{
    static const char *const good[] = {"telescope.pupil.file=float.fits",
                                       "telescope.pupil.file=double.fit",
                                       "telescope.pupil.file=byte.mask"};
    static const struct {
        const char *file;
        bb_status code;
        const char *words;
    } bad[] = {
        {"telescope.pupil.file=wide.fits", BB_INVALID, "'wide.fits' has 100 x 120 pixels"},
        {"telescope.pupil.file=cube.fits", BB_INVALID, "parts is an image with two axes"},
        {"telescope.pupil.file=cut.fits", BB_IO,
         "'cut.fits': declares 57600 bytes of pixels in a file of"},
        {"telescope.pupil.file=text.fits", BB_IO, "'text.fits': cannot open it"},
        {"telescope.pupil.file=absent.fits", BB_IO, "'absent.fits': No such file"},
        {"telescope.pupil.file=nan.fits", BB_INVALID, "first image, row 3, column 4: nan"},
    };
#ifdef BB_HAVE_CFITSIO
    char digest[BB_DIGEST_BYTES];
    const driver_case mask = with("telescope.pupil.dataset=pupil");
    bb_results *results = driver_results(&mask);
    const double strehl = driver_number(results, "strehl", "reference");
    memcpy(digest, bb_results_note_text(results, "provenance", "pupil_digest"), sizeof digest);
    bb_results_destroy(&results);
    for (int k = 0; k < 3; ++k) {
        results = driver_results(CASE(CONFIG_AO_SMALL, {good[k]}));
        assert_string_equal(bb_results_note_text(results, "provenance", "pupil"),
                            strchr(good[k], '=') + 1);
        assert_string_equal(bb_results_note_text(results, "provenance", "pupil_digest"), digest);
        assert_true(driver_number(results, "strehl", "reference") == strehl);
        bb_results_destroy(&results);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        check_refused(CASE(CONFIG_AO_SMALL, {bad[k].file}), bad[k].code, bad[k].words);
    }
#else
    (void)bad;
    for (int k = 0; k < 3; ++k) {
        const driver_case study = {CONFIG_AO_SMALL, {good[k]}};
        check_refused(&study, BB_UNSUPPORTED, "this build cannot read FITS files");
    }
#endif
}

TEST_GROUP(.begin = begin, .has_folder = true, .is_quiet = true);
