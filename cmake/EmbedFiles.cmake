# Puts files into the program. Included, it gives embed_files(); run with cmake -P, it writes the source.

# embed_files(<target> <header> <folder> <files...>): makes <build>/embedded/<target>.cc, which defines what the header
# declares, and adds it to the target. index.html is served as "/", the others under "/<name of the folder>/".
function(embed_files target header folder)
  set(source ${CMAKE_BINARY_DIR}/embedded/${target}.cc)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  list(TRANSFORM ARGN PREPEND ${folder}/ OUTPUT_VARIABLE paths)
  list(JOIN ARGN "," names)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DFOLDER=${folder} -DNAMES=${names} -DSOURCE=${source} -P ${script}
    DEPENDS ${paths} ${script} COMMENT "Embedding ${folder}" VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

get_filename_component(root ${FOLDER} NAME)
string(REPLACE "," ";" NAMES ${NAMES})
set(arrays "")
set(entries "")
set(number 0)
foreach(name IN LISTS NAMES)
  file(READ ${FOLDER}/${name} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  file(SHA256 ${FOLDER}/${name} digest)
  string(SUBSTRING ${digest} 0 16 digest)
  string(REGEX REPLACE "^.*\\." "" extension ${name})
  set(path "/${root}/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {\n${bytes}};\n")
  string(APPEND entries "    {\"${path}\", \"${type_${extension}}\", Bytes(kFile${number}), \"\\\"${digest}\\\"\"},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${SOURCE} "// Made by cmake/EmbedFiles.cmake.
#include \"${HEADER}\"

namespace holdfast::wire {
namespace {

${arrays}
template <size_t n>
std::string_view Bytes(const unsigned char (&bytes)[n]) {
  return {reinterpret_cast<const char*>(bytes), n};
}

}  // namespace

std::span<const EmbeddedFile> WebAssets() {
  static const EmbeddedFile files[] = {
${entries}  };
  return files;
}

}  // namespace holdfast::wire
")
