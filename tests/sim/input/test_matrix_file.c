// SPDX-License-Identifier: Apache-2.0
//
// User-supplied matrices: operators read back bit for bit, foreign files with any float type,
// refusals and their messages, and damaged files.
#include "core/file.h"
#include "core/random.h"
#include "core/thread.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_file.h"
#include "tests/sim/fixture.h"

#include <sys/stat.h>

// Each mutant needs a process, which sanitizers make ten times slower.
#ifdef BB_SANITIZED
enum { MUTANTS = 500 };
#else
enum { MUTANTS = 3000 };
#endif
enum { ROWS = 37, COLUMNS = 53 };

static double values[ROWS * COLUMNS];
static double read_back[ROWS * COLUMNS];

static void write_operator(const char *path)
{
    const bb_view view = bb_view_matrix(values, ROWS, COLUMNS);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "C", "m/K");
    autoptr(bb_results) results = fixture_results();
    check_ok(bb_results_note(results, "", "source", "bitbudget of a test"));
    check_ok(bb_results_operator(results, "C_x_8", "rows for a test", &source));
    check_ok(bb_file_write_by(path, true, fixture_write, results));
}

// Runs a line of Python with h5py; `f` is a new file.
static void write_foreign(const char *path, const char *line)
{
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "/usr/bin/python3 -c \"import h5py, numpy as n\nf=h5py.File('%s','w')\n%s\"",
                   path, line);
    assert_int_equal(system(command), 0);
}

static int begin(void)
{
    fill_array(values, ROWS * COLUMNS, i, bb_random_normal(7, BB_STREAM_SELF_TEST, (uint64_t)i));
    check_ok(bb_hdf5_library_start());
    write_operator("whole.h5");
    return 0;
}

static bb_status open_place(const char *file, const char *dataset, bool symmetric,
                            bb_matrix_file **out)
{
    const bb_matrix_place place = {file, dataset};
    return bb_matrix_file_open(&place, symmetric, "C", out);
}

static void check_refused(const char *file, const char *dataset, bool symmetric, bb_status code,
                          const char *words)
{
    bb_matrix_file *opened = NULL;
    check_fails(open_place(file, dataset, symmetric, &opened), code, words);
    assert_null(opened);
}

TEST(operators_read_back_bit_for_bit)
{
    autoclose(bb_matrix_file) file = NULL;
    check_ok(bb_threads_set(2));
    check_ok(open_place("whole.h5", "/operators/C_x_8", false, &file));
    const bb_matrix_source *source = bb_matrix_file_source(file);
    assert_int_equal(source->rows, ROWS);
    assert_int_equal(source->columns, COLUMNS);
    assert_string_equal(source->unit, "m/K");
    check_ok(bb_matrix_source_load(source, read_back));
    assert_memory_equal(read_back, values, sizeof values);
    double block[4 * 5];
    check_ok(bb_matrix_source_fill(source, 30, 40, bb_view_matrix(block, 4, 5)));
    assert_true(block[2 * 5 + 3] == values[32 * COLUMNS + 43]);
    double minimum = INFINITY;
    double maximum = -INFINITY;
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        minimum = fmin(minimum, values[i]);
        maximum = fmax(maximum, values[i]);
    }
    assert_true(bb_matrix_file_range(file) == maximum - minimum);
}

TEST(foreign_files_of_any_float_are_read)
{
    autoclose(bb_matrix_file) file = NULL;
    double four[4];
    write_foreign("foreign.h5", "f['h']=n.array([[1,2],[3,4]],'f2')\nf['big']=n.array([[1,2],[3,"
                                "4]],'>f4')\nf['g/d']=n.array([[1,2],[2,4.5]])");
    const char *const names[] = {"h", "/big"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        check_ok(open_place("foreign.h5", names[i], false, &file));
        check_ok(bb_matrix_source_load(bb_matrix_file_source(file), four));
        assert_true(four[0] == 1.0 && four[1] == 2.0 && four[2] == 3.0 && four[3] == 4.0);
        bb_matrix_file_close(&file);
    }
    check_ok(open_place("foreign.h5", "/g/d", true, &file));
    assert_true(bb_matrix_file_source(file)->symmetric);
}

static bb_status open_expected(const char *file, const char *dataset, bool symmetric,
                               bb_quantity quantity, double four[4], bb_matrix_file **out)
{
    bb_status status = BB_OK;
    BB_TRY(open_place(file, dataset, symmetric, out));
    BB_TRY(bb_matrix_file_expect(*out, quantity));
    BB_TRY(bb_matrix_source_load(bb_matrix_file_source(*out), four));
done:
    return status;
}

// Values are converted to the unit wherever a block is read, also above the diagonal.
TEST(units_are_converted_or_refused)
{
    autoclose(bb_matrix_file) file = NULL;
    double four[4] = {0};
    write_foreign("units.h5", "m=[[1.,2.],[2.,5.]]\n"
                              "for k,u in (('um','um/K'),('m','m/K'),('k','K'),('mas','mas^2')):\n"
                              "  f[k]=n.array(m)\n  f[k].attrs['units']=u\n"
                              "f['none']=n.array(m)\nf['huge']=n.array([[1e300]])\n"
                              "f['huge'].attrs['units']='rad^2'");
    check_ok(open_expected("units.h5", "um", false, BB_QUANTITY_RESPONSE, four, &file));
    assert_true(four[0] == 1e-6 && four[1] == 2e-6 && four[2] == 2e-6 && four[3] == 1e-6 * 5.0);
    assert_string_equal(bb_matrix_file_source(file)->unit, "m/K");
    assert_true(bb_matrix_file_range(file) == 1e-6 * 4.0);
    bb_matrix_file_close(&file);
    check_ok(open_expected("units.h5", "none", false, BB_QUANTITY_RESPONSE, four, &file));
    assert_true(four[0] == 1.0 && four[3] == 5.0);
    assert_string_equal(bb_matrix_file_source(file)->unit, "m/K");
    bb_matrix_file_close(&file);
    check_ok(open_expected("units.h5", "mas", true, BB_QUANTITY_COVARIANCE, four, &file));
    assert_true(four[0] == 1e-6 && four[1] == 2e-6 && four[2] == 2e-6 && four[3] == 1e-6 * 5.0);
    assert_string_equal(bb_matrix_file_source(file)->unit, "arcsec^2");
    bb_matrix_file_close(&file);
    check_fails(open_expected("units.h5", "k", false, BB_QUANTITY_RESPONSE, four, &file),
                BB_INVALID, "'units.h5', dataset 'k': values in 'K', expected one of: m/K");
    bb_matrix_file_close(&file);
    check_fails(open_expected("units.h5", "huge", false, BB_QUANTITY_COVARIANCE, four, &file),
                BB_INVALID, "is not finite in arcsec^2");
}

// Replaces a value in a file, whose times are preserved if `keeps`.
static void replace_value(const char *path, double old, double new, bool keeps)
{
    static char bytes[1 << 16];
    struct stat about;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    const size_t count = fread(bytes, 1, sizeof bytes, file);
    const char *place = memmem(bytes, count, &old, sizeof old);
    assert_non_null(place);
    (void)fseek(file, place - bytes, SEEK_SET);
    assert_int_equal(fwrite(&new, sizeof new, 1, file), 1);
    (void)fflush(file);
    const struct timespec times[2] = {
        about.st_atim, {about.st_mtim.tv_sec - (keeps ? 0 : 1), about.st_mtim.tv_nsec}};
    assert_int_equal(futimens(fileno(file), times), 0);
    (void)fclose(file);
}

// Rows are read long after the first pass over the file.
TEST(values_are_verified_on_every_read)
{
    autoclose(bb_matrix_file) file = NULL;
    double two[2];
    const char *const lines = "f['m']=n.array([[1.,2.],[3.,4.25]])";
    write_foreign("changing.h5", lines);
    check_ok(open_place("changing.h5", "m", false, &file));
    replace_value("changing.h5", 4.25, NAN, true);
    check_fails(bb_matrix_source_fill(bb_matrix_file_source(file), 1, 0, bb_view_matrix(two, 1, 2)),
                BB_INVALID, "'changing.h5', dataset 'm', row 1, column 1: nan, expected a finite");
    bb_matrix_file_close(&file);
    write_foreign("changing.h5", lines);
    check_ok(open_place("changing.h5", "m", false, &file));
    check_ok(bb_matrix_source_fill(bb_matrix_file_source(file), 0, 0, bb_view_matrix(two, 1, 2)));
    replace_value("changing.h5", 4.25, 5.0, false);
    check_fails(bb_matrix_source_fill(bb_matrix_file_source(file), 1, 0, bb_view_matrix(two, 1, 2)),
                BB_IO, "'changing.h5', dataset 'm': the file changed after it was checked");
    bb_matrix_file_close(&file);
    write_foreign("changing.h5", lines);
    check_ok(open_place("changing.h5", "m", false, &file));
    assert_int_equal(system("rm changing.h5 && echo other > changing.h5"), 0);
    check_ok(bb_matrix_source_fill(bb_matrix_file_source(file), 0, 0, bb_view_matrix(two, 1, 2)));
}

// FITS written manually: cards of 80 bytes, blocks of 2880, big-endian; a primary image and an
// extension.
static void write_fits(void)
{
    static const char script[] =
        "import numpy as n\n"
        "def part(first, a, *more):\n"
        "    cards = [first, 'BITPIX  = %20d' % -64, 'NAXIS   = %20d' % a.ndim]\n"
        "    cards += ['NAXIS%d  = %20d' % (k + 1, e) for k, e in enumerate(a.shape[::-1])]\n"
        "    head = ''.join(c.ljust(80) for c in cards + list(more) + ['END'])\n"
        "    data = a.astype('>f8').tobytes()\n"
        "    return (head.ljust(-len(head) // 2880 * -2880).encode() + data +\n"
        "            bytes(-len(data) % 2880))\n"
        "def primary(a, *more): return part('SIMPLE  = %20s' % 'T', a, *more)\n"
        "def extension(a, name): return part(\"XTENSION= 'IMAGE   '\", a,\n"
        "    'PCOUNT  = %20d' % 0, 'GCOUNT  = %20d' % 1, \"EXTNAME = '%s'\" % name)\n"
        "s = n.array([[4., 1., 2.], [1., 5., 3.], [2., 3., 6.]])\n"
        "w = n.arange(6.).reshape(2, 3)\n"
        "x = n.array([[1., 2.], [3., n.nan]])\n"
        "open('mas.fits', 'wb').write(primary(s, \"BUNIT   = 'mas^2'\"))\n"
        "open('two.fits', 'wb').write(primary(s, \"BUNIT   = 'arcsec^2'\") +\n"
        "    extension(w, 'WIDE') + extension(x, 'NAN'))\n"
        "k = s.copy(); k[0, 2] = 9\n"
        "open('skew.fits', 'wb').write(primary(k))\n";
    run_python(script);
}

// FITS is accepted like HDF5: by name or number, with its unit, and with the same rules.
TEST(images_are_matrices)
{
    static const double square[9] = {4, 1, 2, 1, 5, 3, 2, 3, 6};
    bb_matrix_file *file = NULL;
    double got[9];
#ifndef BB_HAVE_CFITSIO
    skip();
#endif
    write_fits();
    check_ok(open_place("two.fits", "1", true, &file));
    const bb_matrix_source *source = bb_matrix_file_source(file);
    assert_true(source->symmetric);
    assert_string_equal(source->unit, "arcsec^2");
    assert_true(bb_matrix_file_range(file) == 5.0);
    check_ok(bb_matrix_source_load(source, got));
    assert_memory_equal(got, square, sizeof square);
    bb_matrix_file_close(&file);
    check_ok(open_place("mas.fits", "1", true, &file));
    check_ok(bb_matrix_file_expect(file, BB_QUANTITY_ANGLE_COVARIANCE));
    check_ok(bb_matrix_source_load(bb_matrix_file_source(file), got));
    assert_true(got[0] == 4e-6 && got[8] == 6e-6 && bb_matrix_file_range(file) == 1e-6 * 5.0);
    bb_matrix_file_close(&file);
    for (int i = 0; i < 2; ++i) {
        check_ok(open_place("two.fits", i == 0 ? "WIDE" : "2", false, &file));
        source = bb_matrix_file_source(file);
        assert_int_equal(source->rows, 2);
        assert_int_equal(source->columns, 3);
        assert_string_equal(source->unit, "1");
        check_ok(bb_matrix_source_fill(source, 1, 1, bb_view_matrix(got, 1, 2)));
        assert_true(got[0] == 4.0 && got[1] == 5.0);
        bb_matrix_file_close(&file);
    }
    check_refused("two.fits", "NAN", false, BB_INVALID,
                  "'two.fits', image 'NAN', row 1, column 1: ");
    check_refused("two.fits", "NONE", false, BB_IO, "no part 'NONE'");
    check_refused("two.fits", "7", false, BB_IO, "no part '7', expected 1 to 3");
    check_refused("two.fits", "0", false, BB_IO, "no part '0', expected 1 to 3");
    // 2^32 + 1 must not be taken for part 1.
    check_refused("two.fits", "4294967297", false, BB_IO, "no part '4294967297', expected 1 to 3");
    check_refused("two.fits", "WIDE", true, BB_INVALID, "2 x 3, expected a square matrix");
    check_refused("skew.fits", "1", true, BB_INVALID, "not symmetric: (2, 0) is 2");
    check_refused("none.fits", "1", false, BB_IO, "'none.fits': No such file");
}

TEST(wrong_files_are_refused_in_words)
{
    write_foreign("odd.h5", "f['line']=n.zeros(3)\nf['whole']=n.zeros((2,2),'i4')\n"
                            "f['empty']=n.zeros((0,2))\nf['nan']=n.array([[1.,2.],[3.,n.nan]])\n"
                            "f['inf']=n.array([[1.,n.inf]])\nf['skew']=n.array([[1.,2.],[3.,4.]])\n"
                            "f['wide']=n.zeros((2,3))");
    check_refused("none.h5", "a", false, BB_IO, "'none.h5': No such file");
    check_refused(".", "a", false, BB_IO, "not a regular file");
    assert_int_equal(system("echo hello > text.h5"), 0);
    check_refused("text.h5", "a", false, BB_IO, "not an HDF5 file");
    check_refused("odd.h5", "/nothing", false, BB_IO, "no dataset '/nothing'");
    check_refused("odd.h5", "line", false, BB_INVALID, "1 dimensions");
    check_refused("odd.h5", "whole", false, BB_INVALID, "is not floating-point");
    check_refused("odd.h5", "empty", false, BB_INVALID, "0 x 2");
    check_refused("odd.h5", "nan", false, BB_INVALID, "row 1, column 1: ");
    check_refused("odd.h5", "inf", false, BB_INVALID, "row 0, column 1: inf");
    check_refused("odd.h5", "skew", true, BB_INVALID, "not symmetric: (0, 1) is 2");
    check_refused("odd.h5", "wide", true, BB_INVALID, "expected a square matrix");
}

// Checked before memory is allocated.
TEST(declared_sizes_are_held_against_the_file)
{
    write_foreign("large.h5", "f.create_dataset('plain',(1000,1000),'f8')\n"
                              "f.create_dataset('row',(1,1<<39),'f8',chunks=(1,1024))\n"
                              "f.create_dataset('sparse',(1<<20,1<<20),'f8',chunks=(64,64),"
                              "compression='gzip')[0,0]=1\n"
                              "f.create_dataset('wide',(1,1<<39),'f8',chunks=(1,1024))[0,0]=1\n"
                              "f.create_dataset('deep',(500,1000),'f4',compression='gzip')[...]=1");
    check_refused("large.h5", "plain", false, BB_IO, "declares 8000000 bytes of values in a file");
    check_refused("large.h5", "row", false, BB_IO,
                  "declares 549755813888 values but none was ever written");
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (16.0 * machine < 0x1p42) { // otherwise the plan might be feasible
        check_refused("large.h5", "sparse", false, BB_MEMORY,
                      "1048576 x 1048576 values need 4398.0 GB or more, the limit of a run");
    }
    check_refused("large.h5", "wide", false, BB_MEMORY, "1 x 549755813888 values ");
    bb_matrix_file *file = NULL;
    check_ok(open_place("large.h5", "deep", false, &file));
    bb_matrix_file_close(&file);
#ifdef BB_HAVE_CFITSIO
    assert_int_equal(system("/usr/bin/python3 -c \"\n"
                            "c=['SIMPLE  = %20s'%'T','BITPIX  = %20d'%-64,'NAXIS   = %20d'%2,\n"
                            "'NAXIS1  = %20d'%(1<<20),'NAXIS2  = %20d'%(1<<20),'END']\n"
                            "open('large.fits','w').write("
                            "''.join(x.ljust(80) for x in c).ljust(5760))\""),
                     0);
    check_refused("large.fits", "1", false, BB_IO,
                  "declares 8796093022208 bytes of pixels in a file of 5760");
    assert_int_equal(system("gzip -kf large.fits"), 0);
    check_refused("large.fits.gz", "1", false, BB_MEMORY, "1048576 x 1048576 values are 8796.1 GB");
    // A last word of 4 GB, which cfitsio would allocate before it unpacks any data.
    assert_int_equal(system("truncate -s -4 large.fits.gz && "
                            "printf '\\377\\377\\377\\377' >>large.fits.gz"),
                     0);
    check_refused("large.fits.gz", "1", false, BB_IO,
                  "declares an uncompressed size of 4294967295 bytes");
    assert_int_equal(system("printf 'PK%20s\\377\\377\\377\\377' '' >packed.fits"), 0);
    check_refused("packed.fits", "1", false, BB_IO,
                  "declares an uncompressed size of 4294967295 bytes");
    // A last word of 0 in a file of 20 kB, which cfitsio reads as 2^32.
    assert_int_equal(system("printf '\\037\\213' >zero.fits && truncate -s 20000 zero.fits"), 0);
    check_refused("zero.fits", "1", false, BB_IO,
                  "declares an uncompressed size of 4294967296 bytes");
#endif
}

// An operator of this program without a digest must be damaged.
TEST(missing_digests_are_damage)
{
    assert_int_equal(
        system("cp whole.h5 bare.h5 && /usr/bin/python3 -c \"import h5py\n"
               "f=h5py.File('bare.h5','a')\ndel f['operators/C_x_8'].attrs['digest']\""),
        0);
    check_refused("bare.h5", "/operators/C_x_8", false, BB_IO, "without its digest");
}

// Either an error or correct values; never a crash, a hang or wrong values.
TEST_FULL(damaged_files_never_give_wrong_values)
{
    FILE *complete = fopen("whole.h5", "rb");
    assert_non_null(complete);
    (void)fseek(complete, 0, SEEK_END);
    size_t bytes = (size_t)ftell(complete);
    unsigned char *original = malloc(bytes);
    unsigned char *mutant = malloc(bytes);
    rewind(complete);
    assert_int_equal(fread(original, 1, bytes, complete), bytes);
    (void)fclose(complete);
    bb_index refused = 0;
    for (uint64_t m = 0; m < MUTANTS; ++m) {
        uint32_t words[4];
        bb_random_words(11, BB_STREAM_SELF_TEST, m, words);
        memcpy(mutant, original, bytes);
        size_t kept = words[0] % 8 == 0 ? words[1] % bytes : bytes;
        for (uint32_t flips = 0; flips <= words[0] % 7; ++flips) {
            uint32_t more[4];
            bb_random_words(13 + flips, BB_STREAM_SELF_TEST, m, more);
            mutant[more[0] % bytes] ^= (unsigned char)(1u << more[1] % 8);
        }
        FILE *file = fopen("mutant.h5", "wb");
        assert_int_equal(fwrite(mutant, 1, kept, file), kept);
        (void)fclose(file);
        autoclose(bb_matrix_file) opened = NULL;
        bb_status status = open_place("mutant.h5", "/operators/C_x_8", false, &opened);
        if (status == BB_OK) {
            assert_int_equal(bb_matrix_file_source(opened)->rows, ROWS);
            assert_int_equal(bb_matrix_file_source(opened)->columns, COLUMNS);
            check_ok(bb_matrix_source_load(bb_matrix_file_source(opened), read_back));
            assert_memory_equal(read_back, values, sizeof values);
        }
        assert_true(status == BB_OK || status == BB_IO || status == BB_INVALID ||
                    status == BB_MEMORY);
        refused += status != BB_OK;
    }
    print_message("%td of %d damaged files refused\n", refused, MUTANTS);
    free(original);
    free(mutant);
}

TEST_GROUP(.has_folder = true, .begin = begin);
