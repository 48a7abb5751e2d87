# The installed package: find_package(postroom CONFIG COMPONENTS sqlite ...), and postroom.pc, postroom-sqlite.pc, ...
# It comes in three parts, which packages of a distribution keep apart: library, dev and program.

include(CMakePackageConfigHelpers)

get_property(backends GLOBAL PROPERTY POSTROOM_BACKENDS)
get_property(sinks GLOBAL PROPERTY POSTROOM_SINKS)
list(TRANSFORM sinks PREPEND sink_)
set(others)
foreach(other admin otlp)
    if(TARGET postroom_${other})
        list(APPEND others ${other})
    endif()
endforeach()
set(parts ${others} ${backends} ${sinks} backends sinks)
list(TRANSFORM parts PREPEND postroom_ OUTPUT_VARIABLE installed_targets)
list(APPEND installed_targets postroom)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/postroom)
# They find each other where they lie, wherever that is: the program's own path does not reach them.
set_target_properties(${installed_targets} PROPERTIES INSTALL_RPATH "$ORIGIN")
if(PROJECT_IS_TOP_LEVEL)
    # In the build tree too: to be able to replace a path later CMake appends an empty entry to it, which means the
    # current folder of whoever starts the program.
    set_target_properties(${installed_targets} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endif()
install(TARGETS ${installed_targets} EXPORT postroomTargets
    LIBRARY COMPONENT library NAMELINK_COMPONENT dev
    ARCHIVE COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/postroom
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
    FILES_MATCHING PATTERN "*.hpp")
install(EXPORT postroomTargets NAMESPACE postroom:: DESTINATION ${package_dir} COMPONENT dev)

# A shared library hides its drivers; a static one makes its users link them.
set(POSTROOM_LINK_PACKAGES "")
if(NOT POSTROOM_SHARED)
    get_property(POSTROOM_LINK_PACKAGES GLOBAL PROPERTY POSTROOM_PACKAGES)
    list(PREPEND POSTROOM_LINK_PACKAGES fmt OpenSSL)
    install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/modules DESTINATION ${package_dir} COMPONENT dev)
endif()
configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/postroomConfig.cmake.in
    ${PROJECT_BINARY_DIR}/postroomConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/postroomConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/postroomConfig.cmake
    ${PROJECT_BINARY_DIR}/postroomConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT dev)

# How many folders above its .pc file the prefix lies: two, or three where libraries have a folder for each architecture.
file(RELATIVE_PATH PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})

# install_pc(<name> <library> REQUIRES <module>... PRIVATE <module>...): <name>.pc for one of the libraries. What it
# names as private only static users link. A shared library brings it along, and whoever builds with one need not have
# it: pkg-config would ask for it all the same.
function(install_pc PC_NAME PC_LIBRARY)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "REQUIRES;PRIVATE")
    list(JOIN arg_REQUIRES " " PC_REQUIRES)
    set(PC_PRIVATE)
    if(NOT POSTROOM_SHARED)
        list(JOIN arg_PRIVATE " " PC_PRIVATE)
    endif()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/postroom.pc.in ${PROJECT_BINARY_DIR}/pkgconfig/${PC_NAME}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${PC_NAME}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

# pc_names(<out> <part>...): postroom-sink-http for sink_http.
function(pc_names out)
    string(REPLACE _ - names "${ARGN}")
    list(TRANSFORM names PREPEND postroom-)
    set(${out} ${names} PARENT_SCOPE)
endfunction()

install_pc(postroom postroom PRIVATE fmt libcrypto)
foreach(part IN LISTS others backends sinks)
    pc_names(pc_name ${part})
    get_property(modules GLOBAL PROPERTY POSTROOM_PKG_CONFIG_${part})
    install_pc(${pc_name} postroom_${part} REQUIRES postroom PRIVATE fmt ${modules})
endforeach()
foreach(all backends sinks)
    pc_names(modules ${${all}})
    install_pc(postroom-${all} postroom_${all} REQUIRES ${modules} postroom PRIVATE fmt)
endforeach()
