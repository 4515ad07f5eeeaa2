#pragma once

/// /flagz and /statusz: with which flags this process runs, since when, and what it serves.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "flagz and statusz".

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/https/server.h"

namespace splitlet::node_api {

/// What a client wants of such a page.
struct PageForm {
  enum class Kind {
    kText,
    kJson,
    kYaml,
    kNone,  // nothing that is served
  } kind = Kind::kText;
  std::string version = {};  // of the object: "v1beta1"
};
/// `kind`: "Flagz"; an object has to be asked for by its kind, group and version.
PageForm ChooseForm(std::string_view accept, std::string_view kind);

class ZPages {
 public:
  struct Facts {
    WallTime started_at;
    std::string version;  // of the kubelet that this node shows: "1.36.0"
    std::map<std::string, std::string> flags;
    std::vector<std::string> paths;  // "/configz", sorted
  };
  /// `seed`: which separator stands in the texts, so that nobody parses them.
  ZPages(Facts facts, uint64_t seed) : facts_(std::move(facts)), seed_(seed) {}

  https::Answer Flagz(std::string_view accept) const;
  https::Answer Statusz(std::string_view accept, WallTime now) const;

 private:
  std::string_view Separator() const;
  const Facts facts_;
  const uint64_t seed_;
};

}  // namespace splitlet::node_api
