// Refuses compilers and options that cairn cannot be compiled with. Every header includes this header first, so a
// compiler that does not fit stops here.
//
// Each message stands where an #include has the name of its file. A file that does not exist ends g++ and clang with
// one error. An #error would not end g++.
#pragma once

#if defined(__clang__) ? __clang_major__ < 19 : __GNUC__ < 12
#include <cairn needs g++ 12, clang 19, or a newer one>
#elif __cplusplus < 202002L
#include <cairn needs C++20: compile with -std=c++20>
#elif defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ == 1 || defined(__ASSOCIATIVE_MATH__) || \
    defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#include <cairn [fast-math]: numbers and checks would be wrong; compile without -ffast-math, -Ofast and their parts>
#endif

// clang defines no macro for the parts of -ffast-math, but it refuses the pragma `float_control(except, on)` if one of
// the parts is on. #line puts the message where clang's error names the file.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-pragmas"  // some processors do not know the pragma
#line 1 "cairn [fast-math]: numbers would be wrong; compile without -funsafe-math-optimizations and its parts"
#pragma float_control(push)
#pragma float_control(except, on)
#pragma float_control(pop)
#pragma clang diagnostic pop
#endif
