// SPDX-License-Identifier: Apache-2.0
#include "sim/output/grid_format.h"

#include "sim/output/cell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_pure(const bb_grid_column *column)
{
    return column->unit[0] == '\0' || strcmp(column->unit, "1") == 0;
}

// Adds "label: name [unit]".
static bb_status add_title(const bb_grid_column *column, bb_text *out)
{
    const bool labelled = column->label[0] != '\0';
    return bb_text_add(out, "%s%s%s%s%s%s", column->label, labelled ? ": " : "", column->name,
                       is_pure(column) ? "" : " [", is_pure(column) ? "" : column->unit,
                       is_pure(column) ? "" : "]");
}

static bb_status add_csv_cell(const bb_grid_column *column, bb_index row, bb_text *out)
{
    bb_status status = BB_OK;
    char number[BB_CELL_BYTES];
    if (column->numbers == NULL) {
        BB_TRY(bb_cell_add_field(column->texts[row], out));
    } else if (!isnan(column->numbers[row])) {
        bb_cell_exact(column->numbers[row], number);
        BB_TRY(bb_text_add(out, "%s", number));
    }
done:
    return status;
}

bb_status bb_grid_format_csv(const bb_grid *grid, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text title = {0};
    BB_TRY(bb_text_add(out, "pipeline"));
    for (bb_index c = 0; c < grid->count; ++c) {
        bb_text_release(&title);
        BB_TRY(add_title(&grid->columns[c], &title));
        BB_TRY(bb_text_add(out, ","));
        BB_TRY(bb_cell_add_field(bb_text_string(&title), out));
    }
    BB_TRY(bb_text_add(out, "\n"));
    for (bb_index row = 0; row < grid->rows; ++row) {
        BB_TRY(bb_cell_add_field(grid->names[row], out));
        for (bb_index c = 0; c < grid->count; ++c) {
            BB_TRY(bb_text_add(out, ","));
            BB_TRY(add_csv_cell(&grid->columns[c], row, out));
        }
        BB_TRY(bb_text_add(out, "\n"));
    }
done:
    bb_text_release(&title);
    return status;
}

// Adds a JSON string; '?' replaces characters that control a terminal and bytes that are not UTF-8.
static bb_status add_string(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text clean = {0};
    BB_TRY(bb_cell_add(text, 0, &clean));
    BB_TRY(bb_text_add(out, "\""));
    for (const char *c = bb_text_string(&clean); *c != '\0'; ++c) {
        BB_TRY(*c == '"' || *c == '\\' ? bb_text_add(out, "\\%c", *c)
                                       : bb_text_add_bytes(out, c, 1));
    }
    BB_TRY(bb_text_add(out, "\""));
done:
    bb_text_release(&clean);
    return status;
}

static bb_status add_member(const char *name, const char *text, const char *before, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%s\"%s\": ", before, name));
    BB_TRY(text == NULL ? bb_text_add(out, "null") : add_string(text, out));
done:
    return status;
}

static bb_status add_files(const bb_grid_source *sources, const char *const *answers,
                           bb_index count, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "{\n  \"files\": ["));
    for (bb_index i = 0; i < count; ++i) {
        const bb_results *results = sources[i].results;
        BB_TRY(bb_text_add(out, "%s\n    ", i == 0 ? "" : ","));
        BB_TRY(add_member("path", sources[i].path, "{", out));
        BB_TRY(add_member("label", sources[i].label, ", ", out));
        BB_TRY(add_member("experiment", sources[i].experiment->name, ", ", out));
        BB_TRY(add_member("title", bb_results_note_text(results, "", "title"), ", ", out));
        BB_TRY(add_member("loss_note", bb_results_note_text(results, "", "loss_note"), ", ", out));
        BB_TRY(add_member("answer", answers[i], ", ", out));
        BB_TRY(bb_text_add(out, "}"));
    }
    BB_TRY(bb_text_add(out, "\n  ],\n"));
done:
    return status;
}

// Adds the name of a column in a record: "label: name", or only its name.
static bb_status add_key(const bb_grid_column *column, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text key = {0};
    const bool labelled = column->label[0] != '\0';
    BB_TRY(bb_text_add(&key, "%s%s%s", column->label, labelled ? ": " : "", column->name));
    BB_TRY(add_string(bb_text_string(&key), out));
done:
    bb_text_release(&key);
    return status;
}

static bb_status add_fields(const bb_grid *grid, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "  \"fields\": ["));
    for (bb_index c = 0; c < grid->count; ++c) {
        const bb_grid_column *column = &grid->columns[c];
        BB_TRY(bb_text_add(out, "%s\n    {\"key\": ", c == 0 ? "" : ","));
        BB_TRY(add_key(column, out));
        BB_TRY(add_member("name", column->name, ", ", out));
        BB_TRY(add_member("unit", column->unit, ", ", out));
        BB_TRY(add_member("long_name", column->long_name, ", ", out));
        BB_TRY(bb_text_add(out, "}"));
    }
    BB_TRY(bb_text_add(out, "\n  ],\n"));
done:
    return status;
}

static bb_status add_record(const bb_grid *grid, bb_index row, bool marked, bb_text *out)
{
    bb_status status = BB_OK;
    char number[BB_CELL_BYTES];
    BB_TRY(add_member("pipeline", grid->names[row], "    {", out));
    if (marked) {
        BB_TRY(bb_text_add(out, ", \"on_front\": %s", grid->marked[row] ? "true" : "false"));
    }
    for (bb_index c = 0; c < grid->count; ++c) {
        const bb_grid_column *column = &grid->columns[c];
        BB_TRY(bb_text_add(out, ", "));
        BB_TRY(add_key(column, out));
        BB_TRY(bb_text_add(out, ": "));
        if (column->numbers == NULL) {
            BB_TRY(add_string(column->texts[row], out));
        } else if (isfinite(column->numbers[row])) {
            bb_cell_exact(column->numbers[row], number);
            BB_TRY(bb_text_add(out, "%s", number));
        } else {
            BB_TRY(bb_text_add(out, "null"));
        }
    }
    BB_TRY(bb_text_add(out, "}"));
done:
    return status;
}

bb_status bb_grid_format_json(const bb_grid *grid, const bb_grid_source *sources,
                              const char *const *answers, bb_index count, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(add_files(sources, answers, count, out));
    BB_TRY(add_fields(grid, out));
    BB_TRY(bb_text_add(out, "  \"pipelines\": ["));
    for (bb_index row = 0; row < grid->rows; ++row) {
        BB_TRY(bb_text_add(out, "%s\n", row == 0 ? "" : ","));
        BB_TRY(add_record(grid, row, count == 1, out));
    }
    BB_TRY(bb_text_add(out, "\n  ]\n}\n"));
done:
    return status;
}

// Replacement for a character of a text; NULL: unchanged.
typedef const char *(*escaping)(char character);

static const char *escape_markdown(char character)
{
    switch (character) {
    case '|':
        return "\\|";
    case '\\':
        return "\\\\";
    case '*':
        return "\\*";
    case '`':
        return "\\`";
    case '<':
        return "&lt;";
    default:
        return NULL;
    }
}

static const char *escape_latex(char character)
{
    switch (character) {
    case '_':
        return "\\_";
    case '%':
        return "\\%";
    case '&':
        return "\\&";
    case '#':
        return "\\#";
    case '$':
        return "\\$";
    case '{':
        return "\\{";
    case '}':
        return "\\}";
    case '~':
        return "\\textasciitilde{}";
    case '^':
        return "\\textasciicircum{}";
    case '\\':
        return "\\textbackslash{}";
    case '<':
        return "$<$";
    case '>':
        return "$>$";
    default:
        return NULL;
    }
}

static bb_status add_escaped(const char *text, escaping escape, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text clean = {0};
    BB_TRY(bb_cell_add(text, 0, &clean));
    for (const char *c = bb_text_string(&clean); *c != '\0'; ++c) {
        const char *instead = escape(*c);
        BB_TRY(instead == NULL ? bb_text_add_bytes(out, c, 1) : bb_text_add(out, "%s", instead));
    }
done:
    bb_text_release(&clean);
    return status;
}

// Adds a header or, for a row index, a cell with numbers for people.
static bb_status add_cell(const bb_grid *grid, const bb_grid_column *column, bb_index row,
                          escaping escape, bb_text *out)
{
    bb_status status = BB_OK;
    char number[BB_CELL_BYTES];
    if (row < 0) {
        if (column->label[0] != '\0') {
            BB_TRY(add_escaped(column->label, escape, out));
            BB_TRY(bb_text_add(out, ": "));
        }
        BB_TRY(add_escaped(column->header, escape, out));
        goto done;
    }
    const bool has_texts =
        column->numbers == NULL || (isnan(column->numbers[row]) && column->texts != NULL);
    if (has_texts) {
        BB_TRY(add_escaped(column->texts[row], escape, out));
    } else {
        bb_cell_item(column->unit, column->scale, column->numbers, grid->rows, row, number);
        const char *power = escape == escape_latex ? strchr(number, 'e') : NULL;
        BB_TRY(power == NULL ? bb_text_add(out, "%s", number)
                             : bb_text_add(out, "$%.*s\\cdot10^{%d}$", (int)(power - number),
                                           number, atoi(power + 1)));
    }
done:
    return status;
}

static bb_status add_line(const bb_grid *grid, bb_index row, escaping escape, const char *between,
                          bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(row >= 0 && grid->marked[row] ? bb_text_add(out, escape == escape_latex ? "$*$" : "\\*")
                                         : BB_OK);
    BB_TRY(bb_text_add(out, "%s", between));
    BB_TRY(add_escaped(row < 0 ? "pipeline" : grid->names[row], escape, out));
    for (bb_index c = 0; c < grid->count; ++c) {
        BB_TRY(bb_text_add(out, "%s", between));
        BB_TRY(add_cell(grid, &grid->columns[c], row, escape, out));
    }
done:
    return status;
}

bb_status bb_grid_format_markdown(const bb_grid *grid, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index row = -1; row < grid->rows; ++row) {
        BB_TRY(bb_text_add(out, "| "));
        BB_TRY(add_line(grid, row, escape_markdown, " | ", out));
        BB_TRY(bb_text_add(out, " |\n"));
        if (row < 0) {
            BB_TRY(bb_text_add(out, "|---|---|"));
            for (bb_index c = 0; c < grid->count; ++c) {
                BB_TRY(bb_text_add(out, grid->columns[c].numbers == NULL ? "---|" : "---:|"));
            }
            BB_TRY(bb_text_add(out, "\n"));
        }
    }
done:
    return status;
}

bb_status bb_grid_format_latex(const bb_grid *grid, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "\\begin{tabular}{cl"));
    for (bb_index c = 0; c < grid->count; ++c) {
        BB_TRY(bb_text_add(out, grid->columns[c].numbers == NULL ? "l" : "r"));
    }
    BB_TRY(bb_text_add(out, "}\n\\hline\n"));
    for (bb_index row = -1; row < grid->rows; ++row) {
        BB_TRY(add_line(grid, row, escape_latex, " & ", out));
        BB_TRY(bb_text_add(out, " \\\\\n%s", row < 0 ? "\\hline\n" : ""));
    }
    BB_TRY(bb_text_add(out, "\\hline\n\\end{tabular}\n"));
done:
    return status;
}
