# Language, warnings and floating-point rules of every target.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # POSIX: pthreads, fsync, clock_gettime
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")

# Contraction is pinned so that the same source gives the same bits; recorded in every output.
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
if(BB_SANITIZE)
  target_compile_options(bb_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:-fsanitize=${BB_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  target_link_options(bb_flags INTERFACE "-fsanitize=${BB_SANITIZE}")
endif()
