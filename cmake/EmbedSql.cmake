# Writes OUTPUT, a source file that holds the SQL files of BACKEND: every NNNN_name.sql of SCHEMA and
# every name.sql of ROUTINES (each separated by |), in the order of their names. The texts are kept to
# the byte: the deployer compares checksums.

function(read_sql file out)
    file(READ ${file} text)
    string(FIND "${text}" ")postroom\"" clash)
    if(NOT clash EQUAL -1)
        message(FATAL_ERROR "${file}: contains the delimiter of the raw string")
    endif()
    set(${out} "R\"postroom(${text})postroom\"" PARENT_SCOPE)
endfunction()

string(REPLACE "|" ";" schema "${SCHEMA}")
string(REPLACE "|" ";" routines "${ROUTINES}")
list(SORT schema COMPARE NATURAL)
list(SORT routines COMPARE NATURAL)
list(LENGTH schema schema_count)
list(LENGTH routines routine_count)

set(schema_entries "")
set(previous 0)
foreach(file IN LISTS schema)
    cmake_path(GET file FILENAME filename)
    if(NOT filename MATCHES "^([0-9][0-9][0-9][0-9])_([a-z0-9_]+)\\.sql$")
        message(FATAL_ERROR "${file}: a file of the schema is named NNNN_name.sql")
    endif()
    set(name ${CMAKE_MATCH_2})
    math(EXPR number "1${CMAKE_MATCH_1} - 10000")
    if(number LESS_EQUAL previous)
        message(FATAL_ERROR "${file}: the number ${number} is taken or zero")
    endif()
    set(previous ${number})
    read_sql(${file} text)
    string(APPEND schema_entries "    sql::EmbeddedMigration{${number}, \"${name}\", ${text}},\n")
endforeach()

set(routine_entries "")
foreach(file IN LISTS routines)
    cmake_path(GET file STEM name)
    read_sql(${file} text)
    string(APPEND routine_entries "    sql::EmbeddedRoutines{\"${name}\", ${text}},\n")
endforeach()

file(WRITE ${OUTPUT}
"// Generated from the SQL files of the backend ${BACKEND}; edit those instead.
#include <array>
#include <span>

#include \"sql/migration.hpp\"

namespace postroom::${BACKEND} {

std::span<const sql::EmbeddedMigration> schema_files();
std::span<const sql::EmbeddedRoutines> routine_files();

namespace {
const std::array<sql::EmbeddedMigration, ${schema_count}> all_schema_files{
${schema_entries}};
const std::array<sql::EmbeddedRoutines, ${routine_count}> all_routine_files{
${routine_entries}};
}  // namespace

std::span<const sql::EmbeddedMigration> schema_files() { return all_schema_files; }
std::span<const sql::EmbeddedRoutines> routine_files() { return all_routine_files; }

}  // namespace postroom::${BACKEND}
")
