#include "base.hpp"
int main(){ program<loss> step; step.init(seed{1}); std::cout << step.value_and_grad(bind<"images">(x), bind<"classes">(y)); }
