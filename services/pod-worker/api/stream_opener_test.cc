#include "services/pod-worker/api/stream_opener.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "services/pod-worker/api/stream_audit.h"
#include "splitlet/v1/streams.pb.h"

namespace splitlet::pod_worker {
namespace {

using Request = v1::OpenStreamRequest;

/// Says what it was asked for.
class FakeStreaming final : public cri::Streaming {
 public:
  StatusOr<std::string> OpenExec(const cri::ContainerId& id,
                                 const std::vector<std::string>& command,
                                 const cri::StreamChannels& channels, Deadline) override {
    return fmt::format("exec {} {}{}{}{} {}", id, channels.tty ? "t" : "", channels.in ? "i" : "",
                       channels.out ? "o" : "", channels.err ? "e" : "", fmt::join(command, " "));
  }
  StatusOr<std::string> OpenAttach(const cri::ContainerId& id, const cri::StreamChannels&,
                                   Deadline) override {
    return fmt::format("attach {}", id);
  }
  StatusOr<std::string> OpenPortForward(const cri::SandboxId& id, const std::vector<int32_t>& ports,
                                        Deadline) override {
    return fmt::format("ports {} {}", id, fmt::join(ports, ","));
  }
};

class StreamOpenerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime.AddImage("busybox");
    sandbox = Must(runtime.RunPodSandbox(pod.Config(), "", Soon()));
    container =
        Must(runtime.CreateContainer(sandbox, pod.ContainerConfig("app", 0), pod.Config(), Soon()));
    ASSERT_TRUE(runtime.StartContainer(container, Soon()).ok());
  }
  template <class T>
  static T Must(StatusOr<T> value) {
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : T();
  }
  Deadline Soon() const { return After(clock, 5s); }
  Request Exec() const {
    Request request;
    request.set_kind(Request::EXEC);
    request.set_uid(pod.uid);
    request.set_container_id(container.str());
    request.add_command("ls");
    request.add_command("/");
    request.set_want_stdout(true);
    return request;
  }
  StatusOr<std::string> Open(const Request& request) {
    FakeStreaming streaming;
    return StreamOpener(runtime, streaming, runtime).Open(request, Soon());
  }

  FakeClock clock;
  cri::FakeRuntime runtime{clock};
  const cri::TestPod pod{.name = "web", .uid = "uid-1"};
  cri::SandboxId sandbox;
  cri::ContainerId container;
};

TEST_F(StreamOpenerTest, EachKindAsksTheRuntime) {
  Request request = Exec();
  request.set_send_stdin(true);
  EXPECT_EQ(Open(request).value_or(""), fmt::format("exec {} io ls /", container));
  request.set_kind(Request::ATTACH);
  EXPECT_EQ(Open(request).value_or(""), fmt::format("attach {}", container));
  request.set_kind(Request::PORT_FORWARD);
  request.add_ports(80);
  request.add_ports(443);
  EXPECT_EQ(Open(request).value_or(""), fmt::format("ports {} 80,443", sandbox));
}

TEST_F(StreamOpenerTest, OfACommandTheLastMegabyteOfEachOutputIsGiven) {
  runtime.SetExec("", "", cri::ExecResult{4, std::string(3u << 20, 'o') + "end", "why"});
  FakeStreaming streaming;
  v1::RunCommandRequest request;
  request.set_uid(pod.uid);
  request.set_container_id(container.str());
  request.add_command("ls");
  const auto reply = StreamOpener(runtime, streaming, runtime).Run(request, Soon());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->exit_code(), 4);
  EXPECT_EQ(reply->output(), std::string((1u << 20) - 3, 'o') + "end");
  EXPECT_EQ(reply->errors(), "why");
}

TEST_F(StreamOpenerTest, AContainerOfAnotherPodIsNotFound) {
  Request request = Exec();
  request.set_uid("uid-2");
  EXPECT_EQ(Open(request).status().code(), StatusCode::kNotFound);
}

TEST_F(StreamOpenerTest, OneThatDoesNotRunHasNoStreams) {
  ASSERT_TRUE(runtime.StopContainer(container, 0, Soon()).ok());
  EXPECT_EQ(Open(Exec()).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(runtime.StopPodSandbox(sandbox, Soon()).ok());
  Request ports = Exec();
  ports.set_kind(Request::PORT_FORWARD);
  EXPECT_EQ(Open(ports).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(StreamOpenerTest, ARequestThatMakesNoSenseIsRefused) {
  const struct {
    const char* name;
    void (*change)(Request&);
  } kCases[] = {
      {"no kind", [](Request& r) { r.clear_kind(); }},
      {"no pod", [](Request& r) { r.clear_uid(); }},
      {"no container", [](Request& r) { r.clear_container_id(); }},
      {"no command", [](Request& r) { r.clear_command(); }},
      {"no stream", [](Request& r) { r.set_want_stdout(false); }},
      {"stderr of a terminal",
       [](Request& r) {
         r.set_tty(true);
         r.set_want_stderr(true);
       }},
      {"a port that is none",
       [](Request& r) {
         r.set_kind(Request::PORT_FORWARD);
         r.add_ports(0);
       }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Request request = Exec();
    c.change(request);
    EXPECT_EQ(Open(request).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(StreamOpenerTest, TheLogSaysWhoEntersAPodAndNotWithWhat) {
  const auto shown = [](const std::vector<LogField>& fields) {
    std::string text;
    for (const auto& [key, value] : fields) text += key + "=" + value + " ";
    return text;
  };
  Request request = Exec();
  request.set_user("alice\n");
  request.add_command("--password=hunter2");
  const std::string exec = shown(AuditFields(request, 990));
  EXPECT_EQ(exec.find(fmt::format("kind=exec podUID={} containerID={} callerUID=990 user=alice",
                                  pod.uid, container)),
            0u)
      << exec;
  EXPECT_EQ(exec.find("hunter2"), std::string::npos);
  request.set_kind(Request::PORT_FORWARD);
  EXPECT_EQ(shown(AuditFields(request, 990)).find("kind=portForward "), 0u);
  v1::RunCommandRequest run;
  run.set_uid("uid-1");
  run.set_container_id("c1");
  EXPECT_EQ(shown(AuditFields(run, 0)), "kind=run podUID=uid-1 containerID=c1 callerUID=0 user= ");
}

}  // namespace
}  // namespace splitlet::pod_worker
