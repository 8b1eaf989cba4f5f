# The parts of src/host that are no library of the assay program: the recorder and the stand-in CUDA
# runtime (shared objects that extensions are loaded against), the confined runner, and the library
# that replaces libdevice in the semantic build. Laid out as src/base/install.h says.
find_path(ASSAY_CUDA_INCLUDE cuda_runtime_api.h
          HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include /usr/local/cuda-13.0/include
          DOC "Folder of cuda_runtime_api.h (declarations only; no CUDA library is linked)")
find_program(ASSAY_LLVM_AS NAMES llvm-as-14 llvm-as DOC "LLVM assembler, version 14 or older")
find_library(ASSAY_SECCOMP seccomp REQUIRED)

set(host_dir ${CMAKE_SOURCE_DIR}/src/host)
file(GLOB host_rt CONFIGURE_DEPENDS ${host_dir}/standalone/rt/*.cpp)
file(GLOB host_cudart CONFIGURE_DEPENDS ${host_dir}/standalone/cudart/*.cpp)

add_library(assay_record SHARED ${host_rt})
target_include_directories(assay_record PUBLIC ${CMAKE_SOURCE_DIR}/src)
# As nvcc sees them: system headers.
target_include_directories(assay_record SYSTEM PRIVATE ${host_dir}/include ${ASSAY_CUDA_INCLUDE})
target_link_libraries(assay_record PRIVATE assay_tensor assay_program assay_ptx
                                           nlohmann_json::nlohmann_json PkgConfig::ZSTD)
target_link_options(assay_record PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(assay_record PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ASSAY_LIBEXEC}
                                              INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)

# libcudart.so.12 and .13: the same objects, each with the symbol version that binaries ask for.
foreach(version 12 13)
  add_library(assay_cudart_${version} SHARED ${host_cudart})
  target_include_directories(assay_cudart_${version} SYSTEM PRIVATE ${ASSAY_CUDA_INCLUDE})
  target_link_libraries(assay_cudart_${version} PRIVATE assay_record)
  target_compile_definitions(assay_cudart_${version} PRIVATE __CUDA_RUNTIME_API_VERSION_STANDIN=${version})
  target_compile_options(assay_cudart_${version} PRIVATE -Wno-deprecated-declarations)
  set_target_properties(assay_cudart_${version} PROPERTIES
    OUTPUT_NAME cudart-${version} SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY ${ASSAY_LIBEXEC}
    INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON NO_SONAME ON
    LINK_DEPENDS ${host_dir}/standalone/cudart/libcudart-${version}.map)
  target_link_options(assay_cudart_${version} PRIVATE -Wl,-soname,libcudart.so.${version}
    -Wl,--version-script=${host_dir}/standalone/cudart/libcudart-${version}.map)
  add_custom_command(TARGET assay_cudart_${version} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E rename ${ASSAY_LIBEXEC}/libcudart-${version}.so
            ${ASSAY_LIBEXEC}/libcudart.so.${version}
    COMMAND ${CMAKE_COMMAND} -E create_symlink libcudart.so.${version}
            ${ASSAY_LIBEXEC}/libcudart-${version}.so)
endforeach()

add_executable(assay-host-runner ${host_dir}/standalone/runner.cpp ${host_dir}/standalone/confine.cpp)
target_include_directories(assay-host-runner PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_include_directories(assay-host-runner SYSTEM PRIVATE ${host_dir}/include)
target_link_libraries(assay-host-runner PRIVATE assay_record nlohmann_json::nlohmann_json
                                                tl::expected ${ASSAY_SECCOMP} dl)
target_link_options(assay-host-runner PRIVATE -Wl,--no-as-needed
                    ${ASSAY_LIBEXEC}/libcudart-13.so -Wl,--as-needed)
add_dependencies(assay-host-runner assay_cudart_12 assay_cudart_13)
set_target_properties(assay-host-runner PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ASSAY_LIBEXEC}
                                                   INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)

add_executable(assay-confined ${host_dir}/standalone/confined.cpp ${host_dir}/standalone/confine.cpp)
target_include_directories(assay-confined PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(assay-confined PRIVATE ${ASSAY_SECCOMP})
set_target_properties(assay-confined PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ASSAY_LIBEXEC})

add_executable(assay-gen-sem ${host_dir}/standalone/gen_sem.cpp)
target_include_directories(assay-gen-sem PRIVATE ${CMAKE_SOURCE_DIR}/src)
set(sem_bc ${ASSAY_SHARE}/sem.bc)
add_custom_command(
  OUTPUT ${sem_bc}
  COMMAND assay-gen-sem --ll ${CMAKE_BINARY_DIR}/sem.ll
  COMMAND ${ASSAY_LLVM_AS} ${CMAKE_BINARY_DIR}/sem.ll -o ${CMAKE_BINARY_DIR}/sem-plain.bc
  COMMAND assay-gen-sem --restore ${CMAKE_BINARY_DIR}/sem-plain.bc ${sem_bc}
  DEPENDS assay-gen-sem ${host_dir}/libdevice.def
  COMMENT "Assembling the semantic math library"
  VERBATIM)
add_custom_target(assay-sem-bc ALL DEPENDS ${sem_bc})

# Whoever links assay_host needs these at run time.
add_dependencies(assay_host assay-host-runner assay-confined assay-sem-bc)
