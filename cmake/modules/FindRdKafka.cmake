# FindRdKafka: the C client of Apache Kafka as the target RdKafka::RdKafka.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(RdKafka_PC QUIET rdkafka)
endif()
find_path(RdKafka_INCLUDE_DIR librdkafka/rdkafka.h HINTS ${RdKafka_PC_INCLUDE_DIRS})
find_library(RdKafka_LIBRARY rdkafka HINTS ${RdKafka_PC_LIBRARY_DIRS})
set(RdKafka_VERSION ${RdKafka_PC_VERSION})
mark_as_advanced(RdKafka_INCLUDE_DIR RdKafka_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RdKafka
    REQUIRED_VARS RdKafka_LIBRARY RdKafka_INCLUDE_DIR
    VERSION_VAR RdKafka_VERSION)
if(RdKafka_FOUND AND NOT TARGET RdKafka::RdKafka)
    add_library(RdKafka::RdKafka UNKNOWN IMPORTED GLOBAL)
    set_target_properties(RdKafka::RdKafka PROPERTIES
        IMPORTED_LOCATION ${RdKafka_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${RdKafka_INCLUDE_DIR})
endif()
