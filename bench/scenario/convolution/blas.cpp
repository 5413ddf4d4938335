// Compares cairn's kernels with oneDNN's for the convolutions of ResNet-50, on 4 images: the forward pass and both
// gradients. Both run in one process and take turns. Both have images with channels last. The filters are handled in
// two ways. In the figures "oneDNN packed" and "cairn packed", the filters have the layout of the library. The figures
// "oneDNN OIHW" and "cairn" also count the time to convert the filters from PyTorch's layout and back.
//
// The program prints one line of JSON for each convolution: the FLOP/s of the best run, and what is wrong with a
// result. Its arguments are the number of threads, NumPy's OpenBLAS, and oneDNN for OpenMP.
#include "cairn/kernel/convolution.hpp"
#include "cairn/kernel/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace {

using cairn::costs::motion, cairn::shape;

/// The part of oneDNN's C interface, version 3, that this program uses: https://uxlfoundation.github.io/oneDNN.
struct onednn {
  using handle = void*;
  using dims = std::int64_t[12];
  struct argument {
    int what;
    handle memory;
  };
  enum { f32 = 3, any = 1, abcd = 5, acdb = 22, cpu = 1, direct = 1 };
  enum { forward = 64, backward_data = 160, backward_weights = 192 };
  enum { src = 1, dst = 17, weights = 33, diff_src = 129, diff_dst = 145, diff_weights = 161 };
  enum { weights_md = 131, diff_weights_md = 132 };

  handle library, engine = nullptr, stream = nullptr;

  template <class... A>
  void call(const char* name, A... arguments) const {
    const auto function = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
    if (function == nullptr || function(arguments...) != 0) {
      std::printf("{\"product\": \"oneDNN\", \"fault\": \"%s\"}\n", name);
      std::exit(0);
    }
  }
  explicit onednn(const char* file) : library(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (library == nullptr) {
      std::printf("{\"product\": \"oneDNN\", \"fault\": \"%s\"}\n", dlerror());
      std::exit(0);
    }
    call("dnnl_engine_create", &engine, static_cast<int>(cpu), std::size_t{0});
    call("dnnl_stream_create", &stream, engine, 1U);
  }
  handle layout(const std::int64_t* extents, int tag) const {
    handle made = nullptr;
    call("dnnl_memory_desc_create_with_tag", &made, 4, extents, static_cast<int>(f32), tag);
    return made;
  }
  handle memory(handle layout, void* at) const {
    handle made = nullptr;
    call("dnnl_memory_create", &made, layout, engine, at);
    return made;
  }
  handle primitive(handle description) const {
    handle made = nullptr;
    call("dnnl_primitive_create", &made, description);
    return made;
  }
  handle asked(handle description, int what) const {
    return reinterpret_cast<handle (*)(handle, int, int)>(dlsym(library, "dnnl_primitive_desc_query_md"))(description,
                                                                                                          what, 0);
  }
  void run(handle primitive, const std::vector<argument>& arguments) const {
    call("dnnl_primitive_execute", primitive, stream, static_cast<int>(arguments.size()), arguments.data());
    call("dnnl_stream_wait", stream);
  }
  handle reorder(handle from, handle to) const {
    handle made = nullptr;
    call("dnnl_reorder_primitive_desc_create", &made, from, engine, to, engine, handle{});
    return primitive(made);
  }
};

std::vector<float> drawn(std::int64_t size, std::uint32_t state) {
  std::vector<float> out(static_cast<std::size_t>(size));
  for (float& x : out)
    x = static_cast<float>(static_cast<std::int32_t>(state = state * 1664525 + 1013904223)) * 0x1p-31F;
  return out;
}
double now(int threads) {
  std::timespec t;
  clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <shape S>
struct array {
  static constexpr cairn::shape shape = S;
  static constexpr cairn::element_type element{};
};
template <class Op, shape A, shape B>
void kernel(const float* a, const float* b, float* to, float* scratch, int threads) {
  void* operands[]{to, const_cast<float*>(a), const_cast<float*>(b), scratch};
  cairn::kernels::run<Op, float, array<A>, array<B>>(nullptr, operands, threads);
}

/// The output of a kernel: the result of a convolution, the gradient of its images, or the gradient of its filters.
enum pass { result, of_images, of_filters };

template <pass Pass, motion Moves, shape Image, shape Filters>  // {O, C, rows, columns}
void measure(const onednn& dnn, int threads) {
  using forward = cairn::lang::convolution_op<Moves>;
  constexpr shape made = forward::result(Image, Filters);
  constexpr std::int64_t flops = forward::flops(Image, Filters);
  constexpr bool plain = Filters[2] == 1 && Moves == motion{};
  const std::vector<float> x = drawn(Image.count(), 1), w = drawn(Filters.count(), 2), g = drawn(made.count(), 3);
  constexpr std::int64_t size = Pass == result ? made.count() : Pass == of_images ? Image.count() : Filters.count();
  std::vector<float> own(static_cast<std::size_t>(size)), theirs(own), scratch;
  const auto lent = [&scratch](std::int64_t numbers) {
    // The whole call asks for more memory before threads ask for their shares, so threads never resize.
    if (std::ssize(scratch) < numbers + 16) scratch.resize(static_cast<std::size_t>(numbers) + 16);
    return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  };

  const auto cairn_once = [&] {
    if constexpr (plain) {
      constexpr shape rows{static_cast<int>(Image.count() / Image[3]), Image[3]};
      constexpr shape results{rows[0], Filters[0]}, weights{Filters[0], Filters[1]};
      const auto multiply = [&]<class Op, shape A, shape B>(const float* a, const float* b) {
        kernel<Op, A, B>(a, b, own.data(), lent(Op::scratch(4, A, B).numbers(threads)), threads);
      };
      if constexpr (Pass == result)
        multiply.template operator()<cairn::lang::matmul_op<false, true>, rows, weights>(x.data(), w.data());
      else if constexpr (Pass == of_images)
        multiply.template operator()<cairn::lang::matmul_op<false, false>, results, weights>(g.data(), w.data());
      else multiply.template operator()<cairn::lang::matmul_op<true, false>, results, rows>(g.data(), x.data());
    } else if constexpr (Pass == of_filters) {
      using op = cairn::lang::filter_gradient_op<Moves, Filters[2], Filters[3]>;
      kernel<op, Image, made>(x.data(), g.data(), own.data(), lent(op::scratch(4, Image, made).numbers(threads)),
                              threads);
    } else if constexpr (Pass == result) {
      kernel<forward, Image, Filters>(x.data(), w.data(), own.data(),
                                      lent(forward::scratch(4, Image, Filters).numbers(threads)), threads);
    } else {
      using op = cairn::lang::convolution_back_op<Moves, Image[1], Image[2]>;
      kernel<op, made, Filters>(g.data(), w.data(), own.data(), lent(op::scratch(4, made, Filters).numbers(threads)),
                                threads);
    }
  };
  // Converts filters from PyTorch's layout or to it. Each thread converts a share.
  const auto pack_share = [&](int part) {
    if constexpr (Pass == of_filters) {
      const cairn::costs::range results = cairn::costs::share(Filters[0], 16, part, threads);
      for (auto o = results.begin; o < results.end; o += 16)
        cairn::kernels::unpack_filter(lent(Filters.count()) + o, Filters[0], Filters, static_cast<int>(o),
                                      static_cast<int>(std::min<std::int64_t>(16, results.end - o)), own.data());
    } else if constexpr (!plain) {
      constexpr cairn::costs::correlation of =
          Pass == result ? forward::of(Image, Filters)
                         : cairn::lang::convolution_back_op<Moves, Image[1], Image[2]>::of(made, Filters);
      for (const auto& sweep : cairn::kernels::sweep_plans<float, float, of>) {
        const auto own = cairn::costs::share(sweep.cut.panels.count(), 1, part, threads);
        cairn::kernels::filter_packing<float, float>(of, sweep.cut, sweep.taps, w.data())
            .run(own, 0, lent(sweep.cut.panel_at(sweep.cut.panels.count())));
      }
    }
  };

  // oneDNN lists the extents in the order {N, C, H, W}, whatever the layout is.
  const std::int64_t extents_x[]{Image[0], Image[3], Image[1], Image[2]},
      extents_y[]{made[0], made[3], made[1], made[2]};
  const std::int64_t extents_w[]{Filters[0], Filters[1], Filters[2], Filters[3]};
  const onednn::dims strides{Moves.stride[0], Moves.stride[1]}, dilates{}, padding{Moves.padding[0], Moves.padding[1]};
  const onednn::handle layout_x = dnn.layout(extents_x, onednn::acdb), layout_y = dnn.layout(extents_y, onednn::acdb),
                       layout_w = dnn.layout(extents_w, onednn::any), plain_w = dnn.layout(extents_w, onednn::abcd);
  const auto* to = static_cast<const std::int64_t*>(strides);
  const auto *apart = static_cast<const std::int64_t*>(dilates), *around = static_cast<const std::int64_t*>(padding);
  onednn::handle hint = nullptr, description = nullptr;
  dnn.call("dnnl_convolution_forward_primitive_desc_create", &hint, dnn.engine, static_cast<int>(onednn::forward),
           static_cast<int>(onednn::direct), layout_x, layout_w, onednn::handle{}, layout_y, to, apart, around, around,
           onednn::handle{});
  if constexpr (Pass == result) description = hint;
  else if constexpr (Pass == of_images)
    dnn.call("dnnl_convolution_backward_data_primitive_desc_create", &description, dnn.engine,
             static_cast<int>(onednn::direct), layout_x, layout_w, layout_y, to, apart, around, around, hint,
             onednn::handle{});
  else
    dnn.call("dnnl_convolution_backward_weights_primitive_desc_create", &description, dnn.engine,
             static_cast<int>(onednn::direct), layout_x, layout_w, onednn::handle{}, layout_y, to, apart, around,
             around, hint, onednn::handle{});
  const onednn::handle chosen =
      dnn.asked(description, Pass == of_filters ? onednn::diff_weights_md : onednn::weights_md);
  const onednn::handle allocated = reinterpret_cast<onednn::handle>(~std::uintptr_t{0});
  const onednn::handle inside = dnn.memory(chosen, allocated),
                       outside = dnn.memory(plain_w, Pass == of_filters ? theirs.data() : const_cast<float*>(w.data())),
                       images = dnn.memory(layout_x, Pass == of_images ? theirs.data() : const_cast<float*>(x.data())),
                       results = dnn.memory(layout_y, Pass == result ? theirs.data() : const_cast<float*>(g.data()));
  const onednn::handle convolve = dnn.primitive(description);
  const onednn::handle pack = Pass == of_filters ? dnn.reorder(chosen, plain_w) : dnn.reorder(plain_w, chosen);
  const auto pack_once = [&] {
    dnn.run(pack, {{onednn::src, Pass == of_filters ? inside : outside},
                   {onednn::dst, Pass == of_filters ? outside : inside}});
  };
  const auto dnn_once = [&] {
    if constexpr (Pass == result)
      dnn.run(convolve, {{onednn::src, images}, {onednn::weights, inside}, {onednn::dst, results}});
    else if constexpr (Pass == of_images)
      dnn.run(convolve, {{onednn::diff_dst, results}, {onednn::weights, inside}, {onednn::diff_src, images}});
    else dnn.run(convolve, {{onednn::src, images}, {onednn::diff_dst, results}, {onednn::diff_weights, inside}});
  };
  const auto both_once = [&] {
    if (Pass != of_filters) pack_once();
    dnn_once();
    if (Pass == of_filters) pack_once();
  };

  cairn_once();
  both_once();
  std::string fault;
  const double terms = static_cast<double>(flops / 2) / static_cast<double>(size);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!(std::abs(own[i] - theirs[i]) <= 1e-6 * terms + 1e-5)) fault = "FAIL: oneDNN";
  }
  double best[4]{1e9, 1e9, 1e9, 1e9};
  for (int round = 0; round < 9; ++round) {
    const auto time = [threads](double& least, const auto& work) {
      work();
      const double begin = now(threads);
      work();
      least = std::min(least, now(threads) - begin);
    };
    time(best[0], cairn_once);
    time(best[1], dnn_once);
    time(best[2], both_once);
    if (!plain) time(best[3], [&] { cairn::kernels::in_parts(threads, pack_share); });
    else best[3] = 0;
  }
  const char* const names[]{"", " of images", " of filters"};
  std::printf(R"({"product": "%dx%d %d-%d /%d %dx%d%s", "flops": {)", Filters[2], Filters[3], Filters[1], Filters[0],
              Moves.stride[0], Image[1], Image[2], names[Pass]);
  const auto speed = [](double seconds) { return static_cast<double>(flops) / seconds; };
  std::printf(R"("cairn packed": %.4g, "cairn": %.4g, "oneDNN packed": %.4g, "oneDNN OIHW": %.4g}, "fault": "%s"})"
              "\n",
              speed(best[0] - best[3]), speed(best[0]), speed(best[1]), speed(best[2]), fault.c_str());
  std::fflush(stdout);
}

template <int Extent, int In, int Out, int Side, int Stride = 1>
void convolution(const onednn& dnn, int threads) {
  constexpr int around = Extent / 2;
  constexpr motion moves{.stride = {Stride, Stride}, .padding = {around, around}};
  constexpr shape image{4, Side, Side, In}, filters{Out, In, Extent, Extent};
  measure<result, moves, image, filters>(dnn, threads);
  measure<of_images, moves, image, filters>(dnn, threads);
  measure<of_filters, moves, image, filters>(dnn, threads);
}

}  // namespace

int main(int, char** arguments) {
  const int threads = std::atoi(arguments[1]);
  const onednn dnn(arguments[3]);
  convolution<7, 3, 64, 224, 2>(dnn, threads);
  convolution<1, 64, 64, 56>(dnn, threads);
  convolution<3, 64, 64, 56>(dnn, threads);
  convolution<1, 64, 256, 56>(dnn, threads);
  convolution<1, 256, 64, 56>(dnn, threads);
  convolution<3, 128, 128, 56, 2>(dnn, threads);
  convolution<1, 256, 512, 56, 2>(dnn, threads);
  convolution<1, 512, 128, 28>(dnn, threads);
  convolution<3, 128, 128, 28>(dnn, threads);
  convolution<1, 128, 512, 28>(dnn, threads);
  convolution<3, 256, 256, 28, 2>(dnn, threads);
  convolution<1, 512, 1024, 28, 2>(dnn, threads);
  convolution<1, 1024, 256, 14>(dnn, threads);
  convolution<3, 256, 256, 14>(dnn, threads);
  convolution<1, 256, 1024, 14>(dnn, threads);
  convolution<3, 512, 512, 14, 2>(dnn, threads);
  convolution<1, 1024, 2048, 14, 2>(dnn, threads);
  convolution<1, 2048, 512, 7>(dnn, threads);
  convolution<3, 512, 512, 7>(dnn, threads);
  convolution<1, 512, 2048, 7>(dnn, threads);
}
