# assay_tensor_eval: runs the operator steps of a Program (see standalone/tensor_eval.cpp).
add_executable(assay_tensor_eval ${CMAKE_SOURCE_DIR}/src/tensor/standalone/tensor_eval.cpp)
target_link_libraries(assay_tensor_eval PRIVATE assay_tensor nlohmann_json::nlohmann_json)

# docs/operators-coverage.md, from ops.def; the test fails while the page is not current.
add_executable(assay_operators_coverage
  ${CMAKE_SOURCE_DIR}/src/tensor/standalone/operators_coverage.cpp)
target_link_libraries(assay_operators_coverage PRIVATE assay_tensor)
add_test(NAME docs.operators_coverage
  COMMAND assay_operators_coverage --check ${CMAKE_SOURCE_DIR}/docs/operators-coverage.md)
set_tests_properties(docs.operators_coverage PROPERTIES LABELS unit)
