#include "tests/e2e/registry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "libs/kube/time_text.h"
#include "tests/e2e/fixture.h"

namespace splitlet::e2e {

Registry::Registry() {
  EXPECT_EQ(harness::RunToEnd(
                {.argv = {"bash", harness::SourceDir() + "/deploy/local/images.sh", "build"},
                 .env = {},
                 .output = out_ / "images"},
                120s),
            0);
  const std::string built = harness::ReadFile(out_ / "images");
  const size_t begin = built.rfind('/', built.find("/busybox-"));
  const size_t line = built.rfind('\n', begin) + 1;
  const std::string archive = built.substr(line, built.find('\n', begin) - line);
  std::array<int, 2> input{};
  EXPECT_EQ(pipe2(input.data(), O_CLOEXEC), 0);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(input[0], 0);
    if (std::freopen((out_ / "said").c_str(), "w", stdout) == nullptr) _exit(1);
    const std::string script = harness::SourceDir() + "/tests/e2e/registry.py";
    execlp("python3", "python3", script.c_str(), archive.c_str(), nullptr);
    _exit(127);
  }
  close(input[0]);
  input_ = input[1];
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Said().ends_with('\n'); }));
  host_ = "127.0.0.1:" + Said();
  host_.pop_back();
}

Registry::~Registry() {
  close(input_);
  waitpid(pid_, nullptr, 0);
}

std::string Registry::Login() const {
  return R"({"auths": {")" + host_ + R"(": {"auth": ")" + kube::EncodeBase64("team:hunter2") +
         R"("}}})";
}

void Registry::Release() const { EXPECT_EQ(write(input_, "\n", 1), 1); }

}  // namespace splitlet::e2e
