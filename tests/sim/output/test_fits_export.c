// SPDX-License-Identifier: Apache-2.0
//
// bitbudget export: pixels are bit-identical, headers describe them, and refusals name a remedy.
#include "sim/input/fits_image.h"
#include "sim/output/fits_export.h"
#include "sim/output/reader.h"
#include "tests/sim/dumped.h"

#ifdef BB_HAVE_CFITSIO
#include <fitsio.h>
#include <hdf5.h>
#endif

static bool is_absent(const char *path)
{
    return access(path, F_OK) != 0;
}

#ifndef BB_HAVE_CFITSIO

TEST(a_build_without_cfitsio_says_so)
{
    CALL_EXPECT(2, "this build cannot write FITS files; install libcfitsio-dev", "export", "a.h5",
                "-o", "a.fits");
    assert_true(is_absent("a.fits"));
}

TEST_GROUP(.has_folder = true, .begin = fixture_start_hdf5);

#else

static bb_results *results; // of full.h5, including operators

static int make_files(void)
{
    check_ok(bb_hdf5_library_start());
    CALL_EXPECT(0, "results: full.h5", "run", CONFIG_AO_SMALL, "-q", "-o", "full.h5", "--dump",
                "R,pupil,Cmm,Ctm,Ctt", "images=all", "pipelines.hp2.arithmetic=fp8",
                "title=50 % of \xc3\xa9toiles");
    CALL_EXPECT(0, "results: bare.h5", "run", CONFIG_AO_SMALL, "-q", "-o", "bare.h5");
    CALL("export", "full.h5", "-o", "full.fits");
    // Parts of the failed pipeline are skipped with a message.
    program_expect(&run, 0, "export: full.fits");
    program_expect(&run, 0, "skipping R_3_0 of pipeline hp2, status not_spd");
    program_expect(&run, 0, "skipping PSF_3_1_0 of pipeline hp2, status not_spd");
    return bb_reader_read_all("full.h5", "", &results) == BB_OK ? 0 : -1;
}

static void drop_files(void)
{
    bb_results_destroy(&results);
}

static const bb_dataset *find(const char *path)
{
    return dataset_at(results, path);
}

static bb_status read_image(const char *path, const char *part, int axes, bb_fits_image *out)
{
    const bb_fits_request request = {path, part, axes, axes, 1 << 20};
    return bb_fits_image_read(&request, out);
}

static void check_pixels(const char *part, const double *expected, bb_index rows, bb_index columns)
{
    bb_fits_image image;
    check_ok(read_image("full.fits", part, 2, &image));
    assert_int_equal(image.rows, rows);
    assert_int_equal(image.columns, columns);
    assert_memory_equal(image.values, expected, (size_t)(rows * columns) * sizeof *expected);
    bb_fits_image_release(&image);
}

TEST(pixels_come_back_to_the_bit)
{
    const bb_dataset *r = find("operators/R_2_1");
    check_pixels("R_2_1", r->numbers, r->shape[0], r->shape[1]);
    assert_int_not_equal(r->shape[0], r->shape[1]);
    const bb_dataset *pupil = find("operators/pupil");
    check_pixels("PUPIL", pupil->numbers, pupil->shape[0], pupil->shape[1]);
    // Pipeline 2, target 1, wavelength 1.
    const bb_dataset *psf = find("results/psf_target_1");
    const bb_index pixels = psf->shape[2] * psf->shape[3];
    check_pixels("PSF_2_1_1", psf->numbers + (2 * psf->shape[1] + 1) * pixels, psf->shape[2],
                 psf->shape[3]);
}

static fitsfile *open_part_of(const char *path, const char *part)
{
    fitsfile *file = NULL;
    int code = 0;
    assert_int_equal(fits_open_diskfile(&file, path, READONLY, &code), 0);
    char name[32];
    (void)snprintf(name, sizeof name, "%s", part);
    assert_int_equal(fits_movnam_hdu(file, ANY_HDU, name, 0, &code), 0);
    return file;
}

static fitsfile *open_part(const char *part)
{
    return open_part_of("full.fits", part);
}

static void close_part(fitsfile *file)
{
    int code = 0;
    assert_int_equal(fits_close_file(file, &code), 0);
}

static double number_of(fitsfile *file, const char *keyword)
{
    double value = NAN;
    int code = 0;
    (void)fits_read_key(file, TDOUBLE, keyword, &value, NULL, &code);
    if (code != 0) {
        print_error("no %s\n", keyword);
    }
    assert_int_equal(code, 0);
    return value;
}

static void check_text(fitsfile *file, const char *keyword, const char *expected)
{
    char value[FLEN_VALUE] = "";
    int code = 0;
    assert_int_equal(fits_read_key(file, TSTRING, keyword, value, NULL, &code), 0);
    assert_string_equal(value, expected);
}

static bool has_key(fitsfile *file, const char *keyword)
{
    char value[FLEN_VALUE] = "";
    int code = 0;
    return fits_read_keyword(file, keyword, value, NULL, &code) == 0;
}

static void check_number(double got, double expected)
{
    assert_true(fabs(got - expected) <= 1e-14 * fabs(expected));
}

TEST(reconstructors_say_what_they_are)
{
    fitsfile *file = open_part("R_2_1");
    check_text(file, "BUNIT", "arcsec/arcsec");
    check_text(file, "PIPELINE", "sp");
    check_text(file, "ARITH", "sp");
    check_text(file, "SLPORDER", "X THEN Y");
    check_text(file, "TITLE", "50 % of ?toiles"); // headers are ASCII
    check_text(file, "GSKIND0", "lgs");
    check_text(file, "DIGEST", bb_results_note_text(results, "", "reproducible_digest"));
    check_text(file, "VERSION", bb_results_note_text(results, "provenance", "version"));
    const bb_dataset *r = find("operators/R_2_1");
    char text[BB_DIGEST_BYTES];
    bb_digest *digest = NULL;
    check_ok(bb_digest_create(&digest));
    bb_digest_add_values(digest, r->numbers, r->count);
    bb_digest_text(digest, text);
    bb_digest_destroy(&digest);
    check_text(file, "OPDIGEST", text);
    assert_true(number_of(file, "TELDIAM") == 8.0 && number_of(file, "TELOBSTR") == 0.14);
    assert_true(number_of(file, "NLENSLET") == 6.0 && number_of(file, "NGSTARS") == 3.0);
    assert_true(number_of(file, "TARGETX") == 7.0 && number_of(file, "TARGETY") == -4.0);
    assert_true(number_of(file, "GSX1") == -16.0 && number_of(file, "GSY1") == -26.0);
    assert_true(number_of(file, "GSALT0") == 90.0 && number_of(file, "BITPIX") == -64.0);
    assert_true(number_of(file, "NMEAS") == (double)find("slopes/slope")->count);
    assert_true(number_of(file, "NTRUTH") == (double)find("truth_slopes_1/slope")->count);
    check_text(file, "CORRECT", "moao");
    assert_false(has_key(file, "GSALT1"));
    close_part(file);
}

static const char two_targets[] =
    "experiment: ao\ndevice: cpu\ntelescope: {diameter_m: 4.0, obstruction: 0.2}\n"
    "atmosphere:\n  layers: [{height_m: 0.0, strength: 0.6}, {height_m: 6000.0, strength: 0.4}]\n"
    "  r0_m: 0.15\nsensors: {lenslets: 6}\nguide_stars:\n"
    "  - {kind: ngs, magnitude: 9.0, ring: {count: 3, radius_arcsec: 25.0}}\n"
    "  - {kind: rayleigh, x_arcsec: 3.0, y_arcsec: 2.0}\n"
    "  - {kind: rayleigh, x_arcsec: -3.0, y_arcsec: 2.0, altitude_km: 15.0}\n"
    "targets: [{x_arcsec: 0.0, y_arcsec: 0.0}, {x_arcsec: 12.0, y_arcsec: -7.0}]\n"
    "pipelines:\n  - {name: reference, arithmetic: dp}\n";

// Runs that study into NAME.h5, exports it to NAME.fits and reads its results, including operators.
static bb_results *export_targets(const char *name, const char *key, const char *other)
{
    char files[2][32];
    write_text("targets.yaml", two_targets);
    (void)snprintf(files[0], sizeof files[0], "%s.h5", name);
    (void)snprintf(files[1], sizeof files[1], "%s.fits", name);
    CALL_OK("run", "targets.yaml", "-q", "-o", files[0], "--dump", "R", key, other);
    CALL_OK("export", files[0], "-o", files[1], "--parts", "R");
    return read_all_results(files[0], "");
}

static bool has_part(const char *path, const char *part)
{
    fitsfile *file = NULL;
    int code = 0;
    char name[32];
    (void)snprintf(name, sizeof name, "%s", part);
    assert_int_equal(fits_open_diskfile(&file, path, READONLY, &code), 0);
    const bool found = fits_movnam_hdu(file, ANY_HDU, name, 0, &code) == 0;
    close_part(file);
    return found;
}

// Mean of the reconstructors of all targets (glao), which has no direction, or that of the first
// (ltao).
TEST(a_reconstructor_of_all_targets_is_exported)
{
    static const char *const corrections[] = {"correction=glao", "correction=ltao"};
    autoptr(bb_results) own = export_targets("moao", "correction=moao", NULL);
    const double *first = bb_results_find(own, "operators/R_0_0")->numbers;
    const double *second = bb_results_find(own, "operators/R_0_1")->numbers;
    assert_true(has_part("moao.fits", "R_0_1") && has_part("moao.fits", "TRUTH_SLOPES_1"));
    for (int c = 0; c < 2; ++c) {
        const char *path = c == 0 ? "glao.fits" : "ltao.fits";
        autoptr(bb_results) all = export_targets(c == 0 ? "glao" : "ltao", corrections[c], NULL);
        const bb_dataset *r = bb_results_find(all, "operators/R_0_0");
        bb_fits_image image;
        check_ok(read_image(path, "R_0_0", 2, &image));
        assert_int_equal(image.rows * image.columns, r->count);
        for (bb_index i = 0; i < r->count; ++i) {
            assert_true(image.values[i] == (c == 0 ? (first[i] + second[i]) / 2.0 : first[i]));
        }
        assert_string_equal(image.unit, "arcsec/arcsec");
        bb_fits_image_release(&image);
        fitsfile *file = open_part_of(path, "R_0_0");
        check_text(file, "CORRECT", c == 0 ? "glao" : "ltao");
        check_text(file, "CTYPE2", "TRUTH");
        assert_true(number_of(file, "NTARGETS") == 2.0 && has_key(file, "TARGET") == (c == 1));
        close_part(file);
        assert_false(has_part(path, "R_0_1") || has_part(path, "TRUTH_SLOPES_1"));
        file = open_part_of(path, "TRUTH_SLOPES_0");
        assert_true(number_of(file, "NAXIS2") == (double)r->shape[0]);
        close_part(file);
    }
}

// Checks that column `number` of a table has the values of a dataset.
static void check_column(const char *path, const char *part, int number, const char *title,
                         const bb_dataset *expected)
{
    fitsfile *file = open_part_of(path, part);
    int code = 0;
    int found = 0;
    char name[16];
    (void)snprintf(name, sizeof name, "%s", title);
    assert_non_null(expected);
    assert_true(number_of(file, "NAXIS2") == (double)expected->count);
    assert_int_equal(fits_get_colnum(file, CASESEN, name, &found, &code), 0);
    assert_int_equal(found, number);
    autofree double *values = new_array(double, expected->count);
    (void)fits_read_col(file, TDOUBLE, number, 1, 1, expected->count, NULL, values, NULL, &code);
    assert_int_equal(code, 0);
    assert_memory_equal(values, expected->numbers, (size_t)expected->count * sizeof *values);
    close_part(file);
}

static void check_commands(const char *path, const char *part, double rows)
{
    fitsfile *file = open_part_of(path, part);
    check_text(file, "BUNIT", "V/arcsec");
    check_text(file, "CTYPE2", "COMMAND");
    assert_true(number_of(file, "NCOMMAND") == rows && number_of(file, "NAXIS2") == rows);
    assert_false(has_key(file, "NTRUTH"));
    close_part(file);
}

// Together with the reference, whose rows are slopes.
TEST(commands_have_their_unit_and_actuators)
{
    static const char *const titles[] = {"MIRROR", "HEIGHT", "X", "Y"};
    static const char *const members[] = {"mirror", "height_m", "x_m", "y_m"};
    autoptr(bb_results) made = export_targets(
        "own",
        "pipelines=[{name: reference, arithmetic: dp}, {name: rtc, arithmetic: dp, operator: "
        "commands, storage: {codec: integer, bits: 12, rounding: sweep}}]",
        NULL);
    check_commands("own.fits", "R_1_0", 44.0);
    check_commands("own.fits", "R_1_1", 44.0);
    for (int c = 0; c < 4; ++c) {
        char path[32];
        (void)snprintf(path, sizeof path, "actuators_1/%s", members[c]);
        check_column("own.fits", "ACTUATORS_1", c + 1, titles[c], bb_results_find(made, path));
    }
    fitsfile *file = open_part_of("own.fits", "R_0_0");
    check_text(file, "BUNIT", "arcsec/arcsec");
    check_text(file, "CTYPE2", "TRUTH");
    close_part(file);
    assert_true(has_part("own.fits", "TRUTH_SLOPES_0"));
    char rows[32];
    const hid_t dumped = H5Fopen("own.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t r = H5Dopen2(dumped, "operators/R_1_1", H5P_DEFAULT);
    check_ok(bb_hdf5_library_read_text(r, "rows", rows, sizeof rows));
    assert_string_equal(rows, "/actuators_1");
    assert_true(H5Dclose(r) >= 0 && H5Fclose(dumped) >= 0);
    CALL_OK("export", "own.h5", "-o", "rtc.fits", "--parts", "R", "--pipeline", "rtc");
    assert_true(has_part("rtc.fits", "ACTUATORS_0") && !has_part("rtc.fits", "TRUTH_SLOPES_0"));
}

// 44 actuators at the corners of 6 lenslets, 29 points of a grid of 1 m within 3.104 m.
TEST(commands_of_several_mirrors_are_exported)
{
    autoptr(bb_results) made = export_targets(
        "mcao", "correction=mcao", "mirrors=[{height_m: 0.0}, {height_m: 6000.0, pitch_m: 1.0}]");
    check_commands("mcao.fits", "R_0_0", 73.0);
    const bb_dataset *mirror = bb_results_find(made, "actuators_0/mirror");
    check_column("mcao.fits", "ACTUATORS_0", 1, "MIRROR", mirror);
    check_column("mcao.fits", "ACTUATORS_0", 2, "HEIGHT",
                 bb_results_find(made, "actuators_0/height_m"));
    check_column("mcao.fits", "ACTUATORS_0", 3, "X", bb_results_find(made, "actuators_0/x_m"));
    assert_true(mirror->numbers[43] == 0.0 && mirror->numbers[44] == 1.0);
    assert_false(has_part("mcao.fits", "TRUTH_SLOPES_0") || has_part("mcao.fits", "R_0_1"));
    fitsfile *file = open_part_of("mcao.fits", "R_0_0");
    assert_true(number_of(file, "NTARGETS") == 2.0);
    // A Rayleigh star has the altitude of its kind or its own; a natural star has none.
    assert_true(number_of(file, "GSALT3") == 12.0 && number_of(file, "GSALT4") == 15.0);
    assert_false(has_key(file, "GSALT0"));
    close_part(file);
}

// Columns STAR and AXIS of the table match the operator's columns.
TEST(slopes_have_a_table)
{
    fitsfile *file = open_part("SLOPES");
    const bb_dataset *star = find("slopes/star");
    const bb_dataset *y = find("slopes/y_m");
    int code = 0;
    long rows = 0;
    assert_int_equal(fits_get_num_rows(file, &rows, &code), 0);
    assert_int_equal(rows, star->count);
    for (long r = 0; r < rows; ++r) {
        double numbers[2];
        char axis[4] = "";
        char *text = axis;
        (void)fits_read_col(file, TDOUBLE, 1, r + 1, 1, 1, NULL, &numbers[0], NULL, &code);
        (void)fits_read_col(file, TSTRING, 2, r + 1, 1, 1, NULL, &text, NULL, &code);
        (void)fits_read_col(file, TDOUBLE, 4, r + 1, 1, 1, NULL, &numbers[1], NULL, &code);
        assert_int_equal(code, 0);
        assert_true(numbers[0] == star->numbers[r] && numbers[1] == y->numbers[r]);
        assert_string_equal(axis, find("slopes/axis")->texts[r]);
    }
    close_part(file);
    close_part(open_part("TRUTH_SLOPES_1"));
}

TEST(images_and_pupil_have_scales)
{
    const bb_dataset *pixel = find("results/psf_pixel_mas");
    const bb_dataset *strehl = find("results/strehl_by");
    fitsfile *file = open_part("PSF_2_1_1");
    check_text(file, "CUNIT1", "mas");
    check_text(file, "BUNIT", "");
    check_number(number_of(file, "CDELT1"), pixel->numbers[3]);
    assert_true(pixel->numbers[3] > pixel->numbers[2]); // the longer wavelength
    // The brightest pixel of a good image is on the axis.
    assert_true(number_of(file, "CRPIX1") == 65.0 && number_of(file, "CRVAL2") == 0.0);
    assert_true(number_of(file, "WAVELEN") == 2.2);
    check_number(number_of(file, "STREHL"), strehl->numbers[(2 * 2 + 1) * 2 + 1]);
    close_part(file);
    bb_fits_image image;
    check_ok(read_image("full.fits", "PSF_0_0_1", 2, &image));
    bb_index brightest = 0;
    for (bb_index i = 0; i < image.rows * image.columns; ++i) {
        brightest = image.values[i] > image.values[brightest] ? i : brightest;
    }
    assert_int_equal(brightest, 64 * image.columns + 64);
    bb_fits_image_release(&image);
    file = open_part("PUPIL");
    check_text(file, "CUNIT2", "m");
    const double step = number_of(file, "CDELT1");
    const double points = number_of(file, "NAXIS1");
    assert_true(number_of(file, "CRPIX1") == 0.5 * (points + 1.0));
    // The points of the pupil are within its diameter.
    assert_true((points - 1.0) * step <= 8.0 + 1e-9 && (points + 1.0) * step > 8.0);
    close_part(file);
}

TEST(every_part_has_checksums_and_a_date)
{
    fitsfile *file = NULL;
    int code = 0;
    int parts = 0;
    assert_int_equal(fits_open_diskfile(&file, "full.fits", READONLY, &code), 0);
    assert_int_equal(fits_get_num_hdus(file, &parts, &code), 0);
    // Primary HDU; R, images of the successful pipelines, two targets, two wavelengths; tables;
    // pupil.
    assert_true(parts > 20);
    for (int p = 1; p <= parts; ++p) {
        int data = 0;
        int all = 0;
        char date[FLEN_VALUE] = "";
        assert_int_equal(fits_movabs_hdu(file, p, NULL, &code), 0);
        assert_int_equal(fits_verify_chksum(file, &data, &all, &code), 0);
        assert_int_equal(data, 1);
        assert_int_equal(all, 1);
        assert_int_equal(fits_read_key(file, TSTRING, "DATE", date, NULL, &code), 0);
    }
    close_part(file);
}

TEST(a_study_takes_a_part_as_its_matrix)
{
    static const char study[] = "experiment: product\nmatrix: {file: full.fits, dataset: R_0_0}\n"
                                "pipelines:\n  - {name: reference, storage: fp64, multiply: fp64, "
                                "accumulate: fp64}\n";
    write_text("product.yaml", study);
    CALL_EXPECT(0, "results: product.h5", "run", "product.yaml", "-q", "-o", "product.h5");
}

TEST(parts_and_pipelines_are_chosen)
{
    CALL_EXPECT(0, "export: one.fits", "export", "full.h5", "-o", "one.fits", "--pipeline", "sp",
                "--parts", "R");
    bb_fits_image image;
    check_ok(read_image("one.fits", "R_2_0", 2, &image));
    bb_fits_image_release(&image);
    check_fails(read_image("one.fits", "R_0_0", 2, &image), BB_IO, "no part");
    check_fails(read_image("one.fits", "PUPIL", 2, &image), BB_IO, "no part");
}

TEST(what_failed_is_not_there)
{
    bb_fits_image image;
    check_fails(read_image("full.fits", "R_3_0", 2, &image), BB_IO, "no part");
    check_fails(read_image("full.fits", "PSF_3_0_0", 2, &image), BB_IO, "no part");
    CALL_EXPECT(2, "all chosen pipelines failed", "export", "full.h5", "-o", "x.fits", "--pipeline",
                "hp2");
    assert_true(is_absent("x.fits"));
}

// A title of 320 bytes is complete; images of a study without `images: all` have the same scale as
// those of all.
TEST(bare_files_have_whole_headers)
{
    char title[321];
    char argument[sizeof title + 8];
    char *found = NULL;
    int code = 0;
    for (size_t i = 0; i + 1 < sizeof title; ++i) {
        title[i] = (char)(i % 16 == 15 ? ' ' : 'a' + i % 26);
    }
    title[sizeof title - 2] = 'z';
    title[sizeof title - 1] = '\0';
    (void)snprintf(argument, sizeof argument, "title=%s", title);
    CALL_EXPECT(0, "results: long.h5", "run", CONFIG_AO_SMALL, "-q", "-o", "long.h5", argument);
    CALL_EXPECT(0, "export: long.fits", "export", "long.h5", "-o", "long.fits", "--parts", "psf");
    fitsfile *file = open_part_of("long.fits", "PSF_2_0_0");
    assert_int_equal(fits_read_key_longstr(file, "TITLE", &found, NULL, &code), 0);
    assert_string_equal(found, title);
    assert_int_equal(fits_free_memory(found, &code), 0);
    assert_true(number_of(file, "CRPIX1") == 65.0 && number_of(file, "CRPIX2") == 65.0);
    close_part(file);
}

TEST_FULL(what_is_missing_is_told_with_its_remedy)
{
    CALL_EXPECT(2,
                "'bare.h5' has no reconstructor; 'bitbudget rerun bare.h5 --dump R,pupil -o "
                "NEW.h5' writes a file with it; --parts psf exports only the images",
                "export", "bare.h5", "-o", "bare.fits");
    assert_true(is_absent("bare.fits"));
    CALL_EXPECT(2, "'bare.h5' has no pupil", "export", "bare.h5", "-o", "bare.fits", "--parts",
                "pupil");
    CALL_EXPECT(0, "export: bare.fits", "export", "bare.h5", "-o", "bare.fits", "--parts", "psf");
    bb_fits_image image;
    check_ok(read_image("bare.fits", "PSF_0_0_0", 2, &image));
    bb_fits_image_release(&image);
    CALL_EXPECT(0, "results: new.h5", "rerun", "bare.h5", "-q", "--dump", "R,pupil", "-o",
                "new.h5");
    CALL_EXPECT(0, "export: new.fits", "export", "new.h5", "-o", "new.fits");
}

TEST_FULL(other_experiments_have_what_they_have)
{
    CALL_EXPECT(0, "results: wafer.h5", "run", CONFIG_WAFER_SMALL, "-q", "-o", "wafer.h5");
    CALL_EXPECT(2, "'wafer.h5' is a result of wafer, which has no reconstructors, images or pupil",
                "export", "wafer.h5", "-o", "wafer.fits");
    assert_true(is_absent("wafer.fits"));
    // A reconstructor of user-supplied matrices: no telescope, slopes or images.
    CALL_EXPECT(0, "results: matrix.h5", "run",
                BB_SOURCE_DIR "/tests/configs/small/reconstructor.yaml", "-q", "-o", "matrix.h5",
                "--dump", "R", "covariance.file=full.h5", "cross_covariance.file=full.h5",
                "truth_covariance.file=full.h5");
    CALL_EXPECT(0, "export: matrix.fits", "export", "matrix.h5", "-o", "matrix.fits");
    CALL_EXPECT(2, "studies of this experiment have no psf", "export", "matrix.h5", "-o",
                "matrix.fits", "--force", "--parts", "psf");
    bb_fits_image image;
    check_ok(read_image("matrix.fits", "R_1_0", 2, &image));
    assert_string_equal(image.unit, "");
    bb_fits_image_release(&image);
}

// Changes by another program in groups that no digest covers.
TEST(foreign_groups_are_not_trusted)
{
    fitsfile *file = NULL;
    char text[FLEN_VALUE] = "";
    int code = 0;
    assert_int_equal(system("cp full.h5 odd.h5"), 0);
    const hid_t odd = H5Fopen("odd.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(odd >= 0);
    assert_true(H5Lmove(odd, "study/pipeline_arithmetic", odd, "study/p", 0, 0) >= 0);
    assert_true(H5Ldelete(odd, "slopes/axis", 0) >= 0);
    assert_true(H5Ldelete(odd, "system/pupil_pixel_m", 0) >= 0);
    assert_true(H5Fclose(odd) >= 0);
    CALL_EXPECT(0, "export: odd.fits", "export", "odd.h5", "-o", "odd.fits");
    // The order of slopes is not stated if the file does not confirm it.
    assert_int_equal(fits_open_diskfile(&file, "odd.fits", READONLY, &code), 0);
    char name[] = "R_2_1";
    assert_int_equal(fits_movnam_hdu(file, ANY_HDU, name, 0, &code), 0);
    assert_int_equal(fits_read_key(file, TSTRING, "SLPORDER", text, NULL, &code), KEY_NO_EXIST);
    code = 0;
    char table[] = "SLOPES";
    assert_int_not_equal(fits_movnam_hdu(file, ANY_HDU, table, 0, &code), 0);
    close_part(file);
}

// A part missing for a successful pipeline is an error, and no file is written.
TEST(pipelines_that_finished_have_all_parts)
{
    assert_int_equal(system("cp full.h5 less.h5"), 0);
    const hid_t file = H5Fopen("less.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Ldelete(file, "operators/R_2_1", H5P_DEFAULT) >= 0);
    assert_true(H5Fclose(file) >= 0);
    CALL_EXPECT(2, "'less.h5' has no R_2_1, although its pipeline sp is ok", "export", "less.h5",
                "-o", "less.fits");
    assert_true(is_absent("less.fits"));
    CALL_EXPECT(0, "export: less.fits", "export", "less.h5", "-o", "less.fits", "--parts", "psf");
    // Images are covered by the file's digest, so that one is removed from the results read.
    const bb_dataset *psf = find("results/psf_target_0");
    double *pixel = &psf->numbers[2 * (psf->count / psf->shape[0])];
    const double present = *pixel;
    bb_fits_export wanted = {.file = "full.h5", .results = results, .parts = "psf"};
    *pixel = NAN;
    check_fails(bb_fits_export_write("dark.fits", &wanted), BB_INVALID,
                "'full.h5' has no PSF_2_0_0, although its pipeline sp is ok");
    *pixel = present;
}

TEST(mistakes_are_refused)
{
    CALL_EXPECT(2, "export needs -o FILE.fits", "export", "full.h5");
    CALL_EXPECT(2, "the name must end in .fits or .fit", "export", "full.h5", "-o", "full.h5");
    CALL_EXPECT(2, "the name must end in .fits or .fit", "export", "full.h5", "-o", "new.fits.gz");
    CALL_EXPECT(3, "output 'full.fits' exists", "export", "full.h5", "-o", "full.fits");
    CALL_EXPECT(2, "--parts R,psff: unknown part 'psff', expected parts of R,psf,pupil", "export",
                "full.h5", "-o", "x.fits", "--parts", "R,psff");
    CALL_EXPECT(2, "no pipeline 'hp7' (did you mean hp2?)", "export", "full.h5", "-o", "x.fits",
                "--pipeline", "hp7");
    CALL_EXPECT(2, "--pipeline nosuch: no pipeline 'nosuch'", "export", "full.h5", "-o", "x.fits",
                "--pipeline", "sp,nosuch");
    CALL_EXPECT(3, "cannot export 'none.h5'", "export", "none.h5", "-o", "x.fits");
    CALL_EXPECT(2, "output 'full.fits' is the input file", "export", "full.fits", "-o", "full.fits",
                "--force");
    CALL_EXPECT(3, "not an HDF5 file", "export", "full.fits", "-o", "x.fits");
    // Truncated: no file and no temporary one.
    assert_int_equal(system("head -c 300000 full.h5 > cut.h5"), 0);
    CALL_EXPECT(3, "cannot export 'cut.h5'", "export", "cut.h5", "-o", "x.fits");
    assert_true(is_absent("x.fits"));
    assert_int_not_equal(system("ls -A | grep -q part$"), 0);
}

TEST_GROUP(.begin = make_files, .end = drop_files, .has_folder = true);

#endif
