# The page of `caret web`, and the HTTP server below it: libmicrohttpd, where its header is.  The library itself is
# loaded when the command runs (front/web/mhd.h), so that nothing else of the tool waits for it.

option(CARET_WEB "The tool has the command web (libmicrohttpd)" ON)
find_path(MICROHTTPD_INCLUDE microhttpd.h)
find_program(GZIP_PROGRAM gzip)
if(CARET_WEB AND NOT MICROHTTPD_INCLUDE)
    message(STATUS "libmicrohttpd's header is missing: the tool has no page (make deps installs libmicrohttpd-dev)")
elseif(CARET_WEB AND NOT GZIP_PROGRAM)
    message(STATUS "gzip is missing: the tool has no page")
endif()
if(CARET_WEB AND MICROHTTPD_INCLUDE AND GZIP_PROGRAM)
    set(CARET_HAS_WEB ON)
else()
    set(CARET_HAS_WEB OFF)
endif()

# The files of the page, compressed, by the names under which they are embedded: page/app.js; and page/version.
macro(caret_page_files names paths)
    if(CARET_HAS_WEB)
        file(GLOB_RECURSE page_files RELATIVE ${PROJECT_SOURCE_DIR}/front/web/page CONFIGURE_DEPENDS
            front/web/page/*)
        list(TRANSFORM page_files PREPEND ${PROJECT_SOURCE_DIR}/front/web/page/ OUTPUT_VARIABLE page_sources)
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/page)
        add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/generated/page/index.html.gz ${CMAKE_BINARY_DIR}/generated/page/version
            COMMAND sh tools/page.sh front/web/page ${CMAKE_BINARY_DIR}/generated/page
            DEPENDS ${page_sources} tools/page.sh WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
        list(APPEND ${names} page/index.html page/version)
        list(APPEND ${paths} ${CMAKE_BINARY_DIR}/generated/page/index.html.gz ${CMAKE_BINARY_DIR}/generated/page/version)
        list(REMOVE_ITEM page_files index.html)
        foreach(file ${page_files})
            set(packed ${CMAKE_BINARY_DIR}/generated/page/${file}.gz)
            get_filename_component(folder ${packed} DIRECTORY)
            file(MAKE_DIRECTORY ${folder})
            add_custom_command(OUTPUT ${packed}
                COMMAND sh -c "${GZIP_PROGRAM} -9nc \"$0\" >\"$1\"" ${PROJECT_SOURCE_DIR}/front/web/page/${file} ${packed}
                DEPENDS ${PROJECT_SOURCE_DIR}/front/web/page/${file} VERBATIM)
            list(APPEND ${names} page/${file})
            list(APPEND ${paths} ${packed})
        endforeach()
    endif()
endmacro()

# The glue, for the tool.
function(caret_web target)
    if(CARET_HAS_WEB)
        file(GLOB web_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/front/web/*.c)
        target_sources(${target} PRIVATE ${web_sources})
        target_compile_definitions(${target} PRIVATE CARET_WEB=1)
        target_include_directories(${target} SYSTEM PRIVATE ${MICROHTTPD_INCLUDE})
    endif()
endfunction()
