# libholdfast.so and the CMake package around it: find_package(holdfast CONFIG) gives holdfast::holdfast. What the
# library shows is what include/holdfast/ marks with HOLDFAST_EXPORT. docs/adr/0013-shared-library.md says why.

include(CMakePackageConfigHelpers)

# holdfast_library(<layers...>): one shared library of these layers' objects.
function(holdfast_library)
  set(script ${PROJECT_SOURCE_DIR}/cmake/holdfast.map)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/holdfast/*.h)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:hf_\\1>" OUTPUT_VARIABLE objects)
  list(TRANSFORM ARGN PREPEND hf_ OUTPUT_VARIABLE layers)
  add_library(holdfast SHARED ${objects})
  add_library(holdfast::holdfast ALIAS holdfast)
  target_link_libraries(holdfast PRIVATE ${layers})  # for what the layers link to
  target_link_options(holdfast PRIVATE -Wl,--version-script=${script})
  target_sources(holdfast PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
  target_compile_features(holdfast PUBLIC cxx_std_20)
  # Before 1.0 a minor version may change the interface.
  set_target_properties(holdfast PROPERTIES
    LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} LINK_DEPENDS ${script} VERIFY_INTERFACE_HEADER_SETS ON)

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
  install(TARGETS holdfast EXPORT holdfast FILE_SET HEADERS)
  install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfastConfig.cmake DESTINATION ${package})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/holdfastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/holdfastConfigVersion.cmake DESTINATION ${package})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()
