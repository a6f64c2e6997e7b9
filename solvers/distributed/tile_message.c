// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/tile_message.h"

#include "solvers/factor/tiles/tile_choice.h"
#include "solvers/factor/tiles/tile_store.h"

#include <stdlib.h>
#include <string.h>

bb_process_grid bb_process_grid_of(int processes)
{
    int rows = 1;
    for (int divisor = 1; divisor <= processes / divisor; ++divisor) {
        if (processes % divisor == 0) {
            rows = divisor;
        }
    }
    return (bb_process_grid){rows, processes / rows};
}

// Parses a count of at most four digits at `*text` and advances it; returns 0 if there is none.
static int read_count(const char **text)
{
    enum { DIGITS = 4 };
    const size_t digits = strspn(*text, "0123456789");
    const int count = digits > DIGITS || **text == '0' ? 0 : atoi(*text);
    *text += digits;
    return count;
}

bool bb_process_grid_read(const char *text, bb_process_grid *out)
{
    out->rows = read_count(&text);
    if (*text != 'x') {
        return false;
    }
    ++text;
    out->columns = read_count(&text);
    return *text == '\0' && out->rows > 0 && out->columns > 0;
}

int bb_process_grid_size(bb_process_grid grid)
{
    return grid.rows * grid.columns;
}

int bb_process_grid_owner(bb_process_grid grid, bb_index row, bb_index column)
{
    return (int)(row % grid.rows) * grid.columns + (int)(column % grid.columns);
}

static bool owns_tile(const void *context, bb_index row, bb_index column)
{
    const bb_block_cyclic_share *share = context;
    return bb_process_grid_owner(share->grid, row, column) == share->rank;
}

bb_tile_share bb_block_cyclic_share_tiles(const bb_block_cyclic_share *share)
{
    return (bb_tile_share){.holds = owns_tile, .context = share};
}

void bb_process_grid_bytes(const bb_tile_matrix *matrix, bb_process_grid grid, double *out)
{
    for (int rank = 0; rank < bb_process_grid_size(grid); ++rank) {
        out[rank] = 0.0;
    }
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
            out[bb_process_grid_owner(grid, row, column)] +=
                (double)bb_tile_store_bytes(tile->format, tile->rows, tile->columns);
        }
    }
}

const char *const bb_wire_names[] = {"follow", "fp32", NULL};

bb_operand bb_tile_message_form(const bb_tile *tile, bb_operand operand, bb_wire wire)
{
    const bool wide = tile->format == BB_FORMAT_FP64;
    return wire == BB_WIRE_FOLLOW ? operand : (bb_operand)(wide ? BB_FORMAT_FP64 : BB_FORMAT_FP32);
}

// Word format of a form, and its number of planes.
static bb_format words_of(bb_operand form)
{
    return form == (bb_operand)BB_OPERAND_SPLIT ? BB_FORMAT_FP16 : (bb_format)form;
}
static bb_index planes_of(bb_operand form)
{
    return form == (bb_operand)BB_OPERAND_SPLIT ? 2 : 1;
}

size_t bb_tile_message_bytes(const bb_tile *tile, bb_operand form)
{
    return sizeof(bb_tile_head) + (size_t)(tile->rows * tile->columns * planes_of(form)) *
                                      (size_t)bb_format_describe(words_of(form))->bytes;
}

bb_index bb_tile_message_write(const bb_tile *tile, bb_operand form, float *scratch, void *out)
{
    const bb_index items = tile->rows * tile->columns;
    bb_tile_head head = {.norm = tile->norm, .unit = 1.0};
    char *values = (char *)out + sizeof head;
    bb_index saturated = 0;
    if (form == (bb_operand)BB_FORMAT_FP64) {
        (void)bb_tile_convert(tile, form, values);
    } else if (form == (bb_operand)BB_FORMAT_FP32) {
        memcpy(values, bb_tile_as_f32(tile, scratch), (size_t)items * sizeof *scratch);
    } else {
        saturated = bb_tile_convert(tile, form, scratch);
        if (form == (bb_operand)BB_FORMAT_E4M3) {
            head.unit = 1.0 / (double)bb_tile_operand_scale(scratch, items);
        }
        (void)bb_format_encode_f32(words_of(form), scratch, items * planes_of(form),
                                   1.0 / head.unit, values);
    }
    memcpy(out, &head, sizeof head);
    return saturated;
}

const void *bb_tile_message_read(const bb_tile *tile, bb_operand form, bb_operand operand,
                                 void *message, void *copy)
{
    const bb_index items = tile->rows * tile->columns;
    const bb_tile_head *head = message;
    char *values = (char *)message + sizeof *head;
    const bool wide = form == (bb_operand)BB_FORMAT_FP64;
    if (form == operand && (wide || form == (bb_operand)BB_FORMAT_FP32)) {
        return values;
    }
    if (form != operand) { // the tile's own values
        const bb_tile sent = {.rows = tile->rows,
                              .columns = tile->columns,
                              .f64 = wide ? (double *)(void *)values : NULL,
                              .f32 = wide ? NULL : (float *)(void *)values};
        (void)bb_tile_convert(&sent, operand, copy);
        return copy;
    }
    bb_format_decode_f32(words_of(form), values, items * planes_of(form), copy);
    for (bb_index i = 0; head->unit != 1.0 && i < items; ++i) {
        ((float *)copy)[i] *= (float)head->unit;
    }
    return copy;
}

// True if an update of tile (row, column), or the solve with a diagonal tile, reads a final tile in
// this form.
static bool reads(const bb_tile_matrix *matrix, bb_index row, bb_index column, const bb_tile *tile,
                  bb_operand form, bb_wire wire)
{
    bool is_read = false;
    for (bb_operand f = 0; f < BB_OPERAND_COUNT && !is_read; ++f) {
        is_read = bb_tile_message_form(tile, f, wire) == form &&
                  bb_tile_choice_allows(matrix, row, column, f);
    }
    return is_read;
}
static bool solve_reads(const bb_tile *target, const bb_tile *diagonal, bb_operand form,
                        bb_wire wire)
{
    const bool wide = target->format == BB_FORMAT_FP64;
    const bb_operand working = (bb_operand)(wide ? BB_FORMAT_FP64 : BB_FORMAT_FP32);
    return bb_tile_message_form(diagonal, working, wire) == form;
}

// Marks the ranks that read tile (row, column) in a form, possibly including its owner.
static void mark_readers(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                         bb_operand form, bb_process_grid grid, bb_wire wire, bool *out)
{
    const bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
    for (bb_index j = column + 1; j <= row; ++j) {
        out[bb_process_grid_owner(grid, row, j)] |= reads(matrix, row, j, tile, form, wire);
    }
    for (bb_index r = row + 1; r < matrix->tile_rows; ++r) {
        out[bb_process_grid_owner(grid, r, row)] |=
            row == column ? solve_reads(bb_tile_matrix_at(matrix, r, row), tile, form, wire)
                          : reads(matrix, r, row, tile, form, wire);
    }
}

bool bb_tile_message_is_sent(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                             bb_operand form, bb_wire wire)
{
    bool is_read = false;
    mark_readers(matrix, row, column, form, (bb_process_grid){1, 1}, wire, &is_read);
    return is_read;
}

void bb_tile_message_traffic(const bb_tile_matrix *matrix, bb_process_grid grid, bb_wire wire,
                             bool *readers, double *out)
{
    const int processes = bb_process_grid_size(grid);
    memset(out, 0, (size_t)processes * sizeof *out);
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
            const int owner = bb_process_grid_owner(grid, row, column);
            for (bb_operand form = 0; form < BB_OPERAND_COUNT; ++form) {
                memset(readers, 0, (size_t)processes * sizeof *readers);
                mark_readers(matrix, row, column, form, grid, wire, readers);
                for (int rank = 0; rank < processes; ++rank) {
                    out[owner] += readers[rank] && rank != owner
                                      ? (double)bb_tile_message_bytes(tile, form)
                                      : 0.0;
                }
            }
        }
    }
}
