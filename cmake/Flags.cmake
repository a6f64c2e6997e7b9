# Language, warnings and floating-point rules of every target.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # POSIX: pthreads, fsync, clock_gettime
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")

# No contraction: equal sources give equal bits. Recorded in every output.
set(BB_FLOAT_FLAGS -ffp-contract=off -fno-fast-math)
set(BB_WARNING_FLAGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                     -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2)
if(BB_WERROR)
  list(APPEND BB_WARNING_FLAGS -Werror)
endif()

add_library(bb_flags INTERFACE)
target_include_directories(bb_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_definitions(bb_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>)
target_compile_options(bb_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${BB_FLOAT_FLAGS};${BB_WARNING_FLAGS}>")
target_link_libraries(bb_flags INTERFACE m)
# Only the linker's own library path: CMake would pad a path that it changes at installation with ':', an
# empty entry, which makes the loader search the working folder.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# Hardening; checked by tests/lint/binary.py.
target_compile_options(bb_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong;-fstack-clash-protection>")
target_link_options(bb_flags INTERFACE
  "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie;-Wl,-z,relro,-z,now,-z,noexecstack>")
# Objects of a layer are used by its static library and, for tests, by its shared one.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
target_compile_options(bb_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-fno-semantic-interposition>)
if(NOT BB_SANITIZE)
  target_compile_options(bb_flags INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

if(BB_SANITIZE)
  target_compile_definitions(bb_flags INTERFACE BB_SANITIZED)
  target_compile_options(bb_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:-fsanitize=${BB_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  target_link_options(bb_flags INTERFACE "-fsanitize=${BB_SANITIZE}")
endif()
