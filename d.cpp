#include "base.hpp"
#include <cairn/report/profile.hpp>
int main(){ program<loss> step; step.init(seed{1}); std::cout << step.value_and_grad(bind<"images">(x), bind<"classes">(y)); auto p=report::profile(step, bind<"images">(x), bind<"classes">(y)); report::profile_table(std::cout,p); }
