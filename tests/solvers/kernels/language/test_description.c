// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/description.h"
#include "solvers/kernels/language/xml_reader.h"
#include "tests/solvers/kernels/kernel_file.h"

// Adds an element with one attribute (NULL: none), expecting success.
static bb_element *add(bb_description *description, bb_element *parent, const char *name)
{
    bb_problems problems = {0};
    bb_element *element = NULL;
    check_ok(
        bb_description_add(description, parent, name, (bb_place){"k", 1, 1}, &problems, &element));
    assert_int_equal(problems.count, 0);
    assert_non_null(element);
    return element;
}

static void set(bb_description *description, bb_element *element, const char *name,
                const char *value)
{
    bb_problems problems = {0};
    check_ok(
        bb_description_set(description, element, name, value, (bb_place){"k", 2, 7}, &problems));
    assert_int_equal(problems.count, 0);
}

TEST(elements_are_linked_in_order)
{
    bb_description description = {0};
    bb_element *root = add(&description, NULL, "ParallelAlgorithm");
    bb_element *objects = add(&description, root, "DataObjects");
    bb_element *first = add(&description, objects, "DataObject");
    bb_element *second = add(&description, objects, "DataObject");
    bb_element *third = add(&description, objects, "DataObject");
    assert_ptr_equal(description.root, root);
    assert_ptr_equal(root->first, objects);
    assert_ptr_equal(root->last, objects);
    assert_ptr_equal(objects->first, first);
    assert_ptr_equal(first->next, second);
    assert_ptr_equal(second->next, third);
    assert_ptr_equal(objects->last, third);
    assert_null(third->next);
    assert_ptr_equal(third->parent, objects);
    assert_int_equal(description.elements, 5);
    assert_int_equal(second->construct, BB_CONSTRUCT_DATA_OBJECT);
    bb_description_release(&description);
    assert_null(description.root);
}

TEST(attributes_have_one_name_and_aliases)
{
    static const char *const names[] = {"selectorFunction", "selector", "selfFunction",
                                        "accessFunction"};
    static const char *const kinds[] = {"DataAccessRead", "DataAccessWrite"};
    autorelease(bb_description) description = {0};
    bb_element *root = add(&description, NULL, "ParallelAlgorithm");
    bb_element *children = add(&description, root, "Children");
    set(&description, root, "dimension", "2");
    assert_string_equal(root->values[BB_DESCRIPTION_DIMENSIONS], "2");
    for (int i = 0; i < 8; ++i) {
        bb_element *access = add(&description, children, kinds[i / 4]);
        set(&description, access, names[i % 4], "v0");
        assert_string_equal(access->values[BB_DESCRIPTION_SELECTOR], "v0");
        assert_int_equal(access->places[BB_DESCRIPTION_SELECTOR].line, 2);
        assert_int_equal(access->places[BB_DESCRIPTION_SELECTOR].column, 7);
    }
}

TEST(one_description_has_a_bound)
{
    autorelease(bb_description) description = {0};
    bb_problems problems = {0};
    bb_element *element = NULL;
    bb_element *root = add(&description, NULL, "ParallelAlgorithm");
    bb_element *rules = add(&description, root, "OrderingRules");
    while (description.elements < BB_DESCRIPTION_MAX_ELEMENTS) {
        (void)add(&description, rules, "Rule");
    }
    check_fails(
        bb_description_add(&description, rules, "Rule", (bb_place){"k", 7, 1}, &problems, &element),
        BB_INVALID, "k:7: more than 200000 elements");
    assert_null(element);
}

TEST(values_are_escaped)
{
    autorelease(bb_description) description = {0};
    autorelease(bb_text) text = {0};
    bb_element *root = add(&description, NULL, "ParallelAlgorithm");
    set(&description, root, "name", "a<b>&\"c\"'\t\n\r");
    (void)add(&description, root, "Children");
    check_ok(bb_description_write(&description, &text));
    assert_string_equal(bb_text_string(&text),
                        "<ParallelAlgorithm name=\"a&lt;b&gt;&amp;&quot;c&quot;'&#9;&#10;&#13;\">\n"
                        "  <Children/>\n"
                        "</ParallelAlgorithm>\n");
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 16;
}

static const char *random_value(unsigned *seed)
{
    static const char *const pieces[] = {"a",  "<", ">", "&",      "\"",       "'",     "\n", "\t",
                                         "\r", " ", ";", "#in(0)", "\303\251", "&amp;", ""};
    static char value[64];
    value[0] = '\0';
    for (unsigned i = next_random(seed) % 6; i > 0; --i) {
        (void)strncat(value, pieces[next_random(seed) % 15], sizeof value - strlen(value) - 1);
    }
    return value;
}

// Adds every required attribute and some optional ones, by trying all.
static void fill(bb_description *description, bb_element *element, unsigned *seed)
{
    for (int key = 0; key < BB_DESCRIPTION_KEY_COUNT; ++key) {
        autorelease(bb_problems) ignored = {0};
        check_ok(bb_description_set(description, element,
                                    bb_description_key_name((bb_description_key)key),
                                    random_value(seed), (bb_place){"k", 1, 1}, &ignored));
    }
}

static void add_children(bb_description *description, bb_element *parent, unsigned *seed, int depth)
{
    for (int i = 0; i < BB_CONSTRUCT_COUNT; ++i) {
        const bool section = i >= BB_CONSTRUCT_DATA_OBJECTS && i <= BB_CONSTRUCT_ORDERING_RULES;
        for (unsigned k = section ? 1 : next_random(seed) % 4; k > 0 && depth < 4; --k) {
            autorelease(bb_problems) ignored = {0};
            bb_element *child = NULL;
            check_ok(bb_description_add(description, parent,
                                        bb_description_construct_name((bb_construct)i),
                                        (bb_place){"k", 1, 1}, &ignored, &child));
            if (child != NULL) {
                fill(description, child, seed);
                add_children(description, child, seed, depth + 1);
            }
        }
    }
}

TEST(what_is_written_reads_the_same)
{
    for (unsigned trial = 1; trial <= 200; ++trial) {
        unsigned seed = trial;
        autorelease(bb_description) description = {0};
        autorelease(bb_text) text = {0};
        bb_element *root = add(&description, NULL, "ParallelAlgorithm");
        fill(&description, root, &seed);
        add_children(&description, root, &seed, 0);
        check_ok(bb_description_write(&description, &text));
        autorelease(bb_description) again = read_kernel(bb_xml_reader_read, bb_text_string(&text));
        assert_int_equal(again.elements, description.elements);
        check_same_element(again.root, description.root);
    }
}
