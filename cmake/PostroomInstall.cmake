# The installed package: find_package(postroom CONFIG COMPONENTS sqlite ...) and postroom.pc.

include(CMakePackageConfigHelpers)

get_property(backends GLOBAL PROPERTY POSTROOM_BACKENDS)
get_property(sinks GLOBAL PROPERTY POSTROOM_SINKS)
set(installed_targets postroom postroom_backends postroom_sinks)
foreach(backend IN LISTS backends)
    list(APPEND installed_targets postroom_${backend})
endforeach()
foreach(sink IN LISTS sinks)
    list(APPEND installed_targets postroom_sink_${sink})
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/postroom)
# They find each other where they lie, wherever that is: the program's own path does not reach them.
set_target_properties(${installed_targets} PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS ${installed_targets} EXPORT postroomTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/postroom
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.hpp")
install(EXPORT postroomTargets NAMESPACE postroom:: DESTINATION ${package_dir})

# A shared library hides its drivers; a static one makes its users link them.
set(POSTROOM_LINK_PACKAGES "")
set(POSTROOM_PKG_CONFIG_PRIVATE "fmt libcrypto")
if(NOT BUILD_SHARED_LIBS)
    get_property(POSTROOM_LINK_PACKAGES GLOBAL PROPERTY POSTROOM_BACKEND_PACKAGES)
    get_property(sink_packages GLOBAL PROPERTY POSTROOM_SINK_PACKAGES)
    list(APPEND POSTROOM_LINK_PACKAGES ${sink_packages})
    list(PREPEND POSTROOM_LINK_PACKAGES fmt OpenSSL)
endif()
configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/postroomConfig.cmake.in
    ${PROJECT_BINARY_DIR}/postroomConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/postroomConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/postroomConfig.cmake
    ${PROJECT_BINARY_DIR}/postroomConfigVersion.cmake
    DESTINATION ${package_dir})

set(POSTROOM_PKG_CONFIG_LIBS "-lpostroom_sinks -lpostroom_backends")
foreach(sink IN LISTS sinks)
    string(APPEND POSTROOM_PKG_CONFIG_LIBS " -lpostroom_sink_${sink}")
    get_property(modules GLOBAL PROPERTY POSTROOM_SINK_PKG_CONFIG_${sink})
    foreach(module IN LISTS modules)
        string(APPEND POSTROOM_PKG_CONFIG_PRIVATE " ${module}")
    endforeach()
endforeach()
foreach(backend IN LISTS backends)
    string(APPEND POSTROOM_PKG_CONFIG_LIBS " -lpostroom_${backend}")
    get_property(modules GLOBAL PROPERTY POSTROOM_BACKEND_PKG_CONFIG_${backend})
    foreach(module IN LISTS modules)
        string(APPEND POSTROOM_PKG_CONFIG_PRIVATE " ${module}")
    endforeach()
endforeach()
string(APPEND POSTROOM_PKG_CONFIG_LIBS " -lpostroom")
configure_file(${CMAKE_CURRENT_LIST_DIR}/postroom.pc.in ${PROJECT_BINARY_DIR}/postroom.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/postroom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
