# sort_test(AREA NAME SOURCES a.c [LINK lib ...] [ARGS ...] [LABELS ...] [TIMEOUT s])
#
# A cmocka program registered as the ctest "AREA.NAME" with the label AREA and those given:
#     threads   runs under the thread sanitizer too; for what tests threads, and not means over many samples
#     slow      runs under no sanitizer; for means over many samples, and whatever else repeats the same code for long
#     asan      scripts/test --all has it under the address sanitizer alone; for long tests of the compiler
#     spare     scripts/test --all leaves it out
# The build for the thread sanitizer makes those with `threads` alone, and others by their names, test_AREA_NAME.
#
# sort_test_cost(NAME SECONDS): what a long test takes in that suite of CI where it takes longest. Tests begin in the order of
# their cost, those without in the order of their numbers, so that no long one goes on alone when all others have ended.
function(sort_test_cost name seconds)
    set_tests_properties(${name} PROPERTIES COST ${seconds})
endfunction()

find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

function(sort_test area name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;ARGS;LABELS" ${ARGN})
    set(target test_${area}_${name})
    add_executable(${target} ${ARG_SOURCES})
    target_link_libraries(${target} PRIVATE sort_rules PkgConfig::CMOCKA ${ARG_LINK})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    if("threads" IN_LIST ARG_LABELS)
        set_property(GLOBAL APPEND PROPERTY SORT_THREADED_TESTS ${target})
    endif()
    add_test(NAME ${area}.${name} COMMAND ${target} ${ARG_ARGS} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 300)
    endif()
    set_tests_properties(${area}.${name} PROPERTIES LABELS "${area};${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
    if(SORT_SANITIZE STREQUAL "thread")
        set_tests_properties(${area}.${name} PROPERTIES ENVIRONMENT
            "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/thread_sanitizer.supp")
    endif()
endfunction()
