/* muster.h from C++: lambdas as bodies, and destructors that run although there is an exception. */

#include <atomic>
#include <caml/fail.h>
#include <caml/mlvalues.h>
#include <cstddef>
#include <vector>

#include <muster.h>

namespace {

struct Padded {
  alignas(64) long sum = 0;
};

std::atomic<int> guards{0};

struct Guard {
  Guard() { guards++; }
  ~Guard() { guards--; }
};

}  // namespace

/* A sum with a place for each worker. */
extern "C" value cxx_sum_to(value n) {
  std::vector<Padded> sums(muster_workers());
  muster_for_slices(
      static_cast<std::size_t>(Long_val(n)),
      [](void *ctx, std::size_t worker, std::size_t start, std::size_t count) {
        auto &mine = (*static_cast<std::vector<Padded> *>(ctx))[worker];
        for (auto i = start; i < start + count; i++) mine.sum += static_cast<long>(i);
      },
      &sums);
  long sum = 0;
  for (const auto &each : sums) sum += each.sum;
  return Val_long(sum);
}

extern "C" value cxx_count_dynamic(value n) {
  std::atomic<long> count{0};
  muster_for_n_dynamic(
      static_cast<std::size_t>(Long_val(n)),
      [](void *ctx, std::size_t, std::size_t) { (*static_cast<std::atomic<long> *>(ctx))++; },
      &count);
  return Val_long(count.load());
}

extern "C" value cxx_fail(value unit) {
  (void)unit;
  value result;
  {
    Guard guard;
    result = static_cast<value>(muster_for_slices_exn(1, nullptr, nullptr));
  }
  if (Is_exception_result(result)) caml_raise(Extract_exception(result));
  return Val_unit;
}

extern "C" value cxx_guards(value unit) {
  (void)unit;
  return Val_int(guards.load());
}
