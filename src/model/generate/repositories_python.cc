#include "model/generate/generate.h"
#include "model/generate/repository_plan.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

constexpr std::string_view kImports = R"py(import copy
import datetime
import re
import secrets
import time
import uuid
)py";

constexpr std::string_view kRuntime = R"py(

# --- what all repositories share ---


class RepositoryError(Exception):
    """Why nothing was written; `code` is ValidationError, NotFound, AlreadyExists, VersionConflict or IllegalTransition."""

    def __init__(self, code: str, message: str):
        super().__init__(f"{code}: {message}")
        self.code = code


_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_PLACE = re.compile(r"\{([^}:]+)(?::(date|\d+))?\}")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MILLISECOND = datetime.timedelta(milliseconds=1)


def _invalid(message):
    return RepositoryError("ValidationError", message)


def _now():
    return time.time_ns() // 1_000_000


def _millis(value):
    """Milliseconds since 1970 of an instant."""
    if not isinstance(value, datetime.datetime):
        match = _RFC_3339.fullmatch(str(value))
        if not match:
            raise _invalid(f"{value} is no RFC 3339 instant")
        day, clock, fraction, offset = match.groups()
        fraction = (fraction or ".")[1:4].ljust(3, "0")
        offset = "+00:00" if offset in "Zz" else offset
        try:
            value = datetime.datetime.fromisoformat(f"{day}T{clock}.{fraction}{offset}")
        except ValueError as error:
            raise _invalid(f"{day}T{clock} is no RFC 3339 instant") from error
    return (value - _EPOCH) // _MILLISECOND


def _instant(millis):
    """Always 24 characters, so that texts sort as instants do."""
    text = (_EPOCH + millis * _MILLISECOND).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


_last_ulid = (-1, 0)


def _ulid(millis):
    """Each greater than the one before, within a millisecond too."""
    global _last_ulid
    last, random = _last_ulid
    _last_ulid = (millis, secrets.randbits(80)) if millis > last else (last, random + 1)
    value = (_last_ulid[0] << 80) + _last_ulid[1]
    return "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[value >> shift & 31] for shift in range(125, -1, -5))


def _fill(template, values):
    """The template with its attributes filled in; None when one is missing."""

    def part(match):
        value = str(values[match[1]])
        value = value[:10] if match[2] == "date" else value.zfill(int(match[2] or 0))
        if value == "" or "#" in value:
            raise _invalid(f"{match[1]} is part of a key: it may not be empty nor hold '#'")
        return value

    if any(values.get(match[1]) is None for match in _PLACE.finditer(template)):
        return None
    return _PLACE.sub(part, template)


def _key_value(part, values):
    text = next((made for made in (_fill(one, values) for one in part["templates"]) if made is not None), None)
    return Decimal(text) if part["type"] == "N" and text is not None else text


def _primary_key(facts, values):
    key = {part["name"]: _key_value(part, values) for part in facts["key"]}
    for part in facts["key"]:
        if key[part["name"]] is None:
            raise _invalid(f"an attribute of the key {part['templates'][0]} is missing")
    return key


def _index_keys(facts, values):
    """Index keys, None where the item is not in the index."""
    keys = {}
    for parts in facts["indexes"]:
        made = [_key_value(part, values) for part in parts]
        whole = None not in made
        for part, value in zip(parts, made):
            if part["name"] not in facts["fields"]:
                keys[part["name"]] = value if whole else None
    return keys


def _inputs(parts):
    """The attributes that stand in key templates."""
    return [match[1] for part in parts for text in part["templates"] for match in _PLACE.finditer(text)]


def _inner_fields(field, owner):
    if "fields" in field:
        return field["fields"]
    schema = _SCHEMAS.get(field.get("schema") or str(owner.get(field.get("schemaBy"))), {})
    return schema.get(field["schemaField"], {}).get("fields", {}) if "schemaField" in field else schema


def _storable(field, value, owner, path):
    """The value in the form that is stored: instants with milliseconds, numbers that boto3 takes."""
    kind = field.get("kind")
    if value is None:
        return None
    if kind == "ts":
        return _instant(_millis(value))
    if kind == "epoch" and not isinstance(value, (int, float, Decimal)):
        return _millis(value) // 1000
    if kind in ("SS", "NS") and isinstance(value, list):
        return set(value)
    if "choices" in field and value not in field["choices"]:
        raise _invalid(f"{path} is {value}, not one of {', '.join(field['choices'])}")
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, (list, tuple)):
        items = field.get("items", {})
        return [_storable(items, element, owner, f"{path}[{i}]") for i, element in enumerate(value)]
    if isinstance(value, dict):
        fields = _inner_fields(field, owner)
        stored = {name: inner["default"] for name, inner in fields.items() if "default" in inner}
        for name, inner in value.items():
            stored[name] = _storable(fields.get(name, {}), inner, value, f"{path}.{name}")
        return stored
    return value


def _compute(field, rule, values, now):
    """A computed value in the form of its attribute."""
    if rule["from"] == "uuid()":
        return str(uuid.uuid4())
    if rule["from"] == "ulid()":
        return _ulid(now)
    source = _instant(now) if rule["from"] == "now()" else values.get(rule["from"])
    if source is None or field["kind"] not in ("ts", "date", "epoch"):
        return source
    if isinstance(source, str):
        base = _millis(source if _RFC_3339.fullmatch(source) else f"{source}T00:00:00Z")
    else:
        base = int(source) * 1000
    moment = base + rule.get("shift", 0) * 1000
    if field["kind"] == "epoch":
        return moment // 1000
    return _instant(moment)[: 10 if field["kind"] == "date" else None]


def _compute_all(facts, values, now):
    """Sets what is never given. Computed values may be made of others, so those of now() come first."""
    rules = [(name, field) for name, field in facts["fields"].items() if "always" in field]
    for name, field in sorted(rules, key=lambda rule: rule[1]["always"]["from"] != "now()"):
        values[name] = _compute(field, field["always"], values, now)


def _merge(facts, given, values):
    for name, value in given.items():
        if name not in facts["fields"]:
            raise _invalid(f"{name} is no attribute of {facts['entity']}")
        if value is None:
            values.pop(name, None)
        else:
            values[name] = _storable(facts["fields"][name], value, {**values, **given}, name)


def _require_all(facts, names, values):
    for name in names:
        if facts["fields"][name].get("required") and values.get(name) is None:
            raise _invalid(f"{name} is missing")


def _refuse_managed(facts, given):
    for name in given:
        field = facts["fields"].get(name, {})
        if "always" in field or (name == facts.get("version") and field["kind"] == "N"):
            raise _invalid(f"{name} is set by the model")


def _complete(facts, given):
    """A new item with its keys."""
    now = _now()
    values = {}
    machine = facts.get("machine")
    _refuse_managed(facts, given)
    _merge(facts, given, values)
    for name, field in facts["fields"].items():
        if name in values:
            continue
        if "made" in field:
            values[name] = _compute(field, field["made"], values, now)
        elif "default" in field:
            values[name] = _storable(field, field["default"], values, name)
        elif machine and name == machine["field"]:
            values[name] = machine["initial"][0]
        elif name == facts.get("version") and field["kind"] == "N":
            values[name] = 1
    _compute_all(facts, values, now)
    _require_all(facts, facts["fields"], values)
    if machine and values.get(machine["field"]) not in machine["initial"]:
        initial = " or ".join(machine["initial"])
        raise RepositoryError("IllegalTransition", f"{facts['entity']} is created with {machine['field']} {initial}")
    stored = {name: value for name, value in values.items() if not facts["fields"][name].get("keyOnly")}
    item = {**stored, **_primary_key(facts, values), **_index_keys(facts, values)}
    if "type" in facts:
        item[facts["type"]["attribute"]] = facts["type"]["value"]
    return {name: value for name, value in item.items() if value is not None}


def _bare(facts, item):
    """The attributes of a stored item without what was derived from them, with what lives in its key alone."""
    derived = {part["name"] for parts in [facts["key"], *facts["indexes"]] for part in parts}
    if "type" in facts:
        derived.add(facts["type"]["attribute"])
    found = {name: value for name, value in item.items() if name not in derived or name in facts["fields"]}
    for part in facts["key"]:
        for template in part["templates"]:
            texts = [re.escape(text) for text in re.split(r"\{[^}]+\}", template)]
            match = re.fullmatch("([^#]+?)".join(texts), str(item.get(part["name"])))
            for i, place in enumerate(_PLACE.finditer(template)):
                if match and facts["fields"].get(place[1], {}).get("keyOnly"):
                    found[place[1]] = match[i + 1]
    return found


def _attributes(facts, item):
    """An older item is read with the defaults of today."""
    defaults = {name: copy.deepcopy(field["default"]) for name, field in facts["fields"].items() if "default" in field}
    return {**defaults, **_bare(facts, item)}


def _spellings(facts, key):
    """Plain SDK code writes instants without milliseconds; both spellings of a key are looked for."""
    fields = facts["fields"]
    exact = {name: None if value is None else _storable(fields[name], value, key, name) for name, value in key.items()}
    whole = {
        name: re.sub(r"\.000Z$", "Z", value) if value and fields[name]["kind"] == "ts" else value
        for name, value in exact.items()
    }
    return [exact] if exact == whole else [exact, whole]


class _Expression:
    def __init__(self):
        self.names = {}
        self.values = {}

    def name(self, attribute):
        alias = f"#n{len(self.names)}"
        self.names[alias] = attribute
        return alias

    def value(self, value):
        alias = f":v{len(self.values)}"
        self.values[alias] = value
        return alias

    def equal(self, attribute, value):
        if value is None:
            return f"attribute_not_exists({self.name(attribute)})"
        return f"{self.name(attribute)} = {self.value(value)}"

    def used(self):
        values = {"ExpressionAttributeValues": self.values} if self.values else {}
        return {"ExpressionAttributeNames": self.names, **values}


class _Repository:
    """Over a boto3 resource of DynamoDB; `table` may be another one than the model names."""

    _facts: Dict[str, Any] = {}

    def __init__(self, dynamodb, table: Union[str, None] = None):
        self._table = dynamodb.Table(table or self._facts["table"])
        self._client = dynamodb.meta.client
        self._refused = self._client.exceptions.ConditionalCheckFailedException
        self._canceled = self._client.exceptions.TransactionCanceledException

    def _find(self, key):
        item = self._read(key, consistent=False)
        return None if item is None else _attributes(self._facts, item)

    def _query(self, query, params):
        expression = _Expression()

        def made(template):
            text = _fill(template, params)
            if text is None:
                raise _invalid(f"a parameter of {template} is missing")
            return text

        conditions = [expression.equal(name, made(template)) for name, template in query["partition"].items()]
        sort = query.get("sort", {})
        if "equals" in sort:
            conditions.append(expression.equal(sort["name"], made(sort["equals"])))
        if "begins" in sort:
            conditions.append(f"begins_with({expression.name(sort['name'])}, {expression.value(made(sort['begins']))})")
        request = {
            "KeyConditionExpression": " AND ".join(conditions),
            "ScanIndexForward": not query.get("descending", False),
        }
        if "only" in query:
            request["FilterExpression"] = " AND ".join(expression.equal(name, params[name]) for name in query["only"])
        if "index" in query:
            request["IndexName"] = query["index"]
        found = []
        while True:
            page = self._table.query(**request, **expression.used())
            found += [_attributes(self._facts, item) for item in page["Items"] if self._is_ours(item)]
            if "LastEvaluatedKey" not in page:
                return found
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _put(self, given):
        item = _complete(self._facts, given)
        made = _attributes(self._facts, item)
        expression = _Expression()
        condition = expression.equal(self._facts["key"][0]["name"], None)
        absent = {"ConditionExpression": condition, **expression.used()}
        others = _spellings(self._facts, {name: made.get(name) for name in _inputs(self._facts["key"])})[1:]
        try:
            if not others:
                self._table.put_item(Item=item, **absent)
                return made
            # The same instant may stand there in the other spelling.
            table = {"TableName": self._table.name}
            checks = [{"ConditionCheck": {**table, "Key": _primary_key(self._facts, other), **absent}} for other in others]
            self._client.transact_write_items(TransactItems=[{"Put": {**table, "Item": item, **absent}}, *checks])
            return made
        except (self._refused, self._canceled) as error:
            reasons = error.response.get("CancellationReasons", [{"Code": "ConditionalCheckFailed"}])
            if all(reason["Code"] != "ConditionalCheckFailed" for reason in reasons):
                raise
            raise RepositoryError("AlreadyExists", f"there is a {self._facts['entity']} with this key") from error

    def _change(self, key, given, expected=None, attempts=5):
        """Reads, decides, and writes on condition that nothing it decided upon has changed meanwhile; then tries again,
        unless the caller expects a version."""
        facts = self._facts
        fields = facts["fields"]
        before = self._existing(key)
        after = _bare(facts, before)
        _refuse_managed(facts, given)
        # Saying again what is fixed is no change.
        changes = {name: value for name, value in given.items() if name not in facts["fixed"]}
        for name, value in given.items():
            if name not in changes and _storable(fields[name], value, given, name) != after.get(name):
                raise _invalid(f"{name} of {facts['entity']} cannot be changed")
        version = facts.get("version")
        if version and expected is not None and before.get(version) != _storable(fields[version], expected, before, version):
            raise RepositoryError("VersionConflict", f"{version} is {before.get(version)}")
        self._check_move(before, changes)
        now = _now()
        _merge(facts, changes, after)
        if version and fields[version]["kind"] == "N":
            after[version] = before.get(version, 0) + 1
        if version and fields[version]["kind"] == "ts":
            after[version] = _instant(now)
        _compute_all(facts, after, now)
        _require_all(facts, changes, after)

        written = [*changes, *(name for name, field in fields.items() if "always" in field), *([version] if version else [])]
        guards = [version] if version else []
        for part in (part for parts in facts["indexes"] for part in parts):
            made_of = _inputs([part])
            if part["name"] in fields or not set(made_of) & set(written):
                continue
            after[part["name"]] = _key_value(part, after)
            guards += [name for name in made_of if name not in written and name not in facts["fixed"]]
            written.append(part["name"])
        if "machine" in facts and facts["machine"]["field"] in changes:
            guards.append(facts["machine"]["field"])

        expression = _Expression()
        conditions = [f"attribute_exists({expression.name(facts['key'][0]['name'])})"]
        conditions += [expression.equal(name, before.get(name)) for name in dict.fromkeys(guards)]
        sets, removes = [], []
        for name in dict.fromkeys(written):
            if after.get(name) is not None:
                sets.append(expression.equal(name, after[name]))
            elif name in before:
                removes.append(expression.name(name))
        update = [f"SET {', '.join(sets)}"] if sets else []
        update += [f"REMOVE {', '.join(removes)}"] if removes else []
        request = {"UpdateExpression": " ".join(update)} if update else {}
        try:
            answer = self._table.update_item(
                Key={part["name"]: before[part["name"]] for part in facts["key"]},
                ConditionExpression=" AND ".join(conditions),
                ReturnValues="ALL_NEW",
                **request,
                **expression.used(),
            )
        except self._refused as error:
            self._check_move(self._existing(key), given)
            if expected is None and attempts > 1:
                return self._change(key, given, expected, attempts - 1)
            raise RepositoryError("VersionConflict", f"this {facts['entity']} was changed meanwhile") from error
        return _attributes(facts, answer["Attributes"])

    def _check_move(self, before, changes):
        machine = self._facts.get("machine")
        if not machine or machine["field"] not in changes:
            return
        state, wanted = before.get(machine["field"]), changes[machine["field"]]
        allowed = machine["moves"].get(state, [])
        if wanted not in allowed:
            what = f"{self._facts['entity']} {machine['field']} {state} → {wanted}"
            raise RepositoryError("IllegalTransition", f"{what}; allowed: {', '.join(allowed) or 'none'}")

    def _is_ours(self, item):
        expires = item.get(self._facts.get("ttl"))
        if isinstance(expires, Decimal) and expires * 1000 <= _now():
            return False
        kind = self._facts.get("type")
        return not kind or item.get(kind["attribute"], kind["value"]) == kind["value"]

    def _read(self, key, consistent):
        for spelled in _spellings(self._facts, key):
            answer = self._table.get_item(Key=_primary_key(self._facts, spelled), ConsistentRead=consistent)
            if "Item" in answer and self._is_ours(answer["Item"]):
                return answer["Item"]
        return None

    def _existing(self, key):
        item = self._read(key, consistent=True)
        if item is None:
            raise RepositoryError("NotFound", f"there is no such {self._facts['entity']}")
        return item
)py";

std::string ParamName(const std::string& name) {
  static constexpr std::string_view kReserved[] = {
      "from",   "class", "in", "is",   "def", "global", "import", "pass",    "with",
      "lambda", "as",    "if", "else", "for", "return", "self",   "changes", "expected"};
  std::string param;
  for (char c : name) param.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_');
  bool reserved = std::find(std::begin(kReserved), std::end(kReserved), param) != std::end(kReserved);
  return reserved ? param + "_" : param;
}

std::string Parameters(const std::vector<std::string>& names) {
  std::string params = "self";
  for (const std::string& name : names) params += ", " + ParamName(name);
  return params;
}

std::string ParamsDict(const std::vector<std::string>& names) {
  auto entry = [](const std::string& name) { return Cat(Quote(name), ": ", ParamName(name)); };
  return Cat("{", JoinAll(names, ", ", entry), "}");
}

void AddRepository(const RepositoryPlan& plan, Lines* lines) {
  const Entity& entity = *plan.entity;
  std::string type = EntityTypeName(entity);
  lines->Add().Add().Open(Cat("class ", type, "Repository(_Repository):"));
  if (!entity.title.empty())
    lines->Add(Cat(R"(""")", Replace(Replace(entity.title, "\\", "\\\\"), "\"", "'"), R"(""")")).Add();
  lines->Add(Cat("_facts = ", plan.facts.Spell(Node::Style::kPython))).Add();

  lines->Open(Cat("def find_by_id(", Parameters(plan.key), ") -> Union[", type, ", None]:"));
  lines->Add(Cat("return self._find(", ParamsDict(plan.key), ")")).Back();
  if (plan.by_state) {
    const StateFinder& finder = *plan.by_state;
    lines->Add().Open(Cat("def find_by_", SnakeName(finder.params[0]), "(", Parameters(finder.params),
                          ") -> List[", type, "]:"));
    lines->Add(Cat(R"(""")", finder.pattern->id, ": ", Replace(finder.pattern->title, "\"", "'"), R"(""")"));
    lines
        ->Add(Cat("return self._query(", finder.query.Spell(Node::Style::kPython), ", ",
                  ParamsDict(finder.params), ")"))
        .Back();
  }
  if (plan.creates) {
    lines->Add().Open(Cat("def create(self, attributes: Dict[str, Any]) -> ", type, ":"));
    lines->Add("return self._put(attributes)").Back();
  }
  if (plan.updates) {
    bool versioned = !entity.version.empty();
    lines->Add().Open(Cat("def update(", Parameters(plan.key), ", changes: Dict[str, Any]",
                          versioned ? ", expected=None" : "", ") -> ", type, ":"));
    lines->Add(Cat(R"("""A None removes an attribute.)",
                   versioned ? Cat(" `expected` is the ", entity.version, " that was read.") : "", R"(""")"));
    lines
        ->Add(Cat("return self._change(", ParamsDict(plan.key), ", changes", versioned ? ", expected" : "",
                  ")"))
        .Back();
  }
  lines->Back();
}

}  // namespace

std::string PythonRepositories(const Model& model) {
  Lines lines(4);
  lines.Add(kRuntime.substr(0, kRuntime.size() - 1)).Add().Add();
  lines.Add(Cat("_SCHEMAS = ", SchemaFacts(model).Spell(Node::Style::kPython)));
  for (const auto& entity : model.entities) AddRepository(PlanRepository(model, *entity), &lines);
  std::string types = PythonTypes(model);
  size_t notice = types.find('\n') + 1;
  return Cat(types.substr(0, notice), kImports, types.substr(notice), lines.Take());
}

}  // namespace holdfast::model::generate
