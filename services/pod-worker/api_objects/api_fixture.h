#pragma once

/// Objects for pods on an API server in memory, for tests.
/// Threads: one.
/// Errors:  of the test.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/config.pb.h"
#include "libs/fake_api/api_server.h"

namespace splitlet::pod_worker {

inline std::string PathOf(const std::string& collection, const std::string& name) {
  return "/api/v1/namespaces/default/" + collection + "/" + name;
}

/// In namespace default; `value` has the key K.
inline void PutConfigMap(fake_api::FakeApiServer& api, const std::string& name,
                         const std::string& value, bool immutable = false) {
  api.PutJson(PathOf("configmaps", name),
              fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}",)"
                          R"("namespace":"default"}},"data":{{"K":"{}"}},"immutable":{}}})",
                          name, value, immutable));
}

/// `value`: in base64.
inline void PutSecret(fake_api::FakeApiServer& api, const std::string& name,
                      const std::string& value, bool immutable = false) {
  api.PutJson(PathOf("secrets", name),
              fmt::format(R"({{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{}",)"
                          R"("namespace":"default"}},"data":{{"K":"{}"}},"immutable":{}}})",
                          name, value, immutable));
}

inline void PutAccount(fake_api::FakeApiServer& api, const std::string& name) {
  api.PutJson(PathOf("serviceaccounts", name),
              fmt::format(R"({{"apiVersion":"v1","kind":"ServiceAccount","metadata":)"
                          R"({{"name":"{}","namespace":"default"}}}})",
                          name));
}

/// Counts the requests since the last call whose method and path begin like this.
inline int TakeCount(fake_api::FakeApiServer& api, const std::string& method,
                     const std::string& prefix) {
  int count = 0;
  for (const auto& seen : api.TakeSeen())
    if (seen.method == method && seen.path.starts_with(prefix)) ++count;
  return count;
}

}  // namespace splitlet::pod_worker
