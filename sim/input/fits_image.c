// SPDX-License-Identifier: Apache-2.0
#include "sim/input/fits_image.h"

#include "core/address_space.h"
#include "core/disk_file.h"
#include "core/file.h"

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

const char *bb_fits_image_part(const char *dataset)
{
    return dataset[0] == '/' ? NULL : dataset;
}

void bb_fits_image_release(bb_fits_image *image)
{
    bb_address_space_unshare(image->values, image->bytes);
    *image = (bb_fits_image){0};
}

#ifndef BB_HAVE_CFITSIO

bb_status bb_fits_image_inspect(const bb_fits_request *request, bb_fits_image *out)
{
    *out = (bb_fits_image){0};
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                         "'%s': this build cannot read FITS files (install libcfitsio-dev and "
                         "configure again); it reads HDF5 files",
                         request->path);
}

bb_status bb_fits_image_read(const bb_fits_request *request, bb_fits_image *out)
{
    return bb_fits_image_inspect(request, out);
}

#else

#include "core/isolation.h"
#include "sim/input/declared_size.h"

#include <errno.h>
#include <fitsio.h>
#include <stdlib.h>

enum { PATIENCE_SECONDS = 60, MOST_AXES = 9, MOST_PLANES = 1 << 16 };

// Stored in memory shared with the child process.
typedef struct reading {
    const bb_fits_request *request;
    double file_bytes;   // infinite: the whole file is compressed
    bb_fits_image image; // result; values NULL: only the header is requested
} reading;

static bb_status check_code(int code, const char *path, const char *what)
{
    char text[FLEN_STATUS] = "";
    if (code == 0) {
        return BB_OK;
    }
    fits_get_errstatus(code, text);
    return bb_status_set(BB_IO, __FILE__, __LINE__, "'%s': cannot %s: %s", path, what, text);
}

static const char *name_axes(const bb_fits_request *request)
{
    return request->least_axes == 3  ? "three axes"
           : request->most_axes == 3 ? "two or three axes"
                                     : "two axes";
}

// True if the current HDU is an image with the requested number of axes, further axes having one
// pixel; stores its size.
static bool read_shape(fitsfile *file, int kind, reading *r, int *code)
{
    const bb_fits_request *request = r->request;
    bb_fits_image *image = &r->image;
    int bits = 0;
    int axes = 0;
    long edges[MOST_AXES] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    if (*code != 0 || kind != IMAGE_HDU) {
        return false;
    }
    (void)fits_get_img_param(file, MOST_AXES, &bits, &axes, edges, code);
    (void)fits_get_img_equivtype(file, &bits, code);
    bool suits = *code == 0 && axes >= request->least_axes && axes <= MOST_AXES && edges[0] > 0 &&
                 edges[1] > 0 && edges[2] > 0;
    for (int i = request->most_axes; i < axes && suits; ++i) {
        suits = edges[i] == 1;
    }
    image->axes = axes < request->most_axes ? axes : request->most_axes;
    image->columns = edges[0];
    image->rows = edges[1];
    image->planes = edges[2];
    image->is_float = bits < 0;
    return suits;
}

// Moves to the first image with the requested axes.
static bb_status find_image(fitsfile *file, reading *r)
{
    bb_status status = BB_OK;
    int code = 0;
    int count = 0;
    (void)fits_get_num_hdus(file, &count, &code);
    for (int hdu = 1; hdu <= count && code == 0; ++hdu) {
        int kind = 0;
        (void)fits_movabs_hdu(file, hdu, &kind, &code);
        if (read_shape(file, kind, r, &code)) {
            goto done;
        }
    }
    BB_TRY(check_code(code, r->request->path, "find an image"));
    BB_FAIL(BB_INVALID, "'%s': none of %d parts is an image with %s", r->request->path, count,
            name_axes(r->request));
done:
    return status;
}

// Moves to the image requested by name or number.
static bb_status find_part(fitsfile *file, reading *r)
{
    bb_status status = BB_OK;
    int code = 0;
    int kind = IMAGE_HDU;
    char name[FLEN_VALUE];
    char *end = NULL;
    int parts = 0;
    const long number = strtol(r->request->part, &end, 10);
    if (end != r->request->part && *end == '\0') {
        // cfitsio allocates memory for any requested number of parts.
        (void)fits_get_num_hdus(file, &parts, &code);
        BB_REQUIRE(code != 0 || (number >= 1 && number <= parts), BB_IO,
                   "'%s': no part '%s', expected 1 to %d", r->request->path, r->request->part,
                   parts);
        (void)fits_movabs_hdu(file, (int)number, &kind, &code);
    } else {
        (void)snprintf(name, sizeof name, "%s", r->request->part);
        (void)fits_movnam_hdu(file, IMAGE_HDU, name, 0, &code);
    }
    BB_REQUIRE(code == 0, BB_IO, "'%s': no part '%s'", r->request->path, r->request->part);
    const bool fits = read_shape(file, kind, r, &code);
    BB_TRY(check_code(code, r->request->path, "read a header"));
    BB_REQUIRE(fits, BB_INVALID, "'%s': part '%s' is not an image with %s", r->request->path,
               r->request->part, name_axes(r->request));
done:
    return status;
}

// Refuses uncompressed pixels that exceed their file.
static bb_status check_size(fitsfile *file, const reading *r)
{
    bb_status status = BB_OK;
    int code = 0;
    int bits = 0;
    (void)fits_get_img_type(file, &bits, &code);
    const bool packed = fits_is_compressed_image(file, &code) != 0;
    const double pixels =
        (double)r->image.planes * (double)r->image.rows * (double)r->image.columns;
    const double bytes = pixels * fabs((double)bits) / 8.0;
    BB_TRY(check_code(code, r->request->path, "read a header"));
    BB_REQUIRE(packed || bytes <= r->file_bytes, BB_IO,
               "'%s': declares %.0f bytes of pixels in a file of %.0f: damaged or truncated",
               r->request->path, bytes, r->file_bytes);
done:
    return status;
}

// Reads the unit from the header, "" if absent.
static bb_status read_unit(fitsfile *file, reading *r)
{
    char text[FLEN_VALUE] = "";
    int code = 0;
    (void)fits_read_key(file, TSTRING, "BUNIT", text, NULL, &code);
    code = code == KEY_NO_EXIST ? 0 : code;
    (void)snprintf(r->image.unit, sizeof r->image.unit, "%s", text);
    return check_code(code, r->request->path, "read its unit");
}

// Verifies the checksums in the header of the current HDU (FITS 4.0, 4.4.2.7).
static bb_status verify_checksums(fitsfile *file, const reading *r)
{
    bb_status status = BB_OK;
    int code = 0;
    int data = 0;
    int part = 0;
    (void)fits_verify_chksum(file, &data, &part, &code);
    BB_TRY(check_code(code, r->request->path, "verify its checksums"));
    BB_REQUIRE(data >= 0, BB_IO, "'%s': damaged: its data do not match its DATASUM",
               r->request->path);
    BB_REQUIRE(part >= 0, BB_IO,
               "'%s': damaged: header and data do not match its CHECKSUM (programs that edit a "
               "header have to update it)",
               r->request->path);
done:
    return status;
}

// Integer pixels equal to BLANK are undefined and read as NaN, and so are compressed floats. Plain
// floats already contain NaN, and a null value would make cfitsio read subnormal ones as 0.
static bb_status read_pixels(fitsfile *file, reading *r)
{
    int code = 0;
    int bits = 0;
    int found = 0; // cfitsio writes to it unconditionally
    long first[MOST_AXES] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    double undefined = NAN;
    const LONGLONG pixels = (LONGLONG)r->image.planes * r->image.rows * r->image.columns;
    (void)fits_get_img_type(file, &bits, &code);
    const bool has_blank = bits > 0 || fits_is_compressed_image(file, &code) != 0;
    (void)fits_read_pix(file, TDOUBLE, first, pixels, has_blank ? &undefined : NULL,
                        r->image.values, &found, &code);
    return check_code(code, r->request->path, "read its pixels");
}

// Runs in a child process.
static bb_status read_here(void *context)
{
    bb_status status = BB_OK;
    reading *r = context;
    const bb_fits_image *image = &r->image;
    const bb_index limit = r->request->limit;
    fitsfile *file = NULL;
    int code = 0;
    BB_TRY(check_code(fits_open_diskfile(&file, r->request->path, READONLY, &code),
                      r->request->path, "open it"));
    BB_TRY(r->request->part != NULL ? find_part(file, r) : find_image(file, r));
    BB_TRY(read_unit(file, r));
    BB_REQUIRE(image->rows <= limit && image->columns <= limit, BB_INVALID,
               "'%s': %td x %td pixels, expected at most %td along an edge", r->request->path,
               image->rows, image->columns, limit);
    BB_REQUIRE(image->planes <= MOST_PLANES, BB_INVALID, "'%s': %td planes, expected at most %d",
               r->request->path, image->planes, MOST_PLANES);
    BB_TRY(check_size(file, r));
    if (r->image.values != NULL) {
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

// Number of bytes that cfitsio allocates before it unpacks a file in memory: the last word of gzip,
// the word at 22 of PKZIP. gzip's word is modulo 2^32: in files above 10 kB cfitsio adds 2^32 to a
// word below the file's size. 0 if the file has no size.
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

// Determines whether a file of this size is compressed as a whole. Its uncompressed size may be
// 1032 times as large, the maximum of deflate (RFC 1951: 258 bytes in two bits).
static bb_status detect_packed(const char *path, double size, bool *packed)
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
               "'%s': declares an uncompressed size of %.0f bytes in a file of %.0f: damaged", path,
               declared, size);
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    return status;
}

// Reads the header, or with `pixels` the values of an inspected image, in a child process.
static bb_status read_in_child(const bb_fits_request *request, double *pixels, bb_fits_image *image)
{
    bb_status status = BB_OK;
    const bb_fits_image before = *image;
    double size = 0.0;
    bool packed = false;
    reading *r = bb_address_space_share(sizeof *r);
    BB_REQUIRE(r != NULL, BB_MEMORY, "host memory exhausted: shared memory for the reader of '%s'",
               request->path);
    BB_TRY(bb_file_stamp_size(request->path, &size));
    BB_TRY(detect_packed(request->path, size, &packed));
    *r = (reading){.request = request, .file_bytes = packed ? INFINITY : size};
    r->image.values = pixels;
    BB_TRY(bb_isolation_run(request->path, PATIENCE_SECONDS, read_here, r));
    BB_REQUIRE(pixels == NULL ||
                   (r->image.planes == before.planes && r->image.rows == before.rows &&
                    r->image.columns == before.columns),
               BB_IO, "'%s' changed while it was read", request->path);
    *image = r->image;
done:
    bb_address_space_unshare(r, sizeof *r);
    return status;
}

bb_status bb_fits_image_inspect(const bb_fits_request *request, bb_fits_image *out)
{
    *out = (bb_fits_image){0};
    return read_in_child(request, NULL, out);
}

bb_status bb_fits_image_read(const bb_fits_request *request, bb_fits_image *out)
{
    bb_status status = BB_OK;
    bb_fits_image image;
    double *pixels = NULL;
    size_t bytes = 0;
    *out = (bb_fits_image){0};
    BB_TRY(bb_fits_image_inspect(request, &image));
    BB_TRY(bb_declared_size_fits(image.planes * image.rows, image.columns));
    bytes = (size_t)(image.planes * image.rows * image.columns) * sizeof *pixels;
    pixels = bb_address_space_share(bytes);
    BB_REQUIRE(pixels != NULL, BB_MEMORY, "host memory exhausted: %zu bytes to read '%s'", bytes,
               request->path);
    BB_TRY(read_in_child(request, pixels, &image));
    *out = image;
    out->bytes = bytes;
    pixels = NULL;
done:
    bb_address_space_unshare(pixels, bytes);
    return status;
}

#endif
