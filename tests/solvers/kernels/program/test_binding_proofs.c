// SPDX-License-Identifier: Apache-2.0
//
// Cases that binding must not accept: programs that leave their objects, or whose points conflict,
// in ways that are easy to overlook.
#include "tests/solvers/kernels/program_fixture.h"

static char elements[1024];

/// Sizes of objects by name, ended by NULL.
typedef struct bound_size {
    const char *name;
    bb_index columns;
    void *elements;
} bound_size;

// Binding reports `problem`; NULL: no problem.
static void check_says(const char *text, const bound_size *sizes, int64_t parameter,
                       const char *problem)
{
    autocall(fixture_release) program_fixture fixture;
    autorelease(bb_binding) binding = {.program = NULL};
    fixture_make(&fixture, text, NULL, NULL);
    for (; sizes->name != NULL; ++sizes) {
        fixture_bind(&fixture, sizes->name, sizes->columns, 1,
                     sizes->elements != NULL ? sizes->elements : elements);
    }
    fixture.parameters[0].integer = parameter;
    check_ok(bb_binding_create(&fixture.program, fixture.data, fixture.parameters,
                               &fixture.problems, &binding));
    const char *lines = bb_text_string(&fixture.problems.lines);
    if (problem == NULL ? fixture.problems.count > 0 : strstr(lines, problem) == NULL) {
        print_error("%s: '%s', expected '%s'\n", text, lines, problem != NULL ? problem : "");
        fail();
    }
}

TEST(integers_of_objects_reach_what_they_are)
{
    const char *text = "kernel k (i: vector INT32; a, b: vector SP)\n"
                       "for x in b.size\n"
                       "  b[x] = a[i[x]]\n";
    int32_t numbers[] = {0, 5};
    check_says(text, (bound_size[]){{"i", 2, numbers}, {"a", 3, 0}, {"b", 2, 0}, {0}}, 0,
               "reads a beyond its edge: element 0 to 5 of 0 to 2");
    check_says(text, (bound_size[]){{"i", 2, numbers}, {"a", 6, 0}, {"b", 2, 0}, {0}}, 0, NULL);
    check_says("kernel k (i: vector INT32; a: vector SP)\n"
               "for x in i.size\n"
               "  a[i[x]] = 1.0\n",
               (bound_size[]){{"i", 2, numbers}, {"a", 6, 0}, {0}}, 0, "may write one element");
}

TEST(only_a_read_before_it_guards_an_access)
{
    const bound_size sizes[] = {{"a", 4, 0}, {"b", 4, 0}, {"c", 4, 0}, {0}};
    check_says("kernel k (a, b, c: vector SP)\n"
               "for x in b.size\n"
               "  b[x] = c[x + 1 | skip] + a[x + 1]\n",
               sizes, 0, NULL);
    check_says("kernel k (a: vector INT32; b, c: vector SP)\n"
               "for x in b.size\n"
               "  q = a[x + 1]\n"
               "  b[x] = c[x + 1 + 0*q | skip]\n",
               sizes, 0, "reads a beyond its edge");
    check_says("kernel k (a, b, c: vector SP)\n"
               "for x in a.size\n"
               "  value = a[7]\n"
               "  s = sum value\n"
               "  b[0] = s + c[7 | skip]\n",
               sizes, 0, "reads a beyond its edge");
}

TEST(what_stands_behind_an_empty_space_runs)
{
    check_says("kernel k (a, n: vector SP)\n"
               "for x in a.size\n"
               "  value = a[x]\n"
               "  s = sum value\n"
               "  n[5] = s\n",
               (bound_size[]){{"a", 0, 0}, {"n", 1, 0}, {0}}, 0, "writes n beyond its edge");
}

TEST(a_logical_value_is_0_or_1)
{
    const bound_size sizes[] = {{"a", 2, 0}, {"c", 6, 0}, {0}};
    check_says("kernel k (a, c: vector SP)\n"
               "for x in c.size\n"
               "  b: B = x\n"
               "  q: INT32 = b\n"
               "  c[x] = a[q]\n",
               sizes, 0, NULL);
    check_says("kernel k (a, c: vector SP)\n"
               "for x in a.size\n"
               "  b: B = x\n"
               "  q: INT32 = b\n"
               "  c[q] = a[x]\n",
               (bound_size[]){{"a", 3, 0}, {"c", 6, 0}, {0}}, 0, "may write one element");
}

TEST(arithmetic_that_wraps_is_not_followed)
{
    int32_t numbers[] = {0, 5};
    check_says("kernel k (i: vector INT32; a, b: vector SP)\n"
               "for x in b.size\n"
               "  q: INT32 = (i[x] + 2147483647) / 2 - 1073741823\n"
               "  b[x] = a[q]\n",
               (bound_size[]){{"i", 2, numbers}, {"a", 3, 0}, {"b", 2, 0}, {0}}, 0,
               "reads a beyond its edge");
    check_says("kernel k (a, b: vector SP; p: INT32)\n"
               "for x in b.size\n"
               "  b[x] = a[x + p*p - 1152921504606846976]\n",
               (bound_size[]){{"a", 3, 0}, {"b", 3, 0}, {0}}, INT32_MAX, "reads a beyond its edge");
}

TEST(boundaries_that_join_elements_are_no_places_to_write)
{
    const bound_size sizes[] = {{"a", 4, 0}, {"b", 4, 0}, {0}};
    check_says("kernel k (a, b: vector SP)\nfor x in a.size\n  b[x + 1 | clamp] = a[x]\n", sizes, 0,
               "may write one element");
    check_says("kernel k (a, b: vector SP)\nfor x in a.size\n  b[x + 1 | mirror] = a[x]\n", sizes,
               0, "may write one element");
    check_says("kernel k (a, b: vector SP)\nfor x in a.size\n  b[2*x | periodic] = a[x]\n", sizes,
               0, "may write one element");
    check_says("kernel k (a, b: vector SP)\nfor x in a.size\n  b[x + 1 | periodic] = a[x]\n", sizes,
               0, NULL);
    check_says("kernel k (a, b: vector SP)\nfor x in a.size\n  b[x | clamp] = a[x]\n", sizes, 0,
               NULL);
}

TEST(a_mirror_of_one_element_is_no_checkerboard)
{
    const char *text = "kernel k (u, b: vector SP)\n"
                       "for x in b.size\n"
                       "  b[x] = u[2*x + 1 | mirror]\n"
                       "  u[2*x | zero] = 0.5\n";
    check_says(text, (bound_size[]){{"u", 4, 0}, {"b", 2, 0}, {0}}, 0, NULL);
    check_says(text, (bound_size[]){{"u", 1, 0}, {"b", 2, 0}, {0}}, 0, "may write at other points");
}
