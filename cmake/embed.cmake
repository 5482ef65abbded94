# sort_embed(TARGET SYMBOL FILE...): makes the files part of TARGET as
#     const EmbeddedText SYMBOL[] (base/embedded.h), in the order given, ended by an entry without a name.
# As a script (cmake -P) it writes the C source.
if(CMAKE_SCRIPT_MODE_FILE)
    set(text "#include \"base/embedded.h\"\n\n")
    set(table "const EmbeddedText ${SYMBOL}[] = {\n")
    set(index 0)
    foreach(path IN LISTS FILES)
        get_filename_component(name ${path} NAME)
        file(READ ${path} hex HEX)
        file(SIZE ${path} size)
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
        string(REGEX REPLACE "0x0a," "0x0a,\n" bytes "${bytes}") # one source line a line
        string(APPEND text "static const unsigned char file_${index}[] = {${bytes}0};\n")
        string(APPEND table "    {\"${name}\", (const char *)file_${index}, ${size}},\n")
        math(EXPR index "${index} + 1")
    endforeach()
    file(WRITE ${OUTPUT} "${text}\n${table}    {0, 0, 0}};\n")
    return()
endif()

set(SORT_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(sort_embed target symbol)
    set(paths "")
    foreach(file IN LISTS ARGN)
        list(APPEND paths ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    endforeach()
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSYMBOL=${symbol} "-DFILES=${paths}" -P ${SORT_EMBED_SCRIPT}
        DEPENDS ${paths} ${SORT_EMBED_SCRIPT} VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()
