#include "model/cloudformation/template.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "model/cloudformation/value.h"
#include "model/yaml_reader.h"

namespace holdfast::model::cloudformation {
namespace {

constexpr size_t kTextBytesMax = 1 << 20;
constexpr size_t kMadeBytesMax = 8 << 20;  // by all functions together
constexpr size_t kMadeBytesEach = 64;      // counted for a text besides its own: empty ones cost as well
constexpr size_t kNestedMax = 200;
constexpr std::string_view kTable = TableProperties::kTypeName;
constexpr std::string_view kGlobalTable = GlobalTableProperties::kTypeName;
constexpr std::string_view kSimpleTable = SimpleTableProperties::kTypeName;
constexpr std::string_view kKeyOfKms = "KMSMasterKeyId";
constexpr std::string_view kMarkOfCdk = "AWS::CDK::Metadata";  // CDK puts it everywhere; it makes nothing
constexpr std::string_view kServerless = "AWS::Serverless-2016-10-31";

bool IsTable(std::string_view type) {
  return type == kTable || type == kGlobalTable || type == kSimpleTable;
}

// A function of CloudFormation and what it is given. Short and long form are one: !GetAtt is Fn::GetAtt.
struct Call {
  std::string name;  // empty: it is no call
  At argument;
};

Call CallAt(const At& at) {
  const std::string& tag = at.node.Tag();
  if (tag.size() > 1 && tag[0] == '!' && tag[1] != '!') {
    std::string name = tag.substr(1);
    return {name == "Ref" || name == "Condition" ? name : "Fn::" + name, at};
  }
  if (!at.node.IsMap() || at.node.size() != 1) return {};
  std::string name = at.node.entries().front().first.Scalar();
  if (name != "Ref" && !name.starts_with("Fn::")) return {};
  return {name, at[name]};
}

struct Parameter {
  Value value;
  std::string unusable;  // why it has none
};

At ElementAt(const At& at, size_t i) {
  return {i < at.node.elements().size() ? at.node.elements()[i] : YamlNode(),
          at.path + "[" + std::to_string(i) + "]"};
}

class Reader : private YamlReader {
 public:
  Reader(const std::string& file, const ReadOptions& options) : YamlReader(file), options_(options) {}

  Result<Template> Read(const YamlNode& root) {
    top_ = {root, ""};
    ReadTop();
    if (problems().empty()) return std::move(template_);
    std::string message;
    for (const std::string& problem : problems()) message += (message.empty() ? "" : "\n") + problem;
    return ValidationError(std::move(message));
  }

 private:
  // --- the parts of a template ---

  void ReadTop() {
    if (!top_.node.IsMap() || !top_["Resources"].node.IsMap())
      return Problem(top_, "a template is a map that has Resources");
    OnlyKeys(top_, {"AWSTemplateFormatVersion", "Description", "Metadata", "Parameters", "Mappings",
                    "Conditions", "Transform", "Globals", "Resources", "Outputs", "Rules"});
    OneOf(top_["AWSTemplateFormatVersion"], {"2010-09-09"});
    EachElement(top_["Transform"], [&](const At& at) {
      if (at.text() != kServerless) Problem(at, "the transform " + at.text() + " is not supported");
    });
    ReadParameters();
    if (!problems().empty()) return;
    EachEntry(top_["Resources"], [&](const std::string& id, const At& at) { ReadResource(id, at); });
    if (problems().empty()) OrderTables();
    EachEntry(top_["Outputs"], [&](const std::string& name, const At& at) { ReadOutput(name, at); });
  }

  void OneOf(const At& at, std::initializer_list<std::string_view> known) {
    if (!at || std::find(known.begin(), known.end(), at.text()) != known.end()) return;
    std::string list;
    for (std::string_view one : known) list.append(list.empty() ? "" : ", ").append(one);
    Problem(at, "should be one of " + list);
  }

  // What nothing refers to may be of a kind that is not known here, or have no value: tools put such
  // parameters into every template.
  void ReadParameters() {
    At parameters = top_["Parameters"];
    for (const auto& [name, value] : options_.parameters) {
      if (!parameters[name]) Problem(parameters ? parameters : top_, "there is no parameter " + name);
    }
    EachEntry(parameters, [&](const std::string& name, const At& at) {
      OnlyKeys(at, {"Type", "Default", "Description", "AllowedValues", "AllowedPattern",
                    "ConstraintDescription", "MinLength", "MaxLength", "MinValue", "MaxValue", "NoEcho"});
      Parameter& parameter = parameters_[name];
      std::string type = at["Type"].text();
      bool list = type == "CommaDelimitedList" || type == "List<Number>" || type == "List<String>";
      auto given = options_.parameters.find(name);
      if (!list && type != "String" && type != "Number") {
        parameter.unusable = "parameters of type " + type + " are not supported";
      } else if (given != options_.parameters.end()) {
        parameter.value = ReadParameter(at, type, list, given->second);
      } else if (at["Default"].node.IsScalar()) {
        parameter.value = ReadParameter(at, type, list, at["Default"].node.Scalar());
      } else {
        parameter.unusable = "it has no default: give it by --parameter " + name + "=…";
      }
    });
  }

  Value ReadParameter(const At& at, const std::string& type, bool list, const std::string& text) {
    Value value = TextValue(at, text);
    if (!list) {
      CheckParameter(at, type, text);
      return value;
    }
    value.kind = Value::Kind::kList;
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = std::min(text.find(',', begin), text.size());
      size_t from = std::min(text.find_first_not_of(' ', begin), end);
      value.children.push_back(TextValue(at, text.substr(from, end - from)));
      CheckParameter(at, type, value.children.back().text);
      begin = end + 1;
    }
    return value;
  }

  void CheckParameter(const At& at, const std::string& type, const std::string& text) {
    std::vector<std::string> allowed = Texts(at["AllowedValues"]);
    if (!allowed.empty() && !Has(allowed, text)) return Problem(at, text + " is none of its AllowedValues");
    auto size = static_cast<int64_t>(text.size());
    if (size < Integer(at["MinLength"], 0, 0, kTextBytesMax))
      Problem(at, text + " is shorter than its MinLength");
    if (size > Integer(at["MaxLength"], kTextBytesMax, 0, kTextBytesMax))
      Problem(at, text + " is longer than its MaxLength");
    if (type != "Number" && type != "List<Number>") return;
    auto number = value::Number::Parse(text);
    if (!number) return Problem(at, text + " is no number");
    std::optional<double> least = Decimal(at["MinValue"]);
    std::optional<double> most = Decimal(at["MaxValue"]);
    if (least && number->ToDouble() < *least) Problem(at, text + " is less than its MinValue");
    if (most && number->ToDouble() > *most) Problem(at, text + " is more than its MaxValue");
  }

  void ReadResource(const std::string& id, const At& at) {
    std::string type = at["Type"].text();
    if (type.empty()) return Problem(at, "has no Type");
    if (!IsTable(type)) {
      if (options_.tables_only || type == kMarkOfCdk)
        template_.skipped.push_back({at.path, type});
      else
        Problem(at["Type"],
                type + " is not supported: holdfast makes tables; --tables-only leaves others out");
      return;
    }
    OnlyKeys(at, {"Type", "Properties", "DependsOn", "DeletionPolicy", "UpdateReplacePolicy", "Condition",
                  "Metadata"});
    OneOf(at["DeletionPolicy"], {"Delete", "Retain", "RetainExceptOnCreate", "Snapshot"});
    OneOf(at["UpdateReplacePolicy"], {"Delete", "Retain", "Snapshot"});
    if (type == kSimpleTable && !HasServerlessTransform())
      Problem(at["Type"], type + " needs the line `Transform: " + std::string(kServerless) + "`");
    if (at["Condition"] && !Holds(at["Condition"].text(), at["Condition"])) {
      template_.skipped.push_back({at.path, "its condition " + at["Condition"].text() + " does not hold"});
      return;
    }
    TableResource table;
    table.id = id;
    table.type = type;
    table.place = PlaceOf(at);
    Value properties =
        at["Properties"] ? Evaluate(at["Properties"]) : Value{Value::Kind::kMap, table.place, {}, {}, {}};
    PropertyReader reader(this);
    if (type == kTable) {
      reader.Read(properties, {}, &table.properties);
    } else if (type == kSimpleTable) {
      AddGlobals(&properties);
      SimpleTableProperties simple;
      reader.Read(properties, {}, &simple);
      table.properties = FromSimple(simple, properties);
    } else {
      GlobalTableProperties global;
      reader.Read(properties, {}, &global);
      table.properties = FromGlobal(std::move(global), properties);
    }
    table.properties.table_name = NameOfTable(id, at);
    template_.tables.push_back(std::move(table));
  }

  bool HasServerlessTransform() {
    std::vector<std::string> transforms = Texts(top_["Transform"]);
    return Has(transforms, std::string(kServerless));
  }

  // What SAM's Globals say for all tables and this one does not say itself.
  void AddGlobals(Value* properties) {
    At globals = top_["Globals"]["SimpleTable"];
    EachEntry(globals, [&](const std::string& name, const At& at) {
      if (properties->Find(name) == nullptr) AddChild(name, Evaluate(at), properties);
    });
  }

  TableProperties FromSimple(const SimpleTableProperties& simple, const Value& at) {
    TableProperties table;
    PrimaryKeyProperties key = simple.primary_key.value_or(PrimaryKeyProperties{"id", "String"});
    std::string name = key.name.value_or("id");
    ScalarAttributeType type = ScalarAttributeType::kString;
    if (key.type == "Number")
      type = ScalarAttributeType::kNumber;
    else if (key.type == "Binary")
      type = ScalarAttributeType::kBinary;
    else if (key.type != "String" && !key.type.empty())
      Problem(at.Find("PrimaryKey")->place, "the Type of a key is String, Number or Binary");
    table.attribute_definitions = {{name, type}};
    table.key_schema = {{name, KeyType::kHash}};
    table.billing_mode =
        simple.provisioned_throughput ? BillingMode::kProvisioned : BillingMode::kPayPerRequest;
    table.provisioned_throughput = simple.provisioned_throughput;
    table.encryption = simple.encryption;
    table.point_in_time_recovery = simple.point_in_time_recovery;
    if (simple.tags) {
      for (const auto& [tag, value] : *simple.tags) {
        if (!table.tags) table.tags.emplace();
        table.tags->push_back({tag, value});
      }
    }
    return table;
  }

  static void AddMaxima(const std::optional<ReadOnDemandProperties>& read,
                        const std::optional<WriteOnDemandProperties>& write,
                        std::optional<OnDemandThroughput>* maxima) {
    if ((read || write) && !*maxima) maxima->emplace();
    if (read && read->max_read_request_units)
      (*maxima)->max_read_request_units = read->max_read_request_units;
    if (write && write->max_write_request_units)
      (*maxima)->max_write_request_units = write->max_write_request_units;
  }

  TableProperties FromGlobal(GlobalTableProperties global, const Value& at) {
    TableProperties table;
    table.billing_mode = global.billing_mode;
    if (global.billing_mode != BillingMode::kPayPerRequest) {
      const Value* said = at.Find("BillingMode");
      Problem(said == nullptr ? at.place : said->place,
              "holdfast makes global tables on demand only: BillingMode should be PAY_PER_REQUEST" +
                  std::string(said == nullptr ? ", and is PROVISIONED where it is left out" : ""));
    }
    table.attribute_definitions = std::move(global.attribute_definitions);
    table.key_schema = std::move(global.key_schema);
    table.local_secondary_indexes = std::move(global.local_secondary_indexes);
    for (GlobalTableIndexProperties& index :
         global.global_secondary_indexes.value_or(std::vector<GlobalTableIndexProperties>())) {
      if (!table.global_secondary_indexes) table.global_secondary_indexes.emplace();
      GlobalSecondaryIndex made;
      made.index_name = std::move(index.index_name);
      made.key_schema = std::move(index.key_schema);
      made.projection = std::move(index.projection);
      made.warm_throughput = index.warm_throughput;
      AddMaxima(index.read_on_demand, index.write_on_demand, &made.on_demand_throughput);
      table.global_secondary_indexes->push_back(std::move(made));
    }
    table.stream = std::move(global.stream);
    table.time_to_live = std::move(global.time_to_live);
    table.encryption = std::move(global.encryption);
    table.warm_throughput = global.warm_throughput;
    AddMaxima(global.read_on_demand, global.write_on_demand, &table.on_demand_throughput);
    if (global.replicas.size() > 1) {
      const Value& second = at.Find("Replicas")->children[1];
      Problem(second.place,
              "a second replica (" + global.replicas[1].region +
                  "): a store of holdfast is one region, and makes global tables of one replica");
    }
    if (!global.replicas.empty())
      AddReplica(std::move(global.replicas[0]), at.Find("Replicas")->children[0], &table);
    return table;
  }

  // What it says wins over what the table says of all.
  void AddReplica(ReplicaProperties replica, const Value& at, TableProperties* table) {
    table->table_class = replica.table_class;
    table->deletion_protection = replica.deletion_protection;
    table->point_in_time_recovery = std::move(replica.point_in_time_recovery);
    table->tags = std::move(replica.tags);
    AddMaxima(replica.read_on_demand, std::nullopt, &table->on_demand_throughput);
    if (replica.encryption && replica.encryption->kms_master_key_id) {
      if (table->encryption && table->encryption->enabled)
        table->encryption->kms_master_key_id = std::move(replica.encryption->kms_master_key_id);
      else
        Problem(at.Find("SSESpecification")->place, "the table has no SSESpecification that is enabled");
    }
    if (!replica.global_secondary_indexes) return;
    std::vector<GlobalSecondaryIndex> none;
    std::vector<GlobalSecondaryIndex>& indexes =
        table->global_secondary_indexes ? *table->global_secondary_indexes : none;
    for (size_t i = 0; i < replica.global_secondary_indexes->size(); ++i) {
      const ReplicaIndexProperties& said = (*replica.global_secondary_indexes)[i];
      auto index = std::find_if(indexes.begin(), indexes.end(), [&](const GlobalSecondaryIndex& one) {
        return one.index_name == said.index_name;
      });
      if (index != indexes.end())
        AddMaxima(said.read_on_demand, std::nullopt, &index->on_demand_throughput);
      else
        Problem(at.Find("GlobalSecondaryIndexes")->children[i].place,
                "the table has no index " + said.index_name);
    }
  }

  void ReadOutput(const std::string& name, const At& at) {
    OnlyKeys(at, {"Description", "Value", "Export", "Condition"});
    if (!at["Value"]) return Problem(at, "has no Value");
    LeaveOut scope(this, at.path);
    if (at["Condition"] && !Holds(at["Condition"].text(), at["Condition"])) return;
    size_t problems_before = problems().size();
    Value value = Evaluate(at["Value"]);
    if (scope.left_out() || problems().size() > problems_before) return;
    if (value.kind != Value::Kind::kText) return Problem(at["Value"], "an output is a text");
    template_.outputs.push_back({name, std::move(value.text)});
  }

  // A table comes after those that it depends on.
  void OrderTables() {
    std::vector<TableResource> ordered;
    std::set<std::string> placed;
    auto waits = [&](const TableResource& table) {
      for (const std::string& other : Texts(top_["Resources"][table.id]["DependsOn"])) {
        if (!top_["Resources"][other]) {
          Problem(top_["Resources"][table.id]["DependsOn"], "there is no resource " + other);
          return false;
        }
        bool is_made = std::any_of(template_.tables.begin(), template_.tables.end(),
                                   [&](const TableResource& one) { return one.id == other; });
        if (is_made && placed.count(other) == 0) return true;
      }
      return false;
    };
    while (ordered.size() < template_.tables.size()) {
      size_t before = ordered.size();
      for (TableResource& table : template_.tables) {
        if (placed.count(table.id) > 0 || waits(table)) continue;
        placed.insert(table.id);
        ordered.push_back(table);
      }
      if (ordered.size() > before) continue;
      for (const TableResource& table : template_.tables) {
        if (placed.count(table.id) > 0) continue;
        return Problem(top_["Resources"][table.id]["DependsOn"],
                       "the resources depend on each other in a circle");
      }
    }
    template_.tables = std::move(ordered);
    std::map<std::string, std::string> names;
    for (const TableResource& table : template_.tables) {
      auto [other, is_new] = names.emplace(*table.properties.table_name, table.id);
      if (!is_new)
        Problem(table.place, "the table " + other->first + " is that of " + other->second + " too");
    }
  }

  // --- values ---

  static Value TextValue(const At& at, std::string text) {
    return Value{Value::Kind::kText, PlaceOf(at), std::move(text), {}, {}};
  }
  // Made by a function: bounded, whatever functions are given.
  Value MadeText(const At& at, std::string text) {
    made_bytes_ += text.size() + kMadeBytesEach;
    if (made_bytes_ <= kMadeBytesMax) return TextValue(at, std::move(text));
    Problem(at, "the functions of this template make more than 8 MB");
    return {};
  }
  Value Absent(const At& at, const std::string& why) {
    Problem(at, why);
    return {};
  }

  // Names lead from one part of a template to the next: a file that is not deep itself can make a long chain.
  class Nested {
   public:
    explicit Nested(size_t* depth) : depth_(depth) { ++*depth_; }
    ~Nested() { --*depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    size_t* const depth_;
  };

  Value Evaluate(const At& at) {
    if (made_bytes_ > kMadeBytesMax) return {};
    Nested nested(&depth_);
    if (depth_ > kNestedMax) return Absent(at, "rests on too many others");
    if (Call call = CallAt(at); !call.name.empty()) return EvaluateCall(call, at);
    if (at.node.IsNull()) return Absent(at, "has no value; AWS::NoValue leaves a property out");
    Value value;
    value.place = PlaceOf(at);
    if (at.node.IsScalar()) {
      value.kind = Value::Kind::kText;
      value.text = at.node.Scalar();
    } else if (at.node.IsSequence()) {
      value.kind = Value::Kind::kList;
      EachElement(at, [&](const At& element) { AddChild("", Evaluate(element), &value); });
    } else if (at.node.IsMap()) {
      value.kind = Value::Kind::kMap;
      EachEntry(at, [&](const std::string& name, const At& entry) {
        // Tables that name another key, or none, are the same to whoever uses them.
        Value child = name == kKeyOfKms ? EvaluateOrLeaveOut(entry) : Evaluate(entry);
        AddChild(name, std::move(child), &value);
      });
    }
    return value;
  }
  static void AddChild(const std::string& name, Value child, Value* parent) {
    if (child.kind == Value::Kind::kAbsent) return;
    child.name = name;
    parent->children.push_back(std::move(child));
  }

  // While it lives, what rests on something that is not known here, and would otherwise be refused, is left
  // out if only tables are wanted, and listed at `path`.
  class LeaveOut {
   public:
    LeaveOut(Reader* reader, std::string path)
        : reader_(*reader),
          path_(std::move(path)),
          before_(std::exchange(reader->may_leave_out_, reader->options_.tables_only)) {}
    ~LeaveOut() {
      reader_.may_leave_out_ = before_;
      if (reader_.why_left_out_.empty()) return;
      std::string why = std::exchange(reader_.why_left_out_, {});
      // Globals are evaluated for every table.
      std::vector<Template::Skipped>& skipped = reader_.template_.skipped;
      auto is_this = [&](const Template::Skipped& other) { return other.path == path_; };
      if (std::none_of(skipped.begin(), skipped.end(), is_this)) skipped.push_back({path_, std::move(why)});
    }
    LeaveOut(const LeaveOut&) = delete;
    LeaveOut& operator=(const LeaveOut&) = delete;

    bool left_out() const { return !reader_.why_left_out_.empty(); }

   private:
    Reader& reader_;
    const std::string path_;
    const bool before_;
  };
  using YamlReader::Problem;
  // What follows from something that is left out is no problem of its own.
  void Problem(const At& at, const std::string& what) {
    if (why_left_out_.empty()) YamlReader::Problem(at, what);
  }
  // What is not known here, though AWS may know it.
  void NotKnown(const At& at, const std::string& why) {
    if (!may_leave_out_)
      Problem(at, why);
    else if (why_left_out_.empty())
      why_left_out_ = why;
  }

  // Nothing when it is left out.
  Value EvaluateOrLeaveOut(const At& at) {
    LeaveOut scope(this, at.path);
    Value value = Evaluate(at);
    return scope.left_out() ? Value{} : value;
  }

  std::string EvaluateText(const At& at) {
    Value value = Evaluate(at);
    if (value.kind != Value::Kind::kText && problems().empty() && why_left_out_.empty())
      Problem(at, "should be a text");
    return value.text;
  }

  Value EvaluateCall(const Call& call, const At& at) {
    // The same node is seen as its own argument once its tag has been looked at.
    const At& argument = call.argument;
    if (call.name == "Ref") return Ref(argument.text(), at);
    if (call.name == "Fn::GetAtt") return GetAtt(argument, at);
    if (call.name == "Fn::Sub") return Sub(argument, at);
    if (call.name == "Fn::Join") return Join(argument, at);
    if (call.name == "Fn::If") {
      if (!IsListOf(argument, 3)) return Absent(at, "Fn::If takes a condition and two values");
      return Evaluate(ElementAt(argument, Holds(ElementAt(argument, 0).text(), at) ? 1 : 2));
    }
    if (call.name == "Fn::FindInMap") return FindInMap(argument, at);
    NotKnown(at, "the function " + call.name + " is not supported");
    return {};
  }

  static bool IsListOf(const At& at, size_t size) { return at.node.IsSequence() && at.node.size() == size; }

  Value Ref(const std::string& name, const At& at) {
    if (name == "AWS::NoValue") return {};
    if (name == "AWS::Region") return MadeText(at, options_.region);
    if (name == "AWS::AccountId") return MadeText(at, options_.account);
    if (name == "AWS::Partition") return MadeText(at, "aws");
    if (name == "AWS::URLSuffix") return MadeText(at, "amazonaws.com");
    if (name == "AWS::StackName") return MadeText(at, StackName());
    if (auto parameter = parameters_.find(name); parameter != parameters_.end()) {
      const auto& [value, unusable] = parameter->second;
      if (!unusable.empty()) {
        NotKnown(at, "the parameter " + name + ": " + unusable);
        return {};
      }
      if (value.kind == Value::Kind::kText) return MadeText(at, value.text);
      made_bytes_ += value.text.size();
      Value list = value;
      list.place = PlaceOf(at);
      return list;
    }
    if (!NamesTable(name, at)) return {};
    return MadeText(at, NameOfTable(name, top_["Resources"][name]));
  }

  std::string StackName() const { return options_.stack_name.empty() ? "holdfast" : options_.stack_name; }

  Value GetAtt(const At& argument, const At& at) {
    std::string id;
    std::string attribute;
    if (argument.node.IsScalar()) {
      std::string text = argument.node.Scalar();
      size_t dot = text.find('.');
      id = text.substr(0, dot);
      attribute = dot == std::string::npos ? "" : text.substr(dot + 1);
    } else if (IsListOf(argument, 2)) {
      id = ElementAt(argument, 0).text();
      attribute = ElementAt(argument, 1).text();
    }
    return AttributeOf(id, attribute, at);
  }

  Value AttributeOf(const std::string& id, const std::string& attribute, const At& at) {
    if (!NamesTable(id, at)) return {};
    auto known = options_.attributes.find({id, attribute});
    if (known != options_.attributes.end()) return MadeText(at, known->second);
    At resource = top_["Resources"][id];
    std::string arn = "arn:aws:dynamodb:" + options_.region + ":" + options_.account + ":table/" +
                      NameOfTable(id, resource);
    if (attribute == "Arn") return MadeText(at, arn);
    if (attribute == "StreamArn") {
      if (HasStream(id, resource["Properties"]["StreamSpecification"]))
        return MadeText(at, arn + "/stream/(known when it is made)");
      return Absent(at, id + " has no StreamSpecification");
    }
    bool global = resource["Type"].text() == kGlobalTable;
    if (attribute == "TableId" && global) return MadeText(at, "(known when it is made)");
    return Absent(at, id + " has no attribute " + attribute + "; it has Arn" +
                          (global ? ", StreamArn and TableId" : " and StreamArn"));
  }

  bool HasStream(const std::string& id, const At& specification) {
    if (!specification) return false;
    auto [known, is_new] = streams_.try_emplace(id, true);  // one that asks for itself does not make it go
    if (is_new) {
      bool stands = Evaluate(specification).kind != Value::Kind::kAbsent;
      streams_[id] = stands;
      return stands;
    }
    return known->second;
  }

  // "${Table}-${AWS::Region}", with names of its own in a second element.
  Value Sub(const At& argument, const At& at) {
    bool with_names = IsListOf(argument, 2);
    At format = with_names ? ElementAt(argument, 0) : argument;
    if (!format.node.IsScalar() || (!with_names && argument.node.IsSequence()))
      return Absent(at, "Fn::Sub takes a text, or a text and a map");
    const std::string& text = format.node.Scalar();
    std::string made;
    for (size_t from = 0; from < text.size();) {
      size_t begin = text.find("${", from);
      size_t end = begin == std::string::npos ? begin : text.find('}', begin);
      if (end == std::string::npos) {
        made.append(text, from);
        break;
      }
      made.append(text, from, begin - from);
      std::string name = text.substr(begin + 2, end - begin - 2);
      from = end + 1;
      if (name.starts_with('!')) {
        made += "${" + name.substr(1) + "}";
        continue;
      }
      made += SubName(name, with_names ? ElementAt(argument, 1) : At{}, at);
      made_bytes_ += kMadeBytesEach;
      if (made_bytes_ > kMadeBytesMax || made.size() > kMadeBytesMax || !problems().empty()) break;
    }
    return MadeText(at, std::move(made));
  }

  std::string SubName(const std::string& name, const At& names, const At& at) {
    if (names && names[name]) return EvaluateText(names[name]);
    size_t dot = name.find('.');
    Value value =
        dot == std::string::npos ? Ref(name, at) : AttributeOf(name.substr(0, dot), name.substr(dot + 1), at);
    return value.text;
  }

  Value Join(const At& argument, const At& at) {
    if (!IsListOf(argument, 2)) return Absent(at, "Fn::Join takes a text and a list");
    std::string between = ElementAt(argument, 0).text();
    Value list = Evaluate(ElementAt(argument, 1));
    if (list.kind != Value::Kind::kList) return Absent(at, "Fn::Join takes a text and a list");
    std::string joined;
    for (size_t i = 0; i < list.children.size() && joined.size() <= kMadeBytesMax; ++i)
      joined.append(i == 0 ? "" : between).append(list.children[i].text);
    return MadeText(at, std::move(joined));
  }

  Value FindInMap(const At& argument, const At& at) {
    if (!IsListOf(argument, 3)) return Absent(at, "Fn::FindInMap takes the name of a map and two keys");
    At found = top_["Mappings"];
    for (size_t i = 0; i < 3; ++i) {
      std::string key = EvaluateText(ElementAt(argument, i));
      found = found[key];
      if (!found) return Absent(at, "there is no " + found.path);
    }
    if (found.node.IsMap()) return Absent(at, found.path + " is no value");
    if (found.node.IsScalar()) return MadeText(at, found.node.Scalar());
    // A list of plain texts: functions do not stand in mappings.
    Value list{Value::Kind::kList, PlaceOf(at), {}, {}, {}};
    for (std::string& text : Texts(found)) AddChild("", MadeText(at, std::move(text)), &list);
    return list;
  }

  // --- conditions ---

  bool Holds(const std::string& name, const At& at) {
    At condition = top_["Conditions"][name];
    if (!condition) {
      Problem(at, "there is no condition " + name);
      return false;
    }
    auto [known, is_new] = conditions_.try_emplace(name);
    if (!is_new && !known->second) Problem(condition, "rests on itself");
    if (!is_new) return known->second.value_or(false);
    bool holds = Test(condition);
    if (why_left_out_.empty())
      conditions_[name] = holds;
    else
      conditions_.erase(name);  // it is not known, and others may have to
    return holds;
  }

  bool Test(const At& at) {
    Nested nested(&depth_);
    if (depth_ > kNestedMax) {
      Problem(at, "rests on too many others");
      return false;
    }
    Call call = CallAt(at);
    At argument = call.argument;
    if (call.name.empty() && at.node.IsMap() && at.node.size() == 1 && at["Condition"]) {
      call.name = "Condition";
      argument = at["Condition"];
    }
    if (call.name == "Condition") return Holds(argument.text(), at);
    if (call.name == "Fn::Equals" && IsListOf(argument, 2))
      return EvaluateText(ElementAt(argument, 0)) == EvaluateText(ElementAt(argument, 1));
    bool listed = argument.node.IsDefined() && argument.node.IsSequence() && argument.node.size() > 0;
    if (call.name == "Fn::Not" && listed) return !Test(ElementAt(argument, 0));
    if ((call.name == "Fn::And" || call.name == "Fn::Or") && listed) {
      bool wanted = call.name == "Fn::Or";
      for (size_t i = 0; i < argument.node.size(); ++i) {
        if (Test(ElementAt(argument, i)) == wanted) return wanted;
      }
      return !wanted;
    }
    Problem(at, "a condition is made of Fn::Equals, Fn::And, Fn::Or, Fn::Not and Condition");
    return false;
  }

  // --- resources by name ---

  bool NamesTable(const std::string& id, const At& at) {
    At resource = top_["Resources"][id];
    if (!resource) {
      Problem(at, "there is no resource or parameter " + id);
      return false;
    }
    if (IsTable(resource["Type"].text())) return true;
    NotKnown(at, "names " + id + ", which is no table");
    return false;
  }

  // What its TableName says or, so that the same template means the same tables every time, the name of the
  // resource.
  std::string NameOfTable(const std::string& id, const At& resource) {
    if (auto known = names_.find(id); known != names_.end()) {
      if (known->second.empty()) Problem(resource, "its name rests on itself");
      return known->second;
    }
    names_[id] = {};
    At name = resource["Properties"]["TableName"];
    // A name is never left out, whatever asks for it.
    bool before = std::exchange(may_leave_out_, false);
    std::string text = name ? Evaluate(name).text : "";
    may_leave_out_ = before;
    if (text.empty()) text = options_.stack_name.empty() ? id : options_.stack_name + "-" + id;
    return names_[id] = text;
  }

  const ReadOptions& options_;
  At top_;
  Template template_;
  std::map<std::string, Parameter> parameters_;
  std::map<std::string, std::optional<bool>> conditions_;  // nothing: it is being looked at
  std::map<std::string, bool> streams_;                    // of tables: whether there is one
  std::map<std::string, std::string> names_;               // of tables; empty while one is being found
  size_t made_bytes_ = 0;
  size_t depth_ = 0;  // of values and conditions that are being evaluated
  bool may_leave_out_ = false;
  std::string why_left_out_;  // empty: it is not
};

// JSON writes what lies beyond 16 bits as two escapes, which YAML's reader does not put together.
std::string JoinSurrogates(std::string_view json) {
  auto unit = [&](size_t at) -> uint32_t {
    if (at + 6 > json.size() || json.substr(at, 2) != "\\u") return 0;
    uint32_t read = 0;
    auto [end, failed] = std::from_chars(json.data() + at + 2, json.data() + at + 6, read, 16);
    return failed == std::errc() && end == json.data() + at + 6 ? read : 0;
  };
  std::string joined;
  for (size_t i = 0; i < json.size();) {
    uint32_t high = unit(i);
    uint32_t low = unit(i + 6);
    if (high >= 0xD800 && high < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
      uint32_t character = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
      for (int shift : {18, 12, 6, 0})
        joined.push_back(static_cast<char>((shift == 18 ? 0xF0 : 0x80) | ((character >> shift) & 0x3F)));
      i += 12;
    } else {
      size_t taken = json[i] == '\\' ? 2 : 1;  // "\\u" is no escape of a character
      joined.append(json.substr(i, taken));
      i += taken;
    }
  }
  return joined;
}

// Strict JSON has surrogates where YAML has none.
Result<YamlNode> Parse(std::string_view text, const std::string& file) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  bool json = begin != std::string_view::npos && text[begin] == '{';
  return json ? ReadYaml(JoinSurrogates(text), file) : ReadYaml(text, file);
}

}  // namespace

Result<Template> ReadTemplate(std::string_view text, const std::string& file, const ReadOptions& options) {
  HF_TRY(YamlNode root, Parse(text, file));
  return Reader(file, options).Read(root);
}

}  // namespace holdfast::model::cloudformation
