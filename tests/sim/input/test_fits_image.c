// SPDX-License-Identifier: Apache-2.0
//
// FITS images: undefined pixels with any storage, checksums, axes of one pixel, names.
#include "sim/ao/realtime/telemetry_file.h"
#include "sim/input/fits_image.h"
#include "sim/input/matrix_file.h"
#include "tests/sim/fixture.h"

#include <math.h>

TEST(names_tell_a_fits_file)
{
    static const char *const names[] = {"a.fits", "A.FITS", "a.Fit", "a.fits.gz", "a.fits.fz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        assert_true(bb_fits_image_named(names[i]));
    }
    assert_false(bb_fits_image_named("a.h5") || bb_fits_image_named(".fits") ||
                 bb_fits_image_named("fits"));
}

#ifdef BB_HAVE_CFITSIO
#include "core/memory.h"

#include <fitsio.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <sys/stat.h>

static bb_status read_image(const char *path, const char *part, int axes, bb_fits_image *out)
{
    const bb_fits_request request = {path, part, axes, axes, 1 << 20};
    return bb_fits_image_read(&request, out);
}

enum { COLUMNS = 4, ROWS = 3, PIXELS = COLUMNS * ROWS };

// Options for writing a file.
typedef struct recipe {
    int bits, packing; // codes of cfitsio
    int axes;
    bool has_blank, is_summed;
} recipe;

// Writes pixels 0, 1, 2, .. in steps of 1/2 from 10; pixel 6 is undefined.
static void put(const char *path, const recipe *r)
{
    long edges[5] = {COLUMNS, ROWS, 1, 1, 1};
    long blank = r->bits == BYTE_IMG ? 255 : -32768;
    double pixels[PIXELS], undefined = -1.0;
    int stored[PIXELS];
    int code = 0;
    fitsfile *file = NULL;
    (void)remove(path);
    (void)fits_create_diskfile(&file, path, &code);
    if (r->packing != 0) {
        (void)fits_set_compression_type(file, r->packing, &code);
    }
    (void)fits_create_img(file, r->bits, r->axes, edges, &code);
    if (r->bits > 0) {
        double scale = 0.5, zero = 10.0;
        (void)fits_write_key(file, TDOUBLE, "BSCALE", &scale, NULL, &code);
        (void)fits_write_key(file, TDOUBLE, "BZERO", &zero, NULL, &code);
        if (r->has_blank) {
            (void)fits_write_key(file, TLONG, "BLANK", &blank, NULL, &code);
        }
        (void)fits_set_bscale(file, 1.0, 0.0, &code); // stored numbers
    }
    for (int i = 0; i < PIXELS; ++i) {
        stored[i] = i == 6 ? (int)blank : i;
        pixels[i] = i == 6 ? undefined : 10.0 + 0.5 * i;
    }
    if (r->bits > 0) {
        (void)fits_write_img(file, TINT, 1, PIXELS, stored, &code);
    } else {
        (void)fits_write_imgnull(file, TDOUBLE, 1, PIXELS, pixels, &undefined, &code); // NaN
    }
    if (r->is_summed) {
        (void)fits_write_chksum(file, &code);
    }
    (void)fits_close_file(file, &code);
    assert_int_equal(code, 0);
}

TEST(undefined_pixels_are_nan)
{
    static const recipe recipes[] = {
        {.bits = BYTE_IMG, .axes = 2, .has_blank = true},
        {.bits = SHORT_IMG, .axes = 2, .has_blank = true},
        {.bits = LONG_IMG, .axes = 2, .has_blank = true},
        {.bits = LONG_IMG, .axes = 2, .packing = RICE_1, .has_blank = true},
        {.bits = FLOAT_IMG, .axes = 2},
        {.bits = DOUBLE_IMG, .axes = 2},
        {.bits = DOUBLE_IMG, .axes = 2, .packing = GZIP_1},
    };
    for (size_t k = 0; k < sizeof recipes / sizeof *recipes; ++k) {
        bb_fits_image image;
        put("u.fits", &recipes[k]);
        check_ok(read_image("u.fits", NULL, 2, &image));
        assert_true(image.rows == ROWS && image.columns == COLUMNS);
        for (int i = 0; i < PIXELS; ++i) {
            const bool fits = i == 6 ? isnan(image.values[i]) : image.values[i] == 10.0 + 0.5 * i;
            if (!fits) {
                fail_msg("recipe %zu: pixel %d is %g", k, i, image.values[i]);
            }
        }
        bb_fits_image_release(&image);
    }
}

// Floats stored as RICE-coded integers: without a test for undefined pixels such a pixel is read as
// a number.
TEST(undefined_pixels_of_packed_floats_are_nan)
{
    enum { EDGE = 64 };
    static float pixels[EDGE * EDGE];
    long edges[2] = {EDGE, EDGE};
    float undefined = -1.0F;
    int code = 0;
    fitsfile *file = NULL;
    bb_fits_image image;
    for (int i = 0; i < EDGE * EDGE; ++i) {
        pixels[i] = i == 777 ? undefined : (float)(100.0 + 10.0 * sin(12.9898 * i));
    }
    (void)fits_create_diskfile(&file, "rice.fits", &code);
    (void)fits_set_compression_type(file, RICE_1, &code);
    (void)fits_create_img(file, FLOAT_IMG, 2, edges, &code);
    (void)fits_write_imgnull(file, TFLOAT, 1, EDGE * EDGE, pixels, &undefined, &code);
    (void)fits_close_file(file, &code);
    assert_int_equal(code, 0);
    check_ok(read_image("rice.fits", NULL, 2, &image));
    for (int i = 0; i < EDGE * EDGE; ++i) {
        assert_true(i == 777 ? isnan(image.values[i]) : fabs(image.values[i] - pixels[i]) < 10.0);
    }
    bb_fits_image_release(&image);
}

// Without BLANK the number is an ordinary value.
TEST(blank_is_what_the_header_says)
{
    bb_fits_image image;
    put("n.fits", &(recipe){.bits = SHORT_IMG, .axes = 2});
    check_ok(read_image("n.fits", NULL, 2, &image));
    assert_true(image.values[6] == 10.0 - 0.5 * 32768.0);
    bb_fits_image_release(&image);
}

TEST(subnormal_pixels_keep_their_bits)
{
    bb_fits_image image;
    put("s.fits", &(recipe){.bits = DOUBLE_IMG, .axes = 2});
    FILE *file = fopen("s.fits", "r+b");
    (void)fseek(file, 2880L, SEEK_SET);
    assert_int_equal(fwrite("\0\0\0\0\0\0\0\1", 1, 8, file), 8);
    (void)fclose(file);
    check_ok(read_image("s.fits", NULL, 2, &image));
    assert_true(image.values[0] == 0x1p-1074);
    bb_fits_image_release(&image);
}

TEST(readers_refuse_what_is_undefined)
{
    const bb_matrix_place place = {"u.fits", "1"};
    bb_matrix_file *matrix = NULL;
    put("u.fits", &(recipe){.bits = SHORT_IMG, .axes = 2, .has_blank = true});
    check_fails(bb_matrix_file_open(&place, false, "C", &matrix), BB_INVALID,
                "'u.fits', image '1', row 1, column 2: nan, expected a finite value");
    const bb_telemetry_config telemetry = {.file = "u.fits"};
    autorelease(bb_telemetry_file) slopes;
    check_ok(bb_telemetry_file_load(&telemetry, COLUMNS, &slopes)); // the loop holds such a frame
    assert_true(isnan(slopes.values[6]));
}

// The first bytes of a file decide; its name if they are inconclusive.
TEST(first_bytes_tell_a_fits_file)
{
    static const double numbers[PIXELS] = {1.0, 2.0};
    static const hsize_t shape[] = {ROWS, COLUMNS};
    const bb_matrix_place image = {"image.data", "1"};
    const bb_matrix_place dataset = {"hdf5.fits", "/C"};
    bb_matrix_file *matrix = NULL;
    put("image.data", &(recipe){.bits = SHORT_IMG, .axes = 3, .has_blank = true});
    assert_true(bb_fits_image_recognised("image.data"));
    check_fails(bb_matrix_file_open(&image, false, "C", &matrix), BB_INVALID,
                "'image.data', image '1', row 1, column 2: nan");
    const hid_t file = H5Fcreate("hdf5.fits", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5LTmake_dataset_double(file, "C", 2, shape, numbers) >= 0);
    assert_true(H5Fclose(file) >= 0);
    assert_false(bb_fits_image_recognised("hdf5.fits"));
    check_ok(bb_matrix_file_open(&dataset, false, "C", &matrix));
    bb_matrix_file_close(&matrix);
    assert_int_equal(system("gzip -c image.data > packed.bin"), 0);
    write_text("text.fits", "SIMPLE =");
    write_text("text.h5", "SIMPLE =");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_true(bb_fits_image_recognised("packed.bin") && bb_fits_image_recognised("text.fits") &&
                bb_fits_image_recognised("none.fits"));
    assert_false(bb_fits_image_recognised("text.h5") || bb_fits_image_recognised("fifo") ||
                 bb_fits_image_recognised("none.h5"));
}

// Modifies one byte.
static void damage(const char *path, long place, unsigned char mask)
{
    unsigned char byte = 0;
    FILE *file = fopen(path, "r+b");
    (void)fseek(file, place, SEEK_SET);
    assert_int_equal(fread(&byte, 1, 1, file), 1);
    byte ^= mask;
    (void)fseek(file, place, SEEK_SET);
    assert_int_equal(fwrite(&byte, 1, 1, file), 1);
    (void)fclose(file);
}

TEST(checksums_are_verified)
{
    static const int packings[] = {0, RICE_1};
    for (int k = 0; k < 2; ++k) {
        const recipe summed = {
            .bits = LONG_IMG, .packing = packings[k], .axes = 2, .is_summed = true};
        bb_fits_image image;
        put("sum.fits", &summed);
        check_ok(read_image("sum.fits", NULL, 2, &image));
        bb_fits_image_release(&image);
        FILE *file = fopen("sum.fits", "rb");
        (void)fseek(file, 0L, SEEK_END);
        const long end = ftell(file);
        (void)fclose(file);
        damage("sum.fits", packings[k] == 0 ? 2880 + 17 : end - 2880, 1);
        check_fails(read_image("sum.fits", NULL, 2, &image), BB_IO,
                    "'sum.fits': damaged: its data do not match its DATASUM");
        put("sum.fits", &summed);
        damage("sum.fits", end - 2 * 2880 + 2879, ' ' ^ '!'); // after END: a blank of the header
        check_fails(read_image("sum.fits", NULL, 2, &image), BB_IO,
                    "'sum.fits': damaged: header and data do not match its CHECKSUM");
    }
}

TEST(axes_of_one_pixel_do_not_count)
{
    bb_fits_image image;
    for (int axes = 3; axes <= 5; ++axes) {
        put("one.fits", &(recipe){.bits = FLOAT_IMG, .axes = axes});
        check_ok(read_image("one.fits", NULL, 2, &image));
        assert_true(image.planes == 1 && image.rows == ROWS && image.values[11] == 15.5);
        bb_fits_image_release(&image);
    }
    check_ok(read_image("one.fits", NULL, 3, &image));
    assert_true(image.planes == 1 && image.rows == ROWS && image.columns == COLUMNS);
    bb_fits_image_release(&image);
}

#endif

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
