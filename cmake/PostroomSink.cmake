# postroom_add_sink(<name>
#     [PACKAGES <package>...]    what find_package() must find for the client library
#     [LIBRARIES <target>...]    the client library
#     [PKG_CONFIG <module>...])  its pkg-config modules
#
# Called by src/sinks/<name>/CMakeLists.txt. Builds the library postroom_sink_<name> (postroom::sink_<name>), unless
# POSTROOM_SINK_<NAME> says otherwise. The folder defines
#     SinkType postroom::sink_<name>::type();

include_guard()

function(postroom_add_sink name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PACKAGES;LIBRARIES;PKG_CONFIG")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "postroom_add_sink(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
    endif()
    string(TOUPPER ${name} upper)
    postroom_choose(wanted POSTROOM_SINK_${upper} "sink ${name}" PACKAGES ${arg_PACKAGES})
    if(wanted)
        postroom_add_component_library(sink_${name} ${ARGN})
        set_property(GLOBAL APPEND PROPERTY POSTROOM_SINKS ${name})
    endif()
endfunction()
