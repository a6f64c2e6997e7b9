// SPDX-License-Identifier: Apache-2.0
#include "sim/input/matrix_file.h"

#include "core/address_space.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/isolation.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/input/declared_size.h"
#include "sim/input/fits_image.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_dataset.h"

#include <ctype.h>
#include <hdf5.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

static int find_axis(const char *text)
{
    int found = -1;
    unsigned char before = ' ';
    // Text after "of pipeline" or ", pipeline" is a pipeline's name, not an axis.
    const char *name = strstr(text, "of pipeline ");
    name = name != NULL ? name : strstr(text, ", pipeline ");
    const char *end = name != NULL ? name : text + strlen(text);
    for (const char *next = text; next < end; ++next) {
        const unsigned char after = (unsigned char)next[1];
        const int axis = tolower((unsigned char)*next) - 'x';
        if (axis >= 0 && axis < 3 && !isalnum(before) && !isalnum(after)) {
            if (found >= 0 && found != axis) {
                return -1;
            }
            found = axis;
        }
        before = (unsigned char)*next;
    }
    return found;
}

enum {
    PANEL_BYTES = 1 << 26,
    UNIT_BYTES = 64,
    TITLE_BYTES = 256,
    PART_BYTES = 128,
    MOST_EDGE = 1 << 20, // largest edge of a FITS image
    MIRROR_TILE = 1024,  // rows of a block compared with its mirror image
};

static const double ASYMMETRY = 1e-12;

// HDF5 is not thread-safe, even for different files.
static pthread_mutex_t library_mutex = PTHREAD_MUTEX_INITIALIZER;

struct bb_matrix_file {
    bb_matrix_source source;
    bb_matrix_dataset matrix;
    bb_fits_image image; // image of a FITS file; it has no values for an HDF5 dataset
    bb_view view;
    double minimum, maximum; // as stored in the file
    double factor;           // factor from the file's unit to the source's
    char unit[UNIT_BYTES];   // unit of the source
    bool has_unit;
    bb_file_stamp stamp;     // stamp of the file when it was checked
    char title[TITLE_BYTES]; // "'mine.h5', dataset '/C'"
    int axis;                // axis named by its attributes, -1: none
    bb_matrix_metadata metadata;
};

// Findings of the child process, in shared memory.
typedef struct facts {
    const bb_matrix_place *place;
    bool symmetric;
    bool own;    // written by this process: only the digest is checked, values are arbitrary
    bool header; // header only: no value is read, the range stays 0
    double minimum, maximum;
    bb_index bad;     // position of the first non-finite value, -1: none
    double bad_value; // that value
    bool certified;   // verified by a digest
    char unit[UNIT_BYTES];
    int axis;
    bb_matrix_metadata metadata;
    bb_file_stamp stamp;
} facts;

static void survey_panel(const double *values, bb_index first, bb_index count, facts *found)
{
    for (bb_index i = 0; i < count; ++i) {
        if (!isfinite(values[i]) && found->bad < 0) {
            found->bad = first + i;
            found->bad_value = values[i];
        }
        found->minimum = fmin(found->minimum, values[i]);
        found->maximum = fmax(found->maximum, values[i]);
    }
}

// Reads every value once for range and digest, then checks that all are finite.
static bb_status survey(const bb_matrix_dataset *matrix, facts *found)
{
    bb_status status = BB_OK;
    char recorded[BB_DIGEST_BYTES];
    char digest[BB_DIGEST_BYTES];
    bb_digest *state = NULL;
    double *panel = NULL;
    bb_index rows = PANEL_BYTES / (matrix->columns * (bb_index)sizeof(double));
    rows = rows < 1 ? 1 : rows;
    rows = rows < matrix->rows ? rows : matrix->rows;
    BB_TRY(bb_declared_size_fits(rows, matrix->columns));
    BB_TRY(BB_ALLOCATE(rows * matrix->columns, &panel));
    BB_TRY(bb_digest_create(&state));
    found->minimum = INFINITY;
    found->maximum = -INFINITY;
    for (bb_index row = 0; row < matrix->rows; row += rows) {
        bb_index count = matrix->rows - row < rows ? matrix->rows - row : rows;
        BB_TRY(
            bb_matrix_dataset_read(matrix, row, 0, bb_view_matrix(panel, count, matrix->columns)));
        survey_panel(panel, row * matrix->columns, count * matrix->columns, found);
        bb_digest_add_values(state, panel, count * matrix->columns);
    }
    bb_digest_text(state, digest);
    BB_TRY(bb_hdf5_library_read_text(matrix->id, "digest", recorded, sizeof recorded));
    found->certified = recorded[0] != '\0';
    BB_REQUIRE(!found->certified || strcmp(recorded, digest) == 0, BB_IO,
               "damaged: the values have digest %s, the file records %s", digest, recorded);
    BB_REQUIRE(found->own || found->bad < 0, BB_INVALID,
               "row %td, column %td: %g, expected a finite value", found->bad / matrix->columns,
               found->bad % matrix->columns, found->bad_value);
done:
    bb_digest_destroy(&state);
    BB_RELEASE(&panel);
    return status;
}

// Requires the digest for an operator written by this program: only damage can have removed it.
static bb_status require_digest(const bb_matrix_dataset *matrix, const facts *found)
{
    bb_status status = BB_OK;
    char source[UNIT_BYTES];
    BB_TRY(bb_hdf5_library_read_text(matrix->file, "source", source, sizeof source));
    BB_REQUIRE(found->certified || strncmp(source, "bitbudget", 9) != 0, BB_IO,
               "damaged: a dataset of bitbudget without its digest");
done:
    return status;
}

static bb_status mirror_blocks(const bb_matrix_dataset *matrix, bb_index row, bb_index column,
                               double bound, double *lower, double *upper)
{
    bb_status status = BB_OK;
    bb_index rows = matrix->rows - row < MIRROR_TILE ? matrix->rows - row : MIRROR_TILE;
    bb_index columns = matrix->rows - column < MIRROR_TILE ? matrix->rows - column : MIRROR_TILE;
    BB_TRY(bb_matrix_dataset_read(matrix, row, column, bb_view_matrix(lower, rows, columns)));
    BB_TRY(bb_matrix_dataset_read(matrix, column, row, bb_view_matrix(upper, columns, rows)));
    for (bb_index i = 0; i < rows; ++i) {
        for (bb_index j = 0; j < columns; ++j) {
            double gap = lower[i * columns + j] - upper[j * rows + i];
            BB_REQUIRE(fabs(gap) <= bound, BB_INVALID,
                       "not symmetric: (%td, %td) is %.17g, its mirror element %.17g", row + i,
                       column + j, lower[i * columns + j], upper[j * rows + i]);
        }
    }
done:
    return status;
}

static bb_status check_symmetry(const bb_matrix_dataset *matrix, const facts *found)
{
    bb_status status = BB_OK;
    double *lower = NULL;
    double *upper = NULL;
    double bound = ASYMMETRY * fmax(fabs(found->minimum), fabs(found->maximum));
    BB_REQUIRE(matrix->rows == matrix->columns, BB_INVALID, "%td x %td, expected a square matrix",
               matrix->rows, matrix->columns);
    BB_TRY(BB_ALLOCATE((bb_index)MIRROR_TILE * MIRROR_TILE, &lower));
    BB_TRY(BB_ALLOCATE((bb_index)MIRROR_TILE * MIRROR_TILE, &upper));
    for (bb_index row = 0; row < matrix->rows; row += MIRROR_TILE) {
        for (bb_index column = 0; column <= row; column += MIRROR_TILE) {
            BB_TRY(mirror_blocks(matrix, row, column, bound, lower, upper));
        }
    }
done:
    BB_RELEASE(&lower);
    BB_RELEASE(&upper);
    return status;
}

// The attribute `axis` has priority over words of a title.
static bb_status read_axis(const bb_matrix_dataset *matrix, int *out)
{
    static const char *const names[] = {"axis", "long_name"};
    bb_status status = BB_OK;
    char text[TITLE_BYTES];
    *out = -1;
    for (int i = 0; i < 2 && *out < 0; ++i) {
        BB_TRY(bb_hdf5_library_read_text(matrix->id, names[i], text, sizeof text));
        *out = find_axis(text);
    }
done:
    return status;
}

static bb_status inspect_here(facts *found)
{
    bb_status status = BB_OK;
    bb_matrix_dataset matrix = {.file = -1, .id = -1, .space = -1};
    BB_REQUIRE(H5Fis_hdf5(found->place->file) > 0, BB_IO, "not an HDF5 file");
    BB_TRY(bb_matrix_dataset_open(found->place, &matrix));
    BB_TRY(bb_hdf5_library_read_text(matrix.id, "units", found->unit, sizeof found->unit));
    BB_TRY(read_axis(&matrix, &found->axis));
    BB_TRY(bb_matrix_metadata_read(matrix.id, &found->metadata));
    BB_TRY(bb_declared_size_check(matrix.id, (double)matrix.rows * (double)matrix.columns,
                                  (double)found->stamp.bytes));
    if (!found->own) {
        BB_TRY(bb_declared_size_plans(matrix.rows, matrix.columns));
    }
    if (found->header) {
        goto done;
    }
    BB_TRY(survey(&matrix, found));
    BB_TRY(require_digest(&matrix, found));
    if (found->symmetric) {
        BB_TRY(check_symmetry(&matrix, found));
    }
done:
    bb_matrix_dataset_close(&matrix);
    return status;
}

// Runs in a child process; errors name the dataset.
static bb_status inspect(void *context)
{
    facts *found = context;
    return bb_status_prefix(inspect_here(found), "'%s', dataset '%s'", found->place->file,
                            found->place->dataset);
}

static bb_status inspect_in_child(const bb_matrix_place *place, facts *found)
{
    bb_status status = BB_OK;
    double bytes = 0.0;
    char what[256];
    BB_TRY(bb_file_stamp_size(place->file, &bytes));
    BB_TRY(bb_file_stamp_find(place->file, &found->stamp));
    (void)snprintf(what, sizeof what, "'%s', dataset '%s'", place->file, place->dataset);
    BB_TRY(bb_isolation_run(what, bb_file_stamp_patience(bytes), inspect, found));
done:
    return status;
}

bb_status bb_matrix_file_verify(const bb_matrix_place *place)
{
    facts found = {.place = place, .own = true, .bad = -1};
    return inspect_in_child(place, &found);
}

// Checks that the open file is the one that the child process checked.
static bb_status check_stamp(const bb_matrix_file *file)
{
    bb_status status = BB_OK;
    bb_file_stamp stamp;
    int *descriptor = NULL;
    BB_READ_TRY(H5Fget_vfd_handle(file->matrix.file, H5P_DEFAULT, (void **)&descriptor));
    BB_TRY(bb_file_stamp_read(*descriptor, &stamp));
    BB_REQUIRE(bb_file_stamp_equal(&stamp, &file->stamp), BB_IO,
               "%s: the file changed after it was checked", file->title);
done:
    return status;
}

// Converts values to the source's unit and checks that they are finite.
static bb_status verify(const bb_matrix_file *file, bb_index row, bb_index column, bb_view out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = bb_view_row(out, i);
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            values[j] *= file->factor;
            BB_REQUIRE(isfinite(values[j]), BB_INVALID,
                       "%s, row %td, column %td: %g, expected a finite value", file->title, row + i,
                       column + j, values[j]);
        }
    }
done:
    return status;
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    const bb_matrix_file *file = source->context;
    (void)pthread_mutex_lock(&library_mutex);
    bb_status status = bb_matrix_dataset_read(&file->matrix, row, column, out);
    if (status == BB_OK) {
        status = check_stamp(file);
    }
    (void)pthread_mutex_unlock(&library_mutex);
    return status == BB_OK ? verify(file, row, column, out) : status;
}

// Uses the lower triangle: entries above the diagonal are copied from below it.
static bb_status fill_symmetric(const bb_matrix_source *source, bb_index row, bb_index column,
                                bb_view out)
{
    bb_status status = BB_OK;
    double *mirror = NULL;
    bb_index rows = out.shape[0];
    bb_index columns = out.shape[1];
    BB_TRY(fill(source, row, column, out));
    if (column + columns - 1 > row) {
        BB_TRY(BB_ALLOCATE(rows * columns, &mirror));
        BB_TRY(fill(source, column, row, bb_view_matrix(mirror, columns, rows)));
        for (bb_index i = 0; i < rows; ++i) {
            double *target = bb_view_row(out, i);
            for (bb_index j = row + i + 1 > column ? row + i + 1 - column : 0; j < columns; ++j) {
                target[j] = mirror[j * rows + i];
            }
        }
    }
done:
    BB_RELEASE(&mirror);
    return status;
}

static void store_facts(const facts *found, const char *part, bb_matrix_file *file)
{
    file->minimum = found->minimum;
    file->maximum = found->maximum;
    file->factor = 1.0;
    file->axis = found->axis;
    file->metadata = found->metadata;
    file->stamp = found->stamp;
    file->has_unit = found->unit[0] != '\0';
    (void)snprintf(file->unit, sizeof file->unit, "%s", file->has_unit ? found->unit : "1");
    (void)snprintf(file->title, sizeof file->title, "'%s', %s", found->place->file, part);
}

static bb_status open_here(const facts *found, const char *name, bb_matrix_file *file)
{
    bb_status status = BB_OK;
    char part[PART_BYTES];
    file->matrix = BB_MATRIX_DATASET_NONE;
    BB_TRY(bb_matrix_dataset_open(found->place, &file->matrix));
    (void)snprintf(part, sizeof part, "dataset '%s'", found->place->dataset);
    store_facts(found, part, file);
    BB_TRY(check_stamp(file));
    file->source = (bb_matrix_source){.rows = file->matrix.rows,
                                      .columns = file->matrix.columns,
                                      .symmetric = found->symmetric,
                                      .name = name,
                                      .unit = file->unit,
                                      .fill = found->symmetric ? fill_symmetric : fill,
                                      .context = file};
done:
    return status;
}

// Uses the lower triangle.
static bb_status mirror_image(const bb_fits_image *image, double bound, const char *title)
{
    bb_status status = BB_OK;
    const bb_index n = image->rows;
    BB_REQUIRE(image->columns == n, BB_INVALID, "%s: %td x %td, expected a square matrix", title, n,
               image->columns);
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            const double lower = image->values[i * n + j];
            double *upper = &image->values[j * n + i];
            BB_REQUIRE(fabs(lower - *upper) <= bound, BB_INVALID,
                       "%s: not symmetric: (%td, %td) is %.17g, its mirror element %.17g", title, i,
                       j, lower, *upper);
            *upper = lower;
        }
    }
done:
    return status;
}

static bb_status open_image(const bb_matrix_place *place, bool symmetric, const char *name,
                            bb_matrix_file *file)
{
    bb_status status = BB_OK;
    const bb_fits_image *image = &file->image;
    const bb_fits_request request = {.path = place->file,
                                     .part = bb_fits_image_part(place->dataset),
                                     .least_axes = 2,
                                     .most_axes = 2,
                                     .limit = MOST_EDGE};
    facts found = {
        .place = place, .axis = -1, .bad = -1, .minimum = INFINITY, .maximum = -INFINITY};
    char part[PART_BYTES] = "first image";
    file->matrix = BB_MATRIX_DATASET_NONE;
    BB_TRY(bb_fits_image_read(&request, &file->image));
    survey_panel(image->values, 0, image->rows * image->columns, &found);
    (void)snprintf(found.unit, sizeof found.unit, "%.63s", image->unit);
    if (request.part != NULL) {
        (void)snprintf(part, sizeof part, "image '%s'", request.part);
    }
    store_facts(&found, part, file);
    BB_REQUIRE(found.bad < 0, BB_INVALID, "%s, row %td, column %td: %g, expected a finite value",
               file->title, found.bad / image->columns, found.bad % image->columns,
               found.bad_value);
    if (symmetric) {
        const double bound = ASYMMETRY * fmax(fabs(found.minimum), fabs(found.maximum));
        BB_TRY(mirror_image(image, bound, file->title));
    }
    file->view = bb_view_matrix(image->values, image->rows, image->columns);
    file->source = bb_matrix_source_dense(&file->view, name, file->unit);
    file->source.symmetric = symmetric;
done:
    return status;
}

static bb_status open_fits(const bb_matrix_place *place, bool symmetric, const char *name,
                           bb_matrix_file **out)
{
    bb_status status = BB_OK;
    bb_matrix_file *file = NULL;
    BB_TRY(BB_ZEROED(1, &file));
    BB_TRY(open_image(place, symmetric, name, file));
    *out = file;
    file = NULL;
done:
    bb_matrix_file_close(&file);
    return status;
}

static bb_status open_file(const bb_matrix_place *place, bool symmetric, bool header,
                           const char *name, bb_matrix_file **out)
{
    bb_status status = BB_OK;
    bb_matrix_file *file = NULL;
    *out = NULL;
    if (bb_fits_image_recognised(place->file)) {
        return open_fits(place, symmetric, name, out);
    }
    facts *found = bb_address_space_share(sizeof *found);
    BB_REQUIRE(found != NULL, BB_MEMORY, "host memory exhausted while checking a file");
    *found = (facts){.place = place, .symmetric = symmetric, .header = header, .bad = -1};
    BB_TRY(inspect_in_child(place, found));
    BB_TRY(BB_ZEROED(1, &file));
    BB_TRY(open_here(found, name, file));
    if (!found->certified && !header) {
        bb_log_detail("%s from '%s' has no digest and is not verified", name, place->file);
    }
    *out = file;
    file = NULL;
done:
    bb_matrix_file_close(&file);
    bb_address_space_unshare(found, sizeof *found);
    return status;
}

bb_status bb_matrix_file_open(const bb_matrix_place *place, bool symmetric, const char *name,
                              bb_matrix_file **out)
{
    return open_file(place, symmetric, false, name, out);
}

bb_status bb_matrix_file_open_header(const bb_matrix_place *place, const char *name,
                                     bb_matrix_file **out)
{
    return open_file(place, false, true, name, out);
}

void bb_matrix_file_close(bb_matrix_file **file)
{
    bb_matrix_file *matrix_file = *file;
    if (matrix_file != NULL) {
        bb_matrix_dataset_close(&matrix_file->matrix);
        bb_fits_image_release(&matrix_file->image);
    }
    BB_RELEASE(file);
}

bb_status bb_matrix_file_expect(bb_matrix_file *file, bb_quantity quantity)
{
    bb_status status = BB_OK;
    const char *unit = NULL;
    double factor = 1.0;
    BB_TRY(
        bb_status_prefix(bb_unit_find(quantity, file->has_unit ? file->unit : "", &unit, &factor),
                         "%s", file->title));
    const double largest = fmax(fabs(file->minimum), fabs(file->maximum));
    BB_REQUIRE(isfinite(largest * factor), BB_INVALID, "%s: %g %s is not finite in %s", file->title,
               largest, file->unit, unit);
    if (!file->has_unit) {
        bb_log_detail("%s has no unit: assuming %s", file->title, unit);
    } else if (factor != 1.0) {
        bb_log_detail("%s is in %s: converted to %s", file->title, file->unit, unit);
    }
    double *values = file->image.values;
    for (bb_index i = 0; values != NULL && i < file->source.rows * file->source.columns; ++i) {
        values[i] *= factor;
    }
    file->factor = factor;
    (void)snprintf(file->unit, sizeof file->unit, "%s", unit);
done:
    return status;
}

const bb_matrix_source *bb_matrix_file_source(const bb_matrix_file *file)
{
    return &file->source;
}

int bb_matrix_file_axis(const bb_matrix_file *file)
{
    return file->axis;
}

double bb_matrix_file_range(const bb_matrix_file *file)
{
    return file->factor * (file->maximum - file->minimum);
}

const bb_matrix_metadata *bb_matrix_file_metadata(const bb_matrix_file *file)
{
    return &file->metadata;
}

bb_index bb_matrix_file_mesh_columns(const bb_matrix_file *file)
{
    return file->matrix.across;
}
