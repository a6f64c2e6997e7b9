// SPDX-License-Identifier: Apache-2.0
//
// Random expressions of every type, printed as C, compiled, and compared with the evaluator bit for
// bit: every node, on special inputs.
#include "core/random.h"
#include "tests/solvers/kernels/parsed_text.h"

#include <dlfcn.h>
#include <float.h>
#include <limits.h>
#include <unistd.h>

enum { EXPRESSIONS = 280, POINTS = 60, INPUTS = 3, ACCUMULATORS = 2, NAMES = 2, SEED = 17 };

typedef struct trial {
    bb_expression_rules rules;
    bb_element_type input_types[4];
    char text[20000];
    parsed parsed;
} trial;

typedef struct writer {
    trial *sample;
    size_t length;
} writer;

typedef void (*compiled_function)(const bb_scalar *inputs, const bb_scalar *accumulators,
                                  const bb_scalar *parameters, bb_scalar *values);

static uint64_t drawn;

static unsigned draw(unsigned count)
{
    uint32_t words[4];
    bb_random_words(SEED, BB_STREAM_SELF_TEST, drawn++, words);
    return words[0] % count;
}

static void add(writer *out, const char *piece)
{
    const size_t length = strlen(piece);
    assert_true(out->length + length < sizeof out->sample->text);
    memcpy(out->sample->text + out->length, piece, length + 1);
    out->length += length;
}

#define PICK(list) ((list)[draw(sizeof(list) / sizeof *(list))])

static void write_leaf(writer *out, bool complex)
{
    static const char *const ports[] = {"#in(0)", "#in(1)", "#in(2)", "#acc(0)", "#acc(1)"};
    static const char *const names[] = {"v0", "v1", "v2", "colour", "rows"};
    static const char *const integers[] = {"0", "1", "2", "7", "-1", "-2147483648", "2147483647"};
    static const char *const floats[] = {"0",     "1.5",  "-0.0", "3",  "0.1",
                                         "1e-40", "-2.5", "1e30", ".5", "2147483648"};
    const bb_element_type type = out->sample->rules.type;
    const bb_element_row *row = bb_element_type_row(type);
    if (complex || (row->parts == 1 && draw(3) > 0)) {
        add(out, out->sample->rules.selector ? PICK(names) : PICK(ports));
    } else if (row->parts == 2 && draw(2) == 0) {
        add(out, draw(2) == 0 ? "re(" : "im(");
        add(out, PICK(ports));
        add(out, ")");
    } else if (type == BB_ELEMENT_B) {
        add(out, draw(2) == 0 ? "0" : "1");
    } else {
        add(out, row->is_float ? PICK(floats) : PICK(integers));
    }
}

static void write_value(writer *out, int depth, bool complex);

static void write_infix(writer *out, int depth, const char *symbol, bool complex)
{
    add(out, "(");
    write_value(out, depth - 1, complex);
    add(out, symbol);
    write_value(out, depth - 1, complex);
    add(out, ")");
}

static void write_call(writer *out, int depth, const char *name, int count, bool complex)
{
    add(out, name);
    add(out, "(");
    for (int k = 0; k < count; ++k) {
        add(out, k > 0 ? ", " : "");
        write_value(out, depth - 1, complex);
    }
    add(out, ")");
}

static void write_condition(writer *out, int depth, bool complex)
{
    static const char *const orders[] = {"<", "<=", ">", ">=", "==", "!=", "&&", "||"};
    if (complex && draw(3) == 0) {
        write_infix(out, depth, draw(2) == 0 ? "==" : "!=", true);
    } else if (draw(4) == 0) {
        add(out, "!");
        write_value(out, depth - 1, false);
    } else {
        write_infix(out, depth, PICK(orders), false);
    }
}

static void write_choice(writer *out, int depth, bool complex)
{
    const bool own = bb_element_type_row(out->sample->rules.type)->parts == 2;
    add(out, "(");
    write_condition(out, depth, own);
    add(out, " ? ");
    write_value(out, depth - 1, complex);
    add(out, " : ");
    write_value(out, depth - 1, complex);
    add(out, ")");
}

static void write_complex(writer *out, int depth)
{
    static const char *const symbols[] = {"+", "-", "*", "/"};
    switch (draw(8)) {
    case 0:
        write_call(out, depth, "conj", 1, true);
        break;
    case 1:
        write_call(out, depth, "pair", 2, false);
        break;
    case 2:
        write_choice(out, depth, true);
        break;
    case 3:
        write_call(out, depth, "-", 1, true);
        break;
    default:
        write_infix(out, depth, PICK(symbols), true);
    }
}

static void write_real(writer *out, int depth)
{
    static const char *const symbols[] = {"+", "-", "*", "/", "%"};
    static const char *const floats[] = {"sqrt", "floor", "rint"};
    static const char *const parts[] = {"re", "im", "abs"};
    const bb_element_row *row = bb_element_type_row(out->sample->rules.type);
    switch (draw(10)) {
    case 0:
        write_call(out, depth, draw(2) == 0 ? "max" : "min", 2, false);
        break;
    case 1:
        write_call(out, depth, draw(2) == 0 ? "fabs" : "abs", 1, false);
        break;
    case 2:
        write_choice(out, depth, false);
        break;
    case 3:
        write_condition(out, depth, row->parts == 2);
        break;
    case 4:
        write_call(out, depth, "-", 1, false);
        break;
    case 5:
    case 6:
        if (row->parts == 2) {
            write_call(out, depth, PICK(parts), 1, true);
            break;
        }
        if (row->is_float) {
            write_call(out, depth, PICK(floats), 1, false);
            break;
        } // fall through
    default:
        write_infix(out, depth, PICK(symbols), false);
    }
}

static void write_value(writer *out, int depth, bool complex)
{
    if (depth <= 0 || draw(8) == 0) {
        write_leaf(out, complex);
    } else if (complex) {
        write_complex(out, depth);
    } else if (out->sample->rules.type != BB_ELEMENT_B) {
        write_real(out, depth);
    } else if (draw(3) == 0) {
        write_choice(out, depth, false);
    } else {
        write_condition(out, depth, false);
    }
}

static void make_sample(trial *out, int number)
{
    memset(out, 0, sizeof *out);
    out->rules = (bb_expression_rules){.type = (bb_element_type)(number % (BB_ELEMENT_INDEX + 1)),
                                       .inputs = INPUTS,
                                       .accumulators = ACCUMULATORS,
                                       .outputs = 2,
                                       .input_types = out->input_types};
    out->rules.selector = out->rules.type == BB_ELEMENT_INDEX && draw(2) == 0;
    for (int k = 0; k < INPUTS; ++k) {
        out->input_types[k] = draw(2) == 0 || out->rules.selector
                                  ? out->rules.type
                                  : (bb_element_type)draw(BB_ELEMENT_INDEX + 1);
    }
    writer text = {.sample = out};
    write_value(&text, 4, bb_element_type_row(out->rules.type)->parts == 2);
    add(&text, out->rules.selector ? "," : ";");
    write_value(&text, 3, false);
    parse_well(out->text, &out->rules, &out->parsed);
    // Numbers here exceed the range that binding allows for a selector.
    out->parsed.expression.is_selector = false;
}

// C expression that reads a scalar of an array.
static const char *argument(bb_element_type type, const char *array, int index, char *buffer,
                            size_t bytes)
{
    static const char *const forms[] = {
        [BB_ELEMENT_B] = "(unsigned char)%s[%d].integer",
        [BB_ELEMENT_INT32] = "(int32_t)%s[%d].integer",
        [BB_ELEMENT_SP] = "(float)%s[%d].parts[0]",
        [BB_ELEMENT_DP] = "%s[%d].parts[0]",
        [BB_ELEMENT_INDEX] = "%s[%d].integer",
    };
    if (bb_element_type_row(type)->parts == 2) {
        const bool single = type == BB_ELEMENT_SP2;
        (void)snprintf(buffer, bytes, "bb_pair_%c(%s%s[%d].parts[0], %s%s[%d].parts[1])",
                       single ? 'c' : 'z', single ? "(float)" : "", array, index,
                       single ? "(float)" : "", array, index);
        return buffer;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(buffer, bytes, forms[type], array, index);
#pragma GCC diagnostic pop
    return buffer;
}

static void print_function(const trial *sample, int number, bb_text *out)
{
    enum { BYTES = 120 };
    char texts[INPUTS + ACCUMULATORS + NAMES + 1][BYTES];
    const char *inputs[4];
    const char *accumulators[ACCUMULATORS];
    const char *parameters[NAMES];
    const bb_expression *expression = &sample->parsed.expression;
    for (int k = 0; k < INPUTS; ++k) {
        inputs[k] = argument(sample->input_types[k], "inputs", k, texts[k], BYTES);
    }
    for (int k = 0; k < ACCUMULATORS; ++k) {
        accumulators[k] = argument(sample->rules.type, "accumulators", k, texts[INPUTS + k], BYTES);
    }
    for (int k = 0; k < NAMES; ++k) {
        parameters[k] =
            argument(BB_ELEMENT_INDEX, "parameters", k, texts[INPUTS + ACCUMULATORS + k], BYTES);
    }
    check_ok(bb_text_add(out,
                         "// %s\nvoid f%d(const scalar *inputs, const scalar *accumulators, "
                         "const scalar *parameters, scalar *values)\n{\n"
                         "(void)inputs; (void)accumulators; (void)parameters;\n",
                         sample->text, number));
    check_ok(bb_expression_print(expression, &bb_expression_dialect_c, "p", inputs, accumulators,
                                 parameters, out));
    for (int k = 0; k < expression->count; ++k) {
        const bb_element_row *row = bb_element_type_row(expression->nodes[k].type);
        if (row->parts == 2) {
            check_ok(bb_text_add(out, "values[%d].parts[0] = p%d.x;\n", k, k));
            check_ok(bb_text_add(out, "values[%d].parts[1] = p%d.y;\n", k, k));
        } else {
            check_ok(bb_text_add(out, "values[%d].%s = p%d;\n", k,
                                 row->is_float ? "parts[0]" : "integer", k));
        }
    }
    check_ok(bb_text_add(out, "}\n"));
}

// Special values of `type`, and some ordinary ones.
static bb_scalar special(bb_element_type type)
{
    static const double floats[] = {
        0.0,    -0.0,    NAN,    INFINITY, -INFINITY,    1.0,     -1.0,     0.5,
        2.5,    -3.5,    1e-45,  -1e-310,  5e-324,       FLT_MAX, -DBL_MAX, FLT_MIN,
        0x1p31, -0x1p31, 0x1p63, -0x1p63,  2147483647.5, 1e300,   0.1,      -7.25,
    };
    static const int64_t integers[] = {
        0, 1, -1, 2, -7, 12, INT32_MIN, INT32_MAX, 65537, INT64_MIN, INT64_MAX, 1152921573326323713,
    };
    bb_scalar value = {{0}, 0};
    for (int part = 0; part < 2; ++part) {
        value.parts[part] =
            draw(3) > 0 ? PICK(floats) : bb_random_normal(SEED, BB_STREAM_SELF_TEST, drawn++);
    }
    value.integer = draw(3) > 0 ? PICK(integers) : (int64_t)draw(200) - 100;
    return bb_expression_convert(
        value, bb_element_type_row(type)->is_float ? BB_ELEMENT_DP2 : BB_ELEMENT_INDEX, type);
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void compare_node(const trial *sample, int node, bb_scalar got, bb_scalar expected)
{
    const bb_element_row *row = bb_element_type_row(sample->parsed.expression.nodes[node].type);
    bool same = row->is_float || got.integer == expected.integer;
    for (int part = 0; row->is_float && part < row->parts; ++part) {
        same = same && same_bits(got.parts[part], expected.parts[part]);
    }
    if (!same) {
        fail_msg("node %d of '%s' (%s): compiled %a %a %lld, evaluated %a %a %lld", node,
                 sample->text, row->name, got.parts[0], got.parts[1], (long long)got.integer,
                 expected.parts[0], expected.parts[1], (long long)expected.integer);
    }
}

static void compare(const trial *sample, compiled_function compiled)
{
    static bb_scalar got[BB_EXPRESSION_MAX_NODES];
    static bb_scalar expected[BB_EXPRESSION_MAX_NODES];
    const bb_expression *expression = &sample->parsed.expression;
    for (int point = 0; point < POINTS; ++point) {
        bb_scalar inputs[INPUTS];
        bb_scalar accumulators[ACCUMULATORS];
        bb_scalar parameters[NAMES];
        bb_scalar outputs[2];
        for (int k = 0; k < INPUTS; ++k) {
            inputs[k] = special(sample->input_types[k]);
        }
        for (int k = 0; k < ACCUMULATORS; ++k) {
            accumulators[k] = special(sample->rules.type);
        }
        for (int k = 0; k < NAMES; ++k) {
            parameters[k] = special(BB_ELEMENT_INDEX);
        }
        memset(got, 0, sizeof got);
        compiled(inputs, accumulators, parameters, got);
        bb_expression_evaluate(expression, inputs, accumulators, parameters, expected, outputs);
        for (int k = 0; k < expression->count; ++k) {
            compare_node(sample, k, got[k], expected[k]);
        }
    }
}

// Compiles a C source and loads it.
static void *load(const bb_text *text)
{
    char path[PATH_MAX];
    char command[3 * PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/tests/expressions-%ld", BB_BINARY_DIR, (long)getpid());
    (void)snprintf(command, sizeof command,
                   "cc -x c -std=c17 -O2 -ffp-contract=off "
                   "-fno-tree-slp-vectorize -shared -fPIC -Wall -Werror "
                   "-Wno-unused-variable -o '%s.so' - -lm",
                   path);
    FILE *compiler = popen(command, "w");
    assert_non_null(compiler);
    assert_int_equal(fwrite(text->data, 1, (size_t)text->length, compiler), text->length);
    assert_int_equal(pclose(compiler), 0);
    (void)strcat(path, ".so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fail_msg("%s", dlerror());
    }
    (void)unlink(path);
    return library;
}

static compiled_function find(void *library, int number)
{
    char name[20];
    (void)snprintf(name, sizeof name, "f%d", number);
    union {
        void *address;
        compiled_function function;
    } symbol = {.address = dlsym(library, name)};
    assert_non_null(symbol.address);
    return symbol.function;
}

TEST_FULL(test_random_expressions)
{
    trial *samples = calloc(EXPRESSIONS, sizeof *samples);
    assert_non_null(samples);
    autorelease(bb_text) text = {0};
    bool met[BB_OPERATION_COUNT] = {false};
    check_ok(bb_expression_print_helpers(&bb_expression_dialect_c, &text));
    check_ok(bb_text_add(&text, "typedef struct { double parts[2]; int64_t integer; } scalar;\n"));
    for (int k = 0; k < EXPRESSIONS; ++k) {
        make_sample(&samples[k], k);
        print_function(&samples[k], k, &text);
        for (int node = 0; node < samples[k].parsed.expression.count; ++node) {
            met[samples[k].parsed.expression.nodes[node].operation] = true;
        }
    }
    for (int operation = 0; operation < BB_OPERATION_COUNT; ++operation) {
        assert_true(met[operation]);
    }
    void *library = load(&text);
    for (int k = 0; k < EXPRESSIONS; ++k) {
        compare(&samples[k], find(library, k));
        release(&samples[k].parsed);
    }
    assert_int_equal(dlclose(library), 0);
    free(samples);
}

// Constants of every type are read back with the same bits, Inf and NaN too.
TEST(test_constants)
{
    enum { COUNT = 400 };
    static bb_scalar expected[COUNT];
    static bb_scalar got[COUNT];
    autorelease(bb_text) text = {0};
    check_ok(bb_expression_print_helpers(&bb_expression_dialect_c, &text));
    check_ok(bb_text_add(&text, "typedef struct { double parts[2]; int64_t integer; } scalar;\n"
                                "void f0(const scalar *a, const scalar *b, const scalar *c, "
                                "scalar *values)\n{\n(void)a; (void)b; (void)c;\n"));
    for (int k = 0; k < COUNT; ++k) {
        const bb_element_type type = (bb_element_type)(k % (BB_ELEMENT_INDEX + 1));
        const bb_element_row *row = bb_element_type_row(type);
        expected[k] = special(type);
        check_ok(
            bb_text_add(&text, "{ const %s value = ", bb_expression_dialect_c.type_names[type]));
        check_ok(bb_expression_print_constant(&bb_expression_dialect_c, expected[k], type, &text));
        check_ok(bb_text_add(
            &text,
            row->parts == 2 ? "; values[%d].parts[0] = value.x; values[%d].parts[1] = value.y; }\n"
            : row->is_float ? "; values[%d].parts[0] = value; (void)%d; }\n"
                            : "; values[%d].integer = value; (void)%d; }\n",
            k, k));
    }
    check_ok(bb_text_add(&text, "}\n"));
    void *library = load(&text);
    find(library, 0)(NULL, NULL, NULL, got);
    for (int k = 0; k < COUNT; ++k) {
        assert_true(same_bits(got[k].parts[0], expected[k].parts[0]));
        assert_true(same_bits(got[k].parts[1], expected[k].parts[1]));
        assert_int_equal(got[k].integer, expected[k].integer);
    }
    assert_int_equal(dlclose(library), 0);
}

static void check_print(const bb_expression_dialect *dialect, bb_element_type type,
                        const char *text, const char *expected)
{
    const bb_expression_rules rules = block(type);
    const char *const inputs[] = {"a", "b", "c"};
    autocall(release) parsed got;
    autorelease(bb_text) out = {0};
    parse_well(text, &rules, &got);
    check_ok(bb_expression_print(&got.expression, dialect, "p", inputs, inputs, inputs, &out));
    assert_string_equal(bb_text_string(&out), expected);
}

// Expected prints in the three languages, by hand.
TEST(test_dialects)
{
    check_print(&bb_expression_dialect_c, BB_ELEMENT_SP, "#in(0) * 0.1",
                "const float p0 = a;\nconst float p1 = 0x199999a0000000p-56f;\n"
                "const float p2 = p0 * p1;\n");
    check_print(&bb_expression_dialect_opencl, BB_ELEMENT_INDEX, "#in(0) / -9223372036854775808",
                "const long p0 = a;\nconst long p1 = (-9223372036854775807L - 1);\n"
                "const long p2 = bb_div_l(p0, p1);\n");
    check_print(&bb_expression_dialect_cuda, BB_ELEMENT_DP2, "abs(#in(0)) < 1",
                "const double2 p0 = a;\nconst double p1 = bb_abs_z(p0);\n"
                "const double p2 = 0x10000000000000p-52;\nconst unsigned char p3 = p1 < p2;\n"
                "const double2 p4 = bb_pair_z((double)p3, 0);\n");
}

TEST_GROUP(.commands = "cc");
