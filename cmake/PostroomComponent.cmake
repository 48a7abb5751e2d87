# A component is a part that can be left out: a backend or a sink with the client library it needs, or the program.
#
# POSTROOM_COMPONENTS holds for all of them, POSTROOM_BACKEND_<NAME>, POSTROOM_SINK_<NAME>, POSTROOM_ADMIN, POSTROOM_OTLP or
# POSTROOM_PROGRAM for one:
#   AUTO  built when what it needs is there; the summary says what was missing
#   ON    built; it is an error when something is missing
#   OFF   not built

include_guard()

set(POSTROOM_COMPONENTS AUTO CACHE STRING "What holds for every backend, every sink and the program: AUTO, ON or OFF")
set_property(CACHE POSTROOM_COMPONENTS PROPERTY STRINGS AUTO ON OFF)

# postroom_choose(<out> <switch> <what> [DEFAULT <value>] [PACKAGES <package>...]): whether the component <what> is built,
# after looking for its packages. The switch appears in the cache; the choice, in the summary.
function(postroom_choose out switch what)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "DEFAULT" "PACKAGES")
    if(NOT DEFINED arg_DEFAULT)
        set(arg_DEFAULT ${POSTROOM_COMPONENTS})
    endif()
    set(${switch} ${arg_DEFAULT} CACHE STRING "The ${what}: AUTO, ON or OFF")
    set_property(CACHE ${switch} PROPERTY STRINGS AUTO ON OFF)
    set(${out} FALSE PARENT_SCOPE)
    if(NOT ${switch} AND NOT ${switch} STREQUAL AUTO)
        postroom_summarize("${what}" "no: ${switch} is ${${switch}}")
        return()
    endif()

    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # static builds link the library from other folders
    set(found)
    foreach(package IN LISTS arg_PACKAGES)
        find_package(${package} QUIET)
        if(${package}_FOUND)
            set(version ${${package}_VERSION} ${${package}_VERSION_STRING})  # either, by its age, or both
            if(version)
                list(GET version 0 version)
                list(APPEND found "${package} ${version}")
            else()
                list(APPEND found ${package})
            endif()
        elseif(${switch} STREQUAL AUTO)
            postroom_summarize("${what}" "no: ${package} was not found")
            return()
        else()
            message(FATAL_ERROR "postroom: the ${what} needs ${package}, which was not found. "
                "Install it, or leave the ${what} out with -D${switch}=OFF.")
        endif()
    endforeach()
    list(JOIN found ", " with)
    if(with)
        string(PREPEND with ", with ")
    endif()
    postroom_summarize("${what}" "yes${with}")
    set(${out} TRUE PARENT_SCOPE)
endfunction()

function(postroom_summarize what choice)
    set_property(GLOBAL APPEND PROPERTY POSTROOM_SUMMARY "${what}: ${choice}")
endfunction()

function(postroom_print_summary)
    set(kind static)
    if(POSTROOM_SHARED)
        set(kind shared)
    endif()
    message(STATUS "Postroom ${PROJECT_VERSION}, ${kind} libraries")
    get_property(lines GLOBAL PROPERTY POSTROOM_SUMMARY)
    foreach(line IN LISTS lines)
        message(STATUS "  ${line}")
    endforeach()
endfunction()

# postroom_set_version(<target>): before 1.0 every minor version may change the binary interface.
function(postroom_set_version target)
    set(interface ${PROJECT_VERSION_MAJOR})
    if(PROJECT_VERSION_MAJOR EQUAL 0)
        set(interface ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    endif()
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${interface})
endfunction()

# postroom_add_component_library(<name> [PACKAGES <package>...] [LIBRARIES <target>...] [PKG_CONFIG <module>...]): the
# library postroom_<name> (postroom::<name>) from the *.cpp of the calling folder. Its client library is linked privately,
# so that users of a shared build need it not; users of a static one find it by its package or its pkg-config modules.
function(postroom_add_component_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PACKAGES;LIBRARIES;PKG_CONFIG")
    set(target postroom_${name})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    add_library(${target} ${sources})
    add_library(postroom::${name} ALIAS ${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target}
        PUBLIC postroom
        PRIVATE fmt::fmt ${arg_LIBRARIES})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    postroom_set_version(${target})
    postroom_use_build_flags(${target})
    set_property(GLOBAL APPEND PROPERTY POSTROOM_PACKAGES ${arg_PACKAGES})
    set_property(GLOBAL PROPERTY POSTROOM_PKG_CONFIG_${name} ${arg_PKG_CONFIG})
    set_property(GLOBAL PROPERTY POSTROOM_LIBRARIES_${name} ${arg_LIBRARIES})
endfunction()
