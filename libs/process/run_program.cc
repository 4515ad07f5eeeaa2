#include "libs/process/run_program.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "libs/fs/fd.h"
#include "libs/process/running.h"

namespace splitlet::process {

namespace {

/// A descriptor that becomes readable when the token is cancelled.
class Cancellation {
 public:
  explicit Cancellation(CancelToken* token) : token_(token), readable_(eventfd(0, EFD_CLOEXEC)) {
    if (token_ != nullptr)
      listening_ = token_->Add([fd = readable_.get()] { eventfd_write(fd, 1); });
  }
  ~Cancellation() {
    if (token_ != nullptr) token_->Remove(listening_);
  }
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;
  const fs::Fd& readable() const { return readable_; }

 private:
  CancelToken* const token_;
  fs::Fd readable_;
  int listening_ = 0;
};

/// Waits until the program has ended. An error: the program must be killed.
Status WaitFor(Running& running, const Program& program) {
  const RealClock clock;  // poll(2) waits by this clock only
  const Cancellation cancellation(program.cancel);
  if (!cancellation.readable().ok()) return ErrnoStatus(errno);
  const Clock::Time deadline = clock.Now() + program.limit;
  while (!running.over()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Now());
    if (left.count() <= 0) return NoEndInTime(program);
    auto wants = running.Wants();
    std::array<pollfd, Running::kPolled + 1> polled{};
    std::ranges::copy(wants, polled.begin());
    polled.back() = {cancellation.readable().get(), POLLIN, 0};
    if (poll(polled.data(), polled.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      return ErrnoStatus(errno);
    if (polled.back().revents != 0) return Cancelled("given up");
    std::copy_n(polled.begin(), wants.size(), wants.begin());
    if (Status trouble = running.OnPolled(wants); !trouble.ok()) return trouble;
  }
  return OkStatus();
}

}  // namespace

Status NoEndInTime(const Program& program) {
  return DeadlineExceeded("still running after {} s",
                          std::chrono::ceil<std::chrono::seconds>(program.limit).count());
}

StatusOr<std::string> RunProgram(const Program& program) {
  auto running = Running::Start(program);
  if (!running.ok()) return running.status();
  const Status trouble = WaitFor(**running, program);
  if (!trouble.ok()) (*running)->Kill();
  auto printed = (*running)->End();
  if (!trouble.ok()) return Annotate(trouble, program.argv[0]);
  if (!printed.ok()) return Annotate(printed.status(), program.argv[0]);
  return printed;
}

}  // namespace splitlet::process
