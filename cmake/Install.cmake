# What `cmake --install` puts where, by the GNU folders; `uninstall` takes it away again. The manual's
# pages and the completions are printed by the program itself, from the tables that it works by.
set(BB_PRINTED "${CMAKE_BINARY_DIR}/share")
add_custom_command(
  OUTPUT "${BB_PRINTED}/printed"
  COMMAND "${CMAKE_COMMAND}" -D PROGRAM=$<TARGET_FILE:bitbudget> -D FOLDER=${BB_PRINTED}
          -P "${CMAKE_SOURCE_DIR}/cmake/PrintPages.cmake"
  DEPENDS bitbudget "${CMAKE_SOURCE_DIR}/cmake/PrintPages.cmake"
  COMMENT "Printing the manual's pages and the completions" VERBATIM)
add_custom_target(pages ALL DEPENDS "${BB_PRINTED}/printed")

# The rendered manual, which only who wants it makes: it takes pandoc, gnuplot and a minute.
set(BB_MANUAL "${CMAKE_BINARY_DIR}/manual")
set(BB_MANUAL_MAKER "${CMAKE_SOURCE_DIR}/packaging/manual/build.py")
file(GLOB_RECURSE manual_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/docs/*.md"
     "${CMAKE_SOURCE_DIR}/docs/pictures/*" "${CMAKE_SOURCE_DIR}/packaging/manual/*"
     "${CMAKE_SOURCE_DIR}/tests/manual/*.py")
add_custom_command(
  OUTPUT "${BB_MANUAL}/index.html"
  COMMAND /usr/bin/python3 "${BB_MANUAL_MAKER}" "${CMAKE_SOURCE_DIR}" $<TARGET_FILE:bitbudget> "${BB_MANUAL}"
  DEPENDS bitbudget ${manual_sources} README.md CONTRIBUTING.md CHANGELOG.md outputs/README.md
  COMMENT "Rendering the manual" VERBATIM)
add_custom_target(manual DEPENDS "${BB_MANUAL}/index.html")

install(TARGETS bitbudget RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY configs DESTINATION "${CMAKE_INSTALL_DATADIR}/bitbudget")
install(FILES LICENSE NOTICE CITATION.cff README.md CHANGELOG.md
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY "${BB_MANUAL}" DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL)
install(FILES outputs/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/outputs")
install(DIRECTORY "${BB_PRINTED}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}")
install(FILES "${BB_PRINTED}/completions/bitbudget"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${BB_PRINTED}/completions/_bitbudget"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES "${BB_PRINTED}/completions/bitbudget.fish"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

add_custom_target(uninstall
  COMMAND "${CMAKE_COMMAND}" -D MANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
          -P "${CMAKE_SOURCE_DIR}/cmake/Uninstall.cmake" VERBATIM)
