# Lane operations: loops over 32 lanes, vectorised; one copy for AVX2 with FMA.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/machine/lanes_base.cpp
  PROPERTIES COMPILE_OPTIONS "-O3")
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/machine/lanes_v3.cpp
  PROPERTIES COMPILE_OPTIONS "-O3;-march=x86-64-v3;-mprefer-vector-width=256")
# Shadow checks of the hazard tracker: branch-free loops over cells, likewise.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/machine/hazard_runs.cpp
  PROPERTIES COMPILE_OPTIONS "-O3")
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/machine/hazard_runs_v3.cpp
  PROPERTIES COMPILE_OPTIONS "-O3;-march=x86-64-v3")
