# What `cmake --install` puts where: program, demonstration model and completion; with BIOWARP_SHARED also the library,
# its headers, a CMake package (find_package(biowarp) -> biowarp::biowarp) and a pkg-config file. All of it may be moved
# as a whole: paths inside are relative.
option(BIOWARP_INSTALL "Install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT BIOWARP_INSTALL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/biowarp/models)

if(BIOWARP_CLI)
  set_target_properties(biowarp PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS biowarp RUNTIME)

  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/completion/biowarp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/completion
    COMMAND biowarp completion bash > ${PROJECT_BINARY_DIR}/completion/biowarp
    DEPENDS biowarp VERBATIM)
  add_custom_target(completion ALL DEPENDS ${PROJECT_BINARY_DIR}/completion/biowarp)
  install(FILES ${PROJECT_BINARY_DIR}/completion/biowarp DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

if(BIOWARP_SHARED)
  set_target_properties(biowarp_library PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/biowarp)
  install(TARGETS biowarp_library EXPORT biowarp LIBRARY)
  install(DIRECTORY include/biowarp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT biowarp NAMESPACE biowarp:: FILE biowarpConfig.cmake DESTINATION ${package_folder})
  write_basic_package_version_file(biowarpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/biowarpConfigVersion.cmake DESTINATION ${package_folder})

  file(RELATIVE_PATH pc_include /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
  configure_file(cmake/biowarp.pc.in biowarp.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/biowarp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
