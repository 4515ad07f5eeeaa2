// The sanitizers of this preset see what they are there for, with the options that all tests have.

#include <gtest/gtest.h>
#if defined(SPLITLET_ASAN)
#include <sanitizer/lsan_interface.h>
#endif

#include <climits>
#include <memory>
#include <thread>

namespace splitlet {
namespace {

class SanitizersDeathTest : public testing::Test {
 protected:
  // Anew in a process of its own: the threads of the child are all known to its sanitizer.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#if defined(SPLITLET_ASAN)
volatile int seen = 0;  // what is stored here, the optimizer has to compute

void ReadAfterFree() {
  auto owner = std::make_unique<int>(1);
  const volatile int* const gone = owner.get();
  owner.reset();
  seen = *gone;
}

// In the caller's frame, the local would only be out of its scope. The compiler refuses to return
// an address that it sees to be a local's.
[[gnu::noinline]] const volatile int* AddressOfALocal() {
  volatile int local = 1;
  const volatile int* volatile address = &local;
  return address;
}

void ReadAfterReturn() { seen = *AddressOfALocal(); }

// A pointer that a register or the stack still holds is no leak, hence many.
void Leak() {
  for (int i = 0; i < 100; ++i) {
    const auto* volatile lost = new int(i);
    seen = *lost;
  }
  __lsan_do_leak_check();
}

void Overflow() {
  const volatile int most = INT_MAX;
  seen = most + 1;
}

TEST_F(SanitizersDeathTest, MemoryThatIsGoneIsNotRead) {
  EXPECT_DEATH(ReadAfterFree(), "AddressSanitizer: heap-use-after-free");
}

TEST_F(SanitizersDeathTest, ALocalThatIsGoneIsNotRead) {
  EXPECT_DEATH(ReadAfterReturn(), "AddressSanitizer: stack-use-after-return");
}

TEST_F(SanitizersDeathTest, AllocationsThatNothingPointsToAreFound) {
  EXPECT_DEATH(Leak(), "LeakSanitizer: detected memory leaks");
}

TEST_F(SanitizersDeathTest, UndefinedArithmeticIsFound) {
  EXPECT_DEATH(Overflow(), "runtime error: signed integer overflow");
}
#else  // the preset tsan
int Race() {
  int shared = 0;
  std::jthread other([&shared] {
    for (int i = 0; i < 1000; ++i) ++shared;
  });
  for (int i = 0; i < 1000; ++i) ++shared;
  return shared;
}

TEST_F(SanitizersDeathTest, ARaceIsFound) { EXPECT_DEATH(Race(), "ThreadSanitizer: data race"); }
#endif

}  // namespace
}  // namespace splitlet
