#pragma once

/// Writes JSON or YAML through the same calls, in kubectl's style. Calls in a wrong order make an
/// invalid text.
/// Threads: one.

#include <string>
#include <string_view>
#include <vector>

namespace splitlet::kube {

class TextWriter {
 public:
  virtual ~TextWriter() = default;
  virtual void BeginMap() = 0;
  virtual void Key(std::string_view key) = 0;
  virtual void EndMap() = 0;
  virtual void BeginList() = 0;
  virtual void EndList() = 0;
  virtual void String(std::string_view text) = 0;
  /// Writes a number, true, false or null.
  virtual void Plain(std::string_view text) = 0;
};

class JsonWriter final : public TextWriter {
 public:
  explicit JsonWriter(int indent) : indent_(static_cast<size_t>(indent)) {}
  std::string Take() { return std::move(out_); }

  void BeginMap() override { Open('{'); }
  void Key(std::string_view key) override;
  void EndMap() override { Close('}'); }
  void BeginList() override { Open('['); }
  void EndList() override { Close(']'); }
  void String(std::string_view text) override;
  void Plain(std::string_view text) override;

 private:
  void Open(char c);
  void Close(char c);
  void Separate();
  void NewLine();

  size_t indent_;
  std::string out_;
  std::vector<size_t> counts_;  // number of values so far in each open map or list
  bool after_key_ = false;
};

class YamlWriter final : public TextWriter {
 public:
  std::string Take() { return std::move(out_); }

  void BeginMap() override { Open(false); }
  void Key(std::string_view key) override;
  void EndMap() override { Close("{}"); }
  void BeginList() override { Open(true); }
  void EndList() override { Close("[]"); }
  void String(std::string_view text) override;
  void Plain(std::string_view text) override;

 private:
  enum class After { kNothing, kKey, kDash };
  struct Frame {
    bool list = false;
    size_t indent = 0;
    size_t count = 0;
    After opened_after = After::kNothing;
  };
  void Open(bool list);
  void Close(std::string_view empty);
  /// Begins a line for the next key or item, unless the line continues after a dash.
  void BeginEntry();
  /// Writes the dash if the value is a list item.
  void BeginValue();
  void Value(std::string_view text);
  void Block(std::string_view text);

  std::string out_;
  std::vector<Frame> frames_;
  After after_ = After::kNothing;
};

}  // namespace splitlet::kube
