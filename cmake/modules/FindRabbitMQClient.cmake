# FindRabbitMQClient: the C client of RabbitMQ (rabbitmq-c) as the target RabbitMQClient::RabbitMQClient.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(RabbitMQClient_PC QUIET librabbitmq)
endif()
find_path(RabbitMQClient_INCLUDE_DIR amqp.h HINTS ${RabbitMQClient_PC_INCLUDE_DIRS})
find_library(RabbitMQClient_LIBRARY rabbitmq HINTS ${RabbitMQClient_PC_LIBRARY_DIRS})
set(RabbitMQClient_VERSION ${RabbitMQClient_PC_VERSION})
mark_as_advanced(RabbitMQClient_INCLUDE_DIR RabbitMQClient_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RabbitMQClient
    REQUIRED_VARS RabbitMQClient_LIBRARY RabbitMQClient_INCLUDE_DIR
    VERSION_VAR RabbitMQClient_VERSION)
if(RabbitMQClient_FOUND AND NOT TARGET RabbitMQClient::RabbitMQClient)
    add_library(RabbitMQClient::RabbitMQClient UNKNOWN IMPORTED GLOBAL)
    set_target_properties(RabbitMQClient::RabbitMQClient PROPERTIES
        IMPORTED_LOCATION ${RabbitMQClient_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${RabbitMQClient_INCLUDE_DIR})
endif()
