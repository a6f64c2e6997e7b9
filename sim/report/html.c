// SPDX-License-Identifier: Apache-2.0
#include "sim/report/html.h"

#include "sim/output/cell.h"

#include <math.h>
#include <string.h>

// Length of the UTF-8 character at the start of a text, 0 if invalid.
static int character_bytes(const unsigned char *text)
{
    const int bytes = text[0] < 0x80                       ? 1
                      : text[0] >= 0xc2 && text[0] < 0xe0  ? 2
                      : text[0] >= 0xe0 && text[0] < 0xf0  ? 3
                      : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                           : 0;
    for (int i = 1; i < bytes; ++i) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return bytes;
}

bb_status bb_html_escape(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    static const struct {
        char byte;
        const char *reference;
    } marks[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (const char *rest = text; *rest != '\0';) {
        const int bytes = character_bytes((const unsigned char *)rest);
        const unsigned char byte = (unsigned char)*rest;
        const char *shown =
            bytes == 0 || byte == 127 || (byte < ' ' && byte != '\n' && byte != '\t') ? "?" : NULL;
        for (size_t m = 0; m < sizeof marks / sizeof *marks; ++m) {
            shown = marks[m].byte == *rest ? marks[m].reference : shown;
        }
        const int length = bytes == 0 ? 1 : bytes;
        BB_TRY(bb_text_add_bytes(out, shown == NULL ? rest : shown,
                                 shown == NULL ? length : (bb_index)strlen(shown)));
        rest += length;
    }
done:
    return status;
}

// clang-format off
static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
    "<style>\n"
    "body{font:16px/1.5 system-ui,'DejaVu Sans',sans-serif;color:#1a1a1a;background:#fff;"
    "max-width:46rem;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.4rem;line-height:1.25;overflow-wrap:anywhere}\n"
    "h2{font-size:1.1rem;border-bottom:1px solid #ccc;margin-top:2rem}\n"
    "p,figcaption{overflow-wrap:anywhere}\n"
    "#answer p:first-of-type{font-size:1.1rem;border-left:4px solid #d55e00;padding-left:.8rem}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}\n"
    "td.n,th.n{text-align:right;white-space:nowrap}\n"
    "tr.front td:first-child{font-weight:bold}\n"
    "th button{font:inherit;font-weight:bold;background:none;border:0;padding:0;cursor:pointer;"
    "text-align:inherit}\n"
    "th[aria-sort] button::after{content:' \\25B4'}\n"
    "th[aria-sort=descending] button::after{content:' \\25BE'}\n"
    "pre{background:#f5f5f5;padding:.6rem;font-size:.8rem;overflow:auto;max-height:24rem}\n"
    "figure{margin:1.5rem 0}\nfigcaption{font-size:.9rem}\n"
    "svg{display:block;width:100%;height:auto}\n"
    ".narrow{display:none}\n"
    "@media (max-width:38rem){.wide{display:none}.narrow{display:block}}\n"
    "@media print{body{max-width:none;font-size:10pt;padding:0}.wide{display:block}"
    ".narrow{display:none}figure,tr{break-inside:avoid}h2{break-after:avoid}"
    "pre{max-height:none;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".scroll{overflow:visible}table{font-size:7.5pt}th,td{padding:.1rem .3rem}}\n"
    "</style>\n<title>";

// Numbers are sorted by stored value, texts alphabetically; absent values come last.
static const char script[] =
    "<script>\n"
    "for (const button of document.querySelectorAll('th button')) {\n"
    "  button.addEventListener('click', () => {\n"
    "    const head = button.parentNode, table = head.closest('table');\n"
    "    const down = head.getAttribute('aria-sort') === 'ascending', at = head.cellIndex;\n"
    "    const key = (row) => row.cells[at].dataset.value ?? row.cells[at].textContent;\n"
    "    const order = (a, b) => {\n"
    "      const x = key(a), y = key(b), m = Number(x), n = Number(y);\n"
    "      if (x === '' || y === '') return (x === '') - (y === '');\n"
    "      const way = isNaN(m) || isNaN(n) ? x.localeCompare(y) : m - n;\n"
    "      return down ? -way : way;\n"
    "    };\n"
    "    for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');\n"
    "    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');\n"
    "    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));\n"
    "  });\n"
    "}\n"
    "</script>\n";
// clang-format on

bb_status bb_html_begin(const char *title, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%s", head));
    BB_TRY(bb_html_escape(title, out));
    BB_TRY(bb_text_add(out, "</title>\n</head>\n<body>\n<h1>"));
    BB_TRY(bb_html_escape(title, out));
    BB_TRY(bb_text_add(out, "</h1>\n"));
done:
    return status;
}

bb_status bb_html_end(bb_text *out)
{
    return bb_text_add(out, "%s</body>\n</html>\n", script);
}

bb_status bb_html_open_section(const char *id, const char *heading, bb_text *out)
{
    return bb_text_add(out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, heading);
}

bb_status bb_html_close_section(bb_text *out)
{
    return bb_text_add(out, "</section>\n");
}

static bb_status add_element(const char *open, const char *text, const char *close, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%s", open));
    BB_TRY(bb_html_escape(text, out));
    BB_TRY(bb_text_add(out, "%s", close));
done:
    return status;
}

bb_status bb_html_add_paragraph(const char *text, bb_text *out)
{
    return add_element("<p>", text, "</p>\n", out);
}

bb_status bb_html_add_code(const char *text, bb_text *out)
{
    return add_element("<pre>", text, "</pre>\n", out);
}

static bb_status add_heading(const bb_grid_column *column, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "<th%s title=\"", column->numbers != NULL ? " class=\"n\"" : ""));
    BB_TRY(bb_html_escape(column->long_name, out));
    BB_TRY(add_element("\"><button type=\"button\">", column->header, "</button></th>", out));
done:
    return status;
}

static bb_status add_cell(const bb_grid *grid, const bb_grid_column *column, bb_index row,
                          bb_text *out)
{
    bb_status status = BB_OK;
    char shown[BB_CELL_BYTES];
    const bool absent = column->numbers == NULL || isnan(column->numbers[row]);
    if (column->texts != NULL && absent) {
        return add_element("<td>", column->texts[row], "</td>", out);
    }
    if (absent) {
        return bb_text_add(out, "<td class=\"n\" data-value=\"\">-</td>");
    }
    bb_cell_item(column->unit, column->scale, column->numbers, grid->rows, row, shown);
    BB_TRY(bb_text_add(out, "<td class=\"n\" data-value=\"%.17g\">%s</td>", column->numbers[row],
                       shown));
done:
    return status;
}

bb_status bb_html_add_grid(const bb_grid *grid, const char *first, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out,
                       "<div class=\"scroll\"><table>\n<thead><tr><th>"
                       "<button type=\"button\">%s</button></th>",
                       first));
    for (bb_index c = 0; c < grid->count; ++c) {
        BB_TRY(add_heading(&grid->columns[c], out));
    }
    BB_TRY(bb_text_add(out, "</tr></thead>\n<tbody>\n"));
    for (bb_index row = 0; row < grid->rows; ++row) {
        const bool marked = grid->marked != NULL && grid->marked[row];
        BB_TRY(add_element(marked ? "<tr class=\"front\"><td>" : "<tr><td>", grid->names[row],
                           "</td>", out));
        for (bb_index c = 0; c < grid->count; ++c) {
            BB_TRY(add_cell(grid, &grid->columns[c], row, out));
        }
        BB_TRY(bb_text_add(out, "</tr>\n"));
    }
    BB_TRY(bb_text_add(out, "</tbody></table></div>\n"));
done:
    return status;
}

bb_status bb_html_open_table(const char *const *headings, int count, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "<div class=\"scroll\"><table>\n<thead><tr>"));
    for (int i = 0; i < count; ++i) {
        BB_TRY(add_element("<th><button type=\"button\">", headings[i], "</button></th>", out));
    }
    BB_TRY(bb_text_add(out, "</tr></thead>\n<tbody>\n"));
done:
    return status;
}

bb_status bb_html_add_row(const char *const *cells, int count, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "<tr>"));
    for (int i = 0; i < count; ++i) {
        BB_TRY(add_element("<td>", cells[i], "</td>", out));
    }
    BB_TRY(bb_text_add(out, "</tr>\n"));
done:
    return status;
}

bb_status bb_html_close_table(bb_text *out)
{
    return bb_text_add(out, "</tbody></table></div>\n");
}

// Offset in a text at which an identifier follows, 0 if there is none.
static size_t before_identifier(const char *text)
{
    static const char *const marks[] = {" id=\"", " id='", "href=\"#", "href='#", "url(#"};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; ++m) {
        if (strncmp(text, marks[m], strlen(marks[m])) == 0) {
            return strlen(marks[m]);
        }
    }
    return 0;
}

// Texts of a picture are escaped, so that a quote or a bracket inside a tag is markup.
static bb_status add_prefixed(const char *svg, const char *end, const char *prefix, bb_text *out)
{
    bb_status status = BB_OK;
    bool tag = false;
    const char *rest = svg;
    for (const char *byte = svg; byte < end; ++byte) {
        tag = *byte == '<' || (tag && *byte != '>');
        const size_t mark = tag ? before_identifier(byte) : 0;
        if (mark > 0) {
            BB_TRY(bb_text_add_bytes(out, rest, byte + mark - rest));
            BB_TRY(bb_text_add(out, "%s", prefix));
            rest = byte + mark;
            byte = rest - 1;
        }
    }
    BB_TRY(bb_text_add_bytes(out, rest, end - rest));
done:
    return status;
}

bb_status bb_html_add_picture(const char *svg, const char *prefix, const char *class,
                              const char *title, const char *hovers, bb_text *out)
{
    bb_status status = BB_OK;
    const char *start = strstr(svg, "<svg");
    const char *end = NULL;
    for (const char *found = strstr(svg, "</svg>"); found != NULL;
         found = strstr(found + 1, "</svg>")) {
        end = found;
    }
    const char *inside = start == NULL ? NULL : strchr(start, '>');
    BB_REQUIRE(inside != NULL && end != NULL && inside < end, BB_IO,
               "gnuplot did not write an SVG picture");
    BB_TRY(bb_text_add(out, "<div class=\"%s\">", class));
    BB_TRY(bb_text_add_bytes(out, start, inside - start));
    BB_TRY(add_element(" role=\"img\" aria-label=\"", title, "\">", out));
    BB_TRY(add_prefixed(inside + 1, end, prefix, out));
    BB_TRY(bb_text_add(out, "%s</svg></div>\n", hovers));
done:
    return status;
}
