// Runs the table of contract_cases.h against the fake API server, and against a kube-apiserver 1.36
// if the environment names its programs:
//
//     KUBE_APISERVER=/path/kube-apiserver ETCD=/path/etcd build/asan/tests/fake_api_contract_test
//
// A failure of the second run alone is a bug of the table; other failures are bugs of the fake
// server.

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <sstream>

#include "libs/base/cancel.h"
#include "libs/fake_api/api_server.h"
#include "libs/fake_api/contract_cases.h"
#include "libs/fake_api/json.h"
#include "libs/fake_api/test_real_server.h"

namespace splitlet::fake_api {
namespace {

using apiclient::Request;
using apiclient::Response;

/// The server under test.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual apiclient::Transport& transport() = 0;
  /// Makes all resourceVersions so far too old for a watch.
  virtual void Forget() = 0;
};

class FakeSubject final : public Subject {
 public:
  apiclient::Transport& transport() override { return api_; }
  void Forget() override { api_.Compact(); }

 private:
  const RealClock clock_;
  FakeApiServer api_{clock_};
};

class RealSubject final : public Subject {
 public:
  explicit RealSubject(const RealApiServer::Programs& programs) : server_(programs) {}
  apiclient::Transport& transport() override { return server_.transport(); }
  void Forget() override { server_.Restart(); }

 private:
  RealApiServer server_;
};

/// Values at a path, joined with commas.
std::string At(const Json& json, const std::string& path) {
  if (path.empty()) return json.text;
  const std::string key = path.substr(0, path.find('.'));
  const std::string rest = key.size() < path.size() ? path.substr(key.size() + 1) : "";
  if (json.is_map()) {
    const Json* const member = json.Find(key);
    return member == nullptr ? "" : At(*member, rest);
  }
  std::string joined;
  for (size_t i = 0; i < json.items.size(); ++i) {
    if (key != "*" && key != std::to_string(i)) continue;
    joined += (joined.empty() ? "" : ",") + At(json.items[i], rest);
  }
  return joined;
}

/// A watch, and its events so far: "ADDED a".
class WatchReader {
 public:
  void Take(std::string_view data) {
    const std::lock_guard lock(mutex_);
    buffer_ += data;
    for (size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n')) {
      if (const auto event = ParseJson(buffer_.substr(0, end)); end > 0 && event.ok()) Add(*event);
      buffer_.erase(0, end + 1);
    }
    changed_.notify_all();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  /// Waits until there are as many events as in `want`.
  std::string Await(const std::string& want) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds{30},
                      [&] { return ended_ || events_.size() >= want.size(); });
    return events_;
  }
  const std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();

 private:
  void Add(const Json& event) {
    const std::string type = event.TextOf("type");
    std::string name = At(event, "object.metadata.name");
    if (type == "ERROR") name = At(event, "object.code") + " " + At(event, "object.reason");
    events_ += (events_.empty() ? "" : ", ") + type + (name.empty() ? "" : " " + name);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string buffer_, events_;
  bool ended_ = false;
};

/// Sends the steps of one case.
class Runner {
 public:
  Runner(Subject& subject, const std::string& name_space)
      : subject_(subject), variables_{{"ns", name_space}} {}
  ~Runner() {
    for (const auto& [name, watch] : watches_) watch->cancel->Cancel();
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void Run(const Step& step) {
    std::istringstream words(Filled(step.request));
    std::string verb, first, second;
    words >> verb >> first >> second;
    SCOPED_TRACE(Filled(step.request));
    if (verb == "FORGET") return subject_.Forget();
    if (verb == "WATCH") return Watch(first, second);
    if (verb == "EVENTS") return ExpectEvents(first, step.want);
    const Response answer =
        Ask({.method = verb, .path = first, .content_type = step.type, .body = Filled(step.body)});
    const auto json = ParseJson(answer.body);
    const Json document = json.ok() ? *json : Json::Map();
    const std::string code = std::to_string(answer.code);
    const bool good = answer.code / 100 == 2;
    EXPECT_EQ(good ? code : code + " " + document.TextOf("reason"), step.want) << answer.body;
    for (const auto& field : step.fields) Expect(document, field);
    for (const auto& kept : step.keep) variables_[kept.text] = At(document, kept.path);
  }

 private:
  std::string Filled(std::string text) const {
    for (const auto& [name, value] : variables_) {
      const std::string variable = "$" + name;
      for (size_t at = text.find(variable); at != std::string::npos;
           at = text.find(variable, at + value.size()))
        text.replace(at, variable.size(), value);
    }
    return text;
  }

  Response Ask(Request request) {
    const auto answer = std::make_shared<std::promise<StatusOr<Response>>>();
    subject_.transport().Begin(
        std::move(request), After(clock_, std::chrono::seconds{30}),
        [answer](StatusOr<Response> given) { answer->set_value(std::move(given)); });
    auto given = answer->get_future().get();
    return given.ok() ? *std::move(given) : Response{.body = Message(given.status())};
  }

  void Expect(const Json& document, const Field& field) const {
    const std::string found = At(document, field.path), want = Filled(field.text);
    if (want == "*") {
      EXPECT_NE(found, "") << field.path;
    } else {
      EXPECT_EQ(found, want) << field.path;
    }
  }

  void Watch(const std::string& name, const std::string& path) {
    const auto watch = std::make_shared<WatchReader>();
    watches_[name] = watch;
    Deadline deadline = After(clock_, std::chrono::minutes{5});
    deadline.cancel = watch->cancel;
    subject_.transport().BeginStream(
        {.path = path, .accept = "application/json"}, deadline,
        [watch](std::string_view data) { watch->Take(data); },
        [watch](const StatusOr<Response>&) { watch->End(); });
  }
  void ExpectEvents(const std::string& name, const std::string& want) {
    EXPECT_EQ(watches_.at(name)->Await(want), want);
    watches_.at(name)->cancel->Cancel();
    watches_.erase(name);
  }

  const RealClock clock_;
  Subject& subject_;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::shared_ptr<WatchReader>> watches_;
};

class Contract : public testing::TestWithParam<size_t> {
 protected:
  static void Check(Subject& subject) {
    const Case tested = ContractCases().at(GetParam());
    const std::string name_space = fmt::format("contract-{}", GetParam());
    Runner runner(subject, name_space);
    runner.Run({.request = "POST /api/v1/namespaces",
                .body = R"({"metadata":{"name":"$ns"}})",
                .want = "201",
                .fields = {{"status.phase", "Active"}}});
    for (const auto& step : tested.steps) runner.Run(step);
  }
};

std::vector<size_t> Indices() {
  std::vector<size_t> indices(ContractCases().size());
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return indices;
}

TEST_P(Contract, FakeServer) {
  FakeSubject subject;
  Check(subject);
}

TEST_P(Contract, RealServer) {
  const char *const apiserver = std::getenv("KUBE_APISERVER"), *const etcd = std::getenv("ETCD");
  if (apiserver == nullptr || etcd == nullptr)
    GTEST_SKIP() << "KUBE_APISERVER and ETCD do not name the programs of an API server";
  static RealSubject subject({.kube_apiserver = apiserver, .etcd = etcd});  // shared by all cases
  Check(subject);
}

INSTANTIATE_TEST_SUITE_P(Cases, Contract, testing::ValuesIn(Indices()),
                         [](const auto& info) { return ContractCases().at(info.param).name; });

}  // namespace
}  // namespace splitlet::fake_api
