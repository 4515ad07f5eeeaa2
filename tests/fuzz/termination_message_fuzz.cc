// A fuzz target over a container's termination message file and log. For any bytes the message is
// valid text within its limit.

#include "libs/base/text.h"
#include "libs/cri/termination_message.h"
#include "libs/kube/pod_types.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace splitlet;       // NOLINT(google-build-using-namespace): one function
  using namespace splitlet::cri;  // NOLINT(google-build-using-namespace): one function
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Container container;
  container.state = ContainerState::kExited;
  container.exit_code = 1;
  container.log_path = "/log";
  container.message = bytes.substr(0, size / 4);
  container.annotations = {{std::string(kube::kTerminationMessagePath), "/dev/termination-log"},
                           {std::string(kube::kTerminationMessagePolicy), "FallbackToLogsOnError"}};
  container.mounts = {{"/dev/termination-log", "/file", false}};
  for (const bool file : {true, false}) {
    const auto read = [&](const std::string& path, uint64_t max) -> StatusOr<std::string> {
      if (path == "/file" && !file) return std::string();
      return bytes.substr(bytes.size() - std::min<size_t>(bytes.size(), max));
    };
    const std::string message = ResolveMessage(container, read);
    CHECK(IsText(message), "{}", message);
    CHECK(message.size() <= kMaxMessageBytes, "{} bytes", message.size());
  }
  CHECK(LastLogLines(bytes, false).size() <= 2 * bytes.size() + kMaxLogMessageLines);
  return 0;
}

FuzzCorpus MakeFuzzCorpus() {
  FuzzCorpus corpus;
  std::string euros, log;
  for (int i = 0; i < 1500; ++i) euros += "\u20ac";
  for (int i = 0; i < 100; ++i)
    log += "2026-01-02T03:04:05.6Z stdout " + std::string(i % 3 == 0 ? "P" : "F") + " line\u20ac\n";
  corpus.inputs = {"bye",
                   euros,
                   std::string(5000, '\xFF'),
                   std::string(100, '\0'),
                   log,
                   R"({"log":"a\n","stream":"stdout","time":"2026-01-02T03:04:05Z"})"
                   "\n"};
  corpus.tokens = {"\xFF",      "\xE2\x82", std::string(1, '\0'), "\n",
                   " F ",       " P ",      R"({"log":")",        R"("\udc00")",
                   R"(\u0000)", "\x80\x80", "\xF4\x90\x80\x80"};
  return corpus;
}
