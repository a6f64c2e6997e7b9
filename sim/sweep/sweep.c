// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep.h"

#include "core/memory.h"
#include "core/random.h"
#include "core/suggestion.h"
#include "core/text.h"
#include "sim/config/binding.h"
#include "sim/config/config.h"
#include "sim/config/scalar.h"
#include "sim/output/output_table.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_end(const bb_node *map, const char *name, double *out)
{
    const bb_node *node = bb_node_member(map, name);
    return node != NULL && node->kind == BB_NODE_SCALAR && bb_scalar_double(node->text, out);
}

bool bb_sweep_range_read(const bb_node *map, bb_sweep_range *out)
{
    const bb_node *log = bb_node_member(map, "log");
    out->logarithmic = log != NULL && log->kind == BB_NODE_SCALAR && strcmp(log->text, "true") == 0;
    return read_end(map, "from", &out->first) && read_end(map, "to", &out->last) &&
           out->first != out->last;
}

double bb_sweep_range_value(const bb_sweep_range *range, double share)
{
    if (share <= 0.0) {
        return range->first;
    }
    if (share >= 1.0) {
        return range->last;
    }
    return range->logarithmic
               ? exp(log(range->first) + share * (log(range->last) - log(range->first)))
               : range->first + share * (range->last - range->first);
}

double bb_sweep_range_tidy(double value, double slack)
{
    char digits[BB_SCALAR_BYTES];
    for (int precision = 1; precision <= 17; ++precision) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, value);
        const double shorter = strtod(digits, NULL);
        if (fabs(shorter - value) <= slack) {
            return shorter;
        }
    }
    return value;
}

// Sample with a random key; the order of keys is the order of strata.
typedef struct draw {
    double key;
    bb_index sample;
} draw;

static int compare(const void *a, const void *b)
{
    const draw *x = a;
    const draw *y = b;
    return x->key < y->key   ? -1
           : x->key > y->key ? 1
                             : (x->sample > y->sample) - (x->sample < y->sample);
}

static bb_status draw_hypercube(const bb_sweep_samples *plan, bb_index dimension, double *out)
{
    bb_status status = BB_OK;
    draw *order = NULL;
    const bb_index n = plan->samples;
    BB_TRY(BB_ALLOCATE(n, &order));
    const uint64_t first = 2 * (uint64_t)dimension * (uint64_t)n;
    for (bb_index i = 0; i < n; ++i) {
        order[i] = (draw){bb_random_uniform(plan->seed, BB_STREAM_SWEEP, first + (uint64_t)i), i};
    }
    qsort(order, (size_t)n, sizeof *order, compare);
    for (bb_index i = 0; i < n; ++i) {
        const uint64_t index = first + (uint64_t)n + (uint64_t)i;
        out[order[i].sample] =
            ((double)i + bb_random_uniform(plan->seed, BB_STREAM_SWEEP, index)) / (double)n;
    }
done:
    BB_RELEASE(&order);
    return status;
}

static bb_status draw_sobol(const bb_sweep_samples *plan, bb_index dimension, double *out)
{
    bb_status status = BB_OK;
    double point[BB_SWEEP_DIMENSIONS];
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)plan->dimensions);
    BB_REQUIRE(sequence != NULL, BB_MEMORY,
               "host memory exhausted by a Sobol sequence of %td dimensions", plan->dimensions);
    const double shift =
        plan->seed == 0 ? 0.0 : bb_random_uniform(plan->seed, BB_STREAM_SWEEP, (uint64_t)dimension);
    for (bb_index i = 0; i < plan->samples; ++i) {
        (void)gsl_qrng_get(sequence, point);
        out[i] = fmod(point[dimension] + shift, 1.0);
    }
done:
    if (sequence != NULL) {
        gsl_qrng_free(sequence);
    }
    return status;
}

bb_status bb_sweep_samples_draw(const bb_sweep_samples *plan, bb_index dimension, double *out)
{
    return plan->sobol ? draw_sobol(plan, dimension, out) : draw_hypercube(plan, dimension, out);
}

static bb_status add_file(void *context, const char *key, const char *path)
{
    bb_status status = BB_OK;
    bb_point_files *files = context;
    bb_file_stamp stamp;
    bb_index index = 0;
    (void)key;
    BB_TRY(bb_file_stamp_find(path, &stamp));
    while (index < files->count && strcmp(files->files[index].path, path) != 0) {
        ++index;
    }
    BB_REQUIRE(index < BB_POINT_FILES && strlen(path) < BB_POINT_PATH_BYTES, BB_INVALID,
               "'%s' exceeds %d files, or its path exceeds %d bytes", path, BB_POINT_FILES,
               BB_POINT_PATH_BYTES - 1);
    bb_point_file *file = &files->files[index];
    if (index < files->count && bb_file_stamp_equal(&file->stamp, &stamp)) {
        goto done;
    }
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    file->stamp = stamp;
    BB_TRY(bb_digest_file(path, file->digest));
    files->count += index == files->count;
done:
    return status;
}

bb_status bb_point_files_add(const bb_config *config, bb_point_files *files)
{
    return bb_config_visit_files(bb_config_schema(config), bb_config_study(config), add_file,
                                 files);
}

// Adds one line of a resolved study in the form used for the id: without the title, with the
// resolved device, and with digests in place of file names.
static bb_status add_line(const char *line, size_t length, bb_device_kind device,
                          const bb_point_files *files, bb_text *out)
{
    bb_status status = BB_OK;
    char *copy = NULL;
    BB_TRY(bb_memory_printf(&copy, "%.*s", (int)length, line));
    if (strncmp(copy, "title:", 6) == 0) {
        goto done;
    }
    if (strcmp(copy, "device: auto") == 0) {
        BB_TRY(bb_text_add(out, "device: %s\n", bb_device_names[device]));
        goto done;
    }
    const char *rest = copy;
    while (*rest != '\0') {
        const bb_point_file *found = NULL;
        for (bb_index f = 0; f < files->count; ++f) {
            const size_t bytes = strlen(files->files[f].path);
            // Selects the longest matching prefix.
            if (strncmp(rest, files->files[f].path, bytes) == 0 &&
                (found == NULL || bytes > strlen(found->path))) {
                found = &files->files[f];
            }
        }
        if (found != NULL) {
            BB_TRY(bb_text_add(out, "%s", found->digest));
            rest += strlen(found->path);
        } else {
            BB_TRY(bb_text_add_bytes(out, rest++, 1));
        }
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    BB_RELEASE(&copy);
    return status;
}

bb_status bb_sweep_point_id(const bb_config *config, bb_device_kind device, bb_point_files *files,
                            char out[BB_DIGEST_BYTES])
{
    bb_status status = BB_OK;
    bb_text resolved = {0};
    bb_text text = {0};
    BB_TRY(bb_point_files_add(config, files));
    BB_TRY(bb_config_resolved(config, &resolved));
    BB_TRY(bb_text_add(&text, "numerics: %d\n", BB_NUMERICS));
    for (const char *line = bb_text_string(&resolved); *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        BB_TRY(add_line(line, length, device, files, &text));
        line += length + (line[length] == '\n');
    }
    bb_digest_of(bb_text_string(&text), (size_t)text.length, out);
done:
    bb_text_release(&text);
    bb_text_release(&resolved);
    return status;
}

static const char *const across_names[] = {"all", "each", NULL};

static const bb_key search_keys[] = {
    {.name = "minimise",
     .kind = BB_KEY_TEXT,
     .offset = offsetof(bb_sweep_search_config, minimise),
     .default_text = "bits_per_value",
     .meaning = "Quantity to minimise: bits_per_value, or a dataset of /results."},
    {.name = "max_loss",
     .kind = BB_KEY_DOUBLE,
     .offset = offsetof(bb_sweep_search_config, max_loss),
     .minimum = 0.0,
     .maximum = 1e300,
     .meaning = "Largest loss of an answer, in the experiment's unit."},
    {.name = "across",
     .kind = BB_KEY_CHOICE,
     .offset = offsetof(bb_sweep_search_config, across),
     .choices = across_names,
     .default_text = "all",
     .meaning = "One answer for all conditions, or each condition's own."},
};
const bb_schema bb_sweep_search_schema = BB_SCHEMA("search", bb_sweep_search_config, search_keys);

static const bb_key keys[] = {
    {.name = "shards",
     .kind = BB_KEY_INTEGER,
     .offset = offsetof(bb_sweep_config, shards),
     .unit = "1",
     .minimum = 1.0,
     .maximum = 100000.0,
     .optional = true,
     .meaning = "Number of parts to run separately; auto: by the estimated time."},
    {.name = "point_limit_s",
     .kind = BB_KEY_DOUBLE,
     .offset = offsetof(bb_sweep_config, point_limit_s),
     .unit = "s",
     .minimum = 0.0,
     .maximum = 1e7,
     .exclusive_minimum = true,
     .optional = true,
     .meaning = "Time limit of a point; a point that exceeds it fails with class time."},
    {.name = "retries",
     .kind = BB_KEY_INTEGER,
     .offset = offsetof(bb_sweep_config, retries),
     .unit = "1",
     .minimum = 0.0,
     .maximum = 100.0,
     .default_text = "2",
     .meaning = "Number of retries of a point that failed by memory, device or a file."},
};
const bb_schema bb_sweep_schema = BB_SCHEMA("sweep", bb_sweep_config, keys);

void bb_sweep_destroy(bb_sweep **sweep)
{
    if (*sweep != NULL) {
        bb_config_base_destroy(&(*sweep)->base);
        bb_arena_release(&(*sweep)->arena);
    }
    BB_RELEASE(sweep);
}

static bool is_word(const bb_node *node, const char *word)
{
    return node->kind == BB_NODE_SCALAR && strcmp(node->text, word) == 0;
}

static bb_status read_keep(bb_sweep *sweep, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_node *node = bb_node_member(sweep->node, "keep");
    if (node == NULL || is_word(node, "scalars")) {
        goto done;
    }
    sweep->keeps_files = is_word(node, "files");
    const bool sound =
        sweep->keeps_files || (node->kind == BB_NODE_LIST && node->count <= BB_SWEEP_KEEP);
    if (!sound) {
        BB_TRY(bb_problems_add(problems, node->place,
                               "sweep: keep: expected scalars, files, or a list of at most %d "
                               "datasets of /results",
                               BB_SWEEP_KEEP));
        goto done;
    }
    for (const bb_node *item = node->first; item != NULL; item = item->next) {
        sweep->keep[sweep->keep_count++] = item->kind == BB_NODE_SCALAR ? item->text : "";
    }
done:
    return status;
}

// Removes unknown keys from `rest` and reports all valid ones: `by_hand` and those of the schema.
static bb_status refuse_unknown(bb_node *rest, const char *const *by_hand, bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_text valid = {0};
    const bb_node *next = NULL;
    for (bb_index i = 0; by_hand[i] != NULL; ++i) {
        BB_TRY(bb_text_add(&valid, "%s, ", by_hand[i]));
    }
    for (bb_index i = 0; i < bb_sweep_schema.key_count; ++i) {
        BB_TRY(bb_text_add(&valid, "%s%s", i == 0 ? "" : ", ", bb_sweep_schema.keys[i].name));
    }
    for (const bb_node *node = rest->first; node != NULL; node = next) {
        bb_suggestion near = {.word = node->key};
        next = node->next;
        if (bb_binding_key(&bb_sweep_schema, node->key) != NULL) {
            continue;
        }
        for (bb_index i = 0; by_hand[i] != NULL; ++i) {
            bb_suggestion_add(&near, by_hand[i]);
        }
        for (bb_index i = 0; i < bb_sweep_schema.key_count; ++i) {
            bb_suggestion_add(&near, bb_sweep_schema.keys[i].name);
        }
        BB_TRY(bb_problems_add(problems, node->key_place, "sweep.%s: unknown key%s; valid keys: %s",
                               node->key, bb_suggestion_text(&near), bb_text_string(&valid)));
        bb_node_remove(rest, node);
    }
done:
    bb_text_release(&valid);
    return status;
}

// Reads the keys with schema tables; axes and the lists above are read by separate functions.
static bb_status read_config(bb_sweep *sweep, bb_problems *problems)
{
    bb_status status = BB_OK;
    static const char *const by_hand[] = {"axes",  "zip",     "table", "lhs",    "sobol",
                                          "seeds", "exclude", "keep",  "search", NULL};
    bb_node *rest = NULL;
    BB_TRY(bb_node_copy(&sweep->arena, sweep->node, &rest));
    for (bb_index i = 0; by_hand[i] != NULL; ++i) {
        const bb_node *node = bb_node_member(rest, by_hand[i]);
        if (node != NULL) {
            bb_node_remove(rest, node);
        }
    }
    const bb_node *shards = bb_node_member(rest, "shards");
    if (shards != NULL && is_word(shards, "auto")) {
        bb_node_remove(rest, shards);
    }
    BB_TRY(refuse_unknown(rest, by_hand, problems));
    BB_TRY(
        bb_binding_bind(&sweep->arena, &bb_sweep_schema, rest, "sweep", problems, &sweep->config));
done:
    return status;
}

static bb_status read_search(bb_sweep *sweep, bb_problems *problems, bb_node **over)
{
    bb_status status = BB_OK;
    bb_node *rest = NULL;
    const bb_node *search = bb_node_member(sweep->node, "search");
    *over = NULL;
    if (search == NULL) {
        goto done;
    }
    sweep->searches = true;
    *over = bb_node_member(search, "over");
    if (*over == NULL) {
        BB_TRY(bb_problems_add(problems, search->place,
                               "sweep: search.over: missing; expected one key and its values"));
        goto done;
    }
    BB_TRY(bb_node_copy(&sweep->arena, search, &rest));
    bb_node_remove(rest, bb_node_member(rest, "over"));
    BB_TRY(bb_binding_bind(&sweep->arena, &bb_sweep_search_schema, rest, "sweep.search", problems,
                           &sweep->search));
done:
    return status;
}

static bb_status count_points(bb_sweep *sweep, bb_problems *problems)
{
    bb_status status = BB_OK;
    sweep->point_count = 1;
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        const bb_index count = sweep->axes.axes[a].count;
        if (count > BB_SWEEP_POINTS / sweep->point_count) {
            return bb_problems_add(problems, sweep->node->place, "sweep: more than %d points",
                                   BB_SWEEP_POINTS);
        }
        sweep->point_count *= count;
    }
    for (bb_index p = 0; sweep->exclusions.count > 0 && p < sweep->point_count; ++p) {
        sweep->excluded_count += bb_sweep_is_excluded(sweep, p);
    }
    if (sweep->excluded_count == sweep->point_count) {
        BB_TRY(bb_problems_add(problems, sweep->node->place, "sweep: all points are excluded"));
    }
done:
    return status;
}

// Names used by other datasets of results.
static bool is_taken(const void *context, const char *name)
{
    static const char *const others[] = {"pipeline",     "run",       "point_number", "point_s",
                                         "point_status", "point_id",  "point_digest", "choice",
                                         "zip",          "condition", "lhs",          "sobol"};
    const bb_experiment *experiment = context;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        if (strcmp(others[i], name) == 0) {
            return true;
        }
    }
    const bb_output_table *table = NULL;
    for (bb_index t = 0; (table = bb_experiment_output(experiment, t)) != NULL; ++t) {
        const bool shown = strcmp(table->group, "results") == 0 || table->group[0] == '\0';
        for (bb_index r = 0; shown && r < table->count; ++r) {
            if (strcmp(table->rows[r].name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bb_status read_all(bb_sweep *sweep, const char *sealed, bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_node *over = NULL;
    sweep->experiment =
        bb_experiment_find(sweep->experiments, bb_config_base_schema(sweep->base)->name);
    const bb_config_file file = bb_config_base_file(sweep->base, 0);
    sweep->node = bb_config_base_extract(sweep->base, "sweep");
    if (sealed != NULL) {
        BB_TRY(bb_node_parse(&sweep->arena, file.name, false, sealed, strlen(sealed), problems,
                             &sweep->node));
    }
    if (sweep->node == NULL || sweep->node->kind != BB_NODE_MAP) {
        BB_TRY(bb_problems_add(
            problems, (bb_place){file.name, 1, 1},
            "no map 'sweep:' with the keys that vary; use 'bitbudget run' for a single study"));
        goto done;
    }
    BB_TRY(read_config(sweep, problems));
    BB_TRY(read_search(sweep, problems, &over));
    const bb_sweep_subjects subjects = {bb_config_base_schema(sweep->base), is_taken,
                                        sweep->experiment};
    BB_TRY(bb_sweep_axes_read(&sweep->arena, &subjects, sweep->node, over, problems, &sweep->axes));
    if (sweep->axes.count == 0 && problems->count == 0) {
        BB_TRY(bb_problems_add(problems, sweep->node->place, "sweep: no key varies"));
    }
    BB_TRY(read_keep(sweep, problems));
    if (problems->count == 0) {
        BB_TRY(bb_sweep_exclusions_read(&sweep->arena, &sweep->axes,
                                        bb_node_member(sweep->node, "exclude"), problems,
                                        &sweep->exclusions));
    }
    if (problems->count == 0) {
        BB_TRY(count_points(sweep, problems)); // only with valid rules
    }
done:
    return status;
}

bb_status bb_sweep_read(const bb_experiment_table *experiments, const bb_config_request *request,
                        const char *sealed, bb_problems *problems, bb_sweep **out)
{
    bb_status status = BB_OK;
    bb_sweep *sweep = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &sweep));
    sweep->experiments = experiments;
    BB_TRY(bb_experiment_base_read(experiments, *request, problems, &sweep->base));
    BB_TRY(read_all(sweep, sealed, problems));
    BB_REQUIRE(problems->count == 0, BB_INVALID, "%s: %td problem%s", request->path,
               problems->count, problems->count == 1 ? "" : "s");
    *out = sweep;
    sweep = NULL;
done:
    bb_sweep_destroy(&sweep);
    return status;
}

bb_status bb_sweep_bind(const bb_sweep *sweep, bb_index point, bb_problems *problems,
                        bb_config **out)
{
    bb_status status = BB_OK;
    bb_arena arena = {0};
    const char **overrides = NULL;
    bb_index count = 0;
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        count += sweep->axes.axes[a].key_count;
    }
    BB_TRY(bb_arena_zeroed(&arena, count, sizeof *overrides, (void **)&overrides));
    count = 0;
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        const bb_sweep_axis *axis = &sweep->axes.axes[a];
        const bb_index value = bb_sweep_coordinate(sweep, point, a);
        for (bb_index k = 0; k < axis->key_count; ++k) {
            BB_TRY(bb_arena_printf(&arena, &overrides[count++], "%s=%s", axis->keys[k].path,
                                   axis->keys[k].texts[value]));
        }
    }
    BB_TRY(
        bb_experiment_base_bind(sweep->experiments, sweep->base, overrides, count, problems, out));
done:
    bb_arena_release(&arena);
    return status;
}

bb_status bb_sweep_describe(const bb_sweep *sweep, bb_index point, bb_index count, bb_text *out)
{
    bb_status status = BB_OK;
    const char *between = "";
    for (bb_index a = 0; a < count; ++a) {
        const bb_sweep_axis *axis = &sweep->axes.axes[a];
        const bb_index value = bb_sweep_coordinate(sweep, point, a);
        for (bb_index k = 0; k < axis->key_count; ++k) {
            BB_TRY(bb_text_add(out, "%s%s %s", between, axis->keys[k].name,
                               axis->keys[k].texts[value]));
            between = ", ";
        }
    }
done:
    return status;
}
