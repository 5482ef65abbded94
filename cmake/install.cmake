# The places where `cmake --install` puts files, and the packages that cpack makes of it:
#
#   bin/                                     the programs
#   lib/sort-renderer/                       plugins; the programs look for them beside their own folder
#   lib/python3/dist-packages/sort_package   the writer of scene packages
#   lib/python3/dist-packages/sort_farm      the modules of sort-farm
#   lib/python3/dist-packages/sort_ssl       shaders from Python (with the libraries)
#   lib/, include/                           the libraries for other programs (install_libraries.cmake)
#   share/man, share/bash-completion ...     made by the programs themselves (install_pages.cmake)
#   share/sort-renderer/sort_blender.zip     the add-on, to install from Blender's preferences
#   share/doc/sort-renderer/                 licences and documents
#
# All paths are relative to the prefix, so that the tree may be moved.
set(programs sort-render sslc ssl-test texcache)
set(plugins sort_plugin_decoder_oiio sort_plugin_importer_assimp sort_denoiser_oidn)
install(TARGETS ${programs} RUNTIME DESTINATION bin)
install(TARGETS ${plugins} LIBRARY DESTINATION lib/sort-renderer RUNTIME DESTINATION lib/sort-renderer)
install(PROGRAMS tools/sort_farm/sort-farm DESTINATION bin)
install(DIRECTORY python/sort_package python/sort_farm DESTINATION lib/python3/dist-packages
    FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(FILES README.md CONTRIBUTING.md CHANGELOG.md DESTINATION share/doc/sort-renderer)
install(FILES LICENSE DESTINATION share/doc/sort-renderer RENAME copyright)
install(DIRECTORY docs DESTINATION share/doc/sort-renderer PATTERN .clang-tidy EXCLUDE)

foreach(program ${programs} sort-farm)
    install(CODE "set(PROGRAM \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program}\")
set(OUTPUT \"${CMAKE_BINARY_DIR}/pages\")
include(\"${CMAKE_SOURCE_DIR}/cmake/install_pages.cmake\")")
    set(pages ${CMAKE_BINARY_DIR}/pages/${program})
    install(FILES ${pages}.1.gz DESTINATION share/man/man1)
    install(FILES ${pages}.bash DESTINATION share/bash-completion/completions RENAME ${program})
    install(FILES ${pages}.zsh DESTINATION share/zsh/vendor-completions RENAME _${program})
    install(FILES ${pages}.fish DESTINATION share/fish/vendor_completions.d RENAME ${program}.fish)
endforeach()

install(CODE "execute_process(COMMAND python3 -B \"${CMAKE_SOURCE_DIR}/scripts/package-addon\"
    \"${CMAKE_BINARY_DIR}/pages/sort_blender.zip\" --kept-materials \"${CMAKE_BINARY_DIR}\" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${CMAKE_BINARY_DIR}/pages/sort_blender.zip DESTINATION share/sort-renderer)

include(install_libraries)

# What scripts/package builds: all of the above, and no tests.
add_custom_target(installed DEPENDS ${programs} ${plugins} sort_ssl_shared sort_texcache_shared)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME sort-renderer)
set(CPACK_PACKAGE_VENDOR "The SORT authors")
set(CPACK_PACKAGE_CONTACT "The SORT authors <authors@sort.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "path tracer with paged textures and compiled shaders")
set(CPACK_PACKAGE_DESCRIPTION "SORT renders scenes whose textures do not fit in memory and whose texture coordinates
are computed by code. Materials are programs in SSL, compiled by LLVM; textures are paged within a hard
budget; pictures are reproducible to the bit. It comes with an add-on for Blender.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "blender, python3-numpy, slurm-client")
include(CPack)
