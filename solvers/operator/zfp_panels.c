// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/zfp_panels.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>

struct bb_zfp_panels {
    bb_device *device;
    bb_zfp_decoder *decoder; // streams and indexes on the device
    bb_zfp_cut cut;
    size_t bytes;
    void *scales, *sums; // arrays on the device
};

// Streams on the host during indexing.
typedef struct indexing {
    bb_index run_blocks;
    bb_zfp_stream *streams; // [bands]
    bb_zfp_index *indexes;  // [bands]
} indexing;

// Blocks per run: 32 values per lane; in three and four dimensions one block, so that no run
// crosses slabs.
static bb_index run_blocks_of(int dimensions)
{
    static const bb_index blocks[] = {8, 2, 1, 1};
    return blocks[dimensions - 1];
}

static bb_status index_band(void *context, bb_index band)
{
    indexing *work = context;
    return bb_zfp_index_create(&work->streams[band], work->run_blocks, &work->indexes[band]);
}

static bb_status read_streams(const bb_coded_matrix *matrix, bb_index bands, indexing *work)
{
    bb_status status = BB_OK;
    for (bb_index band = 0; band < bands; ++band) {
        bb_zfp_stream *stream = &work->streams[band];
        BB_TRY(bb_coded_matrix_zfp_stream(matrix, band, stream));
        // Lines missing from the last band are padding in its blocks.
        stream->shape.nw = stream->shape.dimensions == 4 ? 4 : 1;
    }
    work->run_blocks = run_blocks_of(work->streams[0].shape.dimensions);
    BB_TRY(bb_thread_for(bands, index_band, work));
done:
    return status;
}

static bb_status upload_streams(bb_zfp_panels *panels, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    const bb_index rows = bb_coded_matrix_band(matrix);
    const bb_index bands = (bb_coded_matrix_rows(matrix) + rows - 1) / rows;
    indexing work = {0};
    BB_TRY(BB_ZEROED(bands, &work.streams));
    BB_TRY(BB_ZEROED(bands, &work.indexes));
    BB_TRY(read_streams(matrix, bands, &work));
    panels->cut = bb_zfp_cut_of(&work.streams[0].shape, work.indexes[0].run_blocks);
    BB_REQUIRE(panels->cut.band_slabs == 1 || panels->cut.run_blocks == 1, BB_INTERNAL,
               "zfp: runs of %td blocks cross slabs", panels->cut.run_blocks);
    BB_TRY(
        bb_zfp_decoder_create(panels->device, work.streams, work.indexes, bands, &panels->decoder));
    for (bb_index band = 0; band < bands; ++band) {
        panels->bytes += work.streams[band].size + bb_zfp_index_bytes(&work.indexes[band]);
    }
done:
    for (bb_index band = 0; work.indexes != NULL && band < bands; ++band) {
        bb_zfp_index_release(&work.indexes[band]);
    }
    BB_RELEASE(&work.indexes);
    BB_RELEASE(&work.streams);
    return status;
}

static bb_status upload_scales(bb_zfp_panels *panels, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    const bb_index rows = bb_coded_matrix_rows(matrix);
    const size_t bytes = (size_t)rows * sizeof(double);
    double *scales = NULL;
    BB_TRY(BB_ALLOCATE(rows, &scales));
    for (bb_index row = 0; row < rows; ++row) {
        scales[row] = bb_coded_matrix_zfp_poisoned(matrix, row)
                          ? (double)NAN
                          : bb_coded_matrix_row_scale(matrix, row);
    }
    BB_TRY(bb_device_allocate(panels->device, bytes, &panels->scales));
    BB_TRY(bb_device_upload(panels->device, panels->scales, scales, bytes));
    BB_TRY(bb_device_wait(panels->device));
done:
    BB_RELEASE(&scales);
    return status;
}

bb_status bb_zfp_panels_create(bb_device *device, const bb_coded_matrix *matrix,
                               bb_zfp_panels **out)
{
    bb_status status = BB_OK;
    bb_zfp_panels *panels = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &panels));
    panels->device = device;
    BB_TRY(upload_streams(panels, matrix));
    BB_TRY(upload_scales(panels, matrix));
    const bb_zfp_slab_range slabs =
        bb_zfp_panels_slabs_of(&panels->cut, 0, bb_coded_matrix_rows(matrix));
    const bb_index places =
        BB_STREAM_OPERANDS * bb_zfp_panels_place_count(&panels->cut, slabs.count);
    BB_TRY(bb_device_allocate(device, (size_t)places * sizeof(double), &panels->sums));
    *out = panels;
    panels = NULL;
done:
    bb_zfp_panels_destroy(&panels);
    return status;
}

void bb_zfp_panels_destroy(bb_zfp_panels **panels)
{
    bb_zfp_panels *zfp_panels = *panels;
    if (zfp_panels != NULL) {
        bb_zfp_decoder_destroy(&zfp_panels->decoder);
        bb_device_release(zfp_panels->device, &zfp_panels->scales);
        bb_device_release(zfp_panels->device, &zfp_panels->sums);
        BB_RELEASE(panels);
    }
}

bool bb_zfp_panels_alike(const bb_zfp_panels *a, const bb_zfp_panels *b)
{
    const bb_zfp_settings *of_a = &bb_zfp_decoder_decoding(a->decoder)->settings;
    const bb_zfp_settings *of_b = &bb_zfp_decoder_decoding(b->decoder)->settings;
    return a->cut.dimensions == b->cut.dimensions && a->cut.nx == b->cut.nx &&
           a->cut.ny == b->cut.ny && a->cut.line_rows == b->cut.line_rows &&
           a->cut.run_blocks == b->cut.run_blocks &&
           bb_zfp_block_reversible(of_a) == bb_zfp_block_reversible(of_b);
}

bb_zfp_task bb_zfp_panels_task(const bb_zfp_panels *panels, bb_index row, bb_index rows)
{
    const bb_zfp_decoding *held = bb_zfp_decoder_decoding(panels->decoder);
    return (bb_zfp_task){.cut = panels->cut,
                         .groups = held->groups,
                         .reversible = bb_zfp_block_reversible(&held->settings) != 0,
                         .row = row,
                         .rows = rows,
                         .slabs = bb_zfp_panels_slabs_of(&panels->cut, row, rows),
                         .operands = 1,
                         .operand = {{.words = held->words,
                                      .settings = held->settings,
                                      .places = held->places,
                                      .bases = held->bases,
                                      .lengths = held->lengths,
                                      .scales = panels->scales}},
                         .sums_of_panels = panels->sums};
}

double bb_zfp_panels_index_bits(int dimensions)
{
    const double run = 16.0 + 64.0 / BB_ZFP_GROUP_RUNS;
    return run / (double)(run_blocks_of(dimensions) << (2 * dimensions));
}

size_t bb_zfp_panels_bytes(const bb_zfp_panels *panels)
{
    return panels->bytes;
}
