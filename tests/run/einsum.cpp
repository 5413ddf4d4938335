// Products of lettered axes: gradients, and the values and gradients of PyTorch.
#include "gradients.hpp"
#include "torch_values.hpp"

BOOST_AUTO_TEST_SUITE(lettered_products)

constexpr auto a = param<"a", 2, 3, 4>;
constexpr auto b = param<"b", 2, 4, 3>;
constexpr auto c = param<"c", 4, 3>;
constexpr auto d = param<"d", 4>;

BOOST_AUTO_TEST_CASE(gradients_of_products) {
  constexpr auto y = einsum<"bij,bjk->kbi">(square(a), b) * einsum<"bij,jk->kbi">(a, c) +
                     einsum<"ij,bki->jbk">(c, a) * einsum<"bij,bji->bi">(a, b) + einsum<"ji,j->i">(c, square(d));
  check<weighted(y)>();
  check<sum(square(grad(weighted(y), a))) + sum(square(grad(weighted(y), c)))>();
}
constexpr auto product = [](auto h, auto w) { return tanh(einsum<"bij,jk->bik">(h, w)); };
BOOST_AUTO_TEST_CASE(in_segments_and_mixed_precision) {
  program<weighted(product(a, c)), real<double>> stored;
  program<weighted(ckpt<"inner">(product, a, c)), real<double>> recomputed;
  program<weighted(ckpt<"inner">(product, a, c)), mixed<bf16>> rounded;
  const auto run = [](auto& step) {
    step.init(seed{3});
    return static_cast<double>(step.value_and_grad());
  };
  const double value = run(stored);
  BOOST_TEST(value == run(recomputed));
  BOOST_TEST(std::abs(run(rounded) - value) < 0.1);
}
BOOST_AUTO_TEST_CASE(values_of_pytorch) {
  constexpr auto rows = einsum<"bij,bji->bi">(a, b);
  agrees<einsum<"bij,bjk->bik">(a, b) * einsum<"bij,jk->bik">(a, c) + einsum<"bij,kl->bil">(a, c) +
         einsum<"ji,j->i">(c, d) + einsum<"bij,bji->">(a, b) * unsqueeze<-1>(rows) +
         sum(square(einsum<"bji,bkj->bik">(a, b))) + sum(pow(einsum<"bij,bjk->kbi">(a, b), 3_c)) +
         mean(square(einsum<"i,jkl->klij">(d, b))) + einsum<",k->k">(sum(d), mean<0>(c))>("einsums");
}

BOOST_AUTO_TEST_SUITE_END()
