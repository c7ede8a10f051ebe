# Man pages and shell completion, by tools/command-docs from what the programs' --help prints; installed below share/.
# Not where the programs cannot be run as they are: other processors, sanitizers that end them on a leak; nor in wheels.
find_package(Python3 COMPONENTS Interpreter)
if(CMAKE_CROSSCOMPILING OR INGOT_SANITIZE OR SKBUILD OR NOT Python3_FOUND OR NOT TARGET ingotc)
  return()
endif()
set(INGOT_SHARE ${PROJECT_BINARY_DIR}/share)
file(GLOB INGOT_COMMAND_DOCS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/command_docs/*.py)
add_custom_command(OUTPUT ${INGOT_SHARE}/command-docs.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${INGOT_SHARE}/man ${INGOT_SHARE}/bash-completion ${INGOT_SHARE}/zsh ${INGOT_SHARE}/fish
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/command-docs install $<TARGET_FILE_DIR:ingot_command> ${INGOT_SHARE}
  COMMAND ${CMAKE_COMMAND} -E touch ${INGOT_SHARE}/command-docs.stamp
  DEPENDS ingot_command ingotc ${PROJECT_SOURCE_DIR}/tools/command-docs ${INGOT_COMMAND_DOCS}
  COMMENT "Man pages and shell completion" VERBATIM)
add_custom_target(command_docs ALL DEPENDS ${INGOT_SHARE}/command-docs.stamp)
include(GNUInstallDirs)
install(DIRECTORY ${INGOT_SHARE}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(DIRECTORY ${INGOT_SHARE}/bash-completion ${INGOT_SHARE}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR})
install(DIRECTORY ${INGOT_SHARE}/fish/vendor_completions.d DESTINATION ${CMAKE_INSTALL_DATADIR}/fish)
