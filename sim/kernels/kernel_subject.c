// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_subject.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/kernels/object_sizes.h"
#include "sim/kernels/parameter_values.h"

const char bb_kernel_subject_set[] = "own";

static bb_status read_program(const bb_kernel_subject_wish *wish, bb_kernel_subject *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    BB_TRY(bb_kernel_source_read(wish->name, &problems, &out->source));
    BB_TRY(bb_kernel_source_report(&out->source, &problems));
    BB_TRY(bb_kernel_source_bind(&out->source, wish->words, wish->word_count, &problems));
    BB_TRY(bb_kernel_source_report(&out->source, &problems));
done:
    bb_problems_release(&problems);
    return status;
}

static bb_status read_parameters(const bb_kernel_subject_wish *wish, bb_kernel_subject *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_scalar *ones = NULL;
    const bb_program *program = &out->source.program;
    BB_TRY(BB_ZEROED(program->parameter_count + 1, &ones));
    BB_TRY(BB_ZEROED(program->parameter_count + 1, &out->parameters));
    for (int i = 0; i < program->parameter_count; ++i) {
        ones[i] = (bb_scalar){.parts = {1.0}, .integer = 1};
    }
    BB_TRY(bb_parameter_values_read(program, wish->parameters, wish->parameter_count, ones,
                                    &problems, out->parameters));
    BB_TRY(bb_kernel_source_report(&out->source, &problems));
done:
    BB_RELEASE(&ones);
    bb_problems_release(&problems);
    return status;
}

static bb_status read_data(const bb_kernel_subject_wish *wish, bb_kernel_subject *out)
{
    bb_status status = BB_OK;
    const bb_program *program = &out->source.program;
    BB_REQUIRE(wish->sizes == NULL || wish->input == NULL, BB_INVALID,
               "sizes are those of --in or of --set, not both");
    if (wish->input != NULL) {
        BB_TRY(bb_object_file_read(wish->input, program, &out->data));
        goto done;
    }
    BB_TRY(BB_ZEROED(program->object_count + 1, &out->data.objects));
    out->data.count = program->object_count;
    BB_TRY(bb_object_sizes_read(wish->sizes != NULL ? wish->sizes : "seed", out->source.path,
                                program, out->data.objects));
done:
    return status;
}

static bb_status make_subject(bb_kernel_subject *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_status_record said;
    bb_index limit = 0;
    status = bb_caller_subject_create(&out->source.program, bb_kernel_subject_set,
                                      out->data.objects, out->parameters, &problems, &out->subject);
    if (status == BB_UNSUPPORTED) {
        bb_status_save(&said);
        bb_status_clear();
        BB_FAIL(BB_INVALID, "%s; --in FILE.h5 takes them from datasets", said.message);
    }
    BB_TRY(status);
    BB_TRY(bb_kernel_source_report(&out->source, &problems));
    const char *name = bb_caller_subject_stand_in(out->subject, &limit);
    if (name != NULL) {
        bb_log_info("elements of %s and other integers are made up, from 0 to %td; --in FILE.h5 "
                    "takes them from datasets",
                    name, limit - 1);
    }
done:
    bb_problems_release(&problems);
    return status;
}

bb_status bb_kernel_subject_read(const bb_kernel_subject_wish *wish, bb_kernel_subject *out)
{
    bb_status status = BB_OK;
    BB_TRY(read_program(wish, out));
    BB_TRY(read_data(wish, out));
    BB_TRY(read_parameters(wish, out));
    BB_TRY(make_subject(out));
done:
    return status;
}

void bb_kernel_subject_release(bb_kernel_subject *subject)
{
    bb_caller_subject_destroy(&subject->subject);
    BB_RELEASE(&subject->parameters);
    bb_object_file_release(&subject->data);
    bb_kernel_source_release(&subject->source);
}
