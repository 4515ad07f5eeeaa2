#pragma once

/// /flagz and /statusz: the flags of this process, its start time, and the paths it serves.
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

/// The form of a page that a client accepts.
struct PageForm {
  enum class Kind {
    kText,
    kJson,
    kYaml,
    kNone,  // a form that is not served
  } kind = Kind::kText;
  std::string version = {};  // API version of the object: "v1beta1"
};
/// `kind`: "Flagz". For an object, a client must name its kind, group and version.
PageForm ChooseForm(std::string_view accept, std::string_view kind);

class ZPages {
 public:
  struct Contents {
    WallTime started_at;
    std::string version;  // version of the kubelet whose behaviour this node has: "1.36.0"
    std::map<std::string, std::string> flags;
    std::vector<std::string> paths;  // "/configz", sorted
  };
  /// `seed` selects the separator in the text form, so that no client relies on it.
  ZPages(Contents contents, uint64_t seed) : contents_(std::move(contents)), seed_(seed) {}

  https::Answer Flagz(std::string_view accept) const;
  https::Answer Statusz(std::string_view accept, WallTime now) const;

 private:
  std::string_view Separator() const;
  const Contents contents_;
  const uint64_t seed_;
};

}  // namespace splitlet::node_api
