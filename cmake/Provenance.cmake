# Build information recorded in outputs: version, commit, compiler and flags.
find_package(Git QUIET)
set(BB_COMMIT "" CACHE STRING "Commit id, where the source tree has no .git")
set(commit "${BB_COMMIT}")
if(NOT commit AND GIT_FOUND AND EXISTS "${CMAKE_SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --dirty --abbrev=12
                  WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
  set(commit unknown)
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(JOIN " " BB_FLAGS_TEXT ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}} ${BB_FLOAT_FLAGS})
string(STRIP "${BB_FLAGS_TEXT}" BB_FLAGS_TEXT)
set(BB_COMMIT_TEXT "${commit}")
file(RELATIVE_PATH BB_SHARE_FROM_PROGRAM "${CMAKE_INSTALL_FULL_BINDIR}"
     "${CMAKE_INSTALL_FULL_DATADIR}/bitbudget")
file(RELATIVE_PATH BB_KERNELS_FROM_PROGRAM "${CMAKE_INSTALL_FULL_BINDIR}"
     "${CMAKE_INSTALL_PREFIX}/${BB_KERNELS_FOLDER}")
configure_file("${CMAKE_SOURCE_DIR}/cmake/build_info.h.in"
               "${CMAKE_BINARY_DIR}/generated/build_info.h" @ONLY)

# Lets the program of a build tree find the shipped files (sim/config/shipped_folder.c) and the Python package.
file(CREATE_LINK "${CMAKE_SOURCE_DIR}/configs" "${CMAKE_BINARY_DIR}/configs" SYMBOLIC)
file(CREATE_LINK "${CMAKE_SOURCE_DIR}/python" "${CMAKE_BINARY_DIR}/python" SYMBOLIC)
