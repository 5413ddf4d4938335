// How often memory is allocated, in programs that counted.cpp is linked to.
#pragma once

/// Calls of operator new, malloc and their like since the program began. A function elsewhere, for compilers hold that
/// malloc changes no variable of a program's.
long allocations();

/// How many of them a call makes.
template <class Call>
long counted(Call call) {
  const long before = allocations();
  call();
  return allocations() - before;
}
