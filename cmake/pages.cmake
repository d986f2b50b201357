# cmake -DTOOL=caret -DOUT=folder -P pages.cmake: the man page and completions that the tool prints.

function(page file)
    execute_process(COMMAND ${TOOL} ${ARGN} OUTPUT_FILE ${OUT}/${file} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        file(REMOVE ${OUT}/${file})
        message(FATAL_ERROR "${TOOL} ${ARGN}: status ${status}")
    endif()
endfunction()

file(MAKE_DIRECTORY ${OUT})
page(caret completion bash)
page(_caret completion zsh)
page(caret.fish completion fish)
page(caret.1 help --man)
