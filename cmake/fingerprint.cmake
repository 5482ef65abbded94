# sort_fingerprint(TARGET SYMBOL file ...)
#
# Adds `const char SYMBOL[]` to TARGET: a hash of the files' contents, made when one of them changes.
# This file is also the script that the build runs to make it.
if(CMAKE_SCRIPT_MODE_FILE)
    set(hashes "")
    foreach(file IN LISTS FILES)
        file(SHA256 ${file} hash)
        string(APPEND hashes ${hash})
    endforeach()
    string(SHA256 fingerprint "${hashes}")
    file(WRITE ${OUTPUT} "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = \"${fingerprint}\";\n")
    return()
endif()

set(SORT_FINGERPRINT_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(sort_fingerprint target symbol)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSYMBOL=${symbol} "-DFILES=${ARGN}" -P ${SORT_FINGERPRINT_SCRIPT}
        DEPENDS ${ARGN} ${SORT_FINGERPRINT_SCRIPT} VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()
