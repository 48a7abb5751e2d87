# postroom_add_sink(<name>
#     [PACKAGES <package>...]    what find_package() must find for the client library
#     [LIBRARIES <target>...]    the client library; linked privately
#     [PKG_CONFIG <module>...])  its pkg-config modules, for static users of postroom.pc
#
# Called by src/sinks/<name>/CMakeLists.txt. Builds the library postroom_sink_<name>
# (postroom::sink_<name>) from the folder's *.cpp. The folder defines
#     SinkType postroom::sink_<name>::type();

include_guard()

function(postroom_add_sink name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PACKAGES;LIBRARIES;PKG_CONFIG")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "postroom_add_sink(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
    endif()
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # static builds link the library from other folders
    foreach(package IN LISTS arg_PACKAGES)
        find_package(${package} REQUIRED)
    endforeach()

    set(target postroom_sink_${name})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    add_library(${target} ${sources})
    add_library(postroom::sink_${name} ALIAS ${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target}
        PUBLIC postroom
        PRIVATE fmt::fmt ${arg_LIBRARIES})
    set_target_properties(${target} PROPERTIES
        EXPORT_NAME sink_${name}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR})
    postroom_use_build_flags(${target})

    set_property(GLOBAL APPEND PROPERTY POSTROOM_SINKS ${name})
    set_property(GLOBAL PROPERTY POSTROOM_SINK_PKG_CONFIG_${name} ${arg_PKG_CONFIG})
    set_property(GLOBAL APPEND PROPERTY POSTROOM_SINK_PACKAGES ${arg_PACKAGES})
endfunction()
