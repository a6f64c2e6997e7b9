// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command_help.h"

#include "build_info.h"
#include "sim/cli/command.h"
#include "sim/config/binding.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, OPTION_INDENT = 25, PATH_BYTES = 256 };

const char *bb_command_help_meaning(const bb_command *command, const bb_option *option)
{
    for (int i = 0; i < BB_COMMAND_WORDS && command->words[i].option != NULL; ++i) {
        if (strcmp(command->words[i].option, option->name) == 0) {
            return command->words[i].meaning;
        }
    }
    return option->meaning;
}

bb_status bb_command_help_overview(bb_text *out)
{
    bb_status status = BB_OK;
    const bb_command *commands = NULL;
    const bb_index count = bb_command_table(&commands);
    BB_TRY(bb_text_add(out, "usage: bitbudget COMMAND [arguments]\n\n"));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_text_add(out, "  %-11s %s\n", commands[i].name, commands[i].summary));
    }
    BB_TRY(bb_text_add(
        out, "\n'bitbudget COMMAND --help' has details; --version prints the version.\n"));
done:
    return status;
}

// Adds a line wrapped at WIDTH. `column` is the column of its first word, `indent` that of the
// following lines.
static bb_status wrap(const char *line, bb_index length, bb_index column, bb_index indent,
                      bb_text *out)
{
    bb_status status = BB_OK;
    const char *end = line + length;
    bool first = true;
    while (line < end) {
        const bb_index blanks = (bb_index)strspn(line, " ");
        const bb_index word = (bb_index)strcspn(line + blanks, " \n");
        if (!first && column + blanks + word > WIDTH) {
            BB_TRY(bb_text_add(out, "\n%*s", (int)indent, ""));
            column = indent;
        } else {
            BB_TRY(bb_text_add(out, "%.*s", (int)blanks, line));
            column += blanks;
        }
        BB_TRY(bb_text_add(out, "%.*s", (int)word, line + blanks));
        column += word;
        line += blanks + word;
        first = false;
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status wrap_lines(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    for (;;) {
        const size_t length = strcspn(text, "\n");
        BB_TRY(wrap(text, (bb_index)length, 0, 0, out));
        if (text[length] == '\0') {
            break;
        }
        text += length + 1;
    }
done:
    return status;
}

static bb_status write_experiments(const bb_experiment_table *experiments, bb_experiment_text text,
                                   int indent, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; text != NULL && i < experiments->count; ++i) {
        const bb_experiment *row = experiments->rows[i];
        if (text(row) != NULL) {
            BB_TRY(bb_text_add(out, "%*s%s: ", indent, "", row->name));
            BB_TRY(wrap(text(row), (bb_index)strlen(text(row)),
                        indent + (bb_index)strlen(row->name) + 2, indent + 2, out));
        }
    }
done:
    return status;
}

// Writes the forms of an option: "-o, --output FILE".
static bb_status write_form(const bb_option *option, bb_text *out)
{
    bb_status status = BB_OK;
    if (option->letter != 0) {
        BB_TRY(bb_text_add(out, "-%c, ", option->letter));
    }
    BB_TRY(bb_text_add(out, "--%s%s%s", option->name, option->value == NULL ? "" : " ",
                       option->value == NULL ? "" : option->value));
done:
    return status;
}

static bb_status write_option(const bb_command *command, const bb_option *option,
                              const bb_experiment_table *experiments, bb_text *out)
{
    bb_status status = BB_OK;
    const char *meaning = bb_command_help_meaning(command, option);
    const bb_index start = out->length;
    BB_TRY(bb_text_add(out, "  "));
    BB_TRY(write_form(option, out));
    BB_TRY(bb_text_add(out, "  "));
    BB_TRY(bb_text_add(
        out, "%*s",
        (int)(start + OPTION_INDENT - out->length > 0 ? start + OPTION_INDENT - out->length : 0),
        ""));
    BB_TRY(wrap(meaning, (bb_index)strlen(meaning), out->length - start, OPTION_INDENT, out));
    BB_TRY(write_experiments(experiments, option->by_experiment, OPTION_INDENT, out));
done:
    return status;
}

bb_status bb_command_help_write(const bb_command *command, const bb_experiment_table *experiments,
                                bb_text *out)
{
    bb_status status = BB_OK;
    const bb_option *options = NULL;
    const bb_index count = bb_options_table(&options);
    const char *before = "usage: ";
    for (const char *line = command->usage; line != NULL; before = "       ") {
        const int length = (int)strcspn(line, "\n");
        BB_TRY(bb_text_add(out, "%s%s%.*s\n", before, bb_option_program(line), length, line));
        line = line[length] == '\0' ? NULL : line + length + 1;
    }
    BB_TRY(bb_text_add(out, "\n"));
    BB_TRY(wrap_lines(command->text, out));
    if (command->by_experiment != NULL) {
        BB_TRY(bb_text_add(out, "\nBy experiment:\n"));
        BB_TRY(write_experiments(experiments, command->by_experiment, 2, out));
    }
    BB_TRY(bb_text_add(out, "\n"));
    for (bb_index i = 0; i < count; ++i) {
        if (bb_option_is_accepted(&options[i], command->accepted)) {
            BB_TRY(write_option(command, &options[i], experiments, out));
        }
    }
done:
    return status;
}

// Adds a text with the special characters of troff escaped.
static bb_status add_troff(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    bool starts = true;
    for (; *text != '\0'; ++text) {
        const char letter[] = {*text, '\0'};
        const char *written = *text == '\\'            ? "\\e"
                              : *text == '-'           ? "\\-"
                              : *text == '^'           ? "\\(ha"
                              : *text == '~'           ? "\\(ti"
                              : *text == '`'           ? "\\(ga"
                              : *text == '"'           ? "\\(dq"
                              : starts && *text == '.' ? "\\&."
                              : *text == '\''          ? "\\(aq"
                                                       : letter;
        starts = *text == '\n';
        BB_TRY(bb_text_add(out, "%s", written));
    }
done:
    return status;
}

static bb_status add_heading(const char *page, const char *section, const char *summary,
                             bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, ".TH \"%s\" \"%s\" \"\" \"bitbudget " BB_VERSION "\" \"bitbudget\"\n",
                       page, section));
    BB_TRY(bb_text_add(out, ".SH NAME\n"));
    BB_TRY(add_troff(page, out));
    BB_TRY(bb_text_add(out, " \\- "));
    BB_TRY(add_troff(summary, out));
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

// Adds paragraphs; lines that start with a blank are examples.
static bb_status add_paragraphs(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    char line[1024];
    for (;;) {
        const size_t length = strcspn(text, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
        BB_TRY(bb_text_add(out, line[0] == ' ' ? ".PP\n.EX\n" : length == 0 ? ".PP" : ""));
        BB_TRY(add_troff(line, out));
        BB_TRY(bb_text_add(out, line[0] == ' ' ? "\n.EE\n" : "\n"));
        if (text[length] == '\0') {
            break;
        }
        text += length + 1;
    }
done:
    return status;
}

static bb_status add_experiments(const bb_experiment_table *experiments, bb_experiment_text text,
                                 bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; text != NULL && i < experiments->count; ++i) {
        const bb_experiment *row = experiments->rows[i];
        if (text(row) != NULL) {
            BB_TRY(bb_text_add(out, ".br\n\\fI%s\\fR: ", row->name));
            BB_TRY(add_troff(text(row), out));
            BB_TRY(bb_text_add(out, "\n"));
        }
    }
done:
    return status;
}

static bb_status add_option(const bb_command *command, const bb_option *option,
                            const bb_experiment_table *experiments, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, ".TP\n\\fB"));
    if (option->letter != 0) {
        BB_TRY(bb_text_add(out, "\\-%c\\fR, \\fB", option->letter));
    }
    BB_TRY(bb_text_add(out, "\\-\\-"));
    BB_TRY(add_troff(option->name, out));
    BB_TRY(bb_text_add(out, "\\fR"));
    if (option->value != NULL) {
        BB_TRY(bb_text_add(out, " \\fI%s\\fR", option->value));
    }
    BB_TRY(bb_text_add(out, "\n"));
    BB_TRY(add_troff(bb_command_help_meaning(command, option), out));
    BB_TRY(bb_text_add(out, "\n"));
    BB_TRY(add_experiments(experiments, option->by_experiment, out));
done:
    return status;
}

static bb_status write_command(const bb_command *command, const bb_experiment_table *experiments,
                               bb_text *out)
{
    bb_status status = BB_OK;
    char page[64];
    const bb_option *options = NULL;
    const bb_index count = bb_options_table(&options);
    (void)snprintf(page, sizeof page, "bitbudget-%s", command->name);
    BB_TRY(add_heading(page, "1", command->summary, out));
    BB_TRY(bb_text_add(out, ".SH SYNOPSIS\n.nf\n"));
    for (const char *line = command->usage; line != NULL;) {
        char call[256];
        const int length = (int)strcspn(line, "\n");
        (void)snprintf(call, sizeof call, " %.*s\n", length, line);
        BB_TRY(bb_text_add(out, "\\fBbitbudget\\fR"));
        BB_TRY(add_troff(call, out));
        line = line[length] == '\0' ? NULL : line + length + 1;
    }
    BB_TRY(bb_text_add(out, ".fi\n.SH DESCRIPTION\n"));
    BB_TRY(add_paragraphs(command->text, out));
    BB_TRY(add_experiments(experiments, command->by_experiment, out));
    BB_TRY(bb_text_add(out, ".SH OPTIONS\n"));
    for (bb_index i = 0; i < count; ++i) {
        if (bb_option_is_accepted(&options[i], command->accepted)) {
            BB_TRY(add_option(command, &options[i], experiments, out));
        }
    }
    BB_TRY(bb_text_add(out, ".SH SEE ALSO\n.BR bitbudget (1)\n"));
done:
    return status;
}

// Writes the rule of a key: "number in [0, 1], m; default 0.5".
static bb_status write_rule(const bb_key *key, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text rule = {0};
    BB_TRY(bb_binding_expectation(key, &rule));
    BB_TRY(add_troff(bb_text_string(&rule), out));
    if (key->default_text != NULL || !key->optional) {
        BB_TRY(bb_text_add(out, key->default_text != NULL ? "; default " : "; required"));
        BB_TRY(add_troff(key->default_text == NULL ? "" : key->default_text, out));
    }
done:
    bb_text_release(&rule);
    return status;
}

static bb_status write_keys(const bb_schema *schema, const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char inner[PATH_BYTES];
        (void)snprintf(inner, sizeof inner, "%s%s%s%s", path, path[0] == '\0' ? "" : ".", key->name,
                       key->kind == BB_KEY_RECORDS ? ".N" : "");
        BB_TRY(bb_text_add(out, ".TP\n.B "));
        BB_TRY(add_troff(inner, out));
        BB_TRY(bb_text_add(out, "\n"));
        BB_TRY(add_troff(key->meaning == NULL ? "" : key->meaning, out));
        BB_TRY(bb_text_add(out, "\n"));
        if (key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS) {
            BB_TRY(write_keys(key->schema, inner, out));
        } else {
            BB_TRY(bb_text_add(out, ".br\n("));
            BB_TRY(write_rule(key, out));
            BB_TRY(bb_text_add(out, ")\n"));
        }
    }
done:
    return status;
}

static bb_status write_experiment(const bb_experiment *experiment, bb_text *out)
{
    bb_status status = BB_OK;
    char page[64];
    char summary[96];
    (void)snprintf(page, sizeof page, "bitbudget-%s", experiment->name);
    (void)snprintf(summary, sizeof summary, "keys of a study of experiment %s", experiment->name);
    BB_TRY(add_heading(page, "5", summary, out));
    BB_TRY(bb_text_add(out, ".SH DESCRIPTION\nA study is a YAML file with the keys below; a "
                            "dot separates levels, N is the number of a list item.\n.SH KEYS\n"));
    BB_TRY(write_keys(experiment->schema, "", out));
    BB_TRY(
        bb_text_add(out, ".SH SEE ALSO\n.BR bitbudget\\-config (1),\n.BR bitbudget\\-new (1)\n"));
done:
    return status;
}

static bb_status write_program(const bb_experiment_table *experiments, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_command *commands = NULL;
    const bb_index count = bb_command_table(&commands);
    BB_TRY(add_heading("bitbudget", "1", "numerical precision of real-time optical systems", out));
    BB_TRY(bb_text_add(out,
                       ".SH SYNOPSIS\n.B bitbudget\n.I COMMAND\n[arguments]\n.SH DESCRIPTION\n"
                       "Simulates optical systems, runs their linear algebra through number "
                       "formats and mixed\\-precision algorithms, and reports the loss in the "
                       "unit of the experiment, relative to an fp64 reference of the same run.\n"
                       ".SH COMMANDS\n"));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_text_add(out, ".TP\n.BR bitbudget\\-%s (1)\n", commands[i].name));
        BB_TRY(add_troff(commands[i].summary, out));
        BB_TRY(bb_text_add(out, "\n"));
    }
    BB_TRY(bb_text_add(out, ".SH EXPERIMENTS\n"));
    for (bb_index i = 0; i < experiments->count; ++i) {
        BB_TRY(bb_text_add(out, ".TP\n.BR bitbudget\\-%s (5)\nkeys of its studies\n",
                           experiments->rows[i]->name));
    }
    BB_TRY(bb_text_add(
        out,
        ".SH ENVIRONMENT\n.TP\n.B BITBUDGET_SHARE\nFolder whose subfolder configs "
        "contains the shipped studies; default: next to the program.\n"
        ".TP\n.B BB_OPENCL_DEVICE\nPart of the name of an OpenCL device or platform; other devices "
        "are ignored.\n"
        ".TP\n.B BB_CUDA_PORTABLE\n1: use the portable kernels on a Hopper GPU too.\n"
        ".TP\n.B BB_CC\nC compiler of generated kernels; default cc.\n"
        ".TP\n.B BITBUDGET_CACHE\nFolder of compiled kernels; default "
        "bitbudget/kernels in $XDG_CACHE_HOME or ~/.cache; \\(lqoff\\(rq: none.\n"
        ".TP\n.B BITBUDGET_PREBUILT\nFolder of kernels compiled by bitbudget prebuild, for "
        "machines without a C "
        "compiler; default: that of the installation.\n"
        ".SH EXIT STATUS\n0 done, a recorded numerical failure included; 1 differences "
        "found; 2 usage or configuration; 3 files; 4 memory; 5 device; 6 a "
        "defect; 129, 130, 143 ended by a signal.\n"));
done:
    return status;
}

bb_status bb_command_help_page(const char *name, const bb_experiment_table *experiments,
                               bb_text *out)
{
    bb_status status = BB_OK;
    const bb_command *command = NULL;
    const bb_experiment *experiment = name == NULL ? NULL : bb_experiment_find(experiments, name);
    if (name == NULL) {
        BB_TRY(write_program(experiments, out));
    } else if (experiment != NULL) {
        BB_TRY(write_experiment(experiment, out));
    } else {
        BB_TRY(bb_command_table_find(name, &command));
        BB_TRY(write_command(command, experiments, out));
    }
done:
    return status;
}

bb_status bb_command_help_list(const bb_experiment_table *experiments, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_command *commands = NULL;
    const bb_index count = bb_command_table(&commands);
    BB_TRY(bb_text_add(out, "man1/bitbudget.1\n"));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_text_add(out, "man1/bitbudget-%s.1 %s\n", commands[i].name, commands[i].name));
    }
    for (bb_index i = 0; i < experiments->count; ++i) {
        const char *name = experiments->rows[i]->name;
        BB_TRY(bb_text_add(out, "man5/bitbudget-%s.5 %s\n", name, name));
    }
done:
    return status;
}

bb_status bb_command_help(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_command *command = NULL;
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    BB_REQUIRE(!options->list || (name == NULL && !options->man), BB_INVALID,
               "--list prints all pages; remove the name and --man");
    if (options->list) {
        BB_TRY(bb_command_help_list(experiments, &text));
    } else if (options->man) {
        BB_TRY(bb_command_help_page(name, experiments, &text));
    } else if (name == NULL) {
        BB_TRY(bb_command_help_overview(&text));
    } else {
        BB_TRY(bb_command_table_find(name, &command));
        BB_TRY(bb_command_help_write(command, experiments, &text));
    }
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    return status;
}
