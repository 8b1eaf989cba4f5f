# The hot loops of ieee.h want the vectoriser of -O3, and once more for AVX2 with FMA (dispatched at
# run time). The other files of ieee.h hold per-lane loops that gain from -O3 too.
set(fast ${CMAKE_SOURCE_DIR}/src/base/ieee_fast.cpp ${CMAKE_SOURCE_DIR}/src/base/ieee_fast_avx2.cpp)
if(CMAKE_BUILD_TYPE MATCHES "Rel")
  set_property(SOURCE ${fast} APPEND PROPERTY COMPILE_OPTIONS -O3 -fno-math-errno)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/base/ieee_fast_avx2.cpp APPEND PROPERTY
               COMPILE_OPTIONS -mavx2 -mfma)
endif()
