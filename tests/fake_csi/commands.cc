#include "tests/fake_csi/commands.h"

#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <sstream>

#include "csi/v1/csi.pb.h"
#include "libs/csi/string_map.h"
#include "libs/kube/text_writer.h"

namespace splitlet::fake_csi {
namespace {

StatusOr<int64_t> ParseNumber(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return InvalidArgument("{} is no number", text);
  return number;
}

StatusOr<StatusCode> ParseCode(const std::string& name) {
  for (int code = 1; code <= 16; ++code)
    if (name == CodeName(static_cast<StatusCode>(code))) return static_cast<StatusCode>(code);
  return InvalidArgument("{} is no code", name);
}

void WriteMap(kube::JsonWriter& out, const char* name, const csi::StringMap& map) {
  out.Key(name);
  out.BeginMap();
  for (const auto& [key, value] : map) {
    out.Key(key);
    out.String(value);
  }
  out.EndMap();
}

void WriteList(kube::JsonWriter& out, const std::vector<std::string>& list) {
  out.BeginList();
  for (const auto& text : list) out.String(text);
  out.EndList();
}

std::string ListAsJson(const csi::FakeDriver& driver) {
  kube::JsonWriter out(0);
  out.BeginMap();
  WriteMap(out, "staged", driver.Staged());
  WriteMap(out, "published", driver.Published());
  out.Key("sizes");
  out.BeginMap();
  for (const auto& [handle, bytes] : driver.Sizes()) {
    out.Key(handle);
    out.Plain(std::to_string(bytes));
  }
  out.EndMap();
  out.Key("violations");
  WriteList(out, driver.Violations());
  out.EndMap();
  return out.Take();
}

std::string RequestsAsJson(const csi::FakeDriver& driver, const std::string& method) {
  kube::JsonWriter out(0);
  WriteList(out, driver.RequestTexts(method));
  return out.Take();
}

}  // namespace

StatusOr<std::string> Commands::Run(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  if (words.empty()) return InvalidArgument("an empty line");
  const std::string verb = words.front();
  words.erase(words.begin());
  const std::string first = words.empty() ? "" : words.front();
  Status done;
  if (verb == "list") return ListAsJson(driver_);
  if (verb == "calls") return std::to_string(driver_.Calls(first));
  if (verb == "requests") return RequestsAsJson(driver_, first);
  if (verb == "hanging") return std::to_string(driver_.Hanging());
  if (verb == "capabilities") {
    done = SetCapabilities(words);
  } else if (verb == "node") {
    done = SetNode(words);
  } else if (verb == "stats") {
    done = SetStats(words);
  } else if (verb == "fault") {
    done = AddFault(words);
  } else if (verb == "faults" && first == "off") {
    driver_.ClearFaults();
  } else {
    return InvalidArgument("{} is no command", verb);
  }
  if (!done.ok()) return done;
  return std::string();
}

Status Commands::SetCapabilities(const Words& words) {
  csi::FakeDriverTraits traits = driver_.Traits();
  traits.capabilities = {};
  for (const auto& word : words) {
    ::csi::v1::NodeServiceCapability::RPC::Type type{};
    if (!::csi::v1::NodeServiceCapability::RPC::Type_Parse(word, &type) || type == 0)
      return InvalidArgument("{} is no capability", word);
    traits.capabilities.Add(static_cast<csi::NodeCapability>(static_cast<int>(type)));
  }
  driver_.SetTraits(std::move(traits));
  return OkStatus();
}

Status Commands::SetNode(const Words& words) {
  if (words.empty()) return InvalidArgument("node ID [MAX-VOLUMES] [KEY=VALUE ...]");
  csi::FakeDriverTraits traits = driver_.Traits();
  traits.node = {.node_id = words[0]};
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals != std::string::npos) {
      traits.node.topology[words[i].substr(0, equals)] = words[i].substr(equals + 1);
      continue;
    }
    ASSIGN_OR_RETURN(traits.node.max_volumes, ParseNumber(words[i]), "node");
  }
  driver_.SetTraits(std::move(traits));
  return OkStatus();
}

Status Commands::SetStats(const Words& words) {
  if (words.size() != 2) return InvalidArgument("stats TOTAL USED");
  ASSIGN_OR_RETURN(const int64_t total, ParseNumber(words[0]), "total");
  ASSIGN_OR_RETURN(const int64_t used, ParseNumber(words[1]), "used");
  csi::FakeDriverTraits traits = driver_.Traits();
  traits.stats.bytes = csi::VolumeUsage{total - used, total, used};
  driver_.SetTraits(std::move(traits));
  return OkStatus();
}

Status Commands::AddFault(const Words& words) {
  if (words.size() < 2) return InvalidArgument("fault METHOD TERM");
  csi::FakeFault fault{.method = words[0] == "*" ? "" : words[0]};
  std::string kind = words[1];
  if (const size_t star = kind.find('*'); star != std::string::npos) {
    ASSIGN_OR_RETURN(const int64_t times, ParseNumber(kind.substr(0, star)), "count");
    fault.times = static_cast<int>(times);
    kind.erase(0, star + 1);
  }
  using Kind = csi::FakeFault::Kind;
  if (kind == "hang") {
    fault.kind = Kind::kHang;
  } else if ((kind == "error" || kind == "lose") && words.size() > 2) {
    fault.kind = kind == "error" ? Kind::kFail : Kind::kLose;
    ASSIGN_OR_RETURN(const StatusCode code, ParseCode(words[2]), "{}", kind);
    const Words message(words.begin() + 3, words.end());
    fault.error = MakeStatus(code, "{}", fmt::join(message, " "));
  } else {
    return InvalidArgument("{} is no term", kind);
  }
  driver_.AddFault(std::move(fault));
  return OkStatus();
}

}  // namespace splitlet::fake_csi
