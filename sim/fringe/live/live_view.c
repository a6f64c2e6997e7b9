// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_view.h"

#include "core/clock.h"
#include "core/disk_file.h"
#include "core/memory.h"
#include "core/text.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, STOPS = 5 };

// PNG encoder for a map: 8 bits a pixel, palette from blue over white to red, NaN transparent.
// Pixels are stored uncompressed, so that ten pictures a second cost only a copy and two checksums
// (PNG 1.2; RFC 1950, 1951).
enum {
    MOST_PIXELS = 1024,
    BLOCK_BYTES = 65535, // largest stored deflate block
    BLOCK_HEADER = 5,
    CHUNK_BYTES = 12, // length, name and checksum of a chunk
    IHDR_BYTES = 13,
    COLOURS = 255,
    PALETTE = COLOURS + 1, // one more than COLOURS: the last one is transparent
    NOTHING = COLOURS,
    CHECKSUM_RUN = 5552 // longest run without overflow of the Adler-32 sums
};

typedef struct picture {
    unsigned char *bytes;
    size_t length;
    uint32_t table[256]; // CRC table of the chunks
} picture;

// Red, green and blue of colour 0 (lowest) to COLOURS - 1.
static void colour_of(int colour, unsigned char rgb[3])
{
    static const double ends[3][3] = {
        {38.0, 70.0, 150.0}, {245.0, 245.0, 240.0}, {165.0, 30.0, 38.0}};
    const double place = 2.0 * colour / (COLOURS - 1);
    const int low = place < 1.0 ? 0 : 1;
    for (int c = 0; c < 3; ++c) {
        rgb[c] =
            (unsigned char)rint(ends[low][c] + (place - low) * (ends[low + 1][c] - ends[low][c]));
    }
}

static void fill_table(uint32_t table[256])
{
    for (uint32_t n = 0; n < 256; ++n) {
        uint32_t value = n;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value & 1U) != 0 ? 0xEDB88320U ^ (value >> 1) : value >> 1;
        }
        table[n] = value;
    }
}

static void put(picture *out, const void *bytes, size_t length)
{
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

static void put_number(picture *out, uint32_t value)
{
    const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                    (unsigned char)(value >> 8), (unsigned char)value};
    put(out, bytes, sizeof bytes);
}

// Writes length and name of a chunk; returns the offset of the name.
static size_t begin_chunk(picture *out, const char *name, size_t length)
{
    put_number(out, (uint32_t)length);
    put(out, name, 4);
    return out->length - 4;
}

static void end_chunk(picture *out, size_t begin)
{
    uint32_t sum = 0xFFFFFFFFU;
    for (size_t i = begin; i < out->length; ++i) {
        sum = out->table[(sum ^ out->bytes[i]) & 0xFFU] ^ (sum >> 8);
    }
    put_number(out, ~sum);
}

static uint32_t adler(const unsigned char *bytes, size_t length)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < length;) {
        const size_t end = length - i < CHECKSUM_RUN ? length : i + CHECKSUM_RUN;
        for (; i < end; ++i) {
            a += bytes[i];
            b += a;
        }
        a %= 65521U;
        b %= 65521U;
    }
    return b << 16 | a;
}

static void put_head(picture *out, bb_index columns, bb_index rows)
{
    static const unsigned char mark[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    static const unsigned char layout[] = {8, 3, 0, 0, 0}; // 8 bits, palette, defaults otherwise
    put(out, mark, sizeof mark);
    size_t begin = begin_chunk(out, "IHDR", IHDR_BYTES);
    put_number(out, (uint32_t)columns);
    put_number(out, (uint32_t)rows);
    put(out, layout, sizeof layout);
    end_chunk(out, begin);
    begin = begin_chunk(out, "PLTE", (size_t)3 * PALETTE);
    for (int colour = 0; colour < PALETTE; ++colour) {
        unsigned char rgb[3] = {255, 255, 255};
        if (colour < COLOURS) {
            colour_of(colour, rgb);
        }
        put(out, rgb, sizeof rgb);
    }
    end_chunk(out, begin);
    begin = begin_chunk(out, "tRNS", PALETTE);
    memset(out->bytes + out->length, 255, PALETTE);
    out->length += PALETTE;
    out->bytes[out->length - 1] = 0;
    end_chunk(out, begin);
}

// Writes pixels as stored deflate blocks.
static void put_pixels(picture *out, const unsigned char *pixels, size_t length)
{
    static const unsigned char zlib[] = {0x78, 0x01};
    const size_t blocks = (length + BLOCK_BYTES - 1) / BLOCK_BYTES;
    const size_t begin = begin_chunk(out, "IDAT", sizeof zlib + length + blocks * BLOCK_HEADER + 4);
    put(out, zlib, sizeof zlib);
    for (size_t block = 0; block < blocks; ++block) {
        const size_t first = block * BLOCK_BYTES;
        const size_t size = length - first < BLOCK_BYTES ? length - first : BLOCK_BYTES;
        const unsigned char header[BLOCK_HEADER] = {
            block + 1 == blocks, (unsigned char)size, (unsigned char)(size >> 8),
            (unsigned char)~size, (unsigned char)(~size >> 8)};
        put(out, header, sizeof header);
        put(out, pixels + first, size);
    }
    put_number(out, adler(pixels, length));
    end_chunk(out, begin);
    end_chunk(out, begin_chunk(out, "IEND", 0));
}

// Fills lines of a filter byte (none) and one palette index a pixel.
static void fill_lines(bb_index columns, bb_index width, bb_index height, bb_index stride,
                       const double *values, double low, double scale, unsigned char *lines)
{
    for (bb_index y = 0; y < height; ++y) {
        unsigned char *line = lines + y * (width + 1);
        line[0] = 0;
        for (bb_index x = 0; x < width; ++x) {
            const double value = (values[y * stride * columns + x * stride] - low) * scale;
            line[x + 1] = isnan(value)       ? NOTHING
                          : value <= 0.0     ? 0
                          : value >= COLOURS ? COLOURS - 1
                                             : (unsigned char)value;
        }
    }
}

bb_status bb_live_view_draw(bb_index columns, bb_index rows, const double *values, double low,
                            double high, unsigned char **png, bb_index *bytes)
{
    bb_status status = BB_OK;
    const bb_index longer = columns > rows ? columns : rows;
    const bb_index stride = (longer + MOST_PIXELS - 1) / MOST_PIXELS;
    const bb_index width = (columns + stride - 1) / stride;
    const bb_index height = (rows + stride - 1) / stride;
    const bb_index length = height * (width + 1);
    const double scale = high > low ? COLOURS / (high - low) : 0.0;
    picture out = {0};
    unsigned char *lines = NULL;
    BB_TRY(BB_ALLOCATE(length, &lines));
    BB_TRY(BB_ALLOCATE(length + (length / BLOCK_BYTES + 1) * BLOCK_HEADER + 8 * CHUNK_BYTES +
                           IHDR_BYTES + 4 * PALETTE,
                       &out.bytes));
    fill_table(out.table);
    fill_lines(columns, width, height, stride, values, low, scale, lines);
    put_head(&out, width, height);
    put_pixels(&out, lines, (size_t)length);
    *png = out.bytes;
    *bytes = (bb_index)out.length;
    out.bytes = NULL;
done:
    BB_RELEASE(&lines);
    BB_RELEASE(&out.bytes);
    return status;
}

// Shortest time between pictures, s.
static const double period_s = 0.1;

struct bb_live_view {
    char *folder, *title;
    double rad_per_nm;
    double last_s; // time of the last picture; -INFINITY before
    double mean_nm, rms_nm, valley_nm, peak_nm;
    bb_index columns, rows;
};

static const char page_head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    "body{font:16px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:60rem;padding:0 1rem;"
    "color:#222;background:#fff}\n"
    "h1{font-size:1.2rem;font-weight:600}\n"
    "main{display:flex;flex-wrap:wrap;align-items:start;gap:1rem}\n"
    "main div{flex:1 1 16rem;max-width:36rem}\n"
    "#map{width:100%;image-rendering:pixelated;background:#ddd}\n"
    "table{border-collapse:collapse}\ntd{padding:.1rem .6rem .1rem 0}\n"
    "td+td{text-align:right;font-variant-numeric:tabular-nums}\n"
    "#scale{height:.8rem;flex:none;background:linear-gradient(to right";

static const char page_body[] =
    ")}\n#ends{display:flex;justify-content:space-between}\n"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}#map{background:#333}}\n"
    "</style>\n";

// Updates numbers and picture together, once the picture has been loaded.
static const char page_script[] =
    "<script>\n"
    "let shown = -1;\n"
    "function fill(state) {\n"
    "  for (const [name, text] of Object.entries(state)) {\n"
    "    const place = document.getElementById(name);\n"
    "    if (place) place.textContent = text;\n"
    "  }\n"
    "}\n"
    "function show(state) {\n"
    "  if (state.frame === shown) { fill(state); return; }\n"
    "  const next = new Image();\n"
    "  next.onload = () => { document.getElementById('map').src = next.src; fill(state); "
    "shown = state.frame; };\n"
    "  next.src = 'wavefront.png?' + state.frame;\n"
    "}\n"
    "function ask() {\n"
    "  const script = document.createElement('script');\n"
    "  script.src = 'state.js?' + Date.now();\n"
    "  script.onload = script.onerror = () => { script.remove(); setTimeout(ask, 200); };\n"
    "  document.head.append(script);\n"
    "}\n"
    "ask();\n"
    "</script>\n</body></html>\n";

// Escapes user text for HTML and for a JavaScript string.
static bb_status add_escaped(bb_text *out, const char *text)
{
    bb_status status = BB_OK;
    for (const char *c = text; *c != '\0'; ++c) {
        const char *instead = *c == '<'                              ? "\xE2\x80\xB9"
                              : *c == '>'                            ? "\xE2\x80\xBA"
                              : *c == '"' || *c == '\''              ? "\xE2\x80\x99"
                              : *c == '&'                            ? "+"
                              : *c == '\\' || (unsigned char)*c < 32 ? " "
                                                                     : NULL;
        BB_TRY(instead != NULL ? bb_text_add(out, "%s", instead) : bb_text_add_bytes(out, c, 1));
    }
done:
    return status;
}

// Replaces a file atomically, without fsync, because losing the page in a power cut does no harm
// and a sync would delay the stream.
static bb_status replace(const bb_live_view *view, const char *name, const void *bytes,
                         size_t length)
{
    bb_status status = BB_OK;
    char path[PATH_BYTES], temporary[BB_DISK_PATH_BYTES] = "";
    int descriptor = -1;
    (void)snprintf(path, sizeof path, "%s/%s", view->folder, name);
    BB_TRY(bb_disk_file_name(path, temporary));
    BB_TRY(bb_disk_file_create(temporary, path, &descriptor));
    FILE *file = fdopen(descriptor, "wb");
    const bool written = file != NULL && fwrite(bytes, 1, length, file) == length;
    const bool closed = (file != NULL ? fclose(file) : close(descriptor)) == 0;
    BB_REQUIRE(written && closed && rename(temporary, path) == 0, BB_IO, "cannot write '%s': %s",
               path, strerror(errno));
    bb_disk_file_finish(temporary, false);
done:
    bb_disk_file_finish(temporary, true);
    return status;
}

static bb_status replace_text(const bb_live_view *view, const char *name, const bb_text *text)
{
    return replace(view, name, bb_text_string(text), (size_t)text->length);
}

// Mean of a map, and its rms, minimum and maximum about the mean, nm.
static void measure(bb_live_view *view, bb_index points, const double *phase)
{
    double sum = 0.0, squares = 0.0, low = INFINITY, high = -INFINITY;
    bb_index count = 0;
    for (bb_index p = 0; p < points; ++p) {
        if (isfinite(phase[p])) {
            sum += phase[p];
            low = fmin(low, phase[p]);
            high = fmax(high, phase[p]);
            ++count;
        }
    }
    const double mean = sum / (double)count;
    for (bb_index p = 0; p < points; ++p) {
        if (isfinite(phase[p])) {
            squares += (phase[p] - mean) * (phase[p] - mean);
        }
    }
    view->mean_nm = mean / view->rad_per_nm;
    view->rms_nm = sqrt(squares / (double)count) / view->rad_per_nm;
    view->valley_nm = (low - mean) / view->rad_per_nm;
    view->peak_nm = (high - mean) / view->rad_per_nm;
}

typedef struct fact {
    const char *name, *label; // element of the page; NULL: the number has no row in the table
    char text[96];
} fact;

enum { FACTS = 14 };

static void write_number(fact *out, const char *name, const char *label, int digits,
                         const char *unit, double value)
{
    *out = (fact){.name = name, .label = label};
    if (isfinite(value)) {
        (void)snprintf(out->text, sizeof out->text, "%.*f%s", digits, value, unit);
    } else {
        (void)snprintf(out->text, sizeof out->text, "-");
    }
}

static void list_facts(const bb_live_view *view, const bb_live_facts *facts, fact out[FACTS])
{
    char now[21];
    bb_clock_utc(now);
    out[0] = (fact){.name = "state", .label = "stream"};
    (void)snprintf(out[0].text, sizeof out[0].text, "%s", facts->state);
    out[1] = (fact){.name = "pipeline", .label = "pipeline"};
    (void)snprintf(out[1].text, sizeof out[1].text, "%s", facts->pipeline);
    out[2] = (fact){.name = "time", .label = "time (UTC)"};
    (void)snprintf(out[2].text, sizeof out[2].text, "%s", now);
    out[3] = (fact){.name = "pixels", .label = "pixels"};
    (void)snprintf(out[3].text, sizeof out[3].text, "%td x %td", view->columns, view->rows);
    write_number(&out[4], "rms", "wavefront rms", 1, " nm", view->rms_nm);
    write_number(&out[5], "pv", "peak to valley", 1, " nm", view->peak_nm - view->valley_nm);
    write_number(&out[6], "rate", "phases per second", 1, "", facts->rate_hz);
    write_number(&out[7], "median", "latency, median", 2, " ms", facts->p50_ms);
    write_number(&out[8], "p99", "latency, 99 %", 2, " ms", facts->p99_ms);
    write_number(&out[9], "dropped", "dropped", 0, "", facts->dropped);
    write_number(&out[10], "rejected", "rejected edges", 2, " %", 100.0 * facts->rejected_share);
    write_number(&out[11], "wrong", "wrong points", 0, "", facts->wrong);
    write_number(&out[12], "low", NULL, 0, " nm", view->valley_nm);
    write_number(&out[13], "high", NULL, 0, " nm", view->peak_nm);
}

static bb_status write_state(const bb_live_view *view, bb_index frame, const fact *facts)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_text_add(&text, "show({frame: %td", frame));
    for (int i = 0; i < FACTS; ++i) {
        BB_TRY(bb_text_add(&text, ", %s: \"", facts[i].name));
        BB_TRY(add_escaped(&text, facts[i].text));
        BB_TRY(bb_text_add(&text, "\""));
    }
    BB_TRY(bb_text_add(&text, "});\n"));
    BB_TRY(replace_text(view, "state.js", &text));
done:
    bb_text_release(&text);
    return status;
}

// The page also contains the numbers, so that it can be read after the program has ended.
static bb_status write_page(const bb_live_view *view, bb_index frame, const fact *facts)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_text_add(&text, "%s", page_head));
    for (int stop = 0; stop < STOPS; ++stop) {
        unsigned char rgb[3];
        colour_of(stop * (COLOURS - 1) / (STOPS - 1), rgb);
        BB_TRY(bb_text_add(&text, ",rgb(%d %d %d)", rgb[0], rgb[1], rgb[2]));
    }
    BB_TRY(bb_text_add(&text, "%s<title>", page_body));
    BB_TRY(add_escaped(&text, view->title));
    BB_TRY(bb_text_add(&text, "</title></head>\n<body><h1>"));
    BB_TRY(add_escaped(&text, view->title));
    BB_TRY(bb_text_add(&text,
                       "</h1>\n<main><div>\n<img id=\"map\" alt=\"unwrapped wavefront\" "
                       "src=\"wavefront.png?%td\">\n<div id=\"scale\"></div><div id=\"ends\">"
                       "<span id=\"low\">%s</span><span id=\"high\">%s</span></div>\n"
                       "</div><table>\n<tr><td>phase</td><td id=\"frame\">%td</td></tr>\n",
                       frame, facts[FACTS - 2].text, facts[FACTS - 1].text, frame));
    for (int i = 0; i < FACTS && facts[i].label != NULL; ++i) {
        BB_TRY(bb_text_add(&text, "<tr><td>%s</td><td id=\"%s\">", facts[i].label, facts[i].name));
        BB_TRY(add_escaped(&text, facts[i].text));
        BB_TRY(bb_text_add(&text, "</td></tr>\n"));
    }
    BB_TRY(bb_text_add(&text, "</table></main>\n%s", page_script));
    BB_TRY(replace_text(view, "index.html", &text));
done:
    bb_text_release(&text);
    return status;
}

static bb_status write_picture(bb_live_view *view, const double *phase)
{
    bb_status status = BB_OK;
    unsigned char *png = NULL;
    bb_index bytes = 0;
    measure(view, view->columns * view->rows, phase);
    BB_TRY(bb_live_view_draw(view->columns, view->rows, phase,
                             (view->mean_nm + view->valley_nm) * view->rad_per_nm,
                             (view->mean_nm + view->peak_nm) * view->rad_per_nm, &png, &bytes));
    BB_TRY(replace(view, "wavefront.png", png, (size_t)bytes));
done:
    BB_RELEASE(&png);
    return status;
}

bb_status bb_live_view_open(const char *folder, const char *title, double rad_per_nm,
                            bb_live_view **out)
{
    bb_status status = BB_OK;
    static const bb_live_facts nothing = {"starting", "-", 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    bb_live_view *view = NULL;
    BB_REQUIRE(strlen(folder) + 32 < PATH_BYTES, BB_INVALID, "--view %s is too long", folder);
    BB_REQUIRE(mkdir(folder, 0777) == 0 || errno == EEXIST, BB_IO, "cannot make folder '%s': %s",
               folder, strerror(errno));
    BB_TRY(BB_ZEROED(1, &view));
    *view = (bb_live_view){.rad_per_nm = rad_per_nm,
                           .last_s = -INFINITY,
                           .mean_nm = NAN,
                           .rms_nm = NAN,
                           .valley_nm = NAN,
                           .peak_nm = NAN};
    BB_TRY(bb_memory_text(folder, &view->folder));
    BB_TRY(bb_memory_text(title, &view->title));
    BB_TRY(bb_live_view_show(view, 0, 0, NULL, &nothing));
    *out = view;
    view = NULL;
done:
    bb_live_view_close(&view);
    return status;
}

void bb_live_view_close(bb_live_view **view)
{
    if (*view != NULL) {
        BB_RELEASE(&(*view)->folder);
        BB_RELEASE(&(*view)->title);
        BB_RELEASE(view);
    }
}

bool bb_live_view_is_due(const bb_live_view *view)
{
    return bb_clock_seconds() - view->last_s >= period_s;
}

bb_status bb_live_view_show(bb_live_view *view, bb_index columns, bb_index rows,
                            const double *phase, const bb_live_facts *facts)
{
    bb_status status = BB_OK;
    fact list[FACTS];
    if (phase != NULL) {
        view->columns = columns;
        view->rows = rows;
        view->last_s = bb_clock_seconds();
        BB_TRY(write_picture(view, phase));
    }
    list_facts(view, facts, list);
    BB_TRY(write_state(view, facts->frame, list));
    BB_TRY(write_page(view, facts->frame, list));
done:
    return status;
}
