// Compares cairn's kernel for matrix products with BLAS libraries. All run in one process and take turns. The program
// prints one line of JSON for each library that is missing. Then it prints one line for each product: the FLOP/s of the
// best run of each library, and what is wrong with a result. The arguments are the number of threads and NumPy's
// OpenBLAS. Products are row-major, and mxnxk is {m, k} times {k, n}. A `t` marks a transposed side. Products of bf16
// sum in float.
#include "cairn/kernel/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace {

using cairn::bf16, cairn::costs::product;

/// A function that computes a row-major product of op(A) {m, k} and op(B) {k, n}. The numbers are floats or bf16.
template <class In>
using blas = void (*)(void* function, const product&, const In* a, const In* b, float* c);

enum : int { row_major = 101, no_transpose = 111, transpose = 112 };

template <class Int, class In = float>
void call_cblas(void* function, const product& p, const In* a, const In* b, float* c) {
  using cblas_gemm = void (*)(int, int, int, Int, Int, Int, float, const In*, Int, const In*, Int, float, float*, Int);
  reinterpret_cast<cblas_gemm>(function)(row_major, p.transpose_a ? transpose : no_transpose,
                                         p.transpose_b ? transpose : no_transpose, p.m, p.n, p.k, 1, a,
                                         p.transpose_a ? p.m : p.k, b, p.transpose_b ? p.k : p.n, 0, c, p.n);
}

template <class In>
void call_onednn(void* function, const product& p, const In* a, const In* b, float* c) {
  using dnnl_gemm = int (*)(char, char, std::int64_t, std::int64_t, std::int64_t, float, const In*, std::int64_t,
                            const In*, std::int64_t, float, float*, std::int64_t);
  reinterpret_cast<dnnl_gemm>(function)(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1, a,
                                        p.transpose_a ? p.m : p.k, b, p.transpose_b ? p.k : p.n, 0, c, p.n);
}

template <class In>
struct library {
  const char *name, *file, *symbol;
  blas<In> call;
};
template <class In>
struct rival {
  std::string name;
  blas<In> call;
  void* function;
};

/// Returns the libraries that are installed, and prints a fault for each missing library.
template <class In>
std::vector<rival<In>> open(std::initializer_list<library<In>> libraries) {
  std::vector<rival<In>> rivals;
  for (const library<In>& l : libraries) {
    void* const handle = dlopen(l.file, RTLD_NOW | RTLD_LOCAL);
    if (void* const found = handle ? dlsym(handle, l.symbol) : nullptr) rivals.push_back({l.name, l.call, found});
    else std::printf("{\"product\": \"%s\", \"fault\": \"%s\"}\n", l.name, dlerror());
  }
  return rivals;
}

template <class In>
std::vector<In> drawn(std::int64_t size, std::uint32_t state) {
  std::vector<In> out(static_cast<std::size_t>(size));
  for (In& x : out)
    x = In(static_cast<float>(static_cast<std::int32_t>(state = state * 1664525 + 1013904223)) * 0x1p-31F);
  return out;
}

/// Returns the seconds of `work`. For one thread they are seconds of the processor, so that other programs do not
/// count.
double seconds(int threads, int times, auto work) {
  const auto now = [clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC] {
    std::timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double begin = now();
  for (int i = 0; i < times; ++i) work();
  return (now() - begin) / times;
}

/// Returns whether two results agree. A sum of k products of numbers below 1 depends on the order of its terms.
bool agree(const std::vector<float>& c, const std::vector<float>& expected, int k) {
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (!(std::abs(c[i] - expected[i]) <= 1e-6F * static_cast<float>(k) + 1e-5F)) return false;
  }
  return true;
}

template <product P, class In>
void measure(const std::vector<rival<In>>& rivals, int threads) {
  constexpr std::int64_t m = P.m, n = P.n, k = P.k;
  const std::vector<In> a = drawn<In>(m * k, 1), b = drawn<In>(k * n, 2);
  std::vector<float> expected(static_cast<std::size_t>(m * n));
  constexpr const auto& plan = cairn::kernels::plan_of<In, P>;
  std::vector<In> own(static_cast<std::size_t>(plan.cut.needed_workspace.numbers(threads)) + 64 / sizeof(In));
  In* const scratch = reinterpret_cast<In*>((reinterpret_cast<std::uintptr_t>(own.data()) + 63) / 64 * 64);

  std::string fault;
  struct contestant {
    const rival<In>* who;
    std::vector<float> c;
    std::vector<double> taken;
  };
  std::vector<contestant> all{{nullptr, expected, {}}};
  for (const rival<In>& r : rivals) all.push_back({&r, expected, {}});
  const auto call = [&](contestant& one) {
    if (one.who) one.who->call(one.who->function, P, a.data(), b.data(), one.c.data());
    else cairn::kernels::multiplication(plan, a.data(), b.data(), one.c.data()).run(scratch, threads);
  };
  for (contestant& one : all) {
    call(one);
    if (one.who && !agree(one.c, all[0].c, P.k)) fault += (fault.empty() ? "" : "; ") + ("FAIL: " + one.who->name);
  }
  const double once = seconds(threads, 1, [&] { call(all[0]); });
  const int times = std::max(1, static_cast<int>(0.003 / std::max(once, 1e-6)));
  const int rounds = std::clamp(static_cast<int>(0.1 / std::max(once, 1e-6)), 5, 25);
  for (int round = 0; round < rounds; ++round) {
    for (contestant& one : all) {
      call(one);  // not timed, because the caches hold the data of the other libraries
      one.taken.push_back(seconds(threads, times, [&] { call(one); }));
    }
  }
  std::printf(R"({"product": "%s%c%c %dx%dx%d", "flops": {)", sizeof(In) == 2 ? "bf16 " : "", P.transpose_a ? 't' : 'n',
              P.transpose_b ? 't' : 'n', P.m, P.n, P.k);
  for (contestant& one : all) {
    std::printf(R"(%s"%s": %.4g)", one.who ? ", " : "", one.who ? one.who->name.c_str() : "cairn",
                2.0 * static_cast<double>(m * n * k) / std::ranges::min(one.taken));
  }
  std::printf("}, \"fault\": \"%s\"}\n", fault.c_str());
  std::fflush(stdout);
}

template <int M, int N, int K, class In>
void each_transpose(const std::vector<rival<In>>& rivals, int threads) {
  measure<product{M, N, K, false, false}>(rivals, threads);
  measure<product{M, N, K, false, true}>(rivals, threads);
  measure<product{M, N, K, true, false}>(rivals, threads);
  measure<product{M, N, K, true, true}>(rivals, threads);
}

template <class In>
void each_size(const std::vector<rival<In>>& rivals, int threads) {
  [&]<int... Size>(std::integer_sequence<int, Size...>) {
    (each_transpose<Size, Size, Size>(rivals, threads), ...);
  }(std::integer_sequence<int, 32, 64, 128, 256, 512, 1024, 2048>{});
  each_transpose<4096, 64, 64>(rivals, threads);
  each_transpose<2048, 256, 1024>(rivals, threads);
  each_transpose<16, 1024, 1024>(rivals, threads);
}

}  // namespace

int main(int, char** arguments) {
  const int threads = std::atoi(arguments[1]);
  each_size(open<float>({{"OpenBLAS", "libopenblas.so.0", "cblas_sgemm", call_cblas<int>},
                         {"OpenBLAS/NumPy", arguments[2], "scipy_cblas_sgemm64_", call_cblas<std::int64_t>},
                         {"oneDNN", "libdnnl.so.2", "dnnl_sgemm", call_onednn},
                         {"oneDNN/PyPI", "libdnnl.so.3", "dnnl_sgemm", call_onednn},
                         {"MKL/PyPI", "libmkl_rt.so.3", "cblas_sgemm", call_cblas<int>}}),
            threads);
  each_size(open<bf16>({{"oneDNN/PyPI", "libdnnl.so.3", "dnnl_gemm_bf16bf16f32", call_onednn},
                        {"MKL/PyPI", "libmkl_rt.so.3", "cblas_gemm_bf16bf16f32", call_cblas<int>}}),
            threads);
}
