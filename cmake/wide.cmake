# sort_wide_programs(TARGET FILE.ssl): compiles the shaders of the file for each class of CPUs (sort/wide/wide.h), and makes them
# part of TARGET; its sources, and those that link it, include FILE_rows.h by the path of FILE.ssl.
add_custom_target(wide_rows) # all made headers, for tools that read sources without compiling them

function(sort_wide_programs target file)
    get_filename_component(name ${file} NAME_WE)
    file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    set(folder ${CMAKE_BINARY_DIR}/made/${room})
    set(objects ${folder}/${name}_objects)
    set(archive ${folder}/lib${name}_kernels.a)
    add_custom_command(OUTPUT ${folder}/${name}_rows.h ${folder}/${name}_rows.c ${archive}
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${objects} ${archive}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${objects}
        COMMAND wide_compile ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${objects}
        COMMAND sh -c "ar qcs \"$1\" \"$2\"/*.o" sh ${archive} ${objects}
        COMMAND ${CMAKE_COMMAND} -E rename ${objects}/${name}_rows.h ${folder}/${name}_rows.h
        COMMAND ${CMAKE_COMMAND} -E rename ${objects}/${name}_rows.c ${folder}/${name}_rows.c
        DEPENDS wide_compile ${file}
        COMMENT "Compiling ${room}/${file} for each class of CPUs" VERBATIM)
    add_custom_target(wide_rows_${name} DEPENDS ${folder}/${name}_rows.h)
    add_dependencies(wide_rows wide_rows_${name})
    add_dependencies(${target} wide_rows_${name})
    target_sources(${target} PRIVATE ${folder}/${name}_rows.c ${folder}/${name}_rows.h)
    target_include_directories(${target} PUBLIC ${CMAKE_BINARY_DIR}/made)
    # The kernels call functions of ssl_rt, so it comes after them when a program is linked.
    add_library(wide_kernels_${name} STATIC IMPORTED GLOBAL)
    set_target_properties(wide_kernels_${name} PROPERTIES IMPORTED_LOCATION ${archive} INTERFACE_LINK_LIBRARIES ssl_rt)
    target_link_libraries(${target} PUBLIC wide_kernels_${name} sort_wide)
endfunction()
