# The libraries for other programs, as the component `dev`:
#
#   lib/libsort-ssl.so, lib/libsort-texcache.so   with their versions
#   include/sort_ssl.h, include/sort_texcache.h   each stands alone
#   lib/pkgconfig/*.pc                            pkg-config sort-ssl, sort-texcache
#   lib/cmake/SortSsl, lib/cmake/SortTexcache     find_package; targets SortSsl::sort_ssl, SortTexcache::sort_texcache
#   lib/python3/dist-packages/sort_ssl            libsort-ssl over NumPy arrays
include(CMakePackageConfigHelpers)

function(install_shared_library name package header description)
    set(places ${CMAKE_BINARY_DIR}/libraries)
    string(REPLACE _ - library ${name})
    configure_file(${CMAKE_SOURCE_DIR}/cmake/library.pc.in ${places}/${library}.pc @ONLY)
    configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/library_config.cmake.in ${places}/${package}Config.cmake
        INSTALL_DESTINATION lib/cmake/${package})
    # Until version 1 each minor version may break its interface.
    set(compatibility SameMajorVersion)
    if(PROJECT_VERSION_MAJOR EQUAL 0)
        set(compatibility SameMinorVersion)
    endif()
    write_basic_package_version_file(${places}/${package}ConfigVersion.cmake COMPATIBILITY ${compatibility})
    set_target_properties(${name}_shared PROPERTIES EXPORT_NAME ${name})
    install(TARGETS ${name}_shared EXPORT ${package}Targets LIBRARY DESTINATION lib COMPONENT dev NAMELINK_COMPONENT dev
        INCLUDES DESTINATION include)
    install(EXPORT ${package}Targets NAMESPACE ${package}:: DESTINATION lib/cmake/${package} COMPONENT dev)
    install(FILES ${places}/${package}Config.cmake ${places}/${package}ConfigVersion.cmake
        DESTINATION lib/cmake/${package} COMPONENT dev)
    install(FILES ${places}/${library}.pc DESTINATION lib/pkgconfig COMPONENT dev)
    install(FILES ${header} DESTINATION include COMPONENT dev)
endfunction()

install_shared_library(sort_ssl SortSsl ${CMAKE_SOURCE_DIR}/ssl/api/sort_ssl.h
    "the SORT Shading Language: source text in, machine code with exact derivatives out")
install_shared_library(sort_texcache SortTexcache ${CMAKE_SOURCE_DIR}/textures/api/sort_texcache.h
    "paged, mip-mapped textures under a hard memory budget")
install(DIRECTORY python/sort_ssl DESTINATION lib/python3/dist-packages COMPONENT dev FILES_MATCHING PATTERN "*.py")
