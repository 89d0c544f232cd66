#include "model/load_commands.h"

#include <algorithm>
#include <array>

#include "model/refusal.h"
#include "model/yaml_value.h"

namespace holdfast::model {
namespace {

using Form = WriteStep::Form;

// What commands always see, beside what they name themselves.
constexpr std::array<std::string_view, 8> kGivenNames{"input", "caller", "now",     "nowEpoch",
                                                      "today", "with",   "written", "computed"};
bool IsGiven(std::string_view name) {
  return std::find(kGivenNames.begin(), kGivenNames.end(), name) != kGivenNames.end();
}

class CommandReader {
 public:
  CommandReader(YamlReader* reader, const std::function<std::vector<Attribute>(const At&)>& read_attributes,
                Model* model)
      : reader_(*reader), read_attributes_(read_attributes), model_(model) {}

  void Read(const At& top) {
    reader_.EachEntry(top["functions"],
                      [&](const std::string& name, const At& at) { ReadFunction(name, at); });
    reader_.EachEntry(top["commands"], [&](const std::string& name, const At& at) { ReadCommand(name, at); });
    reader_.EachEntry(top["roles"], [&](const std::string& name, const At& at) { ReadRole(name, at); });
    if (!reader_.problems().empty()) return;
    for (auto& command : model_->commands) CheckCommand(command.get());
  }

 private:
  // --- values ---

  Expression ReadValue(const At& at) {
    Expression value;
    if (at.node.IsScalar()) {
      std::string text = at.text();
      bool speaks = text.starts_with('$') || text.find('{') != std::string::npos;
      if (speaks) {
        if (auto parsed = reader_.Take(at, ParseExpression(text))) value = *std::move(parsed);
      } else {
        value.kind = Expression::Kind::kLiteral;
        value.literal = ValueOfYaml(at.node);
      }
      return value;
    }
    if (at.node.IsSequence()) {
      value.kind = Expression::Kind::kList;
      reader_.EachElement(at, [&](const At& element) { value.parts.push_back(ReadValue(element)); });
      return value;
    }
    if (!at.node.IsMap()) return value;
    for (const auto& [word, kind] :
         {std::pair("$append", Expression::Kind::kAppend), std::pair("$merge", Expression::Kind::kMerge),
          std::pair("$element", Expression::Kind::kElement)}) {
      At operands = at[word];
      if (!operands) continue;
      reader_.OnlyKeys(at, {word});
      value.kind = kind;
      reader_.EachElement(operands, [&](const At& element) { value.parts.push_back(ReadValue(element)); });
      if (value.parts.size() != 2) reader_.Problem(operands, std::string(word) + " takes two values");
      value.parts.resize(2);
      return value;
    }
    if (At condition = at["$if"]) {
      reader_.OnlyKeys(at, {"$if", "then", "else"});
      value.kind = Expression::Kind::kIf;
      value.condition = ReadCondition(condition);
      if (!value.condition) value.kind = Expression::Kind::kNothing;
      value.parts.push_back(ReadValue(at["then"]));
      if (at["else"]) value.parts.push_back(ReadValue(at["else"]));
      return value;
    }
    value.kind = Expression::Kind::kMap;
    value.fields = ReadFields(at);
    return value;
  }

  Fields ReadFields(const At& at) {
    Fields fields;
    reader_.EachEntry(at, [&](const std::string& name, const At& value) {
      if (name.starts_with('$')) reader_.Problem(value, "no such operator: " + name);
      fields.push_back({name, ReadValue(value)});
    });
    return fields;
  }

  std::optional<Condition> ReadCondition(const At& at) {
    if (!at) return std::nullopt;
    return reader_.Take(at, ParseCondition(at.text()));
  }

  const Entity* EntityNamed(const At& at) {
    const Entity* entity = model_->FindEntity(at.text());
    if (entity == nullptr) reader_.Problem(at, "no entity of this model: " + at.text());
    return entity;
  }

  // --- writes ---

  std::vector<WriteStep> ReadWrites(const At& at) {
    std::vector<WriteStep> steps;
    reader_.EachElement(at, [&](const At& element) {
      WriteStep step;
      if (ReadWrite(element, &step)) steps.push_back(std::move(step));
    });
    return steps;
  }

  bool ReadWrite(const At& at, WriteStep* step) {
    step->place = YamlReader::PlaceOf(at);
    step->when = ReadCondition(at["when"]);
    if (At entity = at["put"]) {
      reader_.OnlyKeys(at, {"put", "from", "set", "as", "bump", "when"});
      step->form = Form::kPut;
      step->entity = EntityNamed(entity);
      step->as = at["as"].text();
      step->bump = at["bump"].text();
      if (at["from"]) step->from = ReadValue(at["from"]);
      step->set = ReadFields(at["set"]);
      return step->entity != nullptr;
    }
    for (const auto& [word, form] : {std::pair("patch", Form::kPatch), std::pair("save", Form::kSave),
                                     std::pair("delete", Form::kDelete), std::pair("check", Form::kCheck)}) {
      At read = at[word];
      if (!read) continue;
      step->form = form;
      if (at["key"] && (form == Form::kDelete || form == Form::kCheck)) {
        reader_.OnlyKeys(at, {word, "key", "when"});
        step->entity = EntityNamed(read);
        step->key = ReadFields(at["key"]);
        return step->entity != nullptr;
      }
      step->read = read.text();
      if (form == Form::kPatch)
        reader_.OnlyKeys(at, {word, "from", "set", "expect", "expect_state", "any_state", "when"});
      else if (form == Form::kSave)
        reader_.OnlyKeys(at, {word, "from", "set", "new", "expect", "expect_state", "any_state", "when"});
      else if (form == Form::kDelete)
        reader_.OnlyKeys(at, {word, "expect", "when"});
      else
        reader_.OnlyKeys(at, {word, "expect_state", "when"});
      if (at["from"]) step->from = ReadValue(at["from"]);
      step->set = ReadFields(at["set"]);
      step->fresh = ReadFields(at["new"]);
      if (at["expect"]) step->expect = ReadValue(at["expect"]);
      step->expect_state = reader_.Texts(at["expect_state"]);
      step->any_state = reader_.Flag(at["any_state"], false);
      return true;
    }
    if (At function = at["use"]) {
      reader_.OnlyKeys(at, {"use", "with", "when"});
      step->form = Form::kUse;
      step->function = function.text();
      step->set = ReadFields(at["with"]);
      if (model_->FindFunction(step->function) == nullptr)
        reader_.Problem(function, "no function that stands before this: " + step->function);
      return true;
    }
    if (At cases = at["cases"]) {
      reader_.OnlyKeys(at, {"cases", "when"});
      step->form = Form::kCases;
      reader_.EachElement(cases, [&](const At& one) {
        reader_.OnlyKeys(one, {"when", "write"});
        WriteStep branch;
        branch.form = Form::kCases;
        branch.place = YamlReader::PlaceOf(one);
        branch.when = ReadCondition(one["when"]);
        branch.steps = ReadWrites(one["write"]);
        step->steps.push_back(std::move(branch));
      });
      return true;
    }
    if (At list = at["for_each"]) {
      reader_.OnlyKeys(at, {"for_each", "as", "write", "when"});
      step->form = Form::kForEach;
      step->list = ReadValue(list);
      step->as = at["as"].text();
      step->steps = ReadWrites(at["write"]);
      if (step->as.empty()) reader_.Problem(at, "says with `as` what one element is called");
      return true;
    }
    reader_.Problem(at, "should be one of put, patch, save, delete, check, use, cases, for_each");
    return false;
  }

  // --- the three parts ---

  void ReadFunction(const std::string& name, const At& at) {
    reader_.OnlyKeys(at, {"let", "write", "description"});
    auto function = std::make_unique<CommandFunction>();
    function->name = name;
    function->place = YamlReader::PlaceOf(at);
    function->let = ReadFields(at["let"]);
    function->write = ReadWrites(at["write"]);
    model_->functions.push_back(std::move(function));
  }

  void ReadRole(const std::string& name, const At& at) {
    reader_.OnlyKeys(at, {"tenant", "commands", "read", "write", "description"});
    auto role = std::make_unique<Role>();
    role->name = name;
    role->place = YamlReader::PlaceOf(at);
    std::string tenant = at["tenant"] ? at["tenant"].text() : "own";
    if (tenant != "own" && tenant != "any") reader_.Problem(at["tenant"], "should be own or any");
    role->own_tenant = tenant == "own";
    role->commands = reader_.Texts(at["commands"]);
    role->read = reader_.Texts(at["read"]);
    role->write = reader_.Texts(at["write"]);
    auto check = [&](const std::vector<std::string>& globs, const auto& all, const char* what) {
      for (const std::string& glob : globs) {
        bool fits = std::any_of(all.begin(), all.end(),
                                [&](const auto& one) { return MatchesAny({glob}, one->name); });
        if (!fits && glob != "*") reader_.Problem(at[what], "names nothing of this model: " + glob);
      }
    };
    check(role->commands, model_->commands, "commands");
    check(role->read, model_->entities, "read");
    check(role->write, model_->entities, "write");
    model_->roles.push_back(std::move(role));
  }

  void ReadCommand(const std::string& name, const At& at) {
    reader_.OnlyKeys(at, {"id", "title", "description", "roles", "input", "read", "let", "compute", "refuse",
                          "unchanged_when", "write", "emit", "result", "handler", "internal", "errors"});
    auto command = std::make_unique<Command>();
    command->name = name;
    command->place = YamlReader::PlaceOf(at);
    bool sound = !name.empty() && name.find_first_not_of(
                                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_.-") == std::string::npos;
    if (!sound) reader_.Problem(at, "a command's name is letters, digits, dots and dashes");
    command->id = at["id"].text();
    command->title = at["title"] ? at["title"].text() : name;
    command->description = at["description"].text();
    if (at["roles"]) command->roles = reader_.Texts(at["roles"]);
    command->inputs = read_attributes_(at["input"]);
    reader_.EachEntry(at["input"],
                      [&](const std::string& input, const At&) { command->input_order.push_back(input); });
    reader_.EachEntry(at["read"],
                      [&](const std::string& read, const At& line) { ReadRead(read, line, command.get()); });
    command->let = ReadFields(at["let"]);
    command->compute = at["compute"].text();
    reader_.EachElement(at["refuse"], [&](const At& one) { ReadRefusal(one, command.get()); });
    command->unchanged_when = ReadCondition(at["unchanged_when"]);
    command->writes = ReadWrites(at["write"]);
    reader_.EachElement(at["emit"], [&](const At& one) {
      reader_.OnlyKeys(one, {"name", "to", "body", "when"});
      Emission emission;
      emission.name = one["name"].text();
      if (emission.name.empty()) reader_.Problem(one, "has no `name`");
      emission.when = ReadCondition(one["when"]);
      if (one["to"]) emission.to = ReadValue(one["to"]);
      emission.body = ReadFields(one["body"]);
      command->emits.push_back(std::move(emission));
    });
    if (at["result"]) command->result = ReadValue(at["result"]);
    command->handler = reader_.Flag(at["handler"], false);
    command->internal = reader_.Flag(at["internal"], false);
    for (const std::string& error : reader_.Texts(at["errors"])) AddError(error, command.get());
    bool says_more = !command->writes.empty() || !command->compute.empty();
    if (command->handler && says_more) reader_.Problem(at, "has a handler and therefore nothing to write");
    model_->commands.push_back(std::move(command));
  }

  void ReadRead(const std::string& name, const At& at, Command* command) {
    reader_.OnlyKeys(at, {"get", "key", "optional", "loose", "when"});
    CommandRead read;
    read.name = name;
    read.place = YamlReader::PlaceOf(at);
    if (!at["get"]) return reader_.Problem(at, "says with `get` which entity");
    read.entity = EntityNamed(at["get"]);
    read.key = ReadFields(at["key"]);
    read.when = ReadCondition(at["when"]);
    read.optional = reader_.Flag(at["optional"], false);
    read.loose = reader_.Flag(at["loose"], false);
    if (IsGiven(name)) reader_.Problem(at, "the name " + name + " is taken");
    if (read.entity == nullptr) return;
    std::vector<std::string> inputs = read.entity->KeyInputs();
    for (const auto& [attribute, value] : read.key) {
      if (!Has(inputs, attribute))
        reader_.Problem(at["key"], attribute + " is not in the key of " + read.entity->name);
    }
    command->reads.push_back(std::move(read));
  }

  void ReadRefusal(const At& at, Command* command) {
    reader_.OnlyKeys(at, {"name", "when", "unless", "message", "details", "retry_after", "status"});
    Refusal refusal;
    refusal.place = YamlReader::PlaceOf(at);
    refusal.name = at["name"].text();
    refusal.when = ReadCondition(at["when"]);
    refusal.unless = ReadCondition(at["unless"]);
    refusal.message = ReadValue(at["message"]);
    refusal.details = ReadFields(at["details"]);
    if (at["retry_after"]) refusal.retry_after = ReadValue(at["retry_after"]);
    int known = StatusOfRefusal(refusal.name);
    refusal.http_status = static_cast<int>(reader_.Integer(at["status"], known, 400, 599));
    if (refusal.name.empty())
      reader_.Problem(at, "has no `name`");
    else if (refusal.http_status == 0)
      reader_.Problem(at, refusal.name + " is not in the catalogue of errors; say its HTTP `status`");
    AddError(refusal.name, command);
    command->refusals.push_back(std::move(refusal));
  }

  static void AddError(const std::string& name, Command* command) {
    if (!Has(command->errors, name)) command->errors.push_back(name);
  }

  // --- what can only be seen when all is read ---

  // Looks every path up that a command uses, and notes what it relies on.
  void CheckCommand(Command* command) {
    Check check{this, command, {}, true};
    for (CommandRead& read : command->reads) {
      check.place = &read.place;
      if (read.when) check.Look(*read.when);
      for (const auto& [name, value] : read.key) check.Look(value);
      check.names.insert(read.name);
    }
    check.place = &command->place;
    check.LookAtLet(command->let);
    for (const Refusal& refusal : command->refusals) {
      check.place = &refusal.place;
      if (refusal.when) check.Look(*refusal.when);
      if (refusal.unless) check.Look(*refusal.unless);
      check.Look(refusal.message);
      for (const auto& [name, value] : refusal.details) check.Look(value);
      if (refusal.retry_after) check.Look(*refusal.retry_after);
    }
    check.place = &command->place;
    if (command->unchanged_when) check.Look(*command->unchanged_when);
    check.LookAtWrites(command->writes);
    // What is only told rests on nothing.
    check.relies = false;
    check.place = &command->place;
    for (const Emission& emission : command->emits) {
      if (emission.when) check.Look(*emission.when);
      if (emission.to) check.Look(*emission.to);
      for (const auto& [name, value] : emission.body) check.Look(value);
    }
    if (command->result) check.Look(*command->result);
    for (const std::string& role : command->roles.value_or(std::vector<std::string>())) {
      if (role != "admin" && model_->FindRole(role) == nullptr)
        reader_.Problem(command->place, "no role of this model: " + role);
    }
    if (command->compute.empty()) return;
    for (CommandRead& read : command->reads) {
      read.looked_at = true;
      bool versioned = !read.entity->version.empty();
      for (const Attribute& attribute : read.entity->attributes) {
        bool counts = versioned ? attribute.name == read.entity->version : attribute.stored;
        if (counts) read.relied_on.insert(attribute.name);
      }
    }
  }

  struct Check {
    CommandReader* reader;
    Command* command;
    std::set<std::string, std::less<>> names;
    bool relies;
    const Place* place = nullptr;
    int depth = 0;

    void Look(const Expression& value) {
      VisitPaths(value, [this](std::string_view path) { LookAt(path); });
    }
    void Look(const Condition& condition) {
      VisitPaths(condition, [this](std::string_view path) { LookAt(path); });
    }
    void LookAtLet(const Fields& let) {
      for (const auto& [name, value] : let) {
        Look(value);
        names.insert(name);
      }
    }

    void LookAt(std::string_view path) {
      size_t end = path.find_first_of(".[");
      std::string_view root = path.substr(0, end);
      std::string_view rest = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
      std::string first(rest.substr(0, rest.find_first_of(".[")));
      auto problem = [&](const std::string& what) {
        reader->reader_.Problem(*place, std::string(path) + ": " + what);
      };
      if (root == "input") {
        bool known = first.empty() || FindAttribute(command->inputs, first) != nullptr;
        if (!known) problem("no input of " + command->name);
        return;
      }
      auto read = std::find_if(command->reads.begin(), command->reads.end(),
                               [&](const CommandRead& one) { return one.name == root; });
      if (read == command->reads.end()) {
        if (names.count(root) == 0 && !IsGiven(root))
          problem("nothing is called " + std::string(root) + " here");
        return;
      }
      if (names.count(root) == 0) return problem(std::string(root) + " is read later");
      if (relies) read->looked_at = true;
      if (first.empty()) return;
      const Attribute* attribute = read->entity->Find(first);
      if (attribute == nullptr) return problem("no attribute of " + read->entity->name);
      if (relies && attribute->stored) read->relied_on.insert(first);
    }

    void LookAtFields(const Entity& entity, const Fields& fields) {
      for (const auto& [name, value] : fields) {
        if (entity.Find(name) == nullptr)
          reader->reader_.Problem(*place, name + " is no attribute of " + entity.name);
        Look(value);
      }
    }

    void LookAtWrites(const std::vector<WriteStep>& steps) {
      for (const WriteStep& step : steps) LookAtWrite(step);
    }

    void LookAtWrite(const WriteStep& step) {
      place = &step.place;
      if (step.when) Look(*step.when);
      switch (step.form) {
        case Form::kPut:
          if (step.from) Look(*step.from);
          LookAtFields(*step.entity, step.set);
          if (!step.bump.empty() && step.entity->Find(step.bump) == nullptr)
            reader->reader_.Problem(*place, step.bump + " is no attribute of " + step.entity->name);
          if (!step.as.empty()) names.insert(step.as);
          break;
        case Form::kPatch:
        case Form::kSave:
        case Form::kDelete:
        case Form::kCheck: {
          if (step.entity != nullptr) {
            LookAtFields(*step.entity, step.key);
            break;
          }
          const CommandRead* read = command->FindRead(step.read);
          if (read == nullptr)
            return reader->reader_.Problem(*place, command->name + " reads nothing called " + step.read);
          if (step.from) Look(*step.from);
          LookAtFields(*read->entity, step.set);
          LookAtFields(*read->entity, step.fresh);
          if (!step.expect_state.empty() && read->entity->machine == nullptr)
            reader->reader_.Problem(*place, read->entity->name + " has no state machine");
          if (step.expect) Look(*step.expect);
          if (step.expect && read->entity->version.empty())
            reader->reader_.Problem(*place, read->entity->name + " has no version to expect");
          if (step.form == Form::kSave) LookAt(step.read);  // whether it is there decides what is written
          if (step.form == Form::kSave && !read->optional)
            reader->reader_.Problem(*place, "`save` is for what may not be there: mark the read optional");
          break;
        }
        case Form::kUse: {
          for (const auto& [name, value] : step.set) Look(value);
          const CommandFunction& function = *reader->model_->FindFunction(step.function);
          if (++depth > 4) return reader->reader_.Problem(*place, "functions use each other too deeply");
          auto outside = names;
          LookAtLet(function.let);
          LookAtWrites(function.write);
          names = std::move(outside);
          --depth;
          break;
        }
        case Form::kCases:
          for (const WriteStep& one : step.steps) {
            place = &one.place;
            if (one.when) Look(*one.when);
            LookAtWrites(one.steps);
          }
          break;
        case Form::kForEach: {
          Look(*step.list);
          auto outside = names;
          names.insert(step.as);
          LookAtWrites(step.steps);
          names = std::move(outside);
          break;
        }
      }
    }
  };

  YamlReader& reader_;
  const std::function<std::vector<Attribute>(const At&)>& read_attributes_;
  Model* const model_;
};

}  // namespace

void ReadCommands(YamlReader* reader, const At& top,
                  const std::function<std::vector<Attribute>(const At&)>& read_attributes, Model* model) {
  CommandReader(reader, read_attributes, model).Read(top);
}

}  // namespace holdfast::model
