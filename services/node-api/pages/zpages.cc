#include "services/node-api/pages/zpages.h"

#include <fmt/chrono.h>

#include <array>

#include "services/node-api/http/json.h"
#include "services/node-api/http/replies.h"

namespace splitlet::node_api {
namespace {

constexpr const char* kComponent = "kubelet";
constexpr const char* kGroup = "config.k8s.io";
constexpr const char* kHead =
    "\n{} {}\nWarning: This endpoint is not meant to be machine parseable, has no formatting "
    "compatibility guarantees and is for debugging purposes only.\n\n";

std::string_view Trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Cuts the part before `mark` off `text`, and returns it.
std::string_view Cut(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return Trimmed(part);
}

/// The form that a media range of the header Accept selects.
PageForm FormOf(std::string_view range, std::string_view kind) {
  const std::string_view type = Cut(range, ';');
  if (type == "*/*" || type == "text/*" || type == "text/plain") return {};
  std::string_view as, group, version;
  while (!range.empty()) {
    std::string_view parameter = Cut(range, ';');
    const std::string_view name = Cut(parameter, '=');
    if (name == "as") as = Trimmed(parameter);
    if (name == "g") group = Trimmed(parameter);
    if (name == "v") version = Trimmed(parameter);
  }
  const bool known =
      as == kind && group == kGroup && (version == "v1beta1" || version == "v1alpha1");
  if (known && type == "application/json")
    return {.kind = PageForm::Kind::kJson, .version = std::string(version)};
  if (known && type == "application/yaml")
    return {.kind = PageForm::Kind::kYaml, .version = std::string(version)};
  return {.kind = PageForm::Kind::kNone};
}

https::Answer PlainPage(std::string text) {
  return {.code = 200, .headers = {{"Content-Type", kPlainText}}, .body = std::move(text)};
}

/// The body is JSON, which is valid YAML too.
https::Answer ObjectPage(const PageForm& form, const char* kind, std::string body) {
  const bool json = form.kind == PageForm::Kind::kJson;
  https::Answer answer{
      .code = 200,
      .headers = {{"Content-Type", json ? "application/json" : "application/yaml"}},
      .body = std::move(body)};
  if (form.version == "v1alpha1")
    answer.headers.emplace_back(
        "Warning", fmt::format("299 - \"{}/v1alpha1 {} is deprecated; use {}/v1beta1 {}\"", kGroup,
                               kind, kGroup, kind));
  return answer;
}

void WriteHead(JsonObject& out, const PageForm& form, const char* kind) {
  out.Text("kind", kind);
  out.Text("apiVersion", fmt::format("{}/{}", kGroup, form.version));
  JsonObject metadata(out.Member("metadata"));
  metadata.Text("name", kComponent);
}

https::Answer NotAcceptable() { return TextReply(406, "406: Not Acceptable"); }

}  // namespace

PageForm ChooseForm(std::string_view accept, std::string_view kind) {
  if (Trimmed(accept).empty()) return {};
  while (!accept.empty()) {
    PageForm form = FormOf(Cut(accept, ','), kind);
    if (form.kind != PageForm::Kind::kNone) return form;
  }
  return {.kind = PageForm::Kind::kNone};
}

std::string_view ZPages::Separator() const {
  constexpr std::array<std::string_view, 4> kSeparators = {":", ": ", "=", " "};
  return kSeparators.at(seed_ % kSeparators.size());
}

https::Answer ZPages::Flagz(std::string_view accept) const {
  const PageForm form = ChooseForm(accept, "Flagz");
  if (form.kind == PageForm::Kind::kNone) return NotAcceptable();
  if (form.kind == PageForm::Kind::kText) {
    std::string text = fmt::format(kHead, kComponent, "flagz");
    for (const auto& [name, value] : contents_.flags)
      text += fmt::format("{}{}{}\n", name, Separator(), value);
    return PlainPage(std::move(text));
  }
  kube::JsonWriter writer(0);
  {
    JsonObject out(writer);
    WriteHead(out, form, "Flagz");
    out.Map("flags", contents_.flags);
  }
  return ObjectPage(form, "Flagz", writer.Take());
}

https::Answer ZPages::Statusz(std::string_view accept, WallTime now) const {
  const PageForm form = ChooseForm(accept, "Statusz");
  if (form.kind == PageForm::Kind::kNone) return NotAcceptable();
  const int64_t up = std::max<int64_t>(
      0, std::chrono::duration_cast<std::chrono::seconds>(now - contents_.started_at).count());
  if (form.kind == PageForm::Kind::kText) {
    const std::tm started =
        fmt::gmtime(static_cast<std::time_t>(ToNanos(contents_.started_at) / 1'000'000'000));
    std::string paths;
    for (const std::string& path : contents_.paths) paths += (paths.empty() ? "" : " ") + path;
    std::string text = fmt::format(kHead, kComponent, "statusz");
    const auto line = [&](const char* name, const std::string& value) {
      text += fmt::format("{}{}{}\n", name, Separator(), value);
    };
    line("Started", fmt::format("{:%a %b %e %H:%M:%S UTC %Y}", started));
    line("Up", fmt::format("{} hr {:02} min {:02} sec", up / 3600, up / 60 % 60, up % 60));
    line("Go version", "none");
    line("Binary version", contents_.version);
    line("Emulation version", contents_.version.substr(0, contents_.version.rfind('.')));
    line("Paths", paths);
    return PlainPage(std::move(text));
  }
  kube::JsonWriter writer(0);
  {
    JsonObject out(writer);
    WriteHead(out, form, "Statusz");
    out.Time("startTime", ToNanos(contents_.started_at));
    out.Number("uptimeSeconds", up);
    out.Text("goVersion", "none");
    out.Text("binaryVersion", contents_.version);
    out.Text("emulationVersion", contents_.version.substr(0, contents_.version.rfind('.')));
    out.Texts("paths", contents_.paths);
  }
  return ObjectPage(form, "Statusz", writer.Take());
}

}  // namespace splitlet::node_api
