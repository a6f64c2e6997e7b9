// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/tile_window.h"

#include "core/memory.h"
#include "core/team.h"

struct bb_tile_window {
    bb_process_grid grid;
    bb_wire wire;
    bb_tile_access access;
    char *values;   // [tile_rows] tiles in double or float, NULL between solves
    size_t place;   // bytes of one tile
    char *words;    // encoded words of the tile being broadcast
    bb_index begin; // tiles [begin, end) of row or column `line` have been received
    bb_index end;
    bb_index line;
    bool is_row;
};

// Format in which a tile is sent.
static bb_format words_of(const bb_tile *tile, bb_wire wire)
{
    const bool is_narrow = tile->format != BB_FORMAT_FP64;
    return wire == BB_WIRE_FP32 && is_narrow ? BB_FORMAT_FP32 : tile->format;
}

static size_t bytes_of(const bb_tile *tile, bb_wire wire)
{
    return (size_t)(tile->rows * tile->columns) *
           (size_t)bb_format_describe(words_of(tile, wire))->bytes;
}

static bb_tile *tile_at(const bb_tile_window *window, const bb_tile_matrix *matrix, bb_index t)
{
    return window->is_row ? bb_tile_matrix_at(matrix, window->line, t)
                          : bb_tile_matrix_at(matrix, t, window->line);
}

static int owner_of(const bb_tile_window *window, bb_index t)
{
    return window->is_row ? bb_process_grid_owner(window->grid, window->line, t)
                          : bb_process_grid_owner(window->grid, t, window->line);
}

// Detaches the received tiles of other processes.
static void detach_tiles(bb_tile_window *window, const bb_tile_matrix *matrix)
{
    const int rank = bb_team_joined()->rank;
    for (bb_index t = window->begin; t < window->end; ++t) {
        if (owner_of(window, t) != rank) {
            bb_tile *tile = tile_at(window, matrix, t);
            tile->f64 = NULL;
            tile->f32 = NULL;
        }
    }
    window->begin = window->end = 0;
}

static void release_memory(void *context, const bb_tile_matrix *matrix)
{
    bb_tile_window *window = context;
    detach_tiles(window, matrix);
    BB_RELEASE(&window->values);
    BB_RELEASE(&window->words);
}

static bb_status allocate_buffers(bb_tile_window *window, const bb_tile_matrix *matrix)
{
    bb_status status = BB_OK;
    size_t word = sizeof(float);
    if (window->values != NULL) {
        goto done;
    }
    for (bb_index t = 0; t < matrix->tile_rows * (matrix->tile_rows + 1) / 2; ++t) {
        word = matrix->tiles[t].format == BB_FORMAT_FP64 ? sizeof(double) : word;
    }
    window->place = (size_t)(matrix->tile_size * matrix->tile_size) * word;
    BB_TRY(BB_ALLOCATE(matrix->tile_rows * (bb_index)window->place, &window->values));
    BB_TRY(BB_ALLOCATE((bb_index)window->place, &window->words));
done:
    return status;
}

// Broadcasts tile t of the line from its owner.
static bb_status broadcast_tile(bb_tile_window *window, const bb_tile_matrix *matrix, bb_index t)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    const int owner = owner_of(window, t);
    bb_tile *tile = tile_at(window, matrix, t);
    const bb_format words = words_of(tile, window->wire);
    const bool is_packed = words != BB_FORMAT_FP64 && words != BB_FORMAT_FP32;
    if (owner == team->rank) {
        void *values = tile->f64 != NULL ? (void *)tile->f64 : (void *)tile->f32;
        if (is_packed) {
            (void)bb_format_encode_f32(words, tile->f32, tile->rows * tile->columns, 1.0,
                                       window->words);
            values = window->words;
        }
        BB_TRY(team->broadcast(owner, values, bytes_of(tile, window->wire)));
        goto done;
    }
    char *place = window->values + (size_t)(t - window->begin) * window->place;
    BB_TRY(team->broadcast(owner, is_packed ? window->words : place, bytes_of(tile, window->wire)));
    if (words == BB_FORMAT_FP64) {
        tile->f64 = (double *)(void *)place;
        goto done;
    }
    tile->f32 = (float *)(void *)place;
    if (is_packed) {
        bb_format_decode_f32(words, window->words, tile->rows * tile->columns, tile->f32);
    }
done:
    return status;
}

static bb_status broadcast_line(bb_tile_window *window, const bb_tile_matrix *matrix, bb_index line,
                                bool is_row)
{
    bb_status status = BB_OK;
    detach_tiles(window, matrix);
    BB_TRY(allocate_buffers(window, matrix));
    window->line = line;
    window->is_row = is_row;
    window->begin = window->end = is_row ? 0 : line;
    for (const bb_index end = is_row ? line + 1 : matrix->tile_rows; window->end < end;
         ++window->end) {
        BB_TRY(broadcast_tile(window, matrix, window->end));
    }
done:
    return status;
}

static bb_status broadcast_row(void *context, const bb_tile_matrix *matrix, bb_index k)
{
    return broadcast_line(context, matrix, k, true);
}

static bb_status broadcast_column(void *context, const bb_tile_matrix *matrix, bb_index k)
{
    return broadcast_line(context, matrix, k, false);
}

bb_status bb_tile_window_create(bb_process_grid grid, bb_wire wire, bb_tile_window **out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(1, out));
    (*out)->grid = grid;
    (*out)->wire = wire;
    (*out)->access = (bb_tile_access){.load_row = broadcast_row,
                                      .load_column = broadcast_column,
                                      .release = release_memory,
                                      .distributes_sides = true,
                                      .context = *out};
done:
    return status;
}

void bb_tile_window_destroy(bb_tile_window **window)
{
    if (*window != NULL) {
        BB_RELEASE(&(*window)->values);
        BB_RELEASE(&(*window)->words);
        BB_RELEASE(window);
    }
}

const bb_tile_access *bb_tile_window_access(const bb_tile_window *window)
{
    return &window->access;
}

double bb_tile_window_bytes(const bb_tile_plan *plan, bb_index n)
{
    const double tile_rows = (double)bb_tile_plan_tile_rows(n, plan->tile_size);
    const bool is_wide = bb_variant_describe(plan->arithmetic)->output == BB_FORMAT_FP64;
    const double items = (double)plan->tile_size * (double)plan->tile_size;
    return (tile_rows + 1.0) * items * (is_wide ? sizeof(double) : sizeof(float));
}

void bb_tile_window_traffic(const bb_tile_matrix *matrix, bb_process_grid grid, bb_wire wire,
                            double *out)
{
    const int processes = bb_process_grid_size(grid);
    for (int rank = 0; rank < processes; ++rank) {
        out[rank] = 0.0;
    }
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const double bytes =
                2.0 * (double)bytes_of(bb_tile_matrix_at(matrix, row, column), wire);
            for (int rank = 0; rank < processes; ++rank) {
                out[rank] += rank != bb_process_grid_owner(grid, row, column) ? bytes : 0.0;
            }
        }
    }
}
