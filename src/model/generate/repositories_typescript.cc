#include "model/generate/generate.h"
#include "model/generate/repository_plan.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

constexpr std::string_view kImports = R"ts(import { randomBytes, randomUUID } from "node:crypto";
import { ConditionalCheckFailedException, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
)ts";

constexpr std::string_view kRuntime = R"ts(
// --- what all repositories share ---

export type RefusalCode = "ValidationError" | "NotFound" | "AlreadyExists" | "VersionConflict" | "IllegalTransition";

/** Why nothing was written. */
export class RepositoryError extends Error {
  constructor(readonly code: RefusalCode, message: string) {
    super(`${code}: ${message}`);
  }
}

type Item = Record<string, unknown>;
/** `from` is now(), uuid(), ulid() or an attribute; `shift` is in seconds. */
type Computed = { from: string; shift?: number };
type Fields = Record<string, Field>;
type Field = {
  kind: string;
  required?: boolean;
  choices?: string[];
  default?: unknown;
  made?: Computed;
  always?: Computed;
  keyOnly?: boolean;
  items?: Field;
  fields?: Fields;
  schema?: string;
  schemaBy?: string;
  schemaField?: string;
};
type KeyPart = { name: string; type: string; templates: string[] };
type EntityFacts = {
  entity: string;
  table: string;
  type?: { attribute: string; value: string };
  ttl?: string;
  key: KeyPart[];
  indexes: KeyPart[][];
  fields: Fields;
  fixed: string[];
  version?: string;
  machine?: { field: string; initial: string[]; moves: Record<string, string[]> };
};
type QueryFacts = {
  partition: Record<string, string>;
  index?: string;
  sort?: { name: string; equals?: string; begins?: string };
  descending?: boolean;
  only?: string[];
};

type Made<T, Defaulted extends keyof T> = Omit<T, Defaulted> & Partial<Pick<T, Defaulted>>;
type Changed<T, Fixed extends keyof T> = { [Name in Exclude<keyof T, Fixed>]?: T[Name] | null };

const invalid = (message: string) => new RepositoryError("ValidationError", message);
const isMap = (value: unknown): value is Item =>
  typeof value === "object" && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

function millis(value: unknown): number {
  if (value instanceof Date) return value.getTime();
  const [, day, time, fraction = "", offset = ""] = RFC_3339.exec(String(value)) ?? [];
  const parsed = Date.parse(`${day}T${time}.${fraction.slice(1, 4).padEnd(3, "0")}${offset.toUpperCase()}`);
  if (Number.isNaN(parsed)) throw invalid(`${String(value)} is no RFC 3339 instant`);
  return parsed;
}

// Always 24 characters, so that texts sort as instants do.
const instant = (time: number) => new Date(time).toISOString();

let lastUlid = { time: -1, random: 0n };

// Each greater than the one before, within a millisecond too.
function ulid(time: number): string {
  const fresh = () => BigInt(`0x${randomBytes(10).toString("hex")}`);
  lastUlid = time > lastUlid.time ? { time, random: fresh() } : { time: lastUlid.time, random: lastUlid.random + 1n };
  let value = (BigInt(lastUlid.time) << 80n) + lastUlid.random;
  let text = "";
  for (let i = 0; i < 26; ++i, value >>= 5n) text = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[Number(value & 31n)] + text;
  return text;
}

// The template with its attributes filled in; undefined when one is missing.
function fill(template: string, values: Item): string | undefined {
  let whole = true;
  const text = template.replace(/\{([^}:]+)(?::(date|\d+))?\}/g, (_, name: string, form?: string) => {
    const value = values[name];
    if (value === undefined || value === null) whole = false;
    const part = form === "date" ? String(value).slice(0, 10) : String(value).padStart(Number(form ?? 0), "0");
    if (part === "" || part.includes("#")) throw invalid(`${name} is part of a key: it may not be empty nor hold '#'`);
    return part;
  });
  return whole ? text : undefined;
}

function keyValue(part: KeyPart, values: Item): unknown {
  const text = part.templates.map((template) => fill(template, values)).find((made) => made !== undefined);
  return part.type === "N" && text !== undefined ? Number(text) : text;
}

function primaryKey(facts: EntityFacts, values: Item): Item {
  return Object.fromEntries(
    facts.key.map((part) => {
      const value = keyValue(part, values);
      if (value === undefined) throw invalid(`an attribute of the key ${part.templates[0]} is missing`);
      return [part.name, value];
    }),
  );
}

// Index keys, undefined where the item is not in the index.
function indexKeys(facts: EntityFacts, values: Item): Item {
  const keys: Item = {};
  for (const parts of facts.indexes) {
    const made = parts.map((part) => keyValue(part, values));
    const whole = made.every((value) => value !== undefined);
    parts.forEach((part, i) => {
      if (!(part.name in facts.fields)) keys[part.name] = whole ? made[i] : undefined;
    });
  }
  return keys;
}

// The attributes that stand in a key or index key template.
const inputs = (parts: KeyPart[]) =>
  parts.flatMap((part) => part.templates.flatMap((text) => [...text.matchAll(/\{([^}:]+)(?::(?:date|\d+))?\}/g)].map((match) => match[1]!)));

function innerFields(field: Field, owner: Item): Fields | undefined {
  if (field.fields) return field.fields;
  const schema = schemas[field.schema ?? String(owner[field.schemaBy ?? ""])];
  return field.schemaField ? schema?.[field.schemaField]?.fields : schema;
}

// `value` in the form that is stored: instants with milliseconds, maps with their defaults and without undefined.
function storable(field: Field | undefined, value: unknown, owner: Item, path: string): unknown {
  if (value === null) return null;
  if (field?.kind === "ts") return instant(millis(value));
  if (field?.kind === "epoch" && typeof value !== "number") return Math.floor(millis(value) / 1000);
  if ((field?.kind === "SS" || field?.kind === "NS") && Array.isArray(value)) return new Set(value);
  if (field?.choices && !field.choices.includes(String(value))) {
    throw invalid(`${path} is ${String(value)}, not one of ${field.choices.join(", ")}`);
  }
  if (Array.isArray(value)) return value.map((element, i) => storable(field?.items, element, owner, `${path}[${i}]`));
  if (!isMap(value)) return value;
  const fields = field ? innerFields(field, owner) : undefined;
  const stored: Item = {};
  for (const [name, inner] of Object.entries(value)) {
    if (inner !== undefined) stored[name] = storable(fields?.[name], inner, value, `${path}.${name}`);
  }
  for (const [name, inner] of Object.entries(fields ?? {})) {
    if (!(name in stored) && inner.default !== undefined) stored[name] = inner.default;
  }
  return stored;
}

// A computed value in the form of its attribute.
function compute(field: Field, { from, shift = 0 }: Computed, values: Item, now: number): unknown {
  if (from === "uuid()") return randomUUID();
  if (from === "ulid()") return ulid(now);
  const source = from === "now()" ? instant(now) : values[from];
  if (source === undefined || !["ts", "date", "epoch"].includes(field.kind)) return source;
  const base = typeof source === "number" ? source * 1000 : millis(RFC_3339.test(String(source)) ? source : `${String(source)}T00:00:00Z`);
  const time = base + shift * 1000;
  if (field.kind === "epoch") return Math.floor(time / 1000);
  return field.kind === "date" ? instant(time).slice(0, 10) : instant(time);
}

// Sets what is never given. Computed values may be made of others, so those of now() come first.
function computeAll(facts: EntityFacts, values: Item, now: number): void {
  const rules = Object.entries(facts.fields).filter(([, field]) => field.always);
  const order = ([, field]: [string, Field]) => (field.always!.from === "now()" ? 0 : 1);
  for (const [name, field] of rules.sort((a, b) => order(a) - order(b))) values[name] = compute(field, field.always!, values, now);
}

function merge(facts: EntityFacts, given: Item, values: Item): void {
  for (const [name, value] of Object.entries(given)) {
    const field = facts.fields[name];
    if (!field) throw invalid(`${name} is no attribute of ${facts.entity}`);
    if (value === undefined) continue;
    if (value === null) delete values[name];
    else values[name] = storable(field, value, { ...values, ...given }, name);
  }
}

function requireAll(facts: EntityFacts, names: string[], values: Item): void {
  for (const name of names) if (facts.fields[name]?.required && values[name] === undefined) throw invalid(`${name} is missing`);
}

function refuseManaged(facts: EntityFacts, given: Item): void {
  for (const name of Object.keys(given)) {
    const field = facts.fields[name];
    if (field?.always || (name === facts.version && field?.kind === "N")) throw invalid(`${name} is set by the model`);
  }
}

// A new item with its keys.
function complete(facts: EntityFacts, given: Item): Item {
  const now = Date.now();
  const values: Item = {};
  refuseManaged(facts, given);
  merge(facts, given, values);
  const missing = Object.entries(facts.fields).filter(([name]) => values[name] === undefined);
  for (const [name, field] of missing) {
    if (field.made) values[name] = compute(field, field.made, values, now);
    else if (field.default !== undefined) values[name] = storable(field, field.default, values, name);
    else if (name === facts.machine?.field) values[name] = facts.machine.initial[0];
    else if (name === facts.version && field.kind === "N") values[name] = 1;
  }
  computeAll(facts, values, now);
  requireAll(facts, Object.keys(facts.fields), values);
  if (facts.machine) {
    const { field, initial } = facts.machine;
    if (!initial.includes(String(values[field]))) {
      throw new RepositoryError("IllegalTransition", `${facts.entity} is created with ${field} ${initial.join(" or ")}`);
    }
  }
  const stored = Object.fromEntries(Object.entries(values).filter(([name]) => !facts.fields[name]?.keyOnly));
  const item: Item = { ...stored, ...primaryKey(facts, values), ...indexKeys(facts, values) };
  if (facts.type) item[facts.type.attribute] = facts.type.value;
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
}

// The attributes of a stored item without what was derived from them, with what lives in its key alone.
function bare(facts: EntityFacts, item: Item): Item {
  const found: Item = { ...item };
  for (const { name } of [...facts.key, ...facts.indexes.flat()]) if (!(name in facts.fields)) delete found[name];
  if (facts.type && !(facts.type.attribute in facts.fields)) delete found[facts.type.attribute];
  for (const part of facts.key) {
    for (const template of part.templates) {
      const names = inputs([{ ...part, templates: [template] }]);
      const texts = template.split(/\{[^}]+\}/).map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      const match = new RegExp(`^${texts.join("([^#]+?)")}$`).exec(String(item[part.name]));
      names.forEach((name, i) => {
        if (match && facts.fields[name]?.keyOnly) found[name] = match[i + 1];
      });
    }
  }
  return found;
}

// An older item is read with the defaults of today.
function attributes(facts: EntityFacts, item: Item): Item {
  const found = bare(facts, item);
  for (const [name, field] of Object.entries(facts.fields)) {
    if (found[name] === undefined && field.default !== undefined) found[name] = structuredClone(field.default);
  }
  return found;
}

// Plain SDK code writes instants without milliseconds; both spellings of a key are looked for.
function spellings(facts: EntityFacts, key: Item): Item[] {
  const exact = Object.fromEntries(Object.entries(key).map(([name, value]) => [name, value == null ? value : storable(facts.fields[name], value, key, name)]));
  const whole = Object.fromEntries(
    Object.entries(exact).map(([name, value]) => [name, facts.fields[name]?.kind === "ts" ? String(value).replace(/\.000Z$/, "Z") : value]),
  );
  return Object.keys(exact).some((name) => exact[name] !== whole[name]) ? [exact, whole] : [exact];
}

class Expression {
  readonly names: Record<string, string> = {};
  readonly values: Item = {};
  name(attribute: string): string {
    const alias = `#n${Object.keys(this.names).length}`;
    this.names[alias] = attribute;
    return alias;
  }
  equal(attribute: string, value: unknown): string {
    if (value === undefined) return `attribute_not_exists(${this.name(attribute)})`;
    return `${this.name(attribute)} = ${this.value(value)}`;
  }
  value(value: unknown): string {
    const alias = `:v${Object.keys(this.values).length}`;
    this.values[alias] = value;
    return alias;
  }
  get used() {
    return {
      ExpressionAttributeNames: this.names,
      ...(Object.keys(this.values).length > 0 && { ExpressionAttributeValues: this.values }),
    };
  }
}

/** Over the plain SDK; `table` may be another one than the model names. */
class Repository<T> {
  constructor(private readonly client: DynamoDBDocumentClient, private readonly facts: EntityFacts, private readonly table: string) {}

  protected async find(key: Item): Promise<T | null> {
    const item = await this.read(key, false);
    return item ? (attributes(this.facts, item) as T) : null;
  }

  protected async query(query: QueryFacts, params: Item): Promise<T[]> {
    const expression = new Expression();
    const made = (template: string) => {
      const text = fill(template, params);
      if (text === undefined) throw invalid(`a parameter of ${template} is missing`);
      return text;
    };
    const conditions = Object.entries(query.partition).map(([name, template]) => expression.equal(name, made(template)));
    if (query.sort?.equals !== undefined) conditions.push(expression.equal(query.sort.name, made(query.sort.equals)));
    if (query.sort?.begins !== undefined) {
      conditions.push(`begins_with(${expression.name(query.sort.name)}, ${expression.value(made(query.sort.begins))})`);
    }
    const only = (query.only ?? []).map((name) => expression.equal(name, params[name]));
    const found: T[] = [];
    let start: Item | undefined;
    do {
      const page = await this.client.send(
        new QueryCommand({
          TableName: this.table,
          IndexName: query.index,
          KeyConditionExpression: conditions.join(" AND "),
          ...(only.length > 0 && { FilterExpression: only.join(" AND ") }),
          ...expression.used,
          ScanIndexForward: !query.descending,
          ExclusiveStartKey: start,
        }),
      );
      for (const item of page.Items ?? []) if (this.isOurs(item)) found.push(attributes(this.facts, item) as T);
      start = page.LastEvaluatedKey;
    } while (start);
    return found;
  }

  protected async put(given: Item): Promise<T> {
    const item = complete(this.facts, given);
    const made = attributes(this.facts, item);
    const expression = new Expression();
    const absent = { ConditionExpression: expression.equal(this.facts.key[0]!.name, undefined), ...expression.used };
    const put = { TableName: this.table, Item: item, ...absent };
    const key = Object.fromEntries(inputs(this.facts.key).map((name) => [name, made[name]]));
    const others = spellings(this.facts, key).slice(1);
    try {
      if (others.length === 0) {
        await this.client.send(new PutCommand(put));
      } else {
        // The same instant may stand there in the other spelling.
        const checks = others.map((other) => ({
          ConditionCheck: { TableName: this.table, Key: primaryKey(this.facts, other), ...absent },
        }));
        await this.client.send(new TransactWriteCommand({ TransactItems: [{ Put: put }, ...checks] }));
      }
    } catch (error) {
      const reasons = error instanceof TransactionCanceledException ? error.CancellationReasons ?? [] : [];
      const taken = error instanceof ConditionalCheckFailedException || reasons.some(({ Code }) => Code === "ConditionalCheckFailed");
      if (!taken) throw error;
      throw new RepositoryError("AlreadyExists", `there is a ${this.facts.entity} with this key`);
    }
    return made as T;
  }

  // Reads, decides, and writes on condition that nothing it decided upon has changed meanwhile; then tries again, unless
  // the caller expects a version.
  protected async change(key: Item, given: Item, expected?: unknown, attempts = 5): Promise<T> {
    const { facts } = this;
    const before = await this.existing(key);
    const after = bare(facts, before);
    refuseManaged(facts, given);
    // Saying again what is fixed is no change.
    const changes = Object.fromEntries(Object.entries(given).filter(([name, value]) => value !== undefined && !facts.fixed.includes(name)));
    for (const name of Object.keys(given)) {
      if (name in changes || given[name] === undefined || storable(facts.fields[name], given[name], given, name) === after[name]) continue;
      throw invalid(`${name} of ${facts.entity} cannot be changed`);
    }
    const version = facts.version;
    const versionField = version === undefined ? undefined : facts.fields[version];
    if (version !== undefined && expected !== undefined && before[version] !== storable(versionField, expected, before, version)) {
      throw new RepositoryError("VersionConflict", `${version} is ${String(before[version])}`);
    }
    this.checkMove(before, changes);
    const now = Date.now();
    merge(facts, changes, after);
    if (version !== undefined && versionField?.kind === "N") after[version] = Number(before[version] ?? 0) + 1;
    if (version !== undefined && versionField?.kind === "ts") after[version] = instant(now);
    computeAll(facts, after, now);
    requireAll(facts, Object.keys(changes), after);

    const always = Object.keys(facts.fields).filter((name) => facts.fields[name]?.always);
    const written = new Set([...Object.keys(changes), ...always, ...(version === undefined ? [] : [version])]);
    const guards = new Set(version === undefined ? [] : [version]);
    for (const part of facts.indexes.flat()) {
      const from = inputs([part]);
      if (part.name in facts.fields || !from.some((name) => written.has(name))) continue;
      after[part.name] = keyValue(part, after);
      written.add(part.name);
      for (const name of from) if (!written.has(name) && !facts.fixed.includes(name)) guards.add(name);
    }
    if (facts.machine && facts.machine.field in changes) guards.add(facts.machine.field);

    const expression = new Expression();
    const present = `attribute_exists(${expression.name(facts.key[0]!.name)})`;
    const conditions = [present, ...[...guards].map((name) => expression.equal(name, before[name]))];
    const sets: string[] = [];
    const removes: string[] = [];
    for (const name of written) {
      if (after[name] !== undefined) sets.push(expression.equal(name, after[name]));
      else if (before[name] !== undefined) removes.push(expression.name(name));
    }
    const update = [sets.length > 0 ? `SET ${sets.join(", ")}` : "", removes.length > 0 ? `REMOVE ${removes.join(", ")}` : ""];
    try {
      const { Attributes } = await this.client.send(
        new UpdateCommand({
          TableName: this.table,
          Key: Object.fromEntries(facts.key.map(({ name }) => [name, before[name]])),
          ...(update.join("") !== "" && { UpdateExpression: update.join(" ").trim() }),
          ConditionExpression: conditions.join(" AND "),
          ...expression.used,
          ReturnValues: "ALL_NEW",
        }),
      );
      return attributes(facts, Attributes ?? {}) as T;
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      this.checkMove(await this.existing(key), given);
      if (expected === undefined && attempts > 1) return this.change(key, given, expected, attempts - 1);
      throw new RepositoryError("VersionConflict", `this ${facts.entity} was changed meanwhile`);
    }
  }

  private checkMove(before: Item, changes: Item): void {
    const { machine, entity } = this.facts;
    if (!machine || changes[machine.field] === undefined) return;
    const [from, to] = [String(before[machine.field]), String(changes[machine.field])];
    const allowed = machine.moves[from] ?? [];
    if (allowed.includes(to)) return;
    throw new RepositoryError("IllegalTransition", `${entity} ${machine.field} ${from} → ${to}; allowed: ${allowed.join(", ") || "none"}`);
  }

  private isOurs(item: Item): boolean {
    const { type, ttl } = this.facts;
    const expired = ttl !== undefined && typeof item[ttl] === "number" && (item[ttl] as number) * 1000 <= Date.now();
    return !expired && (!type || item[type.attribute] === undefined || item[type.attribute] === type.value);
  }

  private async read(key: Item, consistent: boolean): Promise<Item | undefined> {
    for (const spelled of spellings(this.facts, key)) {
      const { Item: item } = await this.client.send(
        new GetCommand({ TableName: this.table, Key: primaryKey(this.facts, spelled), ConsistentRead: consistent }),
      );
      if (item && this.isOurs(item)) return item;
    }
    return undefined;
  }

  private async existing(key: Item): Promise<Item> {
    const item = await this.read(key, true);
    if (!item) throw new RepositoryError("NotFound", `there is no such ${this.facts.entity}`);
    return item;
  }
}
)ts";

// A parameter for an attribute, and the object that passes them on by the attributes' names.
std::string ParamName(const std::string& name) {
  std::string param;
  for (char c : name)
    param.push_back(
        IsIdentifier(std::string(1, c)) || std::isdigit(static_cast<unsigned char>(c)) != 0 ? c : '_');
  static constexpr std::string_view kReserved[] = {
      "class", "default", "delete",  "enum",   "export", "function", "import", "in",
      "new",   "package", "private", "public", "return", "switch",   "var",    "with"};
  bool reserved = std::find(std::begin(kReserved), std::end(kReserved), param) != std::end(kReserved);
  return reserved ? param + "_" : param;
}

std::string ParamsObject(const std::vector<std::string>& names) {
  auto entry = [](const std::string& name) {
    return ParamName(name) == name ? name : Cat(Quote(name), ": ", ParamName(name));
  };
  return names.empty() ? "{}" : Cat("{ ", JoinAll(names, ", ", entry), " }");
}

std::string Parameters(const Entity& entity, const std::vector<std::string>& names) {
  return JoinAll(names, ", ", [&](const std::string& name) {
    return Cat(ParamName(name), ": ", EntityTypeName(entity), "[", Quote(name), "]");
  });
}

void AddTypes(const RepositoryPlan& plan, const std::string& type, Lines* lines) {
  std::string given =
      plan.computed.empty() ? type : Cat("Omit<", type, ", ", JoinQuoted(plan.computed, " | "), ">");
  if (!plan.defaulted.empty()) given = Cat("Made<", given, ", ", JoinQuoted(plan.defaulted, " | "), ">");
  if (plan.creates) lines->Add(Cat("export type New", type, " = ", given, ";"));
  if (plan.updates)
    lines->Add(
        Cat("export type ", type, "Changes = Changed<", type, ", ", JoinQuoted(plan.fixed, " | "), ">;"));
}

void AddRepository(const RepositoryPlan& plan, Lines* lines) {
  const Entity& entity = *plan.entity;
  std::string type = EntityTypeName(entity);
  std::string facts = "facts" + type;
  lines->Add().Add(Cat("// --- ", entity.name, " ---")).Add();
  lines->Add(Cat("const ", facts, ": EntityFacts = ", plan.facts.Spell(Node::Style::kTypeScript), ";")).Add();
  AddTypes(plan, type, lines);
  lines->Add().Open(Cat("export class ", type, "Repository extends Repository<", type, "> {"));
  lines->Open(Cat("constructor(client: DynamoDBDocumentClient, table = ", facts, ".table) {"));
  lines->Add(Cat("super(client, ", facts, ", table);")).Close("}");

  std::string key = Parameters(entity, plan.key);
  lines->Add().Open(Cat("findById(", key, "): Promise<", type, " | null> {"));
  lines->Add(Cat("return this.find(", ParamsObject(plan.key), ");")).Close("}");
  if (plan.by_state) {
    const StateFinder& finder = *plan.by_state;
    lines->Add().Add(
        Cat("/** ", finder.pattern->id, ": ", Replace(finder.pattern->title, "*/", "* /"), " */"));
    lines->Open(Cat("findBy", PascalName(finder.params[0]), "(", Parameters(entity, finder.params),
                    "): Promise<", type, "[]> {"));
    lines->Add(Cat("return this.query(", finder.query.Spell(Node::Style::kTypeScript, 4), ", ",
                   ParamsObject(finder.params), ");"));
    lines->Close("}");
  }
  if (plan.creates) {
    lines->Add().Open(Cat("create(attributes: New", type, "): Promise<", type, "> {"));
    lines->Add("return this.put({ ...attributes });").Close("}");
  }
  if (plan.updates) {
    key += Cat(key.empty() ? "" : ", ", "changes: ", type, "Changes");
    if (!entity.version.empty()) key += Cat(", expected?: ", type, "[", Quote(entity.version), "]");
    lines->Add().Add(entity.version.empty() ? "/** A null removes an attribute. */"
                                            : Cat("/** A null removes an attribute. `expected` is the ",
                                                  entity.version, " that was read. */"));
    lines->Open(Cat("update(", key, "): Promise<", type, "> {"));
    lines->Add(Cat("return this.change(", ParamsObject(plan.key), ", { ...changes }",
                   entity.version.empty() ? "" : ", expected", ");"));
    lines->Close("}");
  }
  lines->Close("}");
}

}  // namespace

std::string TypeScriptRepositories(const Model& model) {
  Lines lines;
  lines.Add(kRuntime.substr(0, kRuntime.size() - 1)).Add();
  lines.Add(Cat(
      "const schemas: Record<string, Fields> = ", SchemaFacts(model).Spell(Node::Style::kTypeScript), ";"));
  for (const auto& entity : model.entities) AddRepository(PlanRepository(model, *entity), &lines);
  // Imports come before all else.
  std::string types = TypeScriptTypes(model);
  size_t notice = types.find('\n') + 1;
  return Cat(types.substr(0, notice), kImports, types.substr(notice), lines.Take());
}

}  // namespace holdfast::model::generate
