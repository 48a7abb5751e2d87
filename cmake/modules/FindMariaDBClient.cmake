# FindMariaDBClient: MariaDB Connector/C as the target MariaDBClient::MariaDBClient.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(MariaDBClient_PC QUIET libmariadb)
endif()
find_path(MariaDBClient_INCLUDE_DIR mysql.h
    HINTS ${MariaDBClient_PC_INCLUDE_DIRS} PATH_SUFFIXES mariadb)
find_library(MariaDBClient_LIBRARY mariadb HINTS ${MariaDBClient_PC_LIBRARY_DIRS})
set(MariaDBClient_VERSION ${MariaDBClient_PC_VERSION})
mark_as_advanced(MariaDBClient_INCLUDE_DIR MariaDBClient_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MariaDBClient
    REQUIRED_VARS MariaDBClient_LIBRARY MariaDBClient_INCLUDE_DIR
    VERSION_VAR MariaDBClient_VERSION)
if(MariaDBClient_FOUND AND NOT TARGET MariaDBClient::MariaDBClient)
    add_library(MariaDBClient::MariaDBClient UNKNOWN IMPORTED GLOBAL)
    set_target_properties(MariaDBClient::MariaDBClient PROPERTIES
        IMPORTED_LOCATION ${MariaDBClient_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${MariaDBClient_INCLUDE_DIR})
endif()
