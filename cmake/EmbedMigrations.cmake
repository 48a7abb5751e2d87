# Writes OUTPUT, a source file that holds every NNNN_name.sql of FILES (separated by |), the migrations
# of BACKEND, in the order of their numbers. The text is kept to the byte: the migrator compares checksums.

string(REPLACE "|" ";" files "${FILES}")
list(SORT files COMPARE NATURAL)
list(LENGTH files count)

set(entries "")
set(previous 0)
foreach(file IN LISTS files)
    cmake_path(GET file FILENAME filename)
    if(NOT filename MATCHES "^([0-9][0-9][0-9][0-9])_([a-z0-9_]+)\\.sql$")
        message(FATAL_ERROR "${file}: a migration is named NNNN_name.sql")
    endif()
    set(name ${CMAKE_MATCH_2})
    math(EXPR number "1${CMAKE_MATCH_1} - 10000")
    if(number LESS_EQUAL previous)
        message(FATAL_ERROR "${file}: the number ${number} is taken or zero")
    endif()
    set(previous ${number})

    file(READ ${file} text)
    string(FIND "${text}" ")postroom\"" clash)
    if(NOT clash EQUAL -1)
        message(FATAL_ERROR "${file}: contains the delimiter of the raw string")
    endif()
    string(APPEND entries
        "    sql::EmbeddedMigration{${number}, \"${name}\", R\"postroom(${text})postroom\"},\n")
endforeach()

file(WRITE ${OUTPUT}
"// Generated from the migrations folder of the backend ${BACKEND}; edit the .sql files instead.
#include <array>
#include <span>

#include \"sql/migration.hpp\"

namespace postroom::${BACKEND} {

std::span<const sql::EmbeddedMigration> migrations();

namespace {
const std::array<sql::EmbeddedMigration, ${count}> all_migrations{
${entries}};
}  // namespace

std::span<const sql::EmbeddedMigration> migrations() { return all_migrations; }

}  // namespace postroom::${BACKEND}
")
