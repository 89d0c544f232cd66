#include "model/generate/text.h"

#include <algorithm>
#include <cctype>

#include "json/writer.h"

namespace holdfast::model::generate {
namespace {

constexpr size_t kColumns = 110;

bool IsUpper(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}
bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  for (char c : name) {
    if (IsWordChar(c)) {
      words.back().push_back(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

void Lower(std::string* text) {
  for (char& c : *text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// A text that YAML would read as something else, or not at all, stands in quotes.
std::string YamlText(const std::string& text) {
  static constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off"};
  std::string lower = text;
  Lower(&lower);
  bool plain =
      !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
      std::all_of(text.begin(), text.end(),
                  [](char c) {
                    return IsWordChar(c) || std::string_view("_-./:").find(c) != std::string_view::npos;
                  }) &&
      text.back() != ':' && std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
  return plain ? text : Quote(text);
}

}  // namespace

std::string Join(const std::vector<std::string>& parts, std::string_view between) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) joined += between;
    joined += part;
  }
  return joined;
}

bool Contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string JoinQuoted(const std::vector<std::string>& texts, std::string_view between) {
  return JoinAll(texts, between, [](const std::string& text) { return Quote(text); });
}

std::string Replace(std::string_view all, std::string_view from, std::string_view to) {
  std::string replaced;
  for (size_t at = all.find(from); at != std::string_view::npos; at = all.find(from)) {
    replaced.append(all.substr(0, at)).append(to);
    all.remove_prefix(at + from.size());
  }
  return replaced.append(all);
}

std::string NumberText(double value) {
  std::string text;
  json::AppendDouble(value, &text);
  return text;
}

std::string Quote(std::string_view text) {
  std::string quoted;
  json::AppendString(text, &quoted);
  return quoted;
}

bool IsIdentifier(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsWordChar(c) || c == '_'; });
}

std::string PascalName(std::string_view name) {
  std::string pascal;
  for (std::string& word : WordsOf(name)) {
    bool shouted = word.size() > 1 && std::none_of(word.begin(), word.end(), [](char c) {
                     return std::islower(static_cast<unsigned char>(c)) != 0;
                   });
    if (shouted) Lower(&word);
    word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
    pascal += word;
  }
  if (!pascal.empty() && std::isdigit(static_cast<unsigned char>(pascal[0])) != 0) pascal.insert(0, 1, '_');
  return pascal;
}

std::string SnakeName(std::string_view name) {
  std::string snake;
  for (char c : PascalName(name)) {
    if (IsUpper(c) && !snake.empty()) snake.push_back('_');
    snake.push_back(c);
  }
  Lower(&snake);
  return snake;
}

// --- lines ---

Lines& Lines::Add(std::string_view text) {
  while (true) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty()) text_.append(static_cast<size_t>(indent()), ' ').append(line);
    text_.push_back('\n');
    if (end == std::string_view::npos) return *this;
    text.remove_prefix(end + 1);
  }
}

Lines& Lines::Open(std::string_view text) {
  Add(text);
  ++depth_;
  return *this;
}

Lines& Lines::Back() {
  --depth_;
  return *this;
}

Lines& Lines::Close(std::string_view text) {
  return Back().Add(text);
}

// --- trees ---

Node::Node(const AttributeValue& value) {
  using Type = AttributeValue::Type;
  switch (value.type()) {
    case Type::kNull: kind_ = Kind::kNull; return;
    case Type::kFalse: kind_ = Kind::kFalse; return;
    case Type::kTrue: kind_ = Kind::kTrue; return;
    case Type::kNumber:
      kind_ = Kind::kNumber;
      text_ = value.AsText();
      return;
    case Type::kString:
    case Type::kBinary:
      kind_ = Kind::kText;
      text_ = value.AsText();
      return;
    case Type::kStringSet:
    case Type::kBinarySet: *this = List(value.AsSet()); return;
    case Type::kNumberSet:
      kind_ = Kind::kList;
      for (const std::string& member : value.AsSet()) Add(Node(AttributeValue::Number(member)));
      return;
    case Type::kList:
      kind_ = Kind::kList;
      for (const AttributeValue& element : value.AsList()) Add(Node(element));
      return;
    case Type::kMap:
      kind_ = Kind::kMap;
      for (const auto& [name, entry] : value.AsMap()) Set(name, Node(entry));
      return;
  }
}

Node Node::List(const std::vector<std::string>& texts) {
  Node list = List();
  for (const std::string& text : texts) list.Add(text);
  return list;
}

Node Node::Raw(std::string_view text) {
  Node raw(Kind::kRaw);
  raw.text_ = text;
  return raw;
}

Node& Node::Set(std::string_view key, Node value) {
  children_.emplace_back(key, std::move(value));
  return *this;
}

Node& Node::Add(Node value) {
  return Set({}, std::move(value));
}

std::string Node::Leaf(Style style) const {
  bool python = style == Style::kPython;
  switch (kind_) {
    case Kind::kNull: return python ? "None" : "null";
    case Kind::kFalse: return python ? "False" : "false";
    case Kind::kTrue: return python ? "True" : "true";
    case Kind::kText: return Quote(text_);
    case Kind::kNumber: {
      bool whole = text_.find_first_not_of("-0123456789") == std::string::npos;
      return python && !whole ? Cat("Decimal(", Quote(text_), ")") : text_;
    }
    default: return text_;
  }
}

std::string Node::OneLine(Style style) const {
  if (kind_ < Kind::kList) return Leaf(style);
  bool map = kind_ == Kind::kMap;
  std::vector<std::string> parts;
  for (const auto& [key, child] : children_) {
    std::string name = style == Style::kTypeScript && IsIdentifier(key) ? key : Quote(key);
    parts.push_back(map ? Cat(name, ": ", child.OneLine(style)) : child.OneLine(style));
  }
  bool spaced = map && style == Style::kTypeScript && !parts.empty();
  return Cat(map ? "{" : "[", spaced ? " " : "", Join(parts, ", "), spaced ? " " : "", map ? "}" : "]");
}

std::string Node::Spell(Style style, int indent) const {
  std::string line = OneLine(style);
  if (kind_ < Kind::kList || children_.empty() || static_cast<size_t>(indent) + line.size() <= kColumns)
    return line;
  const int step = style == Style::kPython ? 4 : 2;
  std::string pad(static_cast<size_t>(indent + step), ' ');
  std::string text = kind_ == Kind::kMap ? "{\n" : "[\n";
  for (const auto& entry : children_) {
    text += pad;
    if (kind_ == Kind::kMap)
      text += Cat(style == Style::kTypeScript && IsIdentifier(entry.first) ? entry.first : Quote(entry.first),
                  ": ");
    text += entry.second.Spell(style, indent + step);
    bool last = &entry == &children_.back();
    text += last && style == Style::kJson ? "\n" : ",\n";
  }
  return Cat(text, std::string(static_cast<size_t>(indent), ' '), kind_ == Kind::kMap ? "}" : "]");
}

void Node::AppendYaml(int indent, std::string* out) const {
  if (kind_ < Kind::kList || children_.empty()) {
    *out += Cat(" ", kind_ == Kind::kText ? YamlText(text_) : OneLine(Style::kJson), "\n");
    return;
  }
  if (indent > 0) *out += '\n';
  for (const auto& [key, child] : children_) {
    *out += std::string(static_cast<size_t>(indent), ' ');
    if (kind_ == Kind::kMap) {
      *out += Cat(YamlText(key), ":");
      child.AppendYaml(indent + 2, out);
      continue;
    }
    // The first line of a list's element stands beside its dash.
    std::string element;
    child.AppendYaml(indent + 2, &element);
    size_t begin = element.find_first_not_of(" \n");
    *out += Cat("- ", std::string_view(element).substr(begin));
  }
}

std::string Node::ToYaml() const {
  std::string text;
  AppendYaml(0, &text);
  return text;
}

}  // namespace holdfast::model::generate
