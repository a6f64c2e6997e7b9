// SPDX-License-Identifier: Apache-2.0
//
// Places of tiles, and the pieces that kernels take them in.
#include "precision/codecs/low_rank.h"

bb_low_rank_place bb_low_rank_place_of(const bb_low_rank_mesh *mesh, bb_index tile)
{
    bb_low_rank_place place = {.column = tile % mesh->across * mesh->tile_columns,
                               .line = tile / mesh->across * mesh->tile_lines};
    bb_index columns = mesh->columns - place.column;
    bb_index lines = mesh->lines - place.line;
    place.columns = columns < mesh->tile_columns ? columns : mesh->tile_columns;
    place.lines = lines < mesh->tile_lines ? lines : mesh->tile_lines;
    place.pitch = (place.columns + 7) / 8 * 8;
    return place;
}

bb_index bb_low_rank_items(const bb_low_rank_band *band, const bb_low_rank_mesh *mesh,
                           bb_low_rank_item *out)
{
    bb_index count = 0;
    for (bb_index t = 0; t < mesh->across * mesh->down; ++t) {
        const bb_low_rank_tile *tile = &band->tiles[t];
        const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
        const size_t cells = (size_t)(place.lines * place.pitch);
        for (int wide = 1; wide >= 0; --wide) {
            int rows = wide ? tile->wide : tile->narrow;
            int limit = wide ? BB_LOW_RANK_ITEM_WIDE : BB_LOW_RANK_ITEM_NARROW;
            size_t v = wide ? tile->wide_v : tile->narrow_v;
            bb_index term = wide ? tile->wide_term : tile->narrow_term;
            for (int k = 0; k < rows; k += limit, ++count) {
                if (out != NULL) {
                    out[count] = (bb_low_rank_item){
                        .v = (uint32_t)((v + (wide ? 4 : 2) * cells * (size_t)k) / 16),
                        .term = (uint32_t)(term + k),
                        .column = (uint32_t)place.column,
                        .line = (uint32_t)place.line,
                        .columns = (uint16_t)place.columns,
                        .lines = (uint16_t)place.lines,
                        .rows = (uint16_t)(rows - k < limit ? rows - k : limit),
                        .wide = (uint16_t)wide};
                }
            }
        }
    }
    return count;
}
