# Part of `cmake --install`: writes the manual page and the completions of PROGRAM into the folder OUTPUT.
get_filename_component(name ${PROGRAM} NAME)
file(MAKE_DIRECTORY ${OUTPUT})
execute_process(COMMAND ${PROGRAM} manual OUTPUT_FILE ${OUTPUT}/${name}.1 COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND gzip -9nf ${OUTPUT}/${name}.1 COMMAND_ERROR_IS_FATAL ANY)
foreach(shell bash zsh fish)
    execute_process(COMMAND ${PROGRAM} completion ${shell} OUTPUT_FILE ${OUTPUT}/${name}.${shell} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
