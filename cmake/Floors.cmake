# bb_floor(NAME core LINKS ...): a static library of all sources of a folder. The links are the
# allowed edges of the house plan; tests/lint holds the includes to the same list.
function(bb_floor)
  cmake_parse_arguments(ARG "" "NAME" "LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.c")
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  if(BB_HAVE_CUDA)
    file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cu")
    list(APPEND sources ${cuda_sources})
  endif()
  add_library(bb_${ARG_NAME} STATIC ${sources})
  target_link_libraries(bb_${ARG_NAME} PUBLIC bb_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  if(BB_HAVE_CUDA)
    target_compile_definitions(bb_${ARG_NAME} PUBLIC BB_HAVE_CUDA=1)
    target_link_libraries(bb_${ARG_NAME} PUBLIC CUDA::cudart_static)
    target_compile_options(bb_${ARG_NAME} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Xcompiler=-Wall>")
  endif()
endfunction()
