# The database servers as ctest fixtures: started before the first test that needs them, stopped after
# the last one, also when tests fail, and also when only one test is selected.
#
# A test requires the outermost fixture; ctest follows the chain (mariadb behind pgbouncer, which needs
# postgres). One name is all that gtest_discover_tests can pass on, so servers that have nothing to do with
# each other stand in one chain.

# postroom_add_server(<name> [BEHIND <fixture>] [LABEL <label>]): servers/<name>.sh as the fixture <name>. The
# label is `server`, or that of the only tests which need it, so that whoever leaves them out leaves it out.
function(postroom_add_server name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "BEHIND;LABEL" "")
    if(NOT arg_LABEL)
        set(arg_LABEL server)
    endif()
    set(script ${CMAKE_CURRENT_SOURCE_DIR}/servers/${name}.sh)
    set(folder ${POSTROOM_TEST_SERVERS}/${name})
    add_test(NAME server_${name}_start COMMAND ${script} start ${folder})
    add_test(NAME server_${name}_stop COMMAND ${script} stop ${folder})
    set_tests_properties(server_${name}_start PROPERTIES FIXTURES_SETUP ${name})
    set_tests_properties(server_${name}_stop PROPERTIES FIXTURES_CLEANUP ${name})
    set_tests_properties(server_${name}_start server_${name}_stop PROPERTIES
        LABELS ${arg_LABEL}
        TIMEOUT 300
        ENVIRONMENT POSTROOM_TEST_SERVERS=${POSTROOM_TEST_SERVERS})
    if(arg_BEHIND)
        set_tests_properties(server_${name}_start server_${name}_stop PROPERTIES
            FIXTURES_REQUIRED ${arg_BEHIND})
    endif()
endfunction()

postroom_add_server(postgres)
postroom_add_server(pgbouncer BEHIND postgres)
postroom_add_server(mariadb BEHIND pgbouncer)
set(POSTROOM_TEST_SERVER_FIXTURE mariadb)

# Downloaded when it is first started.
postroom_add_server(mysql LABEL mysql)

# For the sink of that name, and for the program with it.
postroom_add_server(rabbitmq LABEL sinks_rabbitmq)

# All of them, as one name: nothing of its own, and in the chain at both ends.
add_test(NAME servers_with_rabbitmq_start COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME servers_with_rabbitmq_stop COMMAND ${CMAKE_COMMAND} -E true)
set_tests_properties(servers_with_rabbitmq_start PROPERTIES FIXTURES_SETUP databases_and_rabbitmq)
set_tests_properties(servers_with_rabbitmq_stop PROPERTIES FIXTURES_CLEANUP databases_and_rabbitmq)
set_tests_properties(servers_with_rabbitmq_start servers_with_rabbitmq_stop PROPERTIES
    LABELS program_rabbitmq
    FIXTURES_REQUIRED "${POSTROOM_TEST_SERVER_FIXTURE};rabbitmq")
