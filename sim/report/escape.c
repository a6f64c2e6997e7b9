// SPDX-License-Identifier: Apache-2.0
#include "sim/report/escape.h"

#include <string.h>

// Bytes of the character of UTF-8 that a text begins with, 0 where it is none.
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

bb_status bb_escape_add(const char *text, bb_text *out)
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
        const int taken = bytes == 0 ? 1 : bytes;
        BB_TRY(bb_text_add_bytes(out, shown == NULL ? rest : shown,
                                 shown == NULL ? taken : (bb_index)strlen(shown)));
        rest += taken;
    }
done:
    return status;
}
