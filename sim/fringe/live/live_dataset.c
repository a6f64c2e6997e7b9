// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_dataset.h"

#include "core/clock.h"
#include "core/disk_file.h"
#include "core/isolation.h"
#include "core/memory.h"
#include "sim/input/declared_size.h"
#include "sim/input/hdf5_library.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { AXES = 3, BYTE_BITS = 8, MOST_BITS = 16 };

static bb_status check_shape(const char *path, hid_t space, bb_live_dataset *out)
{
    bb_status status = BB_OK;
    hsize_t extents[AXES] = {1, 0, 0};
    const int axes = H5Sget_simple_extent_ndims(space);
    BB_REQUIRE(axes == AXES || axes == AXES - 1, BB_INVALID,
               "'%s': /frames has %d dimensions, expected [frames][rows][columns]", path, axes);
    BB_REQUIRE(H5Sget_simple_extent_dims(space, extents + (AXES - axes), NULL) == axes, BB_IO,
               "'%s': cannot read the shape of /frames", path);
    BB_REQUIRE(extents[0] >= 1 && extents[0] < (1U << 31) && extents[1] >= 1 &&
                   extents[1] <= BB_LIVE_EDGE && extents[2] >= 1 && extents[2] <= BB_LIVE_EDGE,
               BB_INVALID, "'%s': /frames is %llu x %llu x %llu, expected 1..%d rows and columns",
               path, (unsigned long long)extents[0], (unsigned long long)extents[1],
               (unsigned long long)extents[2], BB_LIVE_EDGE);
    out->frames = (bb_index)extents[0];
    out->rows = (bb_index)extents[1];
    out->columns = (bb_index)extents[2];
done:
    return status;
}

static bb_status check_bits(const char *path, hid_t type, bb_live_dataset *out)
{
    bb_status status = BB_OK;
    double bits = 0.0;
    BB_REQUIRE(H5Tget_class(type) == H5T_INTEGER, BB_INVALID,
               "'%s': /frames is not an integer dataset, expected camera counts, 0..65535", path);
    BB_TRY(bb_hdf5_library_read_number(out->id, "bits", &bits));
    if (bits == 0.0) {
        bits = H5Tget_size(type) == 1 ? BYTE_BITS : MOST_BITS;
    }
    BB_REQUIRE(bits >= 1.0 && bits <= MOST_BITS && bits == rint(bits), BB_INVALID,
               "'%s': attribute bits of /frames is %g, expected 1..%d", path, bits, MOST_BITS);
    out->bits = (bb_index)bits;
    BB_TRY(bb_value_attributes_read(out->id, type, &out->attributes));
    BB_REQUIRE(!bb_value_attributes_packed(&out->attributes), BB_INVALID,
               "'%s': /frames is packed by scale_factor or add_offset, expected camera counts",
               path);
done:
    return status;
}

// Compares the declared size with the file size: a small file with a large dataset is damaged or
// incomplete.
static bb_status check_size(const char *path, bb_live_dataset *out)
{
    bb_status status = BB_OK;
    struct stat about;
    BB_REQUIRE(stat(path, &about) == 0, BB_IO, "cannot read '%s': %s", path, strerror(errno));
    BB_TRY(bb_status_prefix(
        bb_declared_size_check(out->id,
                               (double)out->frames * (double)out->rows * (double)out->columns,
                               (double)about.st_size),
        "'%s', dataset /frames", path));
done:
    return status;
}

bb_status bb_live_dataset_open(const char *path, bb_live_dataset *out)
{
    bb_status status = BB_OK;
    hid_t type = -1, space = -1;
    *out = BB_LIVE_DATASET_NONE;
    BB_TRY(bb_hdf5_library_start());
    BB_TRY(bb_disk_file_check(path)); // opening a FIFO would block the library
    out->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    BB_REQUIRE(out->file >= 0, BB_IO, "cannot open '%s': %s", path, bb_hdf5_library_error());
    out->id = H5Dopen2(out->file, "/frames", H5P_DEFAULT);
    BB_REQUIRE(out->id >= 0, BB_IO, "'%s' has no dataset /frames: %s", path,
               bb_hdf5_library_error());
    type = H5Dget_type(out->id);
    space = H5Dget_space(out->id);
    BB_REQUIRE(type >= 0 && space >= 0, BB_IO, "'%s': cannot read /frames: %s", path,
               bb_hdf5_library_error());
    BB_TRY(check_shape(path, space, out));
    BB_TRY(check_bits(path, type, out));
    BB_TRY(check_size(path, out));
done:
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    if (space >= 0) {
        (void)H5Sclose(space);
    }
    if (status != BB_OK) {
        bb_live_dataset_close(out);
    }
    return status;
}

void bb_live_dataset_close(bb_live_dataset *dataset)
{
    if (dataset->id >= 0) {
        (void)H5Dclose(dataset->id);
    }
    if (dataset->file >= 0) {
        (void)H5Fclose(dataset->file);
    }
    *dataset = BB_LIVE_DATASET_NONE;
}

// Records a value outside 16 bits, which the HDF5 library would clip.
static H5T_conv_ret_t record_range(H5T_conv_except_t what, hid_t stored, hid_t taken, void *value,
                                   void *pixel, void *context)
{
    const char **beyond = context;
    (void)stored;
    (void)taken;
    (void)value;
    (void)pixel;
    *beyond = what == H5T_CONV_EXCEPT_RANGE_LOW ? "below 0" : "above 65535";
    return H5T_CONV_HANDLED;
}

// Reads frames in one call, since a compressed chunk may hold several. `beyond` describes a pixel
// outside 16 bits; NULL if there is none.
static bb_status read_frames(const bb_live_dataset *dataset, bb_index first, bb_index count,
                             uint16_t *counts, const char **beyond)
{
    bb_status status = BB_OK;
    const hsize_t starts[AXES] = {(hsize_t)first, 0, 0};
    const hsize_t extents[AXES] = {(hsize_t)count, (hsize_t)dataset->rows,
                                   (hsize_t)dataset->columns};
    const hid_t space = H5Dget_space(dataset->id);
    const hid_t memory = H5Screate_simple(AXES, extents, NULL);
    const hid_t list = H5Pcreate(H5P_DATASET_XFER);
    *beyond = NULL;
    BB_REQUIRE(space >= 0 && memory >= 0 && list >= 0, BB_IO, "cannot read /frames: %s",
               bb_hdf5_library_error());
    const bool single = H5Sget_simple_extent_ndims(space) == AXES - 1;
    BB_REQUIRE(H5Pset_type_conv_cb(list, record_range, beyond) >= 0 &&
                   (single ||
                    H5Sselect_hyperslab(space, H5S_SELECT_SET, starts, NULL, extents, NULL) >= 0) &&
                   H5Dread(dataset->id, H5T_NATIVE_UINT16, memory, space, list, counts) >= 0,
               BB_IO, "cannot read frame %td: %s", first, bb_hdf5_library_error());
done:
    if (space >= 0) {
        (void)H5Sclose(space);
    }
    if (memory >= 0) {
        (void)H5Sclose(memory);
    }
    if (list >= 0) {
        (void)H5Pclose(list);
    }
    return status;
}

// Reports the first frame with a pixel outside 16 bits.
static bb_status report_frame(const bb_live_dataset *dataset, bb_index first, bb_index count,
                              uint16_t *counts)
{
    bb_status status = BB_OK;
    const char *beyond = NULL;
    for (bb_index n = 0; n < count; ++n) {
        BB_TRY(read_frames(dataset, first + n, 1, counts, &beyond));
        BB_REQUIRE(beyond == NULL, BB_INVALID,
                   "frame %td has a pixel %s, expected 0..%d for a camera of %td bits", first + n,
                   beyond, (1 << dataset->bits) - 1, dataset->bits);
    }
done:
    return status;
}

bb_status bb_live_dataset_read(const bb_live_dataset *dataset, bb_index first, bb_index count,
                               uint16_t *counts)
{
    bb_status status = BB_OK;
    const bb_index points = dataset->rows * dataset->columns;
    const int limit = (1 << dataset->bits) - 1;
    const char *beyond = NULL;
    BB_TRY(bb_hdf5_library_start()); // the file may have been opened by another thread
    BB_TRY(read_frames(dataset, first, count, counts, &beyond));
    if (beyond != NULL) {
        BB_TRY(report_frame(dataset, first, count, counts));
    }
    for (bb_index i = 0; i < count * points; ++i) {
        BB_REQUIRE(counts[i] <= limit, BB_INVALID,
                   "frame %td has a pixel of %d, expected 0..%d for a camera of %td bits",
                   first + i / points, counts[i], limit, dataset->bits);
        BB_REQUIRE(!bb_value_attributes_undefined(&dataset->attributes, counts[i]), BB_INVALID,
                   "frame %td, row %td, column %td: %d is undefined by an attribute (such as "
                   "_FillValue or missing_value)",
                   first + i / points, i % points / dataset->columns, i % dataset->columns,
                   counts[i]);
    }
done:
    return status;
}

// Trial read of a dataset, which a child process makes.
typedef struct trial {
    const char *path;
    bb_index most; // frames to try
} trial;

static bb_status try_frames(void *context)
{
    bb_status status = BB_OK;
    const trial *asked = context;
    bb_live_dataset dataset = BB_LIVE_DATASET_NONE;
    bb_live_frames part = {0};
    BB_TRY(bb_live_dataset_open(asked->path, &dataset));
    BB_TRY(bb_live_frames_shape(&part, 1, dataset.columns, dataset.rows));
    for (bb_index k = 0; k < dataset.frames && k < asked->most; ++k) {
        BB_TRY(bb_live_dataset_read(&dataset, k, 1, part.counts));
    }
done:
    bb_live_frames_release(&part);
    bb_live_dataset_close(&dataset);
    return status;
}

bb_status bb_live_dataset_open_tried(const char *path, int seconds, bb_index most,
                                     bb_live_dataset *out)
{
    bb_status status = BB_OK;
    trial asked = {path, most};
    *out = BB_LIVE_DATASET_NONE;
    BB_TRY(bb_isolation_run(path, seconds, try_frames, &asked));
    BB_TRY(bb_live_dataset_open(path, out));
done:
    return status;
}

// Frames of one HDF5 file, read once or in a loop.
enum { PATIENCE_SECONDS = 60 };

typedef struct frame_file {
    bb_live_dataset dataset;
    bb_index next, count; // next frame; frames of a phase
    bool loops;
} frame_file;

static void close_file(void **state)
{
    frame_file *source = *state;
    if (source != NULL) {
        bb_live_dataset_close(&source->dataset);
        bb_memory_release(state);
    }
}

static bb_status open_file(const bb_live_request *request, bool loops, void **state)
{
    bb_status status = BB_OK;
    void *made = NULL;
    BB_TRY(bb_memory_zeroed(1, sizeof(frame_file), &made));
    frame_file *source = made;
    *source =
        (frame_file){.dataset = BB_LIVE_DATASET_NONE, .count = request->count, .loops = loops};
    BB_TRY(bb_live_dataset_open_tried(request->place, PATIENCE_SECONDS, request->count,
                                      &source->dataset));
    BB_REQUIRE(source->dataset.frames >= request->count, BB_INVALID,
               "'%s' has %td frames, expected at least %td for a phase", request->place,
               source->dataset.frames, request->count);
    *state = made;
    made = NULL;
done:
    close_file(&made);
    return status;
}

static bb_status open_once(const bb_live_request *request, void **state)
{
    return open_file(request, false, state);
}

static bb_status open_loop(const bb_live_request *request, void **state)
{
    return open_file(request, true, state);
}

static bb_status read_next(void *state, bb_live_frames *frames, bb_live_event *event)
{
    bb_status status = BB_OK;
    frame_file *source = state;
    const bb_live_dataset *dataset = &source->dataset;
    if (source->next + source->count > dataset->frames && source->loops) {
        source->next = 0;
    }
    *event = BB_LIVE_ENDED;
    if (source->next + source->count <= dataset->frames) {
        BB_TRY(bb_live_frames_shape(frames, source->count, dataset->columns, dataset->rows));
        BB_TRY(bb_live_dataset_read(dataset, source->next, source->count, frames->counts));
        source->next += source->count;
        frames->bits = dataset->bits;
        frames->lost = 0;
        frames->draw = -1;
        frames->arrival_ns = bb_clock_ns();
        *event = BB_LIVE_READ;
    }
done:
    return status;
}

const bb_live_source_kind bb_live_file = {
    .name = "file",
    .form = "file:FRAMES.h5",
    .meaning = "/frames [frames][rows][columns] of an HDF5 file, once",
    .has_place = true,
    .waits = true,
    .open = open_once,
    .close = close_file,
    .read = read_next,
};

const bb_live_source_kind bb_live_loop = {
    .name = "loop",
    .form = "loop:FRAMES.h5",
    .meaning = "the same file in an endless loop",
    .has_place = true,
    .waits = true,
    .open = open_loop,
    .close = close_file,
    .read = read_next,
};
