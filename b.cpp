#include "base.hpp"
#include <cairn/report/profile.hpp>
#include <cairn/report/page.hpp>
#include <cairn/report/trace.hpp>
int main(){ program<loss> step; step.init(seed{1}); std::cout << step.value_and_grad(bind<"images">(x), bind<"classes">(y)); auto p=report::profile(step, bind<"images">(x), bind<"classes">(y)); report::profile_table(std::cout,p); report::page(std::cout,p); report::trace(std::cout,p); }
