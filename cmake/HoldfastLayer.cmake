# One library per folder of src/, and an include root per library that holds just that folder (a link in the
# build tree). A layer sees its own files, include/holdfast/, and the roots of the layers it DEPS on; an upward
# #include therefore fails as "no such file". docs/architecture.md has the order.

# holdfast_together(<target> [<files...>]): compiles eight of its files as one, but the named ones by themselves, so that
# what they include is read once. All of holdfast is built in less than half of the time; after a change of one file
# it takes longer. Files still include what they use: -DHOLDFAST_TOGETHER=OFF shows whether. Two of one target cannot have the same
# name in their anonymous namespaces.
function(holdfast_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HOLDFAST_TOGETHER} UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(HOLDFAST_TOGETHER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # GCC takes the files for headers
  endif()
endfunction()

# holdfast_quick(<target>): code that runs for a moment and is compiled often need not be fast.
function(holdfast_quick target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# holdfast_layer(<name> SRCS <files...> [DEPS <layers...>] [LINK <libraries...>] [LINK_PUBLIC <libraries...>] [TOGETHER])
function(holdfast_layer name)
  cmake_parse_arguments(ARG "TOGETHER" "" "SRCS;DEPS;LINK;LINK_PUBLIC" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)
  list(TRANSFORM ARG_SRCS PREPEND ${PROJECT_SOURCE_DIR}/src/${name}/)
  add_library(hf_${name} STATIC ${ARG_SRCS})
  target_include_directories(hf_${name} PUBLIC ${root} ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM ARG_DEPS PREPEND hf_)
  target_link_libraries(hf_${name} PUBLIC ${ARG_DEPS} ${ARG_LINK_PUBLIC} PRIVATE ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY HOLDFAST_LAYERS ${name})
  if(ARG_TOGETHER)
    holdfast_together(hf_${name})
  endif()
endfunction()

# holdfast_layer_test(<name> SRCS <files...> [LINK <libraries...>] [TOGETHER]): the unit tests that stand beside the code of one layer, linked
# against that layer and what lies beneath it, nothing above.
function(holdfast_layer_test name)
  cmake_parse_arguments(ARG "TOGETHER" "" "SRCS;LINK" ${ARGN})
  if(NOT HOLDFAST_BUILD_TESTS)
    return()
  endif()
  list(TRANSFORM ARG_SRCS PREPEND ${PROJECT_SOURCE_DIR}/src/${name}/)
  add_executable(${name}_test ${ARG_SRCS})
  target_link_libraries(${name}_test PRIVATE hf_${name} ${ARG_LINK} GTest::gtest_main GTest::gmock)
  add_test(NAME unit/${name} COMMAND ${name}_test)
  holdfast_quick(${name}_test)
  if(ARG_TOGETHER)
    holdfast_together(${name}_test)
  endif()
endfunction()
