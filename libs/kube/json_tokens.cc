#include "libs/kube/json_tokens.h"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>

namespace splitlet::kube {
namespace {

class Handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  Handler(TokenSink& sink, const rapidjson::MemoryStream& stream) : sink_(sink), stream_(stream) {}
  bool too_deep() const { return too_deep_; }

  bool Null() { return sink_.OnScalar({}, At()); }
  bool Bool(bool value) {
    return sink_.OnScalar({Scalar::Kind::kBool, value ? "true" : "false"}, At());
  }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    return sink_.OnScalar({Scalar::Kind::kNumber, {text, size}}, At());
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return sink_.OnScalar({Scalar::Kind::kString, {text, size}}, At());
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    return sink_.OnKey({text, size}, At());
  }
  bool StartObject() { return Deeper() && sink_.OnBeginMap(At()); }
  bool EndObject(rapidjson::SizeType) {
    --depth_;
    return sink_.OnEndMap();
  }
  bool StartArray() { return Deeper() && sink_.OnBeginList(At()); }
  bool EndArray(rapidjson::SizeType) {
    --depth_;
    return sink_.OnEndList();
  }

 private:
  size_t At() const { return stream_.Tell(); }
  bool Deeper() {
    too_deep_ = ++depth_ > kMaxNesting;
    return !too_deep_;
  }

  TokenSink& sink_;
  const rapidjson::MemoryStream& stream_;
  int depth_ = 0;
  bool too_deep_ = false;
};

class JsonSource final : public TokenSource {
 public:
  explicit JsonSource(std::string_view text) : text_(text) {}

  Status Replay(TokenSink& sink) override {
    rapidjson::MemoryStream stream(text_.data(), text_.size());
    Handler handler(sink, stream);
    rapidjson::Reader reader;
    constexpr unsigned kFlags =
        rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;
    const auto result = reader.Parse<kFlags>(stream, handler);
    if (!result.IsError()) return OkStatus();
    if (handler.too_deep())
      return InvalidArgument("nested more than {} levels deep (line {})", kMaxNesting,
                             LineOf(result.Offset()));
    if (result.Code() == rapidjson::kParseErrorTermination) return OkStatus();
    return InvalidArgument("not JSON: {} (line {})", rapidjson::GetParseError_En(result.Code()),
                           LineOf(result.Offset()));
  }

  size_t LineOf(size_t position) const override {
    const auto head = text_.substr(0, std::min(position, text_.size()));
    return 1 + static_cast<size_t>(std::count(head.begin(), head.end(), '\n'));
  }

 private:
  std::string_view text_;
};

}  // namespace

std::unique_ptr<TokenSource> OpenJson(std::string_view text) {
  return std::make_unique<JsonSource>(text);
}

}  // namespace splitlet::kube
