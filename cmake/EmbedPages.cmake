# Writes OUTPUT, a source file that holds the files of FOLDER: as FILE.gz where that lies beside FILE. The bytes are
# included by the assembler; an array of numbers takes the compiler seconds. Files other than the page itself carry their
# hash in their names. An empty folder makes an empty table.

file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
list(FILTER files EXCLUDE REGEX "\\.gz$")
list(SORT files)
list(LENGTH files count)

set(types_html "text/html; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_svg "image/svg+xml")

set(bytes "")
set(declarations "")
set(entries "")
set(index 0)
foreach(file IN LISTS files)
    set(source ${FOLDER}/${file})
    set(gzip false)
    if(EXISTS ${source}.gz)
        string(APPEND source .gz)
        set(gzip true)
    endif()
    file(SHA256 ${source} hash)
    string(SUBSTRING ${hash} 0 32 etag)
    cmake_path(GET file EXTENSION LAST_ONLY kind)
    string(SUBSTRING ${kind} 1 -1 kind)
    if(NOT types_${kind})
        message(FATAL_ERROR "${file}: no content type for .${kind}")
    endif()
    set(path /${file})
    set(immutable true)
    if(file STREQUAL index.html)
        set(path /)
        set(immutable false)
    endif()
    set(name postroom_page_${index})
    string(APPEND bytes
        "    \".globl ${name}\\n${name}:\\n.incbin \\\"${source}\\\"\\n\"\n"
        "    \".globl ${name}_end\\n${name}_end:\\n.byte 0\\n\"\n")
    string(APPEND declarations "    extern const char ${name}[];\n    extern const char ${name}_end[];\n")
    string(APPEND entries
        "        {\"${path}\", {.bytes = {${name}, ${name}_end},\n"
        "                      .content_type = \"${types_${kind}}\",\n"
        "                      .etag = \"\\\"${etag}\\\"\",\n"
        "                      .gzip = ${gzip},\n"
        "                      .immutable = ${immutable}}},\n")
    math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUTPUT}
"// Generated from the files of the dashboard; edit those instead.
#include <array>

#include \"daemon/dashboard.hpp\"

asm(\".section .rodata\\n\"
${bytes}    \".previous\\n\");

extern \"C\" {
${declarations}}

namespace postroom::daemon {

std::span<const DashboardFile> dashboard_files() {
    static const std::array<DashboardFile, ${count}> files{{
${entries}    }};
    return files;
}

}  // namespace postroom::daemon
")
