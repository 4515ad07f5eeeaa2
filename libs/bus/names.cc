#include "libs/bus/names.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cctype>

#include "libs/base/hash.h"
#include "libs/base/processes.h"
#include "libs/bus/bus.h"
#include "libs/bus/scope.h"
#include "libs/bus/typed.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::bus {

std::string Subject(std::string_view node, std::string_view rest) {
  return fmt::format("splitlet.{}.{}", HexHash(node), rest);
}

std::string OwnerOf(std::string_view table) {
  if (table.empty()) return {};
  const auto* owner = std::ranges::find(kProcesses, table, &ProcessRow::table);
  return owner == kProcesses.end() ? std::string() : std::string(owner->name);
}

bool IsKey(std::string_view text) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, plain);
}

std::string KeyOf(std::string_view uid) { return IsKey(uid) ? std::string(uid) : HexHash(uid); }

std::string ScopeOf(std::string_view table, const std::string& record) {
  if (table != "desired") return std::string(kAll);
  v1::DesiredRecord desired;
  return desired.ParseFromString(record) ? desired.source() : std::string();
}

std::string SerializeSorted(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  CHECK(message.SerializeToCodedStream(&coded));
  coded.Trim();
  return bytes;
}

}  // namespace splitlet::bus
