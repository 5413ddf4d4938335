// Counts how often memory is allocated, in programs that are linked with counted.cpp.
#pragma once

/// Returns the number of calls of operator new, malloc and similar functions since this thread began. The function is
/// defined in another source file, because compilers assume that malloc changes no variable of the program.
long allocations();

/// Returns how many allocations a call makes.
template <class Call>
long counted(Call call) {
  const long before = allocations();
  call();
  return allocations() - before;
}
