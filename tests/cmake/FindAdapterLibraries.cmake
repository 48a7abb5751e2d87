# The foreign access libraries that our template-only adapters are tested with. Debian ships libpqxx
# with pkg-config only and SOCI with neither.

find_package(PkgConfig REQUIRED)
pkg_check_modules(POSTROOM_PQXX REQUIRED IMPORTED_TARGET libpqxx)
add_library(postroom_test_pqxx INTERFACE)
target_link_libraries(postroom_test_pqxx INTERFACE PkgConfig::POSTROOM_PQXX)

find_path(POSTROOM_SOCI_INCLUDE_DIR soci/soci.h REQUIRED)
add_library(postroom_test_soci INTERFACE)
# SYSTEM: their headers do not compile cleanly under our warnings.
target_include_directories(postroom_test_soci SYSTEM INTERFACE
    ${POSTROOM_SOCI_INCLUDE_DIR} ${POSTROOM_SOCI_INCLUDE_DIR}/soci)
foreach(library soci_core soci_sqlite3 soci_postgresql)
    find_library(POSTROOM_${library}_LIBRARY ${library} REQUIRED)
    target_link_libraries(postroom_test_soci INTERFACE ${POSTROOM_${library}_LIBRARY})
endforeach()
if(POSTROOM_SANITIZE MATCHES "undefined")
    # SOCI's library hides type information that this check would refer to.
    target_compile_options(postroom_test_soci INTERFACE -fno-sanitize=vptr)
endif()
mark_as_advanced(POSTROOM_SOCI_INCLUDE_DIR)
