target_compile_definitions(assay_report PUBLIC ASSAY_VERSION="${PROJECT_VERSION}")
