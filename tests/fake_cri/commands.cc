#include "tests/fake_cri/commands.h"

#include <fmt/ranges.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

namespace splitlet::fake_cri {
namespace {

std::string AllIfStar(const std::string& word) { return word == "*" ? "" : word; }

StatusOr<int64_t> ParseNumber(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return InvalidArgument("{} is not a number", text);
  return value;
}

StatusOr<StatusCode> ParseCode(const std::string& name) {
  for (int code = 1; code <= 16; ++code) {
    if (name == CodeName(static_cast<StatusCode>(code))) return static_cast<StatusCode>(code);
  }
  return InvalidArgument("{} is not a code", name);
}

StatusOr<cri::ContainerBehaviour> ParseBehaviour(const std::vector<std::string>& words) {
  cri::ContainerBehaviour behaviour;
  for (const auto& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return InvalidArgument("{} is not name=value", word);
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "exit_after") {
      ASSIGN_OR_RETURN(behaviour.exit_after, ParseDuration(value), "exit_after");
    } else if (name == "exit_code") {
      ASSIGN_OR_RETURN(const int64_t code, ParseNumber(value), "exit_code");
      behaviour.exit_code = static_cast<int32_t>(code);
    } else if (name == "term_after" && value == "never") {
      behaviour.term_after.reset();
    } else if (name == "term_after") {
      ASSIGN_OR_RETURN(behaviour.term_after, ParseDuration(value), "term_after");
    } else if (name == "reason") {
      behaviour.reason = value;
    } else if (name == "termination_message") {
      behaviour.termination_message = value;
    } else if (name == "start_error" || name == "create_error") {
      ASSIGN_OR_RETURN(const StatusCode code, ParseCode(value), "{}", name);
      (name == "start_error" ? behaviour.start_error : behaviour.create_error) =
          MakeStatus(code, "as told");
    } else {
      return InvalidArgument("{} is not a property", name);
    }
  }
  return behaviour;
}

const char* NameOf(cri::ContainerState state) {
  switch (state) {
    case cri::ContainerState::kCreated: return "created";
    case cri::ContainerState::kRunning: return "running";
    case cri::ContainerState::kExited: return "exited";
    case cri::ContainerState::kUnknown: return "unknown";
  }
  UNREACHABLE();
}

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void WriteString(Writer& out, const char* key, const std::string& value) {
  out.Key(key);
  out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void WriteSandbox(Writer& out, const cri::Sandbox& sandbox) {
  out.StartObject();
  WriteString(out, "id", sandbox.id.str());
  WriteString(out, "pod", sandbox.pod_name);
  WriteString(out, "namespace", sandbox.pod_namespace);
  WriteString(out, "uid", sandbox.pod_uid);
  WriteString(out, "state", sandbox.state == cri::SandboxState::kReady ? "ready" : "notready");
  out.Key("attempt");
  out.Uint(sandbox.attempt);
  WriteString(out, "ip", sandbox.ips.empty() ? "" : sandbox.ips.front());
  out.EndObject();
}

void WriteContainer(Writer& out, const cri::Container& container) {
  const auto uid = container.labels.find("io.kubernetes.pod.uid");
  out.StartObject();
  WriteString(out, "id", container.id.str());
  WriteString(out, "sandbox", container.sandbox_id.str());
  WriteString(out, "uid", uid == container.labels.end() ? "" : uid->second);
  WriteString(out, "name", container.name);
  WriteString(out, "image", container.image);
  WriteString(out, "state", NameOf(container.state));
  out.Key("attempt");
  out.Uint(container.attempt);
  out.Key("exit_code");
  out.Int(container.exit_code);
  out.Key("created_at_ns");
  out.Int64(container.created_at_ns);
  out.Key("started_at_ns");
  out.Int64(container.started_at_ns);
  out.Key("finished_at_ns");
  out.Int64(container.finished_at_ns);
  out.EndObject();
}

std::string ListAsJson(const cri::FakeRuntime& runtime) {
  rapidjson::StringBuffer buffer;
  Writer out(buffer);
  out.StartObject();
  out.Key("sandboxes");
  out.StartArray();
  for (const auto& sandbox : runtime.Sandboxes()) WriteSandbox(out, sandbox);
  out.EndArray();
  out.Key("containers");
  out.StartArray();
  for (const auto& container : runtime.Containers()) WriteContainer(out, container);
  out.EndArray();
  out.Key("violations");
  out.StartArray();
  for (const auto& violation : runtime.Violations()) out.String(violation.c_str());
  out.EndArray();
  out.EndObject();
  return buffer.GetString();
}

/// Splits "3*error" into 3 and "error".
StatusOr<int> TakeCount(std::string& word) {
  const size_t star = word.find('*');
  if (star == std::string::npos) return -1;
  ASSIGN_OR_RETURN(const int64_t count, ParseNumber(word.substr(0, star)), "count");
  word.erase(0, star + 1);
  return static_cast<int>(count);
}

}  // namespace

StatusOr<Duration> ParseDuration(const std::string& text) {
  const size_t unit = text.find_first_not_of("0123456789");
  if (unit == 0 || unit == std::string::npos) return InvalidArgument("{} is not a duration", text);
  ASSIGN_OR_RETURN(const int64_t number, ParseNumber(text.substr(0, unit)), "duration");
  const std::string name = text.substr(unit);
  if (name == "ms") return std::chrono::milliseconds{number};
  if (name == "s") return std::chrono::seconds{number};
  if (name == "m") return std::chrono::minutes{number};
  return InvalidArgument("{} is not a duration", text);
}

StatusOr<std::string> Commands::Run(const std::string& line) {
  Words words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  if (words.empty()) return InvalidArgument("an empty line");
  const std::string verb = words.front();
  words.erase(words.begin());
  words.resize(std::max<size_t>(words.size(), 1));
  Status done;
  if (verb == "list") return ListAsJson(runtime_);
  if (verb == "calls") return std::to_string(runtime_.Calls(words[0]));
  if (verb == "pod-cidrs") return PodCidrs(words);
  if (verb == "hanging") return std::to_string(runtime_.Hanging());
  if (verb == "exit") {
    done = Exit(words);
  } else if (verb == "exit-id") {
    done = ExitId(words);
  } else if (verb == "fault") {
    done = SetFault(words);
  } else if (verb == "faults" && words[0] == "off") {
    runtime_.ClearFaults();
    faults_.clear();
  } else if (verb == "behave" || verb == "pull") {
    done = verb == "pull" ? Pull(words) : Behave(words);
    if (done.ok()) lasting_.push_back(line);
  } else if (verb == "exec") {
    done = Exec(words);
  } else if (verb == "events") {
    done = Events(words);
  } else if (verb == "unmanaged") {
    done = Foreign(words);
  } else if (verb == "network") {
    done = Network(words);
  } else if (verb == "streaming") {
    done = Streaming(words);
  } else if (verb == "stop-everything") {
    runtime_.Reboot();
  } else if (verb == "checkpoints") {
    checkpoints_ = words[0] == "on";
  } else if (verb == "down") {
    runtime_.SetDown(words[0] == "on");
  } else {
    return InvalidArgument("{} is not a command", verb);
  }
  if (!done.ok()) return done;
  return std::string();
}

std::string Commands::streaming_url() const {
  const std::lock_guard lock(mutex_);
  return streaming_url_;
}

Status Commands::Streaming(const Words& words) {
  const bool off = words[0] == "off";
  if (!off && !words[0].starts_with("http://")) return InvalidArgument("streaming URL|off");
  const std::lock_guard lock(mutex_);
  streaming_url_ = off ? "" : words[0];
  return OkStatus();
}

Status Commands::OnPodCidr(const std::string& cidr) {
  const std::lock_guard lock(mutex_);
  std::string line = pod_cidr_error_.ok() ? cidr : "refused:" + cidr;
  const bool again = !pod_cidrs_.empty() && pod_cidrs_.back() == line;
  if (pod_cidr_error_.ok() || !again) pod_cidrs_.push_back(std::move(line));
  return pod_cidr_error_;
}

StatusOr<std::string> Commands::PodCidrs(const Words& words) {
  const std::lock_guard lock(mutex_);
  if (words[0] == "ok") {
    pod_cidr_error_ = OkStatus();
  } else if (words[0] == "error" && words.size() > 1) {
    ASSIGN_OR_RETURN(const StatusCode code, ParseCode(words[1]), "error");
    pod_cidr_error_ = MakeStatus(code, "as told");
  } else if (!words[0].empty()) {
    return InvalidArgument("pod-cidrs [ok|error CODE]");
  }
  return fmt::format("{}", fmt::join(pod_cidrs_, " "));
}

Status Commands::Exit(const Words& words) {
  if (words.size() < 3) return InvalidArgument("exit POD CONTAINER CODE [REASON]");
  ASSIGN_OR_RETURN(const int64_t code, ParseNumber(words[2]), "code");
  return runtime_.ExitContainer(words[0], words[1], static_cast<int32_t>(code),
                                words.size() > 3 ? words[3] : "");
}

Status Commands::ExitId(const Words& words) {
  if (words.size() < 2) return InvalidArgument("exit-id ID CODE [REASON]");
  ASSIGN_OR_RETURN(const int64_t code, ParseNumber(words[1]), "code");
  return runtime_.ExitContainer(cri::ContainerId(words[0]), static_cast<int32_t>(code),
                                words.size() > 2 ? words[2] : "");
}

Status Commands::SetFault(const Words& words) {
  if (words.size() < 3) return InvalidArgument("fault METHOD POD TERM");
  const std::pair<std::string, std::string> key{words[0], words[1]};
  if (const auto old = faults_.find(key); old != faults_.end()) {
    runtime_.RemoveFault(old->second);
    faults_.erase(old);
  }
  std::string kind = words[2];
  if (kind == "off") return OkStatus();
  cri::Fault fault;
  fault.method = AllIfStar(words[0]);
  fault.pod = AllIfStar(words[1]);
  ASSIGN_OR_RETURN(fault.times, TakeCount(kind), "term");
  const std::string argument = words.size() > 3 ? words[3] : "";
  if (kind == "hang") {
    fault.kind = cri::Fault::Kind::kHang;
  } else if (kind == "delay") {
    fault.kind = cri::Fault::Kind::kDelay;
    ASSIGN_OR_RETURN(fault.delay, ParseDuration(argument), "delay");
  } else if (kind == "error" || kind == "lose") {
    fault.kind = kind == "error" ? cri::Fault::Kind::kFail : cri::Fault::Kind::kLoseResponse;
    ASSIGN_OR_RETURN(fault.code, ParseCode(argument), "{}", kind);
  } else {
    return InvalidArgument("{} is not a term", kind);
  }
  faults_[key] = runtime_.AddFault(fault);
  return OkStatus();
}

Status Commands::Behave(const Words& words) {
  if (words.size() < 2)
    return InvalidArgument("behave POD CONTAINER NAME=VALUE ... [| NAME=VALUE ...]");
  std::vector<cri::ContainerBehaviour> behaviours;
  Words one;
  for (size_t i = 2; i <= words.size(); ++i) {
    if (i < words.size() && words[i] != "|") {
      one.push_back(words[i]);
      continue;
    }
    ASSIGN_OR_RETURN(auto behaviour, ParseBehaviour(one), "behaviour");
    behaviours.push_back(std::move(behaviour));
    one.clear();
  }
  runtime_.SetBehaviour(AllIfStar(words[0]), AllIfStar(words[1]), std::move(behaviours));
  return OkStatus();
}

Status Commands::Exec(const Words& words) {
  if (words.size() < 3) return InvalidArgument("exec POD CONTAINER CODE");
  ASSIGN_OR_RETURN(const int64_t code, ParseNumber(words[2]), "code");
  runtime_.SetExec(AllIfStar(words[0]), AllIfStar(words[1]),
                   cri::ExecResult{static_cast<int32_t>(code), "", ""});
  return OkStatus();
}

Status Commands::Pull(const Words& words) {
  if (words.size() < 2) return InvalidArgument("pull IMAGE ok|error CODE|delay DURATION");
  cri::PullBehaviour pull;
  const std::string argument = words.size() > 2 ? words[2] : "";
  if (words[1] == "error") {
    ASSIGN_OR_RETURN(const StatusCode code, ParseCode(argument), "error");
    pull.error = MakeStatus(code, "as told");
  } else if (words[1] == "delay") {
    ASSIGN_OR_RETURN(pull.takes, ParseDuration(argument), "delay");
  } else if (words[1] != "ok") {
    return InvalidArgument("{} is not a pull", words[1]);
  }
  runtime_.SetPull(words[0], pull);
  return OkStatus();
}

Status Commands::Events(const Words& words) {
  const std::string argument = words.size() > 1 ? words[1] : "";
  if (words[0] == "end") {
    runtime_.EndStreams(Unavailable("ended"));
  } else if (words[0] == "on" || words[0] == "off") {
    runtime_.SetEvents(words[0] == "on");
  } else if (words[0] == "lag") {
    ASSIGN_OR_RETURN(const Duration lag, ParseDuration(argument), "lag");
    runtime_.SetExitLag(lag);
  } else if (words[0] == "drop" || words[0] == "double") {
    ASSIGN_OR_RETURN(const int64_t count, ParseNumber(argument), "{}", words[0]);
    if (words[0] == "drop") runtime_.DropEvents(static_cast<int>(count));
    if (words[0] == "double") runtime_.DoubleEvents(static_cast<int>(count));
  } else {
    return InvalidArgument("events end|on|off|lag DURATION|drop N|double N");
  }
  return OkStatus();
}

Status Commands::Foreign(const Words& words) {
  if (words.size() < 2) return InvalidArgument("unmanaged NAME UID [CONTAINER ...]");
  cri::UnmanagedPod pod{words[1], words[0], "default", {"app"}, {}};
  if (words.size() > 2) pod.containers.assign(words.begin() + 2, words.end());
  runtime_.AddUnmanagedPod(pod);
  return OkStatus();
}

Status Commands::Network(const Words& words) {
  const bool ready = words[0] == "on";
  runtime_.SetConditions(
      {{"RuntimeReady", true, "", ""},
       {"NetworkReady", ready, ready ? "" : "NetworkPluginNotReady", ready ? "" : "as told"}});
  return OkStatus();
}

}  // namespace splitlet::fake_cri
