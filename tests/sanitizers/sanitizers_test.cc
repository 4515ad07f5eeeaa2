// The sanitizers of this preset detect what they are for, with the options of all tests.

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
  // In a new process, so that the sanitizer knows all threads of the child.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#if defined(SPLITLET_ASAN)
volatile int seen = 0;  // forces the optimizer to compute the stored value

void ReadAfterFree() {
  auto owner = std::make_unique<int>(1);
  const volatile int* const gone = owner.get();
  owner.reset();
  seen = *gone;
}

// In the caller's frame, the local variable would only be out of scope. The compiler refuses to
// return the address of a visible local.
[[gnu::noinline]] const volatile int* AddressOfALocal() {
  volatile int local = 1;
  const volatile int* volatile address = &local;
  return address;
}

void ReadAfterReturn() { seen = *AddressOfALocal(); }

// Many, because a pointer left in a register or on the stack hides a leak.
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
#else  // for the preset tsan
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
