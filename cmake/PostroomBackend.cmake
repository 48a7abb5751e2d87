# postroom_add_backend(<name>
#     SCHEMES <scheme>...        URL schemes that open_store() hands to this backend
#     [PACKAGES <package>...]    what find_package() must find for the driver
#     [LIBRARIES <target>...]    the driver; linked privately, so users of a shared build need it not
#     [PKG_CONFIG <module>...])  the driver's pkg-config modules, for static users of postroom.pc
#
# Called by src/backends/<name>/CMakeLists.txt. Builds the library postroom_<name>
# (postroom::<name>) from the folder's *.cpp and its migrations/NNNN_name.sql. The folder defines
#     std::unique_ptr<Store> postroom::<name>::open_url(const std::string&, const OpenOptions&);
#     std::unique_ptr<Schema> postroom::<name>::open_schema_url(const std::string&, const OpenOptions&);
# declares, and gets defined from its migrations (see src/sql/migration.hpp),
#     std::span<const sql::EmbeddedMigration> postroom::<name>::migrations();

include_guard()

set(POSTROOM_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedMigrations.cmake)

function(postroom_add_backend name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SCHEMES;PACKAGES;LIBRARIES;PKG_CONFIG")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "postroom_add_backend(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_SCHEMES)
        message(FATAL_ERROR "postroom_add_backend(${name}): SCHEMES is missing")
    endif()
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # static builds link the driver from other folders
    foreach(package IN LISTS arg_PACKAGES)
        find_package(${package} REQUIRED)
    endforeach()

    set(target postroom_${name})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    add_library(${target} ${sources})
    add_library(postroom::${name} ALIAS ${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target}
        PUBLIC postroom
        PRIVATE fmt::fmt ${arg_LIBRARIES})
    set_target_properties(${target} PROPERTIES
        EXPORT_NAME ${name}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR})
    postroom_use_build_flags(${target})
    postroom_embed_migrations(${target} ${name})

    set_property(GLOBAL APPEND PROPERTY POSTROOM_BACKENDS ${name})
    set_property(GLOBAL PROPERTY POSTROOM_BACKEND_SCHEMES_${name} ${arg_SCHEMES})
    set_property(GLOBAL PROPERTY POSTROOM_BACKEND_PKG_CONFIG_${name} ${arg_PKG_CONFIG})
    set_property(GLOBAL APPEND PROPERTY POSTROOM_BACKEND_PACKAGES ${arg_PACKAGES})
endfunction()

# Compiles the folder's migrations/*.sql into <target>, so that a program needs no file beside it.
function(postroom_embed_migrations target name)
    file(GLOB migrations CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/migrations/*.sql)
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}_migrations.cpp)
    add_custom_command(
        OUTPUT ${generated}
        COMMAND ${CMAKE_COMMAND}
            -D BACKEND=${name}
            -D "FILES=$<JOIN:${migrations},|>"
            -D OUTPUT=${generated}
            -P ${POSTROOM_EMBED_SCRIPT}
        DEPENDS ${migrations} ${POSTROOM_EMBED_SCRIPT}
        COMMENT "Embedding the migrations of ${name}"
        VERBATIM)
    target_sources(${target} PRIVATE ${generated})
endfunction()
