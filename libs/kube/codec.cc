#include "libs/kube/codec.h"

#include <algorithm>
#include <array>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/text.h"
#include "libs/kube/message_builder.h"
#include "libs/kube/tokens.h"
#include "libs/kube/yaml_tokens.h"

namespace splitlet::kube {
namespace {

using google::protobuf::Message;

/// apiVersion and kind of a document; stops as soon as both are found.
class HeaderScan final : public TokenSink {
 public:
  std::string api_version, kind;
  bool has_api_version = false, has_kind = false, is_map = false;

  bool OnScalar(const Scalar& scalar, size_t) override {
    if (depth_ != 1 || wanted_ == nullptr) return true;
    if (scalar.kind == Scalar::Kind::kString) *wanted_ = ToText(scalar.text);
    wanted_ = nullptr;
    return !(has_api_version && has_kind);
  }
  bool OnBeginMap(size_t) override {
    if (++depth_ == 1) is_map = true;
    return true;
  }
  bool OnKey(std::string_view key, size_t) override {
    if (depth_ != 1) return true;
    wanted_ = nullptr;
    if (key == "apiVersion") {
      wanted_ = &api_version;
      has_api_version = true;
    } else if (key == "kind") {
      wanted_ = &kind;
      has_kind = true;
    }
    return true;
  }
  bool OnEndMap() override { return --depth_, true; }
  bool OnBeginList(size_t) override { return ++depth_, true; }
  bool OnEndList() override { return --depth_, true; }

 private:
  int depth_ = 0;
  std::string* wanted_ = nullptr;
};

/// Finds the line of a path, or of the longest part of it that exists.
class PathFinder final : public TokenSink {
 public:
  explicit PathFinder(std::string_view path) : path_(path) {}
  size_t position() const { return position_; }
  bool found() const { return best_ > 0; }

  bool OnScalar(const Scalar&, size_t position) override { return OnItem(position); }
  bool OnBeginMap(size_t position) override { return Open(position, false); }
  bool OnBeginList(size_t position) override { return Open(position, true); }
  bool OnKey(std::string_view key, size_t position) override {
    Frame& frame = frames_.back();
    frame.name = frame.prefix;
    frame.name.append(frame.name.empty() ? "" : ".").append(key);
    std::string as_index = frame.prefix + "[" + std::string(key) + "]";
    if (path_.substr(0, as_index.size()) == as_index) frame.name = std::move(as_index);
    return Compare(frame.name, position);
  }
  bool OnEndMap() override { return frames_.pop_back(), true; }
  bool OnEndList() override { return frames_.pop_back(), true; }

 private:
  struct Frame {
    bool list;
    std::string prefix, name;
    size_t next = 0;
  };
  bool OnItem(size_t position) {
    if (frames_.empty() || !frames_.back().list) return true;
    Frame& frame = frames_.back();
    frame.name = fmt::format("{}[{}]", frame.prefix, frame.next++);
    return Compare(frame.name, position);
  }
  bool Open(size_t position, bool list) {
    if (!OnItem(position)) return false;
    frames_.push_back({list, frames_.empty() ? std::string() : frames_.back().name, {}});
    return true;
  }
  /// Remembers the longest prefix of the path that ends at a boundary; stops at the full path.
  bool Compare(const std::string& name, size_t position) {
    const bool prefix = path_.substr(0, name.size()) == name;
    const bool boundary =
        name.size() >= path_.size() || path_[name.size()] == '.' || path_[name.size()] == '[';
    if (!prefix || !boundary || name.size() <= best_) return true;
    best_ = name.size();
    position_ = position;
    return best_ < path_.size();
  }

  std::string_view path_;
  std::vector<Frame> frames_;
  size_t best_ = 0, position_ = 0;
};

std::string Describe(const std::string& file, const TokenSource& source,
                     const MessageBuilder::Found& found) {
  return fmt::format("{}: {}{}{} (line {})", file, found.path, found.path.empty() ? "" : ": ",
                     found.reason, source.LineOf(found.position));
}

StatusOr<std::vector<std::string>> Fill(TokenSource& source, const std::string& file,
                                        Strictness strictness, Message& message) {
  message.Clear();
  MessageBuilder builder(message, strictness);
  RETURN_IF_ERROR(source.Replay(builder), "{}", file);
  if (builder.error()) return InvalidArgument(Describe(file, source, *builder.error()));
  std::vector<std::string> warnings;
  for (const auto& warning : builder.warnings())
    warnings.push_back(Describe(file, source, warning));
  return warnings;
}

/// The start of a document on one line, for errors about all of it.
std::string Excerpt(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "null";
  std::string excerpt = ToText(text.substr(first), 60);
  std::replace(excerpt.begin(), excerpt.end(), '\n', ' ');
  return text.size() - first > 60 ? excerpt + "..." : excerpt;
}

}  // namespace

const std::vector<KnownKind>& PodKinds() {
  static const std::vector<KnownKind> kinds = {
      {"v1", "Pod", &k8s::io::api::core::v1::Pod::default_instance()},
      {"v1", "PodList", &k8s::io::api::core::v1::PodList::default_instance()},
  };
  return kinds;
}

StatusOr<Decoded> Decode(std::string_view text, const std::string& file, Strictness strictness,
                         const std::vector<KnownKind>& kinds) {
  ASSIGN_OR_RETURN(const auto source, OpenTokens(text), "{}", file);
  HeaderScan header;
  RETURN_IF_ERROR(source->Replay(header), "{}", file);
  if (!header.is_map)
    return InvalidArgument("{}: expected an object, found '{}'", file, Excerpt(text));
  if (header.kind.empty())
    return InvalidArgument("{}: Object 'Kind' is missing in '{}'", file, Excerpt(text));
  if (header.api_version.empty())
    return InvalidArgument("{}: Object 'apiVersion' is missing in '{}'", file, Excerpt(text));
  const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const KnownKind& kind) {
    return kind.api_version == header.api_version && kind.kind == header.kind;
  });
  if (known == kinds.end())
    return InvalidArgument("{}: no kind \"{}\" is registered for version \"{}\"", file, header.kind,
                           header.api_version);
  Decoded decoded{.api_version = header.api_version, .kind = header.kind};
  decoded.object = std::shared_ptr<Message>(known->prototype->New());
  auto warnings = Fill(*source, file, strictness, *decoded.object);
  if (!warnings.ok()) return warnings.status();
  decoded.warnings = std::move(warnings).value();
  return decoded;
}

StatusOr<std::vector<std::string>> DecodeInto(std::string_view text, const std::string& file,
                                              Strictness strictness, Message& message) {
  ASSIGN_OR_RETURN(const auto source, OpenTokens(text), "{}", file);
  return Fill(*source, file, strictness, message);
}

size_t FindLine(std::string_view text, std::string_view path) {
  const auto source = OpenTokens(text);
  PathFinder finder(path);
  if (!source.ok() || !(*source)->Replay(finder).ok() || !finder.found()) return 0;
  return (*source)->LineOf(finder.position());
}

}  // namespace splitlet::kube
