// SPDX-License-Identifier: Apache-2.0
//
// Frames for tests of streams: counts that identify frame and pixel, in the files and shared memory
// that sources read.
#ifndef BB_TESTS_STREAMS_H
#define BB_TESTS_STREAMS_H

#include "sim/fringe/live/live_segment.h"
#include "tests/check.h"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/mman.h>
#include <unistd.h>

/// Value of pixel (x, y) of frame k, below 256.
static inline int32_t stream_pixel(int k, int x, int y)
{
    return (17 * k + 3 * x + 7 * y) % 251;
}

/// Writes frames of a shape as /frames of an HDF5 file, stored as `type`. Without counts they are
/// only declared; with `bits` 0 the attribute is omitted.
static inline void stream_write_as(hid_t type, const char *path, const int32_t *counts, int frames,
                                   int columns, int rows, double bits)
{
    const hsize_t shape[3] = {(hsize_t)frames, (hsize_t)rows, (hsize_t)columns};
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, shape, NULL);
    const hid_t set =
        H5Dcreate2(file, "/frames", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(counts == NULL ||
                H5Dwrite(set, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts) >= 0);
    if (bits > 0.0) {
        const hid_t scalar = H5Screate(H5S_SCALAR);
        const hid_t note =
            H5Acreate2(set, "bits", H5T_IEEE_F64LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
        (void)H5Awrite(note, H5T_NATIVE_DOUBLE, &bits);
        (void)H5Aclose(note);
        (void)H5Sclose(scalar);
    }
    (void)H5Dclose(set);
    (void)H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
}

/// Writes 16-bit integers.
static inline void stream_write_file(const char *path, const int32_t *counts, int frames,
                                     int columns, int rows, double bits)
{
    stream_write_as(H5T_STD_U16LE, path, counts, frames, columns, rows, bits);
}

/// Fills frames with stream_pixel. Owner: the caller.
static inline int32_t *stream_frames(int first, int frames, int columns, int rows)
{
    int32_t *counts = new_zeros(int32_t, frames * columns * rows);
    for (int i = 0; i < frames * columns * rows; ++i) {
        counts[i] = stream_pixel(first + i / (columns * rows), i % columns, i / columns % rows);
    }
    return counts;
}

/// Appends images to a PGM file.
static inline void stream_write_pgm(const char *path, const int32_t *counts, int frames,
                                    int columns, int rows, int largest)
{
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    for (int k = 0; k < frames; ++k) {
        (void)fprintf(file, "P5\n# a camera's\n%d %d\n%d\n", columns, rows, largest);
        for (int p = 0; p < columns * rows; ++p) {
            const int32_t value = counts[k * columns * rows + p];
            if (largest > 255) {
                (void)fputc(value >> 8, file);
            }
            (void)fputc(value & 255, file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

/// Writer side of the shared memory.
typedef struct stream_segment {
    const char *name;
    bb_live_segment_header *header;
    size_t length;
} stream_segment;

static inline stream_segment stream_segment_make(const char *name, int columns, int rows, int bits,
                                                 int slots)
{
    const size_t frame = (size_t)(columns * rows) * (bits > 8 ? 2U : 1U);
    stream_segment segment = {name, NULL, BB_LIVE_SEGMENT_START + frame * (size_t)slots};
    (void)shm_unlink(name);
    const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)segment.length), 0);
    segment.header = mmap(NULL, segment.length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(segment.header != MAP_FAILED);
    (void)close(file);
    segment.header->version = BB_LIVE_SEGMENT_VERSION;
    segment.header->columns = (uint32_t)columns;
    segment.header->rows = (uint32_t)rows;
    segment.header->bits = (uint32_t)bits;
    segment.header->slots = (uint32_t)slots;
    memcpy(segment.header->magic, BB_LIVE_SEGMENT_MAGIC, sizeof segment.header->magic);
    return segment;
}

/// Writes the next frame; `counts` [rows][columns].
static inline void stream_segment_put(const stream_segment *segment, const int32_t *counts)
{
    bb_live_segment_header *header = segment->header;
    const size_t points = (size_t)header->columns * header->rows;
    const uint64_t k = atomic_load(&header->sequence);
    unsigned char *slot = (unsigned char *)header + BB_LIVE_SEGMENT_START +
                          k % header->slots * points * (header->bits > 8 ? 2U : 1U);
    for (size_t p = 0; p < points; ++p) {
        if (header->bits > 8) {
            const uint16_t value = (uint16_t)counts[p];
            memcpy(slot + 2 * p, &value, sizeof value);
        } else {
            slot[p] = (unsigned char)counts[p];
        }
    }
    atomic_store_explicit(&header->sequence, k + 1, memory_order_release);
}

static inline void stream_segment_remove(stream_segment *segment)
{
    (void)shm_unlink(segment->name);
    (void)munmap(segment->header, segment->length);
}

#endif
