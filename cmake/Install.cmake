# `cmake --install`, by the GNU folders, and `uninstall`. Man pages and completions are printed by the
# program from its own tables.
set(BB_PRINTED "${CMAKE_BINARY_DIR}/share")
add_custom_command(
  OUTPUT "${BB_PRINTED}/printed"
  COMMAND "${CMAKE_COMMAND}" -D PROGRAM=$<TARGET_FILE:bitbudget> -D FOLDER=${BB_PRINTED}
          -P "${CMAKE_SOURCE_DIR}/cmake/PrintPages.cmake"
  DEPENDS bitbudget "${CMAKE_SOURCE_DIR}/cmake/PrintPages.cmake"
  COMMENT "Printing the manual's pages and the completions" VERBATIM)
add_custom_target(pages ALL DEPENDS "${BB_PRINTED}/printed")

# The rendered manual, not part of `all`: it needs pandoc and Python, and a minute.
set(BB_MANUAL "${CMAKE_BINARY_DIR}/manual")
set(BB_MANUAL_MAKER "${CMAKE_SOURCE_DIR}/packaging/manual/build.py")
file(GLOB_RECURSE manual_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/docs/*.md"
     "${CMAKE_SOURCE_DIR}/docs/*.svg" "${CMAKE_SOURCE_DIR}/docs/pictures/*"
     "${CMAKE_SOURCE_DIR}/packaging/manual/*"
     "${CMAKE_SOURCE_DIR}/tests/manual/*.py")
add_custom_command(
  OUTPUT "${BB_MANUAL}/index.html"
  COMMAND /usr/bin/python3 "${BB_MANUAL_MAKER}" "${CMAKE_SOURCE_DIR}" $<TARGET_FILE:bitbudget> "${BB_MANUAL}"
  DEPENDS bitbudget bitbudget-bench ${manual_sources} README.md CONTRIBUTING.md CHANGELOG.md outputs/README.md
  COMMENT "Rendering the manual" USES_TERMINAL VERBATIM)
add_custom_target(manual DEPENDS "${BB_MANUAL}/index.html")

# Kernels compiled ahead of time, for machines without a C compiler: about 45 s on two cores, optional.
# Each shipped fringe study runs on a small grid and adds the kernels that the folder lacks; kernel texts
# depend on number types, not on sizes.
option(BB_PREBUILT "Compile kernels beforehand, for installations without a C compiler" OFF)
set(BB_PREBUILT_FOLDER "${CMAKE_BINARY_DIR}/kernels")
file(GLOB prebuilt_studies CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/configs/fringe/*.yaml")
set(prebuild "${CMAKE_COMMAND}" -E env "BB_CC=${CMAKE_C_COMPILER}" $<TARGET_FILE:bitbudget> prebuild)
add_custom_command(
  OUTPUT "${BB_PREBUILT_FOLDER}/made"
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${BB_PREBUILT_FOLDER}"
  COMMAND ${prebuild} -q -o "${BB_PREBUILT_FOLDER}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${BB_PREBUILT_FOLDER}/made"
  DEPENDS bitbudget COMMENT "Compiling the shipped kernels beforehand" VERBATIM)
set(mark "${BB_PREBUILT_FOLDER}/made")
foreach(study ${prebuilt_studies}) # one after the other: at once each would compile the same
  set(before "${mark}")
  get_filename_component(name "${study}" NAME_WE)
  set(mark "${BB_PREBUILT_FOLDER}/made-${name}")
  add_custom_command(
    OUTPUT "${mark}"
    COMMAND ${prebuild} "${study}" size.columns=256 size.rows=240 -q -o "${BB_PREBUILT_FOLDER}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${mark}"
    DEPENDS "${before}" "${study}"
    COMMENT "Compiling the kernels of fringe/${name} beforehand" VERBATIM)
endforeach()
if(BB_PREBUILT)
  set(prebuilt_all ALL)
endif()
add_custom_target(prebuilt ${prebuilt_all} DEPENDS "${mark}")

install(TARGETS bitbudget RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY configs DESTINATION "${CMAKE_INSTALL_DATADIR}/bitbudget")
install(DIRECTORY python/bitbudget DESTINATION "${CMAKE_INSTALL_DATADIR}/bitbudget/python"
        PATTERN "__pycache__" EXCLUDE)
install(FILES LICENSE NOTICE CITATION.cff README.md CHANGELOG.md
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY "${BB_MANUAL}" DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL)
install(DIRECTORY "${BB_PREBUILT_FOLDER}/" DESTINATION "${BB_KERNELS_FOLDER}" OPTIONAL
        FILES_MATCHING PATTERN "*.so")
install(FILES outputs/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/outputs")
install(DIRECTORY "${BB_PRINTED}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}")
install(FILES "${BB_PRINTED}/completions/bitbudget"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")

add_custom_target(uninstall
  COMMAND "${CMAKE_COMMAND}" -D MANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
          -P "${CMAKE_SOURCE_DIR}/cmake/Uninstall.cmake" VERBATIM)
