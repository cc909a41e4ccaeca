# anello_instruction_sets(NAME): NAME_scalar.cpp, NAME_sse42.cpp, NAME_avx2.cpp and NAME_avx512.cpp of the calling folder hold
# the same kernels, each compiled for its instruction set; the program chooses among them as it runs. Contraction to FMA
# is asked for by name because ISO C++ mode switches it off.
function(anello_instruction_sets name)
  set(contract -ffp-contract=fast -fno-trapping-math)
  set_source_files_properties(${name}_scalar.cpp ${name}_sse42.cpp PROPERTIES COMPILE_OPTIONS "${contract}")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  set(avx2 -mavx2 -mfma -mbmi -mbmi2 -mlzcnt)
  set_source_files_properties(${name}_avx2.cpp PROPERTIES COMPILE_OPTIONS "${avx2};${contract}")
  # The last two: gcc 12 warns about its own intrinsics.
  set_source_files_properties(${name}_avx512.cpp PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;${avx2};-mprefer-vector-width=512;${contract};-Wno-uninitialized;-Wno-maybe-uninitialized")
endfunction()
