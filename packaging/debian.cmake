# Differences of Debian from the GNU folders, applied to the installed tree before packaging.
if(CPACK_BB_CUDA)
  message(FATAL_ERROR "packages are made of builds without CUDA (BB_CUDA=OFF); NOTICE says why")
endif()
set(share "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share")
if(NOT IS_DIRECTORY "${share}/man")
  message(FATAL_ERROR "no ${share}/man, expected the installed tree")
endif()
file(REMOVE "${share}/doc/bitbudget/LICENSE") # common-licenses has it
file(COPY "${CPACK_BB_PACKAGING}/copyright" DESTINATION "${share}/doc/bitbudget")
file(GLOB pages "${share}/man/man?/*")
execute_process(COMMAND gzip -9n ${pages} "${share}/doc/bitbudget/CHANGELOG.md"
                COMMAND_ERROR_IS_FATAL ANY)
