# Debian packages of a build tree, by `cpack -G DEB`: libpostroom<version>, libpostroom-dev and postroom.

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL library dev program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_NAME postroom)
set(CPACK_PACKAGE_CONTACT "The Postroom authors <postroom@users.noreply.github.com>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
get_target_property(interface postroom SOVERSION)
set(library_package libpostroom${interface})
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "transactional outbox and inbox for SQL databases")
string(CONCAT about
    "Messages are written in the transaction that they announce, or received\n"
    "with it, and delivered at least once: to handlers in the same process, to\n"
    "HTTP endpoints, RabbitMQ or Kafka. It works on PostgreSQL, MariaDB, MySQL,\n"
    "SQL Server and SQLite.\n.\n")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "${about}This package has the shared libraries.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    ${packaging}/debian/triggers ${PROJECT_BINARY_DIR}/debian/shlibs)
set(shlibs "")
foreach(target IN LISTS installed_targets)
    string(APPEND shlibs "lib${target} ${interface} ${library_package} (= ${PROJECT_VERSION})\n")
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "${shlibs}")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpostroom-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_DESCRIPTION "${about}This package has what C++ programs need to be built with it.")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${library_package} (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME postroom)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "${about}This package has the program, which relays and operates the queues.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS
    "${library_package} (= ${PROJECT_VERSION}), systemd | systemd-sysusers, systemd | systemd-tmpfiles")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
    ${packaging}/debian/postinst ${packaging}/debian/prerm ${packaging}/debian/postrm ${packaging}/debian/conffiles)
# The program finds our own libraries here; their package is named above.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})

# What a package has besides what is installed.
set(CPACK_POSTROOM_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_POSTROOM_LIBRARY ${library_package})
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/StageDeb.cmake)
include(CPack)
