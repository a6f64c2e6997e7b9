// SPDX-License-Identifier: Apache-2.0
//
// Configurations of the fringe physics for the tests: the defaults of the tables, and changes by
// tests.
#ifndef BB_TESTS_FRINGE_CASES_H
#define BB_TESTS_FRINGE_CASES_H

#include "core/thread.h"
#include "physics/fringe/fringe_config.h"
#include "physics/fringe/scene.h"
#include "tests/physics/doubles.h"

static inline int word_place(const char *const *words, const char *word)
{
    int place = 0;
    while (strcmp(words[place], word) != 0) {
        ++place;
    }
    return place;
}

/// Fills a struct with the defaults of a file without keys.
static inline void fill_defaults(const bb_schema *schema, void *object)
{
    for (bb_index k = 0; k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        char *member = (char *)object + key->offset;
        const char *text = key->default_text;
        if (key->kind == BB_KEY_GROUP) {
            fill_defaults(key->schema, member);
        } else if (key->kind == BB_KEY_DOUBLE) {
            *(double *)(void *)member = text == NULL ? NAN : strtod(text, NULL);
        } else if (key->kind == BB_KEY_INTEGER) {
            *(bb_index *)(void *)member =
                text == NULL ? BB_INTEGER_UNSET : (bb_index)strtoll(text, NULL, 10);
        } else if (key->kind == BB_KEY_CHOICE) {
            *(int *)(void *)member = text == NULL ? -1 : word_place(key->choices, text);
        }
    }
}

static inline bb_fringe_config fringe_case(bb_index columns, bb_index rows)
{
    bb_fringe_config config = {0};
    fill_defaults(&bb_fringe_schema, &config);
    config.size = (bb_fringe_size_config){.columns = columns, .rows = rows};
    config.pupil.kind = BB_FRINGE_PUPIL_RECTANGLE;
    return config;
}

static inline bb_scene *make_scene(const bb_fringe_config *config, uint64_t seed, bb_index draw)
{
    check_ok(bb_fringe_config_check(config));
    bb_scene *scene = new_object(bb_scene, config, seed, draw);
    return scene;
}

static inline double *make_plane(const bb_scene *scene)
{
    double *plane = zeros(scene->columns * scene->rows);
    return plane;
}

/// Pixels of a mask.
static inline bb_index count_pixels(const bb_scene *scene)
{
    bb_index count = 0;
    for (bb_index i = 0; i < scene->columns * scene->rows; ++i) {
        count += scene->mask[i];
    }
    return count;
}

#endif
