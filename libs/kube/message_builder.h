#pragma once

/// Fills a message from the tokens of a document, by reflection.
/// Threads: one.
/// Errors: the first error is kept as a Problem and stops the stream.
/// Source: docs/behaviour/manifests.md, "Decoding".

#include <google/protobuf/message.h>

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libs/kube/codec.h"
#include "libs/kube/tokens.h"
#include "libs/kube/type_info.h"

namespace splitlet::kube {

class MessageBuilder final : public TokenSink {
 public:
  /// `message` is the root. apiVersion and kind are accepted, but ignored, in the root and in the
  /// items of a list.
  MessageBuilder(google::protobuf::Message& message, Strictness strictness);

  struct Found {
    std::string path, reason;
    size_t position = 0;
  };
  const std::optional<Found>& error() const { return error_; }
  /// Unknown and duplicate fields in lenient mode, at most 100.
  const std::vector<Found>& warnings() const { return warnings_; }

  bool OnScalar(const Scalar& scalar, size_t position) override;
  bool OnBeginMap(size_t position) override;
  bool OnKey(std::string_view key, size_t position) override;
  bool OnEndMap() override;
  bool OnBeginList(size_t position) override;
  bool OnEndList() override;

 private:
  using Message = google::protobuf::Message;
  using FieldDescriptor = google::protobuf::FieldDescriptor;

  /// An open map or list. `field` is the target of the next value.
  struct Frame {
    enum class Kind { kObject, kMap, kList, kSkip, kRaw } kind = Kind::kObject;
    Message* message = nullptr;      // object: the message itself; map, list: the message with the
                                     // field
    const TypeInfo* type = nullptr;  // object
    const FieldInfo* field =
        nullptr;  // object: field of the last key, nullptr: skipped; map, list: the field itself
    const FieldDescriptor* plain = nullptr;        // list in a kStringList message
    bool allows_type_meta = false;                 // object: accepts apiVersion and kind; list: its
                                                   // items do
    size_t item = 0;                               // list: index of the next item
    std::string key;                               // map: the last key
    std::unordered_map<std::string, int> entries;  // map: index of each key's entry
    std::bitset<kMaxFields> seen;                  // object
  };
  struct Target {
    Message* message;
    const google::protobuf::Reflection* reflection;  // reflection of `message`
    const FieldDescriptor* field;                    // nullptr: the message itself is the value
    const TypeInfo* type;
    bool add;
  };

  bool Fail(size_t position, std::string reason);
  bool Warn(size_t position, std::string path, std::string reason);
  std::string Path() const;
  /// Target of the next value; creates list items and map entries. Not for skipped values.
  Target NextTarget();
  bool Skipping() const;
  bool SetScalar(const Target& target, const Scalar& scalar, size_t position);
  bool SetFormed(Message& message, const TypeInfo& type, const Scalar& scalar, size_t position);
  bool SetNumber(const Target& target, const Scalar& scalar, size_t position);
  bool OpenValue(bool list, size_t position);
  bool OpenContainer(const FieldInfo& field, Message& holder, bool list, size_t position);
  bool OpenMessage(const Target& target, bool list, size_t position);
  bool OnObjectKey(Frame& frame, std::string_view key, size_t position);
  Message& NewMapEntry(Frame& frame);
  void Push(Frame frame) { frames_.push_back(std::move(frame)); }

  // Raw values, which are written as JSON again until they are closed.
  void RawSeparate();
  void RawScalar(const Scalar& scalar);
  void RawOpen(bool list);
  bool RawClose(bool list);

  Message& root_;
  Strictness strictness_;
  std::vector<Frame> frames_;
  size_t skipped_ = 0;  // depth below an ignored value
  std::string raw_;
  size_t raw_depth_ = 0;
  bool raw_first_ = true;
  Message* raw_message_ = nullptr;
  std::optional<Found> error_;
  std::vector<Found> warnings_;
};

}  // namespace splitlet::kube
