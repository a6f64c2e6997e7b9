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

install(TARGETS bitbudget RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY configs DESTINATION "${CMAKE_INSTALL_DATADIR}/bitbudget")
install(FILES LICENSE NOTICE CITATION.cff README.md CHANGELOG.md
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        PATTERN "__pycache__" EXCLUDE)
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
