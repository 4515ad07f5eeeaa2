#include "libs/base/fail_point.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "libs/base/random.h"

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names from the section's name.
// First and past-the-last site of this program; null if the program has none.
extern const char* const __start_splitlet_fail_sites[] __attribute__((weak));
extern const char* const __stop_splitlet_fail_sites[] __attribute__((weak));
// NOLINTEND(bugprone-reserved-identifier)
}

namespace splitlet {
namespace fail_point_internal {
std::atomic<int> armed{0};
}

namespace {

enum class Kind { kOff, kReturn, kDelay, kPause, kCrash, kDrop, kShift };

struct Step {
  Kind kind = Kind::kOff;
  int64_t count = -1;  // -1: unlimited
  double probability = 1.0;
  Status status;
  int64_t time_ns = 0;  // only for kDelay and kShift
};

StatusOr<StatusCode> ParseCode(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::ranges::replace(upper, '-', '_');
  for (int code = 1; code <= 16; ++code) {
    if (CodeName(static_cast<StatusCode>(code)) == upper) return static_cast<StatusCode>(code);
  }
  return InvalidArgument("unknown code {}", name);
}

StatusOr<int64_t> ParseTime(std::string_view text) {
  constexpr double kLongest = 3e18;  // about a century; not(x <= kLongest) is also true for a NaN
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return InvalidArgument("bad duration {}", text);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  static const std::map<std::string_view, double> kUnits = {
      {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  const auto found = kUnits.find(unit);
  if (found == kUnits.end())
    return InvalidArgument("bad duration {}: unit us, ms, s, m or h is missing", text);
  const double time = number * found->second;
  if (!(std::abs(time) <= kLongest)) return InvalidArgument("bad duration {}", text);
  return static_cast<int64_t>(time);
}

Status ParseReturn(std::string_view argument, Step& step) {
  const auto comma = argument.find(',');
  ASSIGN_OR_RETURN(const StatusCode code, ParseCode(argument.substr(0, comma)), "return");
  const std::string_view message =
      comma == std::string_view::npos ? "injected by a fail point" : argument.substr(comma + 1);
  step.status = MakeStatus(code, message);
  return OkStatus();
}

constexpr double kMaxCount = 1e15;  // largest integer that a double counts exactly

/// Reads "3*" and "5%" from the front of `text`.
Status ParsePrefixes(std::string_view& text, Step& step) {
  const auto mark = text.find_first_of("*%(");
  if (mark == std::string_view::npos || text[mark] == '(') return OkStatus();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + mark, number);
  if (error != std::errc{} || end != text.data() + mark || number < 0)
    return InvalidArgument("bad number before {}", text[mark]);
  if (text[mark] == '*' && (number != std::floor(number) || number > kMaxCount))
    return InvalidArgument("bad count {}*: want a whole number", text.substr(0, mark));
  if (text[mark] == '%' && !(number <= 100))  // also true for a NaN
    return InvalidArgument("bad probability {}%: want 0 to 100", text.substr(0, mark));
  if (text[mark] == '*') step.count = static_cast<int64_t>(number);
  if (text[mark] == '%') step.probability = number / 100;
  text.remove_prefix(mark + 1);
  return ParsePrefixes(text, step);
}

StatusOr<Step> ParseStep(std::string_view text) {
  Step step;
  RETURN_IF_ERROR(ParsePrefixes(text, step), "term");
  const auto open = text.find('(');
  const std::string_view name = text.substr(0, open);
  std::string_view argument;
  if (open != std::string_view::npos) {
    if (text.back() != ')') return InvalidArgument("closing parenthesis is missing in {}", text);
    argument = text.substr(open + 1, text.size() - open - 2);
  }
  static const std::map<std::string_view, Kind> kKinds = {
      {"off", Kind::kOff},     {"return", Kind::kReturn}, {"delay", Kind::kDelay},
      {"pause", Kind::kPause}, {"crash", Kind::kCrash},   {"drop", Kind::kDrop},
      {"shift", Kind::kShift}};
  const auto found = kKinds.find(name);
  if (found == kKinds.end())
    return InvalidArgument("unknown action {}: off, return, delay, pause, crash, drop or shift",
                           name);
  step.kind = found->second;
  if (step.kind == Kind::kReturn) RETURN_IF_ERROR(ParseReturn(argument, step), "term");
  if (step.kind == Kind::kDelay || step.kind == Kind::kShift) {
    ASSIGN_OR_RETURN(step.time_ns, ParseTime(argument), "{}", name);
  }
  if (step.kind == Kind::kDelay && step.time_ns < 0)
    return InvalidArgument("delay: bad duration {}", argument);
  return step;
}

StatusOr<std::deque<Step>> ParseTerm(std::string_view term) {
  std::deque<Step> steps;
  while (true) {
    const auto arrow = term.find("->");
    ASSIGN_OR_RETURN(Step step, ParseStep(term.substr(0, arrow)), "fail point");
    steps.push_back(std::move(step));
    if (arrow == std::string_view::npos) return steps;
    term.remove_prefix(arrow + 2);
  }
}

bool IsOff(const std::deque<Step>& steps) {
  return steps.size() == 1 && steps.front().kind == Kind::kOff;
}

void CrashNow() { kill(getpid(), SIGKILL); }
void SleepNow(int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

std::atomic<FailPoints*> current{nullptr};

}  // namespace

struct FailPoints::Impl {
  struct Point {
    std::string term = "off";
    std::deque<Step> steps;
    uint64_t hits = 0;
    uint64_t version = 0;  // a new version of the point ends its pause
  };
  Actions actions;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Point, std::less<>> points;
  int active = 0;
  bool locked = false;
  Random random{0x5EED};

  void Assign(const std::string& name, std::string_view term, std::deque<Step> steps) {
    Point& point = points[name];
    const bool was = !point.steps.empty();
    point.steps = IsOff(steps) ? std::deque<Step>{} : std::move(steps);
    point.term = point.steps.empty() ? "off" : std::string(term);
    ++point.version;
    Count(static_cast<int>(!point.steps.empty()) - static_cast<int>(was));
    changed.notify_all();
  }
  /// Turns a term off when its count is used up.
  void DropSpent(Point& point) {
    while (!point.steps.empty() && point.steps.front().count == 0) point.steps.pop_front();
    const bool acts =
        std::ranges::any_of(point.steps, [](const Step& step) { return step.kind != Kind::kOff; });
    if (acts || point.term == "off") return;
    point.steps.clear();
    point.term = "off";
    Count(-1);
  }
  void Count(int difference) {
    active += difference;
    fail_point_internal::armed.fetch_add(difference, std::memory_order_relaxed);
  }
};

FailPoints::FailPoints() : FailPoints(Actions{CrashNow, SleepNow}) {}

FailPoints::FailPoints(Actions actions) : impl_(std::make_unique<Impl>()) {
  impl_->actions = std::move(actions);
}

FailPoints::~FailPoints() { impl_->Count(-impl_->active); }

Status FailPoints::Set(std::string_view name, std::string_view term) {
  if (name.empty()) return InvalidArgument("a fail point needs a name");
  ASSIGN_OR_RETURN(auto steps, ParseTerm(term), "{}", name);
  const std::lock_guard lock(impl_->mutex);
  if (impl_->locked) return FailedPrecondition("fail points are locked by the configuration");
  impl_->Assign(std::string(name), term, std::move(steps));
  return OkStatus();
}

Status FailPoints::SetAll(std::string_view list) {
  std::vector<std::pair<std::string, std::string>> all;
  while (!list.empty()) {
    const auto end = list.find(';');
    const std::string_view part = list.substr(0, end);
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    if (part.empty()) continue;
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) return InvalidArgument("{}: name=term is expected", part);
    RETURN_IF_ERROR(ParseTerm(part.substr(equals + 1)), "{}", part.substr(0, equals));
    all.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  for (const auto& [name, term] : all) RETURN_IF_ERROR(Set(name, term), "set");
  return OkStatus();
}

void FailPoints::Clear(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  std::deque<Step> off(1);
  for (auto& [key, point] : impl_->points)
    if (name.empty() || key == name) impl_->Assign(key, "off", off);
}

void FailPoints::Lock() {
  const std::lock_guard lock(impl_->mutex);
  impl_->locked = true;
}

bool FailPoints::locked() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->locked;
}

std::vector<FailPoints::Info> FailPoints::List() const {
  std::map<std::string, Info> all;
  if (__start_splitlet_fail_sites != nullptr) {
    for (const char* const* site = __start_splitlet_fail_sites; site != __stop_splitlet_fail_sites;
         ++site)
      all[*site] = {*site, "off", 0};
  }
  const std::lock_guard lock(impl_->mutex);
  for (const auto& [name, point] : impl_->points) all[name] = {name, point.term, point.hits};
  std::vector<Info> list;
  list.reserve(all.size());
  for (auto& [name, info] : all) list.push_back(std::move(info));
  return list;
}

FailPoints::Outcome FailPoints::Hit(std::string_view name) {
  std::unique_lock lock(impl_->mutex);
  const auto found = impl_->points.find(name);
  if (found == impl_->points.end()) return {};
  Impl::Point& point = found->second;
  impl_->DropSpent(point);
  if (point.steps.empty()) return {};
  const Step now = point.steps.front();
  if (now.probability < 1.0 && impl_->random.Unit() >= now.probability) return {};
  if (now.count > 0) --point.steps.front().count;
  // A point that pauses stays in the list until it is changed.
  if (now.kind != Kind::kPause) impl_->DropSpent(point);
  if (now.kind == Kind::kOff) return {};
  ++point.hits;
  switch (now.kind) {
    case Kind::kOff: return {};
    case Kind::kReturn: return {.status = now.status};
    case Kind::kDrop: return {.status = OkStatus(), .drop = true};
    case Kind::kShift:
      return {.status = OkStatus(), .shift = std::chrono::nanoseconds{now.time_ns}};
    case Kind::kCrash:
      lock.unlock();
      impl_->actions.crash();
      return {.status = Cancelled("crashed by a fail point"), .drop = true};
    case Kind::kDelay:
      lock.unlock();
      impl_->actions.delay(now.time_ns);
      return {};
    case Kind::kPause: {
      const uint64_t version = point.version;
      impl_->changed.wait(lock, [&point, version] { return point.version != version; });
      return {};
    }
  }
  UNREACHABLE();
}

FailPoints& FailPoints::Current() {
  static FailPoints process;
  FailPoints* points = current.load(std::memory_order_acquire);
  return points != nullptr ? *points : process;
}

void FailPoints::SetCurrent(FailPoints* points) {
  current.store(points, std::memory_order_release);
}

}  // namespace splitlet
