# caret-server, the program that `caret serve` is: a Redis-protocol server (docs/server.md).  Its table of commands is Lua
# (front/server/commands), which becomes C when it is built.

find_program(server_lua NAMES lua5.4 lua5.3)
if(NOT server_lua)
    message(STATUS "lua5.4 is missing: the server is not built (make deps installs it)")
    return()
endif()
file(GLOB server_sources CONFIGURE_DEPENDS front/server/*.c front/server/keys/*.c front/server/data/*.c
    front/server/zset/*.c front/server/stream/*.c front/server/admin/*.c front/server/meet/*.c front/server/node/*.c)
if(CARET_SCRIPT_LUA)
    file(GLOB server_scripts CONFIGURE_DEPENDS front/server/script/*.c)
    list(REMOVE_ITEM server_scripts ${PROJECT_SOURCE_DIR}/front/server/script/none.c)
    foreach(module ${script_sources})
        list(REMOVE_ITEM server_scripts ${PROJECT_SOURCE_DIR}/${module})
    endforeach()
else()
    message(STATUS "LuaJIT and Lua 5.1 are missing: the server has no scripts (make deps installs them)")
    set(server_scripts front/server/script/none.c)
endif()
file(GLOB server_tables CONFIGURE_DEPENDS front/server/commands/*.lua)
set(server_generated ${CMAKE_BINARY_DIR}/generated/server)
file(MAKE_DIRECTORY ${server_generated})
set(server_made ${server_generated}/commands.inc ${server_generated}/functions.h)
add_custom_command(OUTPUT ${server_made}
    COMMAND ${server_lua} ${PROJECT_SOURCE_DIR}/front/server/commands.lua ${PROJECT_SOURCE_DIR}/front/server/commands
        ${server_made}
    DEPENDS front/server/commands.lua ${server_tables} VERBATIM COMMENT "Making the table of commands")
foreach(text sandbox quick)
    add_custom_command(OUTPUT ${server_generated}/${text}.inc
        COMMAND ${CMAKE_COMMAND} -DFROM=${PROJECT_SOURCE_DIR}/front/server/script/${text}.lua
            -DOUT=${server_generated}/${text}.inc -P ${PROJECT_SOURCE_DIR}/cmake/bytes.cmake
        DEPENDS front/server/script/${text}.lua cmake/bytes.cmake VERBATIM)
    list(APPEND server_made ${server_generated}/${text}.inc)
endforeach()
# TLS: OpenSSL, where its headers are.
option(CARET_TLS "The server knows TLS (OpenSSL 3)" ON)
if(CARET_TLS)
    find_package(OpenSSL 3.0 QUIET COMPONENTS SSL)
    if(NOT OPENSSL_FOUND)
        message(STATUS "OpenSSL's headers are missing: the server has no TLS (make deps installs libssl-dev)")
    endif()
endif()
if(CARET_TLS AND OPENSSL_FOUND)
    file(GLOB server_tls CONFIGURE_DEPENDS front/server/tls/*.c)
    list(REMOVE_ITEM server_tls ${PROJECT_SOURCE_DIR}/front/server/tls/none.c)
else()
    set(server_tls front/server/tls/none.c)
endif()
add_library(caret_server_objects OBJECT ${server_sources} ${server_scripts} ${server_tls}
    ${server_made})
target_link_libraries(caret_server_objects PUBLIC caret_flags)
target_include_directories(caret_server_objects PUBLIC ${CMAKE_BINARY_DIR}/generated)
add_executable(caret_server $<TARGET_OBJECTS:caret_server_objects> $<TARGET_OBJECTS:caret_m_objects>)
set_target_properties(caret_server PROPERTIES OUTPUT_NAME caret-server LINKER_LANGUAGE C)
target_link_libraries(caret_server PRIVATE caret_server_parts caret_static m ${CMAKE_DL_LIBS})
if(CARET_TLS AND OPENSSL_FOUND)
    target_include_directories(caret_server_objects SYSTEM PRIVATE ${OPENSSL_INCLUDE_DIR})
    target_link_libraries(caret_server PRIVATE OpenSSL::SSL OpenSSL::Crypto)
endif()
if(CARET_SCRIPT_LUA)
    target_include_directories(caret_server_objects SYSTEM PRIVATE ${CARET_SCRIPT_INCLUDE})
    target_link_libraries(caret_server PRIVATE caret_server_script ${CARET_SCRIPT_LUA} dl)
endif()
