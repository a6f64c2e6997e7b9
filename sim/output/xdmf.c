// SPDX-License-Identifier: Apache-2.0
#include "sim/output/xdmf.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// Text of an attribute or an element: names of pipelines and files are the user's.
static bb_status add_escaped(bb_text *text, const char *value)
{
    static const struct {
        char character;
        const char *entity;
    } entities[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
    bb_status status = BB_OK;
    for (const char *c = value; *c != '\0'; ++c) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof *entities; ++i) {
            entity = entities[i].character == *c ? entities[i].entity : entity;
        }
        BB_TRY(entity == NULL ? bb_text_add_bytes(text, c, 1) : bb_text_add(text, "%s", entity));
    }
done:
    return status;
}

// <element Name="name" rest>
static bb_status open_named(bb_xdmf *xdmf, const char *element, const char *name, const char *rest)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(xdmf->text, "<%s Name=\"", element));
    BB_TRY(add_escaped(xdmf->text, name));
    BB_TRY(bb_text_add(xdmf->text, "\" %s>\n", rest));
done:
    return status;
}

// `layers`: the extent before the array's, "" for none.
static bb_status add_array(bb_xdmf *xdmf, const char *layers, const bb_xdmf_array *array)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(xdmf->text, "<DataItem Dimensions=\"%s%td", layers, array->rows));
    if (array->columns > 1) {
        BB_TRY(bb_text_add(xdmf->text, " %td", array->columns));
    }
    BB_TRY(bb_text_add(xdmf->text, "\" NumberType=\"Float\" Precision=\"8\" Format=\"HDF\">"));
    BB_TRY(add_escaped(xdmf->text, xdmf->file));
    BB_TRY(bb_text_add(xdmf->text, ":"));
    BB_TRY(add_escaped(xdmf->text, array->dataset));
    BB_TRY(bb_text_add(xdmf->text, "</DataItem>\n"));
done:
    return status;
}

bb_status bb_xdmf_begin(bb_xdmf *xdmf)
{
    return bb_text_add(xdmf->text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                   "<Xdmf Version=\"3.0\">\n<Domain>\n");
}

bb_status bb_xdmf_end(bb_xdmf *xdmf)
{
    return bb_text_add(xdmf->text, "</Domain>\n</Xdmf>\n");
}

bb_status bb_xdmf_open_collection(bb_xdmf *xdmf, const char *name, bb_xdmf_collection collection,
                                  double time)
{
    bb_status status = BB_OK;
    bool temporal = collection == BB_XDMF_TEMPORAL;
    BB_TRY(open_named(xdmf, "Grid", name,
                      temporal ? "GridType=\"Collection\" CollectionType=\"Temporal\""
                               : "GridType=\"Collection\" CollectionType=\"Spatial\""));
    if (!isnan(time)) {
        BB_TRY(bb_text_add(xdmf->text, "<Time Value=\"%.17g\"/>\n", time));
    }
done:
    return status;
}

bb_status bb_xdmf_open_points(bb_xdmf *xdmf, const char *name, const bb_xdmf_array *points,
                              const bb_xdmf_array *index)
{
    bb_status status = BB_OK;
    BB_TRY(open_named(xdmf, "Grid", name, "GridType=\"Uniform\""));
    BB_TRY(bb_text_add(xdmf->text,
                       "<Topology TopologyType=\"Polyvertex\" NumberOfElements=\"%td\" "
                       "NodesPerElement=\"1\">\n",
                       points->rows));
    BB_TRY(add_array(xdmf, "", index));
    BB_TRY(bb_text_add(xdmf->text, "</Topology>\n<Geometry GeometryType=\"XYZ\">\n"));
    BB_TRY(add_array(xdmf, "", points));
    BB_TRY(bb_text_add(xdmf->text, "</Geometry>\n"));
done:
    return status;
}

bb_status bb_xdmf_open_image(bb_xdmf *xdmf, const char *name, const bb_xdmf_image *image)
{
    bb_status status = BB_OK;
    BB_TRY(open_named(xdmf, "Grid", name, "GridType=\"Uniform\""));
    // Extents (of corners), origin and sides slowest first: z, y, x.
    BB_TRY(bb_text_add(xdmf->text,
                       "<Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"2 %td %td\"/>\n"
                       "<Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n",
                       image->rows + 1, image->columns + 1));
    BB_TRY(bb_text_add(xdmf->text,
                       "<DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" "
                       "Format=\"XML\">-1 %.17g %.17g</DataItem>\n",
                       image->y, image->x));
    BB_TRY(bb_text_add(xdmf->text,
                       "<DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" "
                       "Format=\"XML\">1 %.17g %.17g</DataItem>\n</Geometry>\n",
                       image->height, image->width));
done:
    return status;
}

bb_status bb_xdmf_point_array(bb_xdmf *xdmf, const char *name, const bb_xdmf_array *array)
{
    bb_status status = BB_OK;
    BB_TRY(open_named(xdmf, "Attribute", name,
                      array->columns == 3 ? "AttributeType=\"Vector\" Center=\"Node\""
                                          : "AttributeType=\"Scalar\" Center=\"Node\""));
    BB_TRY(add_array(xdmf, "", array));
    BB_TRY(bb_text_add(xdmf->text, "</Attribute>\n"));
done:
    return status;
}

bb_status bb_xdmf_cell_array(bb_xdmf *xdmf, const char *name, const bb_xdmf_array *array)
{
    bb_status status = BB_OK;
    BB_TRY(open_named(xdmf, "Attribute", name, "AttributeType=\"Scalar\" Center=\"Cell\""));
    BB_TRY(add_array(xdmf, "1 ", array));
    BB_TRY(bb_text_add(xdmf->text, "</Attribute>\n"));
done:
    return status;
}

bb_status bb_xdmf_close(bb_xdmf *xdmf)
{
    return bb_text_add(xdmf->text, "</Grid>\n");
}

bb_status bb_xdmf_path(const char *output, char **out)
{
    size_t length = strlen(output);
    bool ends = length > 3 && strcmp(output + length - 3, ".h5") == 0;
    return bb_memory_printf(out, "%.*s.xdmf", (int)(ends ? length - 3 : length), output);
}
