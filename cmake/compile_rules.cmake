# The compile options of all our targets, carried by one interface target.
#
#   sort_library(NAME SOURCES a.c b.c [LINK lib ...])   a static library that follows the rules
#   sort_program(NAME SOURCES a.c [LINK lib ...] [WHOLE])    a program in build/<preset>/bin; WHOLE: a release optimises it
#                                                       across files
#   sort_shared_library(NAME SOURCES ... [LINK lib ...])   a shared library for other programs: target NAME_shared, lib<name>.so

# All clones and work trees share what the compiler cache holds: paths inside the tree are no part of its keys.
find_program(CCACHE ccache)
if(CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

add_library(sort_rules INTERFACE)
target_include_directories(sort_rules INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(sort_rules INTERFACE _POSIX_C_SOURCE=200809L SORT_VERSION="${PROJECT_VERSION}")
# -ffp-contract=off: a fused multiply-add appears only where it is written, so that bits do not
# depend on the compiler's mood. -fno-trapping-math: nothing reads the flags of floating-point exceptions, so that loops with
# comparisons may be computed several lanes at once.
target_compile_options(sort_rules INTERFACE -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-omit-frame-pointer
    -Wall -Wextra -Wshadow -Wdouble-promotion -Wformat=2 -Wundef -Wvla -Wcast-qual
    -Wwrite-strings -Wpointer-arith -Wimplicit-fallthrough
    $<$<COMPILE_LANGUAGE:C>:-Wconversion;-Wstrict-prototypes;-Wmissing-prototypes;-Wold-style-definition>
    $<$<COMPILE_LANG_AND_ID:C,Clang>:-Wno-sign-conversion;-Wno-implicit-int-float-conversion;-Wno-enum-float-conversion>
    $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-sign-conversion>)
# Hardening limits the harm of a defect that corrupts memory: the stack is watched and grows page by page, the C library
# checks the sizes of what it writes to, no address is fixed, tables of the linker are read-only, and calls are
# made to land only where calls may (tests/tools/check_hardening.py reads the programs). Sanitizers watch memory themselves.
include(CheckPIESupported)
check_pie_supported()
include(CheckCCompilerFlag)
check_c_compiler_flag(-fcf-protection=full SORT_HAS_CONTROL_FLOW_PROTECTION)
if(NOT SORT_SANITIZE)
    target_compile_options(sort_rules INTERFACE -fstack-protector-strong -fstack-clash-protection
        $<$<BOOL:${SORT_HAS_CONTROL_FLOW_PROTECTION}>:-fcf-protection=full>
        $<$<NOT:$<BOOL:${SORT_COVERAGE}>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
    target_link_options(sort_rules INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack)
endif()
# In a release the programs whose own C computes for long are optimised across files. Compilers of shaders are not: most of
# their time is LLVM's, and each would take a minute to link. All but those programs take the ordinary code that lies beside
# that in the objects, and gold links them, in a fifth of the usual linker's time, since there are many.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold SORT_HAS_GOLD)
set(whole_program $<BOOL:$<TARGET_PROPERTY:SORT_IS_WHOLE_PROGRAM>>)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(sort_rules INTERFACE -flto=auto -ffat-lto-objects)
    target_link_options(sort_rules INTERFACE $<IF:${whole_program},-flto=auto,-fno-lto>)
endif()
if(SORT_HAS_GOLD)
    target_link_options(sort_rules INTERFACE $<$<NOT:${whole_program}>:-fuse-ld=gold>)
endif()
# scripts/build-profiled does both, one after the other: names of counts contain that of the build folder. What was not
# run while counting is compiled as without counts.
set(SORT_PROFILE_FOLDER ${CMAKE_BINARY_DIR}/profile)
if(SORT_PROFILE STREQUAL "record")
    target_compile_options(sort_rules INTERFACE -fprofile-generate -fprofile-update=prefer-atomic
        -fprofile-dir=${SORT_PROFILE_FOLDER})
    target_link_options(sort_rules INTERFACE -fprofile-generate)
elseif(SORT_PROFILE STREQUAL "use")
    target_compile_options(sort_rules INTERFACE -fprofile-use=${SORT_PROFILE_FOLDER} -fprofile-partial-training
        -fprofile-correction -Wno-missing-profile -Wno-coverage-mismatch)
elseif(SORT_PROFILE)
    message(FATAL_ERROR "SORT_PROFILE is '${SORT_PROFILE}'; it must be empty, record or use")
endif()
if(SORT_WERROR)
    target_compile_options(sort_rules INTERFACE -Werror)
endif()
# UBSan's check of function types reads memory in front of the callee, where kernels that were compiled
# at run time have none. Its check of C++ types needs a runtime that the C programs which load the one
# C++ plugin do not bring.
set(SORT_UNDEFINED $<$<C_COMPILER_ID:Clang>:-fno-sanitize=function> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
if(SORT_SANITIZE STREQUAL "address")
    target_compile_options(sort_rules INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined ${SORT_UNDEFINED})
    target_link_options(sort_rules INTERFACE -fsanitize=address,undefined)
elseif(SORT_SANITIZE STREQUAL "thread")
    target_compile_options(sort_rules INTERFACE -fsanitize=thread)
    target_link_options(sort_rules INTERFACE -fsanitize=thread)
elseif(SORT_SANITIZE STREQUAL "fuzz")
    target_compile_options(sort_rules INTERFACE -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined ${SORT_UNDEFINED})
    target_link_options(sort_rules INTERFACE -fsanitize=address,undefined)
elseif(SORT_SANITIZE)
    message(FATAL_ERROR "SORT_SANITIZE is '${SORT_SANITIZE}'; it must be empty, address, thread or fuzz")
endif()
if(SORT_COVERAGE)
    target_compile_options(sort_rules INTERFACE --coverage)
    target_link_options(sort_rules INTERFACE --coverage)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(sort_rules INTERFACE SORT_ASSERTIONS=1)
else()
    target_compile_definitions(sort_rules INTERFACE SORT_ASSERTIONS=0)
endif()

function(sort_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC sort_rules ${ARG_LINK})
endfunction()

function(sort_program name)
    cmake_parse_arguments(ARG "WHOLE" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE sort_rules ${ARG_LINK})
    # Where scripts/package-addon --bundle puts libraries. An RPATH, other than a RUNPATH, holds for what libraries and plugins
    # need in turn. `cmake --install` takes it away.
    set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
    target_link_options(${name} PRIVATE LINKER:--disable-new-dtags)
    if(CMAKE_BUILD_TYPE STREQUAL "Release" AND ARG_WHOLE)
        set_target_properties(${name} PROPERTIES SORT_IS_WHOLE_PROGRAM ON)
    endif()
endfunction()

# Exports nothing but the functions of the header beside API.c, which begin with NAME_; all that it links to of ours is in it.
# Until version 1 each minor version may break its interface, and the name of the library says so.
function(sort_shared_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    set(target ${name}_shared)
    set(exports ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
    file(WRITE ${exports} "{ global: ${name}_*; local: *; };\n")
    add_library(${target} SHARED ${ARG_SOURCES})
    target_link_libraries(${target} PRIVATE sort_rules ${ARG_LINK})
    target_link_options(${target} PRIVATE LINKER:--version-script=${exports} LINKER:--as-needed)
    if(NOT SORT_SANITIZE)
        target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()
    string(REPLACE _ - output ${name})
    set(soversion ${PROJECT_VERSION_MAJOR})
    if(PROJECT_VERSION_MAJOR EQUAL 0)
        set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endfunction()
