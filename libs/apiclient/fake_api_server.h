#pragma once

/// An API server in memory that keeps the promises of a real one: resource versions, lists in
/// pages, watches with a window and bookmarks, 410, conflicts, patches, status subresources,
/// graceful deletion, tokens, reviews, signing requests. Of tests, and behind the program fake-api.
/// Threads: any; answers of what does not wait come before Begin returns. Watches answer on the
///          thread that made the change.
/// Errors:  those that it is told to give.
/// Source:  Kubernetes API, concepts; Kubernetes API conventions.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/apiclient/fake_authority.h"
#include "libs/apiclient/fake_reviews.h"
#include "libs/apiclient/transport.h"

namespace splitlet::exec {
class EventLoop;
}
namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

class FakeApiServer final : public Transport {
 public:
  struct Options {
    uint64_t seed = 1;  // of uids and tokens
    /// Its timers end watches and what hangs in time. Without one that is seen at the next request
    /// and by Tick; and a request that hangs fails at once with DEADLINE_EXCEEDED, as if its time
    /// had passed, unless `ticks`.
    exec::EventLoop* loop = nullptr;  // outlives the server
    bool ticks = false;               // somebody calls Tick now and then
    size_t window = 10'000;           // changes that a watch may begin before
    std::string keep = {};            // a file that it goes on from; empty: it forgets
  };
  explicit FakeApiServer(const Clock& clock);
  FakeApiServer(const Clock& clock, Options options);
  ~FakeApiServer() override;

  void Begin(Request request, Deadline deadline, Done done) override;
  void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) override;
  /// The same as somebody; the others are asked by "admin" of the group system:masters.
  struct Listener {
    OnData on_data;  // empty: the whole answer goes to `done`
    Done done;
  };
  void BeginAs(const FakeUser& user, Request request, Deadline deadline, Listener listener);

  // What a test does as somebody else; `path` is of the object: "/api/v1/namespaces/a/pods/web".
  // Each CHECKs that the server takes it.
  /// Creates or replaces, also what no user may set: a uid that is given (another one than before
  /// is another object), the status when there is one, the time of deletion. Its namespace is made.
  void Put(const std::string& path, const google::protobuf::Message& object);
  void PutJson(const std::string& path, std::string_view json);
  void Delete(const std::string& path);  // as kubectl does, gracefully
  void Remove(const std::string& path);  // at once
  bool Has(const std::string& path) const;
  /// False: there is none.
  bool Get(const std::string& path, google::protobuf::Message& into) const;
  std::string GetJson(const std::string& path) const;                  // "" : there is none
  std::vector<std::string> List(const std::string& collection) const;  // paths

  // What goes wrong. `method` "" and `prefix` "" match every request.
  struct Fault {
    std::string method, prefix;  // prefix of the path, without query
    int times = -1;              // below 0: until ClearFaults
    int code = 0;                // answered; 0: the connection fails; 200: `body` is
    std::optional<Duration> retry_after = {};
    bool after_effect = false;  // the request is carried out, and its answer is lost
    bool hang = false;          // no answer until the deadline or ClearFaults
    std::string body = {};      // instead of a Status object, as of something before the server
    std::string content_type = "application/json";  // of `body`
  };
  void Inject(Fault fault);
  void ClearFaults();
  /// Every request fails, and watches end, until it is back.
  void SetAway(bool away);
  void EndWatches();
  /// Changes before now can no longer be watched from: 410.
  void Compact();
  void SendBookmarks();

  /// As the operator of the server: nothing of the above hits it, and it is not `seen`. No watch.
  Response Serve(const Request& request);

  /// "PATCH /api/v1/nodes/n1/status", in the order in which they came; with its body.
  struct Seen {
    std::string method, path;  // with query
    std::string content_type, body;
  };
  std::vector<Seen> TakeSeen();  // the newest 100,000
  /// Ends watches whose time has come, and requests that hang beyond their deadline.
  void Tick();

  // Who is who, and may what.
  void AddToken(const std::string& token, const FakeUser& user);
  void RemoveToken(const std::string& token);
  /// Also of tokens that were made for service accounts.
  std::optional<FakeUser> UserOf(const std::string& token) const;
  /// Answers of access reviews; at first all is forbidden but to the group system:masters.
  void Allow(const AccessRule& rule);
  void AllowAll(bool all);
  void ForbidAll();  // forgets the rules
  bool IsAllowed(const FakeUser& user, const Access& access) const;

  // Parts of a cluster that are no API server.
  /// Kubelets' signing requests are approved, and what is approved is signed (at first so).
  void SetSigning(bool on);
  /// A pod without a node is bound when there is only one node (at first not so).
  void SetScheduling(bool on);
  /// Each namespace made from now on has kube-root-ca.crt, as those there are (at first not so).
  void PublishCa();
  const FakeAuthority& authority() const;
  void SetAuthority(std::unique_ptr<FakeAuthority> authority);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace splitlet::apiclient
