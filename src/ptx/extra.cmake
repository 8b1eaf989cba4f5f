# The coverage page is generated from ops.def, and a test says when it is out of date.
add_executable(assay_ptx_coverage ${CMAKE_SOURCE_DIR}/src/ptx/standalone/coverage.cpp)
target_link_libraries(assay_ptx_coverage PRIVATE assay_ptx)
add_test(NAME docs.ptx_coverage
         COMMAND assay_ptx_coverage --check ${CMAKE_SOURCE_DIR}/docs/ptx-coverage.md)
set_tests_properties(docs.ptx_coverage PROPERTIES LABELS unit)
