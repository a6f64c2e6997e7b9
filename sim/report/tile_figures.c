// SPDX-License-Identifier: Apache-2.0
//
// Precision maps: variant of each tile of a factorization.
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 160, MOST_VARIANTS = 16 };

static const double panel_points = 7.0;

// Maps of a file: those of pipelines with a policy that is not uniform.
typedef struct maps {
    const bb_dataset *names, *variants;
    const bb_dataset *shown[BB_PLOT_MOST_PANELS];
    bb_index pipelines[BB_PLOT_MOST_PANELS];
    bb_index count, tiles;
    bool used[MOST_VARIANTS];
} maps;

static bb_status gather_maps(const bb_results *results, maps *out, bb_text *note)
{
    bb_status status = BB_OK;
    char path[NAME_BYTES];
    out->names = bb_results_find(results, "results/pipeline");
    out->variants = bb_results_find(results, "tiles/variant");
    out->tiles = bb_results_find(results, "tiles/tile_row")->count;
    BB_REQUIRE(out->variants->is_text && out->variants->count <= MOST_VARIANTS, BB_INVALID,
               "the file has %td variants, expected at most %d", out->variants->count,
               MOST_VARIANTS);
    BB_TRY(bb_text_add(note, "Variant of the products into each tile of the lower triangle; "
                             "uniform pipelines are not drawn."));
    for (bb_index p = 0; p < out->names->count; ++p) {
        (void)snprintf(path, sizeof path, "tiles/variant_%td", p);
        const bb_dataset *map = bb_results_find(results, path);
        if (map == NULL || map->is_text || map->count != out->tiles * out->tiles) {
            continue;
        }
        if (out->count == BB_PLOT_MOST_PANELS) {
            BB_TRY(bb_text_add(note, " %s is not drawn either.", out->names->texts[p]));
            continue;
        }
        out->pipelines[out->count] = p;
        out->shown[out->count++] = map;
        for (bb_index i = 0; i < map->count; ++i) {
            const double variant = map->numbers[i];
            if (variant >= 0.0 && variant < (double)out->variants->count) {
                out->used[(bb_index)variant] = true;
            }
        }
    }
    BB_REQUIRE(out->count > 0, BB_INVALID, "no pipeline has a map of tiles");
done:
    return status;
}

// Rank of a variant on the colour map, among those in use: 0 for the first.
static bb_index rank_of(const maps *set, bb_index variant)
{
    bb_index rank = 0;
    for (bb_index v = 0; v < variant; ++v) {
        rank += set->used[v];
    }
    return rank;
}

static bb_status add_tile_map(const maps *set, bb_index panel, bb_figure *figure)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "tiles %td", set->pipelines[panel]);
    BB_TRY(bb_figure_block(figure, name, "rows and columns of tiles, colour of the variant"));
    for (bb_index i = 0; i < set->tiles; ++i) {
        for (bb_index j = 0; j < set->tiles; ++j) {
            const double variant = set->shown[panel]->numbers[i * set->tiles + j];
            const char *gap = j == 0 ? "" : " ";
            if (j > i || isnan(variant)) {
                BB_TRY(bb_text_add(&figure->data, "%snan", gap));
            } else {
                BB_TRY(bb_text_add(&figure->data, "%s%td", gap, rank_of(set, (bb_index)variant)));
            }
        }
        BB_TRY(bb_text_add(&figure->data, "\n"));
    }
done:
    return status;
}

// Sets the keys of the variants in use, and the colour map with a step for each.
static bb_status set_variants(const maps *set, bb_figure *figure, bb_figure_key *keys,
                              char shades[][8], bb_index *count)
{
    bb_status status = BB_OK;
    bb_index ranks = 0;
    *count = 0;
    for (bb_index v = 0; v < set->variants->count; ++v) {
        ranks += set->used[v];
    }
    BB_TRY(
        bb_text_add(&figure->script, "set palette maxcolors %td defined (", ranks > 1 ? ranks : 2));
    for (bb_index v = 0; v < set->variants->count; ++v) {
        if (!set->used[v]) {
            continue;
        }
        bb_figure_shade(ranks > 1 ? (double)*count / (double)(ranks - 1) : 0.0, shades[*count]);
        keys[*count] = (bb_figure_key){set->variants->texts[v], shades[*count], 5, 0};
        BB_TRY(bb_text_add(&figure->script, "%s%td '%s'", *count == 0 ? "" : ", ", *count,
                           shades[*count]));
        ++*count;
    }
    if (ranks == 1) {
        BB_TRY(bb_text_add(&figure->script, ", 1 '%s'", shades[0]));
    }
    BB_TRY(bb_text_add(&figure->script, ")\nunset colorbox\nset cbrange [-0.5:%.1f]\n",
                       (double)(ranks > 1 ? ranks : 2) - 0.5));
done:
    return status;
}

static bb_status draw_tile_panels(const maps *set, bb_index columns, double width, double pitch,
                                  double top, bb_figure *figure)
{
    bb_status status = BB_OK;
    const double step = fmax(bb_figure_step((double)set->tiles, width, 0.5), 1.0);
    BB_TRY(bb_text_add(&figure->script,
                       "set multiplot\nset xrange [-0.5:%.1f]\nset yrange [%.1f:-0.5]\n"
                       "set xtics nomirror out %g font ',6' offset 0,0.5\n"
                       "set ytics nomirror out %g font ',6' offset 0.5,0\n",
                       (double)set->tiles - 0.5, (double)set->tiles - 0.5, step, step));
    for (bb_index i = 0; i < set->count; ++i) {
        const double x = 1.0 + (width + 0.75) * (double)(i % columns);
        const bb_index row = i / columns;
        const double y = top - pitch * (double)row;
        const bb_figure_box box = {x, y - width, x + width, y};
        BB_TRY(add_tile_map(set, i, figure));
        BB_TRY(bb_figure_place(figure, box));
        BB_TRY(bb_figure_write(figure, x + 0.5 * width, y + 0.2,
                               set->names->texts[set->pipelines[i]], panel_points, "center"));
        BB_TRY(bb_figure_write(figure, x + 0.5 * width, box.y_low - 0.6, "tile column",
                               BB_FIGURE_SMALL_POINTS, "center"));
        BB_TRY(bb_figure_write(figure, x - 0.65, y - 0.5 * width, "tile row",
                               BB_FIGURE_SMALL_POINTS, "center rotate by 90"));
        BB_TRY(bb_text_add(&figure->script,
                           "plot data index 'tiles %td' matrix using 1:2:3 with image\n"
                           "unset label\n",
                           set->pipelines[i]));
    }
    BB_TRY(bb_text_add(&figure->script, "unset multiplot\n"));
done:
    return status;
}

static bb_status draw_tiles(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    maps set = {.count = 0};
    bb_text note = {0};
    bb_figure_key keys[MOST_VARIANTS];
    char shades[MOST_VARIANTS][8];
    bb_index key_count = 0;
    BB_TRY(gather_maps(scene->results, &set, &note));
    const bb_index room = figure->width_cm > 12.0 ? 4 : 2;
    const bb_index columns = set.count < room ? set.count : room;
    const bb_index rows = (set.count + columns - 1) / columns;
    const double above = 1.0; // space for keys and the first titles
    const double apart = 1.2; // space between rows
    double width = fmin((figure->width_cm - 0.35 - 0.75 * (double)columns) / (double)columns, 6.0);
    if (isnan(figure->height_cm)) {
        figure->height_cm = above + (width + apart) * (double)rows + 1.2;
    }
    BB_TRY(bb_figure_begin(figure, scene->results, note.data));
    width = fmin(width, (figure->height_cm - figure->foot_cm - above) / (double)rows - apart);
    BB_REQUIRE(width > 0.5, BB_INVALID,
               "--size has a height of %g cm, too small for %td rows of maps", figure->height_cm,
               rows);
    const double top = figure->height_cm - above;
    BB_TRY(set_variants(&set, figure, keys, shades, &key_count));
    BB_TRY(bb_figure_write_keys(figure, keys, key_count,
                                (bb_figure_box){1.0, 0.0, figure->width_cm, top + 0.45}));
    BB_TRY(draw_tile_panels(&set, columns, width, width + apart, top, figure));
done:
    bb_text_release(&note);
    return status;
}

const bb_plot_kind bb_plot_tiles = {
    "tiles",
    "variant of each tile of the factorization, by pipeline with a policy",
    {"results/pipeline", "tiles/variant", "tiles/tile_row"},
    "an ao or reconstructor file of this version with a policy that is not uniform",
    draw_tiles,
    0};
