#include "base.hpp"
#include <cairn/report/residuals.hpp>
int main(){ report::residuals<program<loss>>(std::cout); }
