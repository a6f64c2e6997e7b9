// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/xml_reader.h"

#include "core/memory.h"

#include <expat.h>
#include <string.h>
#include <strings.h>

enum { SHOWN_BYTES = 20 }; // bytes of an unexpected text shown in a message

// Reader state for one pass over the bytes. Places are counted here, because expat reports those of
// elements but not of attributes; they are requested in the order of the text.
typedef struct reader {
    XML_Parser parser;
    bb_status status;
    bb_description *description;
    bb_problems *problems;
    bb_element *element; // current open element
    bb_index skipped;    // number of open elements inside a rejected one
    bool text_told;      // unexpected text has been reported since the last tag
    const char *bytes;
    bb_index length;
    bb_index offset; // byte offset of `place`
    bb_place place;
} reader;

static void *allocate(size_t bytes)
{
    void *block = NULL;
    return bb_memory_allocate((bb_index)bytes, 1, &block) == BB_OK ? block : NULL;
}

static void *reallocate(void *block, size_t bytes)
{
    return bb_memory_resize((bb_index)bytes, 1, &block) == BB_OK ? block : NULL;
}

static void release_block(void *block)
{
    bb_memory_release(&block);
}

// Line and column of a byte at or after the previously requested one; columns count characters.
static bb_place place_of(reader *in, bb_index offset)
{
    for (; in->offset < offset && in->offset < in->length; ++in->offset) {
        const unsigned char byte = (unsigned char)in->bytes[in->offset];
        if (byte == '\n') {
            ++in->place.line;
            in->place.column = 1;
        } else if ((byte & 0xC0U) != 0x80U) {
            ++in->place.column;
        }
    }
    return in->place;
}

static bb_place here(reader *in)
{
    return place_of(in, (bb_index)XML_GetCurrentByteIndex(in->parser));
}

static void record_status(reader *in, bb_status status)
{
    if (status != BB_OK && in->status == BB_OK) {
        in->status = bb_status_trace(status, __FILE__, __LINE__, "reading XML");
        (void)XML_StopParser(in->parser, XML_FALSE);
    }
}

static bool blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

// Skips from the end of a tag's name or of a value to the first byte of the next attribute's name.
static bb_index skip_blanks(const reader *in, bb_index offset)
{
    while (offset < in->length && blank(in->bytes[offset])) {
        ++offset;
    }
    return offset;
}

// Offset after the closing quote of the attribute whose name starts at `offset`.
static bb_index skip_attribute(const reader *in, bb_index offset)
{
    while (offset < in->length && in->bytes[offset] != '"' && in->bytes[offset] != '\'') {
        ++offset;
    }
    const char quote = offset < in->length ? in->bytes[offset] : '"';
    for (++offset; offset < in->length && in->bytes[offset] != quote;) {
        ++offset;
    }
    return offset + 1;
}

static void on_start(void *data, const XML_Char *name, const XML_Char **attributes)
{
    reader *in = data;
    in->text_told = false;
    if (in->skipped > 0) {
        ++in->skipped;
        return;
    }
    bb_element *element = NULL;
    bb_index offset = (bb_index)XML_GetCurrentByteIndex(in->parser) + 1 + (bb_index)strlen(name);
    bb_status status =
        bb_description_add(in->description, in->element, name, here(in), in->problems, &element);
    if (element == NULL) {
        ++in->skipped;
        record_status(in, status);
        return;
    }
    in->element = element;
    for (int i = 0; attributes[i] != NULL && status == BB_OK; i += 2) {
        offset = skip_blanks(in, offset);
        status = bb_description_set(in->description, element, attributes[i], attributes[i + 1],
                                    place_of(in, offset), in->problems);
        offset = skip_attribute(in, offset);
    }
    record_status(in, status);
}

static void on_end(void *data, const XML_Char *name)
{
    (void)name;
    reader *in = data;
    in->text_told = false;
    if (in->skipped > 0) {
        --in->skipped;
    } else {
        in->element = in->element->parent;
    }
}

static void on_text(void *data, const XML_Char *text, int length)
{
    reader *in = data;
    int start = 0;
    while (start < length && blank(text[start])) {
        ++start;
    }
    if (start < length && !in->text_told && in->skipped == 0 && in->status == BB_OK) {
        in->text_told = true;
        int shown = length - start < SHOWN_BYTES ? length - start : SHOWN_BYTES;
        while (start + shown < length && ((unsigned char)text[start + shown] & 0xC0U) == 0x80U) {
            --shown; // do not cut a UTF-8 character
        }
        record_status(in, bb_problems_add(in->problems, here(in),
                                          "unexpected text '%.*s' between elements", shown,
                                          text + start));
    }
}

static void on_doctype(void *data, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    reader *in = data;
    record_status(in,
                  bb_problems_add(in->problems, here(in), "DOCTYPE is not supported; remove it"));
    (void)XML_StopParser(in->parser, XML_FALSE);
}

static void on_declaration(void *data, const XML_Char *version, const XML_Char *encoding,
                           int standalone)
{
    (void)version;
    (void)standalone;
    reader *in = data;
    if (encoding != NULL && strcasecmp(encoding, "UTF-8") != 0) {
        record_status(in, bb_problems_add(in->problems, here(in),
                                          "encoding %.80s is not supported; use UTF-8", encoding));
        (void)XML_StopParser(in->parser, XML_FALSE);
    }
}

// Reports the error of expat, once.
static bb_status report_malformed(const reader *in)
{
    const enum XML_Error code = XML_GetErrorCode(in->parser);
    if (code == XML_ERROR_NO_MEMORY) {
        return BB_MEMORY; // already reported by the allocator
    }
    if (code == XML_ERROR_ABORTED) {
        return BB_OK; // a problem has been reported
    }
    const bb_place place = {in->place.origin, (bb_index)XML_GetCurrentLineNumber(in->parser),
                            (bb_index)XML_GetCurrentColumnNumber(in->parser) + 1};
    return bb_problems_add(in->problems, place, "malformed XML: %s", XML_ErrorString(code));
}

bb_status bb_xml_reader_read(const char *bytes, bb_index length, const char *name,
                             bb_problems *problems, bb_description *out)
{
    bb_status status = BB_OK;
    const XML_Memory_Handling_Suite memory = {allocate, reallocate, release_block};
    *out = (bb_description){0};
    reader in = {.description = out,
                 .problems = problems,
                 .bytes = bytes,
                 .length = length,
                 .place = {name, 1, 1}};
    BB_REQUIRE(length >= 0 && length <= BB_DESCRIPTION_MAX_BYTES, BB_INVALID,
               "%s has %td bytes, expected at most %d", name, length, BB_DESCRIPTION_MAX_BYTES);
    in.parser = XML_ParserCreate_MM("UTF-8", &memory, NULL);
    BB_REQUIRE(in.parser != NULL, BB_MEMORY, "out of memory for the XML parser");
    XML_SetUserData(in.parser, &in);
    XML_SetElementHandler(in.parser, on_start, on_end);
    XML_SetCharacterDataHandler(in.parser, on_text);
    XML_SetStartDoctypeDeclHandler(in.parser, on_doctype);
    XML_SetXmlDeclHandler(in.parser, on_declaration);
    const enum XML_Status parsed = XML_Parse(in.parser, bytes, (int)length, 1);
    BB_TRY(in.status);
    if (parsed != XML_STATUS_OK) {
        BB_TRY(report_malformed(&in));
    } else if (out->root != NULL) {
        BB_TRY(bb_description_complete(out, problems));
    }
done:
    if (in.parser != NULL) {
        XML_ParserFree(in.parser);
    }
    if (status != BB_OK) {
        bb_description_release(out);
    }
    return status;
}
