# For find_package(anello): libraries, public headers below include/anello, and what they need.
include(CMakePackageConfigHelpers)
set(package_dir lib/cmake/anello)
install(EXPORT anelloTargets NAMESPACE anello:: DESTINATION ${package_dir} COMPONENT engine)
include(cmake/public_headers.cmake)
anello_install_headers()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/anelloConfig.cmake.in ${PROJECT_BINARY_DIR}/anelloConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/anelloConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/anelloConfig.cmake ${PROJECT_BINARY_DIR}/anelloConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/detector.cmake
  DESTINATION ${package_dir} COMPONENT engine)
