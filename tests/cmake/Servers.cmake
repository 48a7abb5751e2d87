# The database servers as ctest fixtures: started before the first test that needs them, stopped after
# the last one, also when tests fail, and also when only one test is selected.
#
# A test requires the outermost fixture; ctest follows the chain (pgbouncer needs postgres). One name
# is all that gtest_discover_tests can pass on.

function(postroom_add_server name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "BEHIND" "")
    set(script ${CMAKE_CURRENT_SOURCE_DIR}/servers/${name}.sh)
    set(folder ${POSTROOM_TEST_SERVERS}/${name})
    add_test(NAME server_${name}_start COMMAND ${script} start ${folder})
    add_test(NAME server_${name}_stop COMMAND ${script} stop ${folder})
    set_tests_properties(server_${name}_start PROPERTIES FIXTURES_SETUP ${name})
    set_tests_properties(server_${name}_stop PROPERTIES FIXTURES_CLEANUP ${name})
    set_tests_properties(server_${name}_start server_${name}_stop PROPERTIES
        LABELS server
        TIMEOUT 120
        ENVIRONMENT POSTROOM_TEST_SERVERS=${POSTROOM_TEST_SERVERS})
    if(arg_BEHIND)
        set_tests_properties(server_${name}_start server_${name}_stop PROPERTIES
            FIXTURES_REQUIRED ${arg_BEHIND})
    endif()
endfunction()

postroom_add_server(postgres)
postroom_add_server(pgbouncer BEHIND postgres)
set(POSTROOM_TEST_SERVER_FIXTURE pgbouncer)
