# postroom_add_backend(<name>
#     SCHEMES <scheme>...        URL schemes that open_store() hands to this backend
#     [PACKAGES <package>...]    what find_package() must find for the driver
#     [LIBRARIES <target>...]    the driver
#     [PKG_CONFIG <module>...])  its pkg-config modules
#
# Called by src/backends/<name>/CMakeLists.txt. Builds the library postroom_<name>
# (postroom::<name>) from the folder's *.cpp, schema/NNNN_name.sql and routines/name.sql, unless POSTROOM_BACKEND_<NAME>
# says otherwise. The folder defines
#     std::unique_ptr<Store> postroom::<name>::open_url(const std::string&, const OpenOptions&);
#     std::unique_ptr<Schema> postroom::<name>::open_schema_url(const std::string&, const OpenOptions&);
# declares, and gets defined from its SQL files (see src/sql/migration.hpp),
#     std::span<const sql::EmbeddedMigration> postroom::<name>::schema_files();
#     std::span<const sql::EmbeddedRoutines> postroom::<name>::routine_files();

include_guard()

set(POSTROOM_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedSql.cmake)

function(postroom_add_backend name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SCHEMES;PACKAGES;LIBRARIES;PKG_CONFIG")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "postroom_add_backend(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_SCHEMES)
        message(FATAL_ERROR "postroom_add_backend(${name}): SCHEMES is missing")
    endif()
    string(TOUPPER ${name} upper)
    postroom_choose(wanted POSTROOM_BACKEND_${upper} "backend ${name}" PACKAGES ${arg_PACKAGES})
    if(wanted)
        postroom_add_component_library(${name}
            PACKAGES ${arg_PACKAGES} LIBRARIES ${arg_LIBRARIES} PKG_CONFIG ${arg_PKG_CONFIG})
        postroom_embed_sql(postroom_${name} ${name})
        set_property(GLOBAL APPEND PROPERTY POSTROOM_BACKENDS ${name})
        set_property(GLOBAL PROPERTY POSTROOM_BACKEND_SCHEMES_${name} ${arg_SCHEMES})
    endif()
endfunction()

# Compiles the folder's SQL files into <target>, so that a program needs no file beside it.
function(postroom_embed_sql target name)
    file(GLOB schema CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/schema/*.sql)
    file(GLOB routines CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/routines/*.sql)
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}_sql.cpp)
    add_custom_command(
        OUTPUT ${generated}
        COMMAND ${CMAKE_COMMAND}
            -D BACKEND=${name}
            -D "SCHEMA=$<JOIN:${schema},|>"
            -D "ROUTINES=$<JOIN:${routines},|>"
            -D OUTPUT=${generated}
            -P ${POSTROOM_EMBED_SCRIPT}
        DEPENDS ${schema} ${routines} ${POSTROOM_EMBED_SCRIPT}
        COMMENT "Embedding the SQL of ${name}"
        VERBATIM)
    target_sources(${target} PRIVATE ${generated})
endfunction()
