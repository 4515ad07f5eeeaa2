#pragma once

/// An API server in memory that keeps the promises of a real one: resource versions, lists in
/// pages, watches with a window and bookmarks, 410, conflicts, patches, status subresources,
/// graceful deletion, tokens, reviews, signing requests. Of tests, and behind the program fake-api.
/// Threads: any; answers of what does not wait come before Begin returns. Watches answer on the
///          thread that made the change.
/// Errors:  those that it is told to give.
/// Source:  API concepts and conventions of Kubernetes.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/apiclient/transport.h"

namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

class FakeApiServer final : public Transport {
 public:
  explicit FakeApiServer(const Clock& clock);
  ~FakeApiServer() override;

  void Begin(Request request, Deadline deadline, Done done) override;
  void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) override;

  // What a test does as somebody else; `path` is of the object: "/api/v1/namespaces/a/pods/web".
  // Each CHECKs that the server takes it.
  void Put(const std::string& path, const google::protobuf::Message& object);  // create or replace
  void PutJson(const std::string& path, std::string_view json);
  void Delete(const std::string& path);  // as kubectl does, gracefully
  void Remove(const std::string& path);  // at once
  bool Has(const std::string& path) const;
  /// False: there is none.
  bool Get(const std::string& path, google::protobuf::Message& into) const;
  std::string GetJson(const std::string& path) const;  // "" : there is none
  std::vector<std::string> List(const std::string& collection) const;  // paths

  // What goes wrong. `method` "" and `prefix` "" match every request.
  struct Fault {
    std::string method, prefix;  // prefix of the path, without query
    int times = -1;              // below 0: until ClearFaults
    int code = 0;                // answered; 0: the connection fails
    std::optional<Duration> retry_after;
    bool after_effect = false;  // the request is carried out, and its answer is lost
    bool hang = false;          // no answer until the deadline or ClearFaults
    std::string body;           // instead of a Status object, with code 200: garbage
  };
  void Inject(Fault fault);
  void ClearFaults();
  /// Every request fails, and watches end, until it is back.
  void SetAway(bool away);
  void EndWatches();
  /// Changes before now can no longer be watched from: 410.
  void Compact();
  void SendBookmarks();

  /// "PATCH /api/v1/nodes/n1/status", in the order in which they came; with its body.
  struct Seen {
    std::string method, path;  // with query
    std::string content_type, body;
  };
  std::vector<Seen> TakeSeen();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace splitlet::apiclient
