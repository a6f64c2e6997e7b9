# The descriptions of configs/kernels as a generated header, built into the program.
file(GLOB shipped LIST_DIRECTORIES false CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/configs/kernels/*")
set(rows "")
foreach(path ${shipped})
  get_filename_component(file "${path}" NAME)
  set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
  file(READ "${path}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${bytes}")
  string(APPEND rows "    {\"${file}\", \"${text}\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/shipped_kernels.h" @ONLY CONTENT
"// Generated from configs/kernels by cmake/ShippedKernels.cmake.
static const struct {
    const char *file, *text;
} shipped_kernels[] = {
@rows@};
")
