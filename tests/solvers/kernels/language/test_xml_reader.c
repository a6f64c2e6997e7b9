// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/xml_reader.h"
#include "tests/solvers/kernels/kernel_file.h"

#include <time.h>

// Frame for lines of Children, which start on line 6, and for the other sections of the outer
// element.
#define HEAD                                                                                       \
    "<ParallelAlgorithm name=\"K\" dimensions=\"1\">\n<DataObjects>\n"                             \
    "<DataObject name=\"a\" structure=\"vector\" elementDataType=\"SP\"/>\n</DataObjects>\n"       \
    "<Children>\n"
#define TAIL "</Children>\n<Connections/>\n</ParallelAlgorithm>\n"

TEST(published_listing_2_is_read)
{
    autorelease(bb_text) text = {0};
    add_kernel_file("configs/kernels/listing2.xml", &text);
    autorelease(bb_description) description =
        read_kernel(bb_xml_reader_read, bb_text_string(&text));
    const bb_element *children = description.root->first->next;
    const bb_element *iterator = children->first;
    const bb_element *block = iterator->last;
    assert_int_equal(description.elements, 22);
    assert_int_equal(children->construct, BB_CONSTRUCT_CHILDREN);
    assert_int_equal(iterator->construct, BB_CONSTRUCT_ITERATOR_BLOCK);
    assert_string_equal(iterator->values[BB_DESCRIPTION_ICF], "#acc(0)+#in(0)");
    assert_string_equal(iterator->first->values[BB_DESCRIPTION_SELECTOR], "v0, v1");
    assert_string_equal(block->values[BB_DESCRIPTION_FUNCTION], "#in(0) * #in(1);");
    assert_string_equal(children->last->values[BB_DESCRIPTION_SELECTOR], "v0");
    assert_int_equal(block->place.line, 12);
    assert_int_equal(block->place.column, 7);
    assert_int_equal(block->places[BB_DESCRIPTION_NUM_IN].line, 12);
    assert_int_equal(block->places[BB_DESCRIPTION_NUM_IN].column, 37);
    assert_int_equal(block->places[BB_DESCRIPTION_FUNCTION].line, 13);
    assert_int_equal(block->places[BB_DESCRIPTION_FUNCTION].column, 31);
}

TEST(canonical_files_are_written_as_they_are)
{
    static const char *const names[] = {"congruent", "gemv",     "gradient",
                                        "prolong",   "restrict", "sweep"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char path[100];
        autorelease(bb_text) text = {0};
        autorelease(bb_text) again = {0};
        (void)snprintf(path, sizeof path, "tests/solvers/kernels/lowered/%s.xml", names[i]);
        add_kernel_file(path, &text);
        autorelease(bb_description) description =
            read_kernel(bb_xml_reader_read, bb_text_string(&text));
        check_ok(bb_description_write(&description, &again));
        assert_string_equal(bb_text_string(&again), bb_text_string(&text));
    }
}

TEST(what_stands_beside_elements_is_left_out)
{
    bb_description description =
        read_kernel(bb_xml_reader_read, "\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?>\n"
                                        "<!-- a <DataObject> -->\n<?tool text?>" HEAD
                                        "<!-- b --><FunctionBlock\n\tname='f&lt;&#x3e;'\r\n "
                                        "numInVars = '0' numOutVars='1' dataType='SP'\n"
                                        " function='a\n\"b\"'/>" TAIL);
    const bb_element *block = description.root->first->next->first;
    assert_string_equal(block->values[BB_DESCRIPTION_NAME], "f<>");
    assert_string_equal(block->values[BB_DESCRIPTION_FUNCTION], "a \"b\"");
    assert_int_equal(block->places[BB_DESCRIPTION_NAME].line, 9);
    assert_int_equal(block->places[BB_DESCRIPTION_NAME].column, 2);
    assert_int_equal(block->places[BB_DESCRIPTION_FUNCTION].line, 11);
    assert_int_equal(block->places[BB_DESCRIPTION_FUNCTION].column, 2);
    bb_description_release(&description);
}

TEST(elements_that_are_not_of_the_language)
{
    check_problems(
        bb_xml_reader_read,
        HEAD "<FunktionBlock a='1'><x/>text</FunktionBlock>\n <Rule/>\n<Zebra/>" TAIL,
        "k:6:1: unknown element <FunktionBlock>; did you mean FunctionBlock?\nk:7:2: <Rule> is not "
        "allowed inside <Children>\nk:8:1: unknown element <Zebra> in <Children>\n");
    check_problems(bb_xml_reader_read, "<Algorithm/>",
                   "k:1:1: the root is <Algorithm>, expected <ParallelAlgorithm>\n");
    check_problems(bb_xml_reader_read,
                   HEAD "<IteratorBlock name='i' dimensions='1' ICF='x'>\n"
                        "<IteratorBlock/></IteratorBlock>" TAIL,
                   "k:7:1: <IteratorBlock> inside <IteratorBlock>: iterators cannot be nested; use "
                   "one with 2 dimensions for two ranges\n");
}

TEST(attributes_that_are_not_of_the_element)
{
    check_problems(bb_xml_reader_read,
                   HEAD "<DataAccessRead name='\xc3\xa9' sorce='a' selectorFunction='v0'\n"
                        "  selfFunction='v1' ICF='s'/>" TAIL,
                   "k:6:26: unknown attribute sorce of <DataAccessRead>; did you mean "
                   "source?\nk:7:3: selfFunction sets selectorFunction of <DataAccessRead> a "
                   "second time, first set in line 6, column 36\nk:7:21: unknown attribute ICF of "
                   "<DataAccessRead>\nk:6:1: <DataAccessRead> '\xc3\xa9' has no source\n");
}

TEST(what_is_missing_is_told)
{
    check_problems(bb_xml_reader_read,
                   "<ParallelAlgorithm>\n<Children>\n<IteratorBlock name='i'/></Children>\n"
                   "<Parameters/>\n<Children/></ParallelAlgorithm>",
                   "k:5:1: <Children> occurs a second time\nk:4:1: <Parameters> after <Children>; "
                   "the order is DataObjects, Parameters, Children, Connections, "
                   "OrderingRules\nk:1:1: <ParallelAlgorithm> has no <DataObjects>\nk:1:1: "
                   "<ParallelAlgorithm> has no <Connections>\nk:1:1: <ParallelAlgorithm> has no "
                   "name\nk:1:1: <ParallelAlgorithm> has no dimensions\nk:3:1: <IteratorBlock> 'i' "
                   "has no dimensions\nk:3:1: <IteratorBlock> 'i' has no ICF\n");
}

TEST(text_between_elements_is_refused_once)
{
    check_problems(bb_xml_reader_read,
                   HEAD "  a\n&lt; b\n<![CDATA[ \n ]]></Children>... "
                        "<Connections/></ParallelAlgorithm>",
                   "k:6:1: unexpected text 'a' between elements\nk:9:16: unexpected text '... ' "
                   "between elements\n");
}

TEST(malformed_xml_is_one_problem)
{
    check_problems(bb_xml_reader_read, "", "k:1:1: malformed XML: no element found\n");
    check_problems(
        bb_xml_reader_read, HEAD "<Rule/>\n</Connections>",
        "k:6:1: <Rule> is not allowed inside <Children>\nk:7:3: malformed XML: mismatched tag\n");
    check_problems(bb_xml_reader_read, "<ParallelAlgorithm name='a' name='b'/>",
                   "k:1:29: malformed XML: duplicate attribute\n");
    check_problems(bb_xml_reader_read, "<a>&many;</a>",
                   "k:1:1: the root is <a>, expected <ParallelAlgorithm>\n"
                   "k:1:4: malformed XML: undefined entity\n");
}

TEST(entities_and_encodings_are_refused)
{
    check_problems(bb_xml_reader_read,
                   "\n<!DOCTYPE b [<!ENTITY a \"xx\"><!ENTITY b \"&a;&a;\">]>\n<b>&b;</b>",
                   "k:2:13: DOCTYPE is not supported; remove it\n");
    check_problems(bb_xml_reader_read, "<?xml version='1.0' encoding='ISO-8859-1'?>\n<a/>",
                   "k:1:1: encoding ISO-8859-1 is not supported; use UTF-8\n");
    check_problems(bb_xml_reader_read, "<a>\xff</a>",
                   "k:1:1: the root is <a>, expected <ParallelAlgorithm>\n"
                   "k:1:4: malformed XML: not well-formed (invalid token)\n");
}

// A file with this number of ordering rules. Owner of the text: the caller.
static bb_text many_rules(int count)
{
    bb_text text = {0};
    check_ok(bb_text_add(&text, "<ParallelAlgorithm name='K' dimensions='1'><DataObjects/>"
                                "<Children/><Connections/><OrderingRules>\n"));
    for (int i = 0; i < count; ++i) {
        check_ok(bb_text_add(&text, "<Rule first='a' second='b'/>\n"));
    }
    check_ok(bb_text_add(&text, "</OrderingRules></ParallelAlgorithm>\n"));
    return text;
}

TEST(many_elements_take_time_in_proportion)
{
    autorelease(bb_text) text = many_rules(100000);
    const clock_t start = clock();
    bb_description description = read_kernel(bb_xml_reader_read, bb_text_string(&text));
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("100000 elements in %.2f s\n", seconds);
    assert_int_equal(description.elements, 100005);
    assert_int_equal(description.root->last->last->place.line, 100001);
    bb_description_release(&description);
    bb_text_release(&text);
    text = many_rules(1000000);
    bb_problems problems = {0};
    check_fails(bb_xml_reader_read(text.data, text.length, "k", &problems, &description),
                BB_INVALID, "more than 200000 elements");
    check_fails(
        bb_xml_reader_read(text.data, BB_DESCRIPTION_MAX_BYTES + 1, "k", &problems, &description),
        BB_INVALID, "expected at most 33554432");
    assert_int_equal(problems.count, 0);
}

TEST(memory_that_runs_out_is_told)
{
    static const char text[] =
        HEAD "<FunctionBlock name='f' numInVars='0' numOutVars='1' dataType='SP'\n"
             " function='1'/><Rule/>text" TAIL;
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autorelease(bb_problems) problems = {0};
        autorelease(bb_description) description;
        status = bb_xml_reader_read(text, sizeof text - 1, "k", &problems, &description);
        assert_true(walk.k < 1000);
    }
}
