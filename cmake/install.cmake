# What `cmake --install` puts where; other folders add their own programs.
include(CMakePackageConfigHelpers)

set(libraries ingot)
if(NOT INGOT_PORTABLE) # its objects name versions of glibc's functions, which is no use to a static program
  list(APPEND libraries ingot_static)
endif()
install(TARGETS ${libraries} EXPORT ingotTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ingot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
if(TARGET ingotc)
  install(TARGETS ingotc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${INGOT_AIR_LIBRARY} DESTINATION ${CMAKE_INSTALL_DATADIR}/ingot)
endif()

set(INGOT_CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/ingot)
install(EXPORT ingotTargets NAMESPACE ingot:: DESTINATION ${INGOT_CMAKE_FOLDER})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ingotConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ingotConfig.cmake INSTALL_DESTINATION ${INGOT_CMAKE_FOLDER})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ingotConfig.cmake ${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake
  DESTINATION ${INGOT_CMAKE_FOLDER})

# From the folder of ingot.pc to the prefix: the package may be moved.
file(RELATIVE_PATH INGOT_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" INGOT_PREFIX_FROM_PC ${INGOT_PREFIX_FROM_PC})
configure_file(${PROJECT_SOURCE_DIR}/cmake/ingot.pc.in ${PROJECT_BINARY_DIR}/ingot.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ingot.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
