// SPDX-License-Identifier: Apache-2.0
#include "sim/input/fits_image.h"

#include "core/disk_file.h"

#include <math.h>
#include <string.h>
#include <strings.h>

bool bb_fits_image_named(const char *path)
{
    static const char *const endings[] = {".fits", ".fit", ".fits.gz", ".fits.fz"};
    const size_t length = strlen(path);
    for (size_t k = 0; k < sizeof endings / sizeof *endings; ++k) {
        const size_t own = strlen(endings[k]);
        if (length > own && strcasecmp(path + length - own, endings[k]) == 0) {
            return true;
        }
    }
    return false;
}

bool bb_fits_image_recognised(const char *path)
{
    static const struct {
        const char *bytes;
        bool is_fits;
    } starts[] = {{"SIMPLE  =", true}, {"\x1f\x8b", true}, {"\x89HDF\r\n\x1a\n", false}};
    char first[16] = "";
    FILE *file = NULL;
    if (bb_disk_file_open(path, true, &file) == BB_OK) {
        (void)!fread(first, 1, sizeof first - 1, file);
        (void)fclose(file);
    }
    for (size_t k = 0; k < sizeof starts / sizeof *starts; ++k) {
        if (strncmp(first, starts[k].bytes, strlen(starts[k].bytes)) == 0) {
            return starts[k].is_fits;
        }
    }
    return bb_fits_image_named(path);
}

bb_status bb_fits_image_mirror(const char *path, const char *part, double bound,
                               bb_fits_image *image)
{
    bb_status status = BB_OK;
    const bb_index n = image->rows;
    BB_REQUIRE(image->columns == n, BB_INVALID,
               "'%s', image '%s': %td x %td, expected a square matrix", path, part, n,
               image->columns);
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            const double lower = image->values[i * n + j];
            double *upper = &image->values[j * n + i];
            BB_REQUIRE(fabs(lower - *upper) <= bound, BB_INVALID,
                       "'%s', image '%s': not symmetric: (%td, %td) is %.17g, its mirror image "
                       "%.17g",
                       path, part, i, j, lower, *upper);
            *upper = lower;
        }
    }
done:
    return status;
}

#ifndef BB_HAVE_CFITSIO

static bb_status refuse(const char *path)
{
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                         "'%s': this build reads no FITS files (install libcfitsio-dev and "
                         "configure again); HDF5 files it does",
                         path);
}

bb_status bb_fits_image_read(const char *path, bb_index row_limit, bb_index *rows,
                             bb_index *columns, double **values)
{
    (void)row_limit;
    *rows = 0;
    *columns = 0;
    *values = NULL;
    return refuse(path);
}

bb_status bb_fits_image_load(const char *path, const char *part, bb_index row_limit,
                             bb_fits_image *out)
{
    (void)part;
    (void)row_limit;
    *out = (bb_fits_image){0};
    return refuse(path);
}

bb_status bb_fits_image_load_cube(const char *path, const char *part, bb_index row_limit,
                                  bb_fits_image *out)
{
    return bb_fits_image_load(path, part, row_limit, out);
}

#else

#include "core/memory.h"
#include "sim/address_space.h"
#include "sim/input/declared_size.h"
#include "sim/input/value_digest.h"
#include "sim/isolation.h"

#include <errno.h>
#include <fitsio.h>
#include <math.h>
#include <stdlib.h>

enum { PATIENCE_SECONDS = 60, MOST_AXES = 9, MOST_PLANES = 1 << 16 };

// In memory that the child and this process see.
typedef struct reading {
    const char *path;
    const char *part;  // NULL: the first image
    double file_bytes; // infinite: the file is packed as a whole
    int axes;          // wanted: two, or three with planes
    bb_index row_limit, planes, rows, columns;
    double *values; // [planes][rows][columns], NULL: only the size is wanted
    char unit[BB_FITS_UNIT_BYTES];
} reading;

static bb_status hold(int code, const char *path, const char *what)
{
    char text[FLEN_STATUS] = "";
    if (code == 0) {
        return BB_OK;
    }
    fits_get_errstatus(code, text);
    return bb_status_set(BB_IO, __FILE__, __LINE__, "'%s': cannot %s: %s", path, what, text);
}

static const char *name_axes(const reading *r)
{
    return r->axes == 2 ? "two axes" : "three axes";
}

// Whether the part at hand is an image of the axes wanted, further ones having one pixel; takes its
// size.
static bool take_shape(fitsfile *file, int kind, reading *r, int *code)
{
    int bits = 0;
    int axes = 0;
    long edges[MOST_AXES] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    if (*code != 0 || kind != IMAGE_HDU) {
        return false;
    }
    (void)fits_get_img_param(file, MOST_AXES, &bits, &axes, edges, code);
    bool suits = *code == 0 && axes >= r->axes && axes <= MOST_AXES && edges[0] > 0 &&
                 edges[1] > 0 && edges[2] > 0;
    for (int i = r->axes; i < axes && suits; ++i) {
        suits = edges[i] == 1;
    }
    r->columns = edges[0];
    r->rows = edges[1];
    r->planes = edges[2];
    return suits;
}

// Moves to the first image of the axes wanted.
static bb_status find_image(fitsfile *file, reading *r)
{
    bb_status status = BB_OK;
    int code = 0;
    int count = 0;
    (void)fits_get_num_hdus(file, &count, &code);
    for (int hdu = 1; hdu <= count && code == 0; ++hdu) {
        int kind = 0;
        (void)fits_movabs_hdu(file, hdu, &kind, &code);
        if (take_shape(file, kind, r, &code)) {
            goto done;
        }
    }
    BB_TRY(hold(code, r->path, "find an image"));
    BB_FAIL(BB_INVALID, "'%s': %d parts, none an image of %s", r->path, count, name_axes(r));
done:
    return status;
}

// Moves to the image that is asked for by name or number.
static bb_status find_part(fitsfile *file, reading *r)
{
    bb_status status = BB_OK;
    int code = 0;
    int kind = IMAGE_HDU;
    char name[FLEN_VALUE];
    char *end = NULL;
    int parts = 0;
    const long number = strtol(r->part, &end, 10);
    if (end != r->part && *end == '\0') {
        // cfitsio makes room for as many parts as it is asked for.
        (void)fits_get_num_hdus(file, &parts, &code);
        BB_REQUIRE(code != 0 || (number >= 1 && number <= parts), BB_IO,
                   "'%s': no part '%s', expected 1 to %d", r->path, r->part, parts);
        (void)fits_movabs_hdu(file, (int)number, &kind, &code);
    } else {
        (void)snprintf(name, sizeof name, "%s", r->part);
        (void)fits_movnam_hdu(file, IMAGE_HDU, name, 0, &code);
    }
    BB_REQUIRE(code == 0, BB_IO, "'%s': no part '%s'", r->path, r->part);
    const bool fits = take_shape(file, kind, r, &code);
    BB_TRY(hold(code, r->path, "read a header"));
    BB_REQUIRE(fits, BB_INVALID, "'%s': part '%s' is no image of %s", r->path, r->part,
               name_axes(r));
done:
    return status;
}

// Pixels that are stored as they are cannot be more than their file.
static bb_status hold_size(fitsfile *file, const reading *r)
{
    bb_status status = BB_OK;
    int code = 0;
    int bits = 0;
    (void)fits_get_img_type(file, &bits, &code);
    const bool packed = fits_is_compressed_image(file, &code) != 0;
    const double pixels = (double)r->planes * (double)r->rows * (double)r->columns;
    const double bytes = pixels * fabs((double)bits) / 8.0;
    BB_TRY(hold(code, r->path, "read a header"));
    BB_REQUIRE(packed || bytes <= r->file_bytes, BB_IO,
               "'%s': declares %.0f bytes of pixels in a file of %.0f: damaged or cut short",
               r->path, bytes, r->file_bytes);
done:
    return status;
}

// The header's unit, "" where it has none.
static bb_status read_unit(fitsfile *file, reading *r)
{
    char text[FLEN_VALUE] = "";
    int code = 0;
    (void)fits_read_key(file, TSTRING, "BUNIT", text, NULL, &code);
    code = code == KEY_NO_EXIST ? 0 : code;
    (void)snprintf(r->unit, sizeof r->unit, "%s", text);
    return hold(code, r->path, "read its unit");
}

// Verifies the checksums in the header of the current HDU (FITS 4.0, 4.4.2.7).
static bb_status verify_checksums(fitsfile *file, const reading *r)
{
    bb_status status = BB_OK;
    int code = 0;
    int data = 0;
    int part = 0;
    (void)fits_verify_chksum(file, &data, &part, &code);
    BB_TRY(hold(code, r->path, "verify its checksums"));
    BB_REQUIRE(data >= 0, BB_IO, "'%s': damaged: its data do not match its DATASUM", r->path);
    BB_REQUIRE(part >= 0, BB_IO,
               "'%s': damaged: header and data do not match its CHECKSUM (a program that edits a "
               "header has to update it)",
               r->path);
done:
    return status;
}

// Integer pixels that equal BLANK are undefined, packed floats likewise: NaN. Plain floats have NaN
// itself, and a value for undefined ones would make cfitsio read subnormal ones as 0.
static bb_status read_pixels(fitsfile *file, reading *r)
{
    int code = 0;
    int bits = 0;
    int found = 0; // cfitsio writes to it unasked
    long first[MOST_AXES] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    double undefined = NAN;
    const LONGLONG pixels = (LONGLONG)r->planes * (LONGLONG)r->rows * (LONGLONG)r->columns;
    (void)fits_get_img_type(file, &bits, &code);
    const bool has_blank = bits > 0 || fits_is_compressed_image(file, &code) != 0;
    (void)fits_read_pix(file, TDOUBLE, first, pixels, has_blank ? &undefined : NULL, r->values,
                        &found, &code);
    return hold(code, r->path, "read its pixels");
}

// Runs in a child process.
static bb_status read_here(void *context)
{
    bb_status status = BB_OK;
    reading *r = context;
    fitsfile *file = NULL;
    int code = 0;
    BB_TRY(hold(fits_open_diskfile(&file, r->path, READONLY, &code), r->path, "open it"));
    BB_TRY(r->part != NULL ? find_part(file, r) : find_image(file, r));
    BB_TRY(read_unit(file, r));
    BB_REQUIRE(r->rows <= r->row_limit && r->columns <= r->row_limit, BB_INVALID,
               "'%s': %td x %td pixels, expected at most %td along an edge", r->path, r->rows,
               r->columns, r->row_limit);
    BB_REQUIRE(r->planes <= MOST_PLANES, BB_INVALID, "'%s': %td planes, expected at most %d",
               r->path, r->planes, MOST_PLANES);
    BB_TRY(hold_size(file, r));
    if (r->values != NULL) {
        BB_TRY(verify_checksums(file, r));
        BB_TRY(read_pixels(file, r));
    }
done:
    code = 0;
    if (file != NULL) {
        (void)fits_close_file(file, &code);
    }
    return status;
}

// Bytes that cfitsio allocates before it unpacks a file in memory: gzip's last word, the word at 22
// of PKZIP. gzip's word is modulo 2^32: in files above 10 kB cfitsio takes one below the file's
// size as larger. 0 where the file does not say.
static double unpacked_bytes(FILE *file, const unsigned char magic[2], double size)
{
    unsigned char word[4] = {0};
    const bool gzip = magic[0] == 0x1f && magic[1] == 0x8b;
    const bool zip = magic[0] == 'P' && magic[1] == 'K';
    if ((gzip && fseek(file, -4L, SEEK_END) == 0) || (zip && fseek(file, 22L, SEEK_SET) == 0)) {
        (void)!fread(word, 1, sizeof word, file);
    }
    double bytes = word[0] + 256.0 * (word[1] + 256.0 * (word[2] + 256.0 * word[3]));
    while (gzip && size > 1e4 && bytes < size) {
        bytes += 0x1p32;
    }
    return bytes;
}

// Whether a file of so many bytes is packed as a whole; what it unpacks to can be 1032 times as
// large, which is deflate's most (RFC 1951: 258 bytes in two bits).
static bb_status look_packed(const char *path, double size, bool *packed)
{
    bb_status status = BB_OK;
    unsigned char magic[2] = {0, 0};
    FILE *file = fopen(path, "rb");
    BB_REQUIRE(file != NULL, BB_IO, "cannot read '%s': %s", path, strerror(errno));
    const bool read = fread(magic, 1, sizeof magic, file) == sizeof magic;
    *packed = read && (magic[0] == 0x1f || (magic[0] == 'P' && magic[1] == 'K') ||
                       (magic[0] == 'B' && magic[1] == 'Z'));
    const double declared = *packed ? unpacked_bytes(file, magic, size) : 0.0;
    BB_REQUIRE(declared <= 1032.0 * size, BB_IO,
               "'%s': unpacks to %.0f bytes by its own word, in a file of %.0f: damaged", path,
               declared, size);
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    return status;
}

bb_status bb_fits_image_read(const char *path, bb_index limit, bb_index *rows, bb_index *columns,
                             double **values)
{
    bb_fits_image image;
    bb_status status = bb_fits_image_load(path, NULL, limit, &image);
    *rows = image.rows;
    *columns = image.columns;
    *values = image.values;
    return status;
}

// An image of so many axes.
static bb_status load(const char *path, const char *part, int axes, bb_index limit,
                      bb_fits_image *out)
{
    bb_status status = BB_OK;
    double size = 0.0;
    size_t bytes = 0;
    bool packed = false;
    double *pixels = NULL;
    reading *r = bb_address_space_share(sizeof *r);
    *out = (bb_fits_image){0};
    BB_REQUIRE(r != NULL, BB_MEMORY, "no memory to share with the reader of '%s'", path);
    BB_TRY(bb_file_stamp_size(path, &size));
    BB_TRY(look_packed(path, size, &packed));
    *r = (reading){.path = path,
                   .part = part,
                   .file_bytes = packed ? INFINITY : size,
                   .axes = axes,
                   .row_limit = limit};
    BB_TRY(bb_isolation_run(path, PATIENCE_SECONDS, read_here, r));
    out->planes = r->planes;
    out->rows = r->rows;
    out->columns = r->columns;
    const bb_index lines = r->planes * r->rows;
    BB_TRY(bb_declared_size_fits(2 * lines, r->columns)); // the child's and the caller's
    bytes = (size_t)(lines * r->columns) * sizeof *pixels;
    pixels = bb_address_space_share(bytes);
    BB_REQUIRE(pixels != NULL, BB_MEMORY, "%zu bytes asked for to read '%s'", bytes, path);
    r->values = pixels;
    BB_TRY(bb_isolation_run(path, PATIENCE_SECONDS, read_here, r));
    BB_REQUIRE(r->planes == out->planes && r->rows == out->rows && r->columns == out->columns,
               BB_IO, "'%s' changed while it was read", path);
    BB_TRY(BB_ALLOCATE(lines * out->columns, &out->values));
    memcpy(out->values, pixels, bytes);
    memcpy(out->unit, r->unit, sizeof out->unit);
done:
    bb_address_space_unshare(pixels, bytes);
    bb_address_space_unshare(r, sizeof *r);
    return status;
}

bb_status bb_fits_image_load(const char *path, const char *part, bb_index limit, bb_fits_image *out)
{
    return load(path, part, 2, limit, out);
}

bb_status bb_fits_image_load_cube(const char *path, const char *part, bb_index limit,
                                  bb_fits_image *out)
{
    return load(path, part, 3, limit, out);
}

#endif
