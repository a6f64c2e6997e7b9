// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_collect.h"

#include "core/memory.h"
#include "sim/output/file.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/sweep/choice_statistics.h"
#include "sim/sweep/search/sweep_search.h"

#include <string.h>

// The unit of the experiment's price: what it says between brackets.
static void find_price_unit(const bb_experiment *experiment, char out[32])
{
    const char *start = strchr(experiment->price_name, '[');
    const size_t length = start == NULL ? 0 : strcspn(start + 1, "]");
    (void)snprintf(out, 32, "%.*s", (int)(start == NULL ? 1 : length),
                   start == NULL ? "1" : start + 1);
}

// A file that lacks planned points says so, first in its status.
static bb_status note_points(const bb_choices *choices, bool searches, bb_results *results)
{
    bb_status status = BB_OK;
    char reason[96];
    BB_TRY(bb_results_note_number(results, "", "points_planned", (double)choices->planned));
    BB_TRY(bb_results_note_number(results, "", "points_run", (double)choices->run));
    if (choices->partial) {
        (void)snprintf(reason, sizeof reason,
                       searches ? "the search is not at its end: %td of %td combinations were run"
                                : "%td of %td planned points were run",
                       choices->run, choices->planned);
        BB_TRY(bb_results_note(results, "", "status", "partial"));
        BB_TRY(bb_results_note(results, "", "status_reason", reason));
    }
done:
    return status;
}

static bb_status build_results(const bb_sweep_collect_request *request,
                               const bb_collection *collection, const bb_choices *choices,
                               bb_results **out)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    bb_config *config = NULL;
    bb_problems problems = {0};
    char unit[32];
    const bb_sweep *sweep = request->plan->sweep;
    find_price_unit(sweep->experiment, unit);
    BB_TRY(bb_config_base_bind(sweep->base, NULL, 0, &problems, &config));
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_provenance_begin(results, config, bb_config_study(config), request->argument_count,
                               request->arguments, request->threads));
    BB_TRY(bb_collection_publish(collection, results));
    BB_TRY(bb_choices_publish(choices, unit, results));
    if (sweep->searches) {
        BB_TRY(bb_sweep_search_publish(collection, unit, results));
    }
    BB_TRY(bb_results_note(results, "provenance", "sweep_plan", request->plan->text));
    BB_TRY(bb_provenance_end(results));
    BB_TRY(note_points(choices, sweep->searches, results));
    *out = results;
    results = NULL;
done:
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    bb_problems_release(&problems);
    return status;
}

static bb_status write_file(const bb_sweep_collect_request *request,
                            const bb_collection *collection, const bb_choices *choices)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    unsigned char *image = NULL;
    bb_index bytes = 0;
    BB_TRY(build_results(request, collection, choices, &results));
    BB_TRY(bb_image_build(results, &image, &bytes));
    BB_TRY(bb_file_write(request->output, request->force, image, bytes));
done:
    BB_RELEASE(&image);
    bb_results_destroy(&results);
    return status;
}

static bb_status write_csv(const bb_sweep_collect_request *request, const bb_collection *collection)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_collection_list(collection, &text));
    BB_TRY(bb_file_write(request->csv, request->force, bb_text_string(&text), text.length));
done:
    bb_text_release(&text);
    return status;
}

static bb_status check_complete(const bb_sweep_collect_request *request,
                                const bb_sweep_progress *progress)
{
    bb_status status = BB_OK;
    bb_index done = progress->counts[BB_POINT_DONE];
    BB_REQUIRE(done > 0, BB_INVALID, "no point is done yet");
    // What a search leaves out is not missing.
    BB_REQUIRE(request->partial || progress->open == 0 || request->plan->sweep->searches,
               BB_INVALID,
               "%td points are to do: 'bitbudget sweep run %s' does them; --partial collects what "
               "there is",
               progress->open, request->plan->folder);
done:
    return status;
}

bb_status bb_sweep_collect_results(const bb_sweep_collect_request *request, bb_results **out)
{
    bb_status status = BB_OK;
    bb_sweep_progress progress = {0};
    bb_collection *collection = NULL;
    bb_choices choices = {0};
    BB_TRY(bb_sweep_progress_read(request->plan, &progress));
    BB_TRY(check_complete(request, &progress));
    BB_TRY(bb_collection_read(request->plan, &progress, &collection));
    BB_TRY(bb_choices_find(collection, &choices));
    BB_TRY(build_results(request, collection, &choices, out));
done:
    bb_choices_release(&choices);
    bb_collection_destroy(&collection);
    bb_sweep_progress_release(&progress);
    return status;
}

bb_status bb_sweep_collect(const bb_sweep_collect_request *request, bb_text *answer)
{
    bb_status status = BB_OK;
    bb_sweep_progress progress = {0};
    bb_collection *collection = NULL;
    bb_choices choices = {0};
    BB_TRY(bb_sweep_progress_read(request->plan, &progress));
    BB_TRY(check_complete(request, &progress));
    BB_TRY(bb_collection_read(request->plan, &progress, &collection));
    BB_TRY(bb_choices_find(collection, &choices));
    if (request->output != NULL) {
        BB_TRY(write_file(request, collection, &choices));
    }
    if (request->csv != NULL) {
        BB_TRY(write_csv(request, collection));
    }
    if (request->plan->sweep->searches) {
        BB_TRY(bb_text_add(answer, "%td of %td combinations run\n", collection->slot_count,
                           bb_sweep_plan_points(request->plan)));
        BB_TRY(bb_sweep_search_answer(collection, answer));
        if (choices.partial) {
            BB_TRY(bb_text_add(answer,
                               "Partial: the search is not at its end; 'bitbudget sweep run %s' "
                               "goes on.\n",
                               request->plan->folder));
        }
    } else {
        BB_TRY(bb_sweep_progress_list(&progress, answer));
        BB_TRY(bb_text_add(answer, "\n"));
        BB_TRY(bb_choices_list(&choices, collection, request->within, answer));
    }
done:
    bb_choices_release(&choices);
    bb_collection_destroy(&collection);
    bb_sweep_progress_release(&progress);
    return status;
}
