# Tests of the server, with one, two and four workers: test/server/test_TOPIC.lua, and the comparison with redis-server.
# A build that looks for faults of memory has two workers alone; one of small pages holds less than the tests put into
# it, and has none.
if(TARGET caret_server AND NOT CARET_SMALL)
    add_dependencies(unit_tests caret_server caret_tool)
    if(TARGET caret_m)
        add_dependencies(unit_tests caret_m)
    endif()
    set(server_workers 1 2 4)
    if(NOT CARET_SANITIZE) # for test/server/test_failing_disk.lua
        add_library(failing_disk MODULE test/server/failing_disk.c)
        set_target_properties(failing_disk PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
            LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
        add_dependencies(unit_tests failing_disk)
    endif()
    if(CARET_SANITIZE)
        set(server_workers 2)
    endif()
    # What takes much memory is the matter of one worker: two show it, and that another one goes on.
    set(of_one_worker hungry too_large)
    file(GLOB server_tests CONFIGURE_DEPENDS test/server/test_*.lua)
    foreach(source ${server_tests})
        get_filename_component(topic ${source} NAME_WE)
        string(REGEX REPLACE "^test_" "" topic ${topic})
        set(counts ${server_workers})
        if(topic IN_LIST of_one_worker)
            set(counts 2)
        endif()
        foreach(workers ${counts})
            caret_test(server/${topic}_${workers} LABELS server
                COMMAND sh ${PROJECT_SOURCE_DIR}/test/server/run.sh ${workers} ${source})
        endforeach()
    endforeach()
    foreach(workers ${server_workers})
        caret_test(server/differ_${workers} LABELS server
            COMMAND sh ${PROJECT_SOURCE_DIR}/test/server/run.sh ${workers} differ.lua --beside-redis 25 ${workers})
    endforeach()
endif()
