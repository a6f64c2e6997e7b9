// SPDX-License-Identifier: Apache-2.0
//
// Common check of the kernel description targets. Arbitrary bytes are refused with named problems,
// or give a description whose XML parses to the same XML, byte for byte. No memory leaks.
#ifndef BB_TESTS_FUZZ_KERNEL_ROUND_TRIP_H
#define BB_TESTS_FUZZ_KERNEL_ROUND_TRIP_H

#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/language/xml_reader.h"
#include "tests/fuzz/fuzz_input.h"

typedef bb_status (*kernel_reader)(const char *bytes, bb_index length, const char *name,
                                   bb_problems *problems, bb_description *out);

static void demand_same(const bb_description *description, const bb_description *again)
{
    const bb_element *one = description->root;
    const bb_element *other = again->root;
    fuzz_demand(description->elements == again->elements, "as many elements");
    while (one != NULL && other != NULL) {
        fuzz_demand(one->construct == other->construct, "the same elements");
        for (int key = 0; key < BB_DESCRIPTION_KEY_COUNT; ++key) {
            const char *value = one->values[key];
            fuzz_demand((value == NULL) == (other->values[key] == NULL), "the same attributes");
            fuzz_demand(value == NULL || strcmp(value, other->values[key]) == 0, "the same values");
        }
        fuzz_demand((one->first == NULL) == (other->first == NULL), "the same children");
        if (one->first != NULL) {
            one = one->first;
            other = other->first;
            continue;
        }
        while (one != NULL && one->next == NULL) {
            fuzz_demand(other->next == NULL, "no more children");
            one = one->parent;
            other = other->parent;
        }
        one = one == NULL ? NULL : one->next;
        other = other == NULL ? NULL : other->next;
    }
    fuzz_demand(one == NULL && other == NULL, "the same tree");
}

static void check_round_trip(kernel_reader reader, const uint8_t *data, size_t size)
{
    bb_problems problems = {0};
    bb_problems none = {0};
    bb_description description;
    bb_description again;
    bb_text text = {0};
    bb_status status =
        reader((const char *)data, (bb_index)size, "kernel", &problems, &description);
    fuzz_demand(status != BB_IO, "no file is read");
    if (status == BB_OK && problems.count == 0) {
        fuzz_demand(bb_description_write(&description, &text) == BB_OK, "XML");
        fuzz_demand(bb_xml_reader_read(text.data, text.length, "again", &none, &again) == BB_OK,
                    "its own XML is read");
        fuzz_demand(none.count == 0, bb_text_string(&none.lines));
        demand_same(&description, &again);
        bb_description_release(&again);
    }
    bb_problems_release(&none);
    bb_problems_release(&problems);
    bb_text_release(&text);
    bb_description_release(&description);
    fuzz_settle(status);
}

#endif
