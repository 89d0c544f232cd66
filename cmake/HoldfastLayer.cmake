# One library per folder of src/, and an include root per library that holds just that folder (a link in the
# build tree). A layer sees its own files, include/holdfast/, and the roots of the layers it DEPS on; an upward
# #include therefore fails as "no such file". docs/architecture.md has the order.

# holdfast_precompile(<target> <headers...>): parses what most files of the target include once for all of them; worth
# it from some six files on. Files still include what they use: -DHOLDFAST_PRECOMPILE=OFF shows whether.
function(holdfast_precompile target)
  # From a precompiled header clang 14's analysis of locks sees too little.
  if(HOLDFAST_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# holdfast_quick(<target>): code that runs for a moment and is compiled often need not be fast.
function(holdfast_quick target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# holdfast_layer(<name> SRCS <files...> [DEPS <layers...>] [LINK <libraries...>] [LINK_PUBLIC <libraries...>]
#                [PRECOMPILE <headers...>])
function(holdfast_layer name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;LINK;LINK_PUBLIC;PRECOMPILE" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)
  list(TRANSFORM ARG_SRCS PREPEND ${PROJECT_SOURCE_DIR}/src/${name}/)
  add_library(hf_${name} STATIC ${ARG_SRCS})
  target_include_directories(hf_${name} PUBLIC ${root} ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM ARG_DEPS PREPEND hf_)
  target_link_libraries(hf_${name} PUBLIC ${ARG_DEPS} ${ARG_LINK_PUBLIC} PRIVATE ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY HOLDFAST_LAYERS ${name})
  if(ARG_PRECOMPILE)
    holdfast_precompile(hf_${name} ${ARG_PRECOMPILE})
  endif()
endfunction()

# holdfast_layer_test(<name> SRCS <files...>): the unit tests that stand beside the code of one layer, linked
# against that layer and what lies beneath it, nothing above.
function(holdfast_layer_test name)
  cmake_parse_arguments(ARG "" "" "SRCS;LINK;PRECOMPILE" ${ARGN})
  if(NOT HOLDFAST_BUILD_TESTS)
    return()
  endif()
  list(TRANSFORM ARG_SRCS PREPEND ${PROJECT_SOURCE_DIR}/src/${name}/)
  add_executable(${name}_test ${ARG_SRCS})
  target_link_libraries(${name}_test PRIVATE hf_${name} ${ARG_LINK} GTest::gtest_main GTest::gmock)
  add_test(NAME unit/${name} COMMAND ${name}_test)
  holdfast_quick(${name}_test)
  if(ARG_PRECOMPILE)
    holdfast_precompile(${name}_test <gtest/gtest.h> ${ARG_PRECOMPILE})
  endif()
endfunction()
