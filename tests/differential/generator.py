"""Makes a script of requests from a seed: the same seed makes the same script.

Names, keys and values come from small pools, so that requests meet each other's items. Most requests are
right; some have one thing wrong with them.
"""
import base64
import copy
import random
from dataclasses import dataclass, replace


@dataclass
class Step:
    operation: str
    request: object
    # The attributes that order the items of the answer; those alike in them come in any order. None: as is.
    order: tuple = None
    # Follow LastEvaluatedKey to the end, in all of so many segments, and compare all items together.
    all_pages: bool = False
    segments: int = 1


@dataclass(frozen=True)
class Table:
    name: str
    keys: tuple  # (name, type) of the partition key and, perhaps, the sort key
    indexes: dict  # name → (keys, projection); local when the partition key is the table's

    def is_local(self, index):
        return self.indexes[index][0][0] == self.keys[0]

    def definition(self):
        used = {
            name: kind
            for keys in [self.keys, *(keys for keys, _ in self.indexes.values())]
            for name, kind in keys
        }
        request = {
            "TableName": self.name,
            "KeySchema": key_schema(self.keys),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in used.items()
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }
        for index, (keys, projection) in self.indexes.items():
            member = "LocalSecondaryIndexes" if self.is_local(index) else "GlobalSecondaryIndexes"
            request.setdefault(member, []).append(
                {"IndexName": index, "KeySchema": key_schema(keys), "Projection": projection}
            )
        return request


def key_schema(keys):
    return [{"AttributeName": name, "KeyType": kind} for (name, _), kind in zip(keys, ("HASH", "RANGE"))]


ALL, KEYS_ONLY = {"ProjectionType": "ALL"}, {"ProjectionType": "KEYS_ONLY"}
TABLES = (
    Table("plain", (("p", "S"),), {}),
    Table(
        "indexed",
        (("p", "S"), ("s", "S")),
        {
            "local_n": ((("p", "S"), ("n", "N")), ALL),
            "local_t": (
                (("p", "S"), ("t", "S")),
                {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "n"]},
            ),
            "global_t": ((("t", "S"), ("n", "N")), ALL),
            "global_u": ((("u", "B"),), KEYS_ONLY),
            "global_a": (
                (("t", "S"), ("s", "S")),
                {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "m"]},
            ),
        },
    ),
    Table("numbered", (("p", "N"), ("s", "B")), {"global_n": ((("n", "N"), ("p", "N")), ALL)}),
    Table("binary", (("p", "B"), ("s", "N")), {}),
)


def b64(data):
    return base64.b64encode(data).decode()


STRINGS = ["a", "b", "ab", "abc", "B", "é", "z z", "日本", "0", "10", "𝄞", "a\u0000b"]
NUMBERS = ["0", "1", "-1", "2", "10", "3.14", "-0.5", "1e3", "1000", "1E-130",
           "12345678901234567890123456789012345678",
           "9.9999999999999999999999999999999999999E+125", "-9.9E125", "0.001", "100.00", "007"]  # fmt: skip
BINARIES = [b64(b"a"), b64(b"\x00"), b64(b"\xff\xfe"), b64(b"abc"), b64(b"b")]
KEY_POOL = {"S": STRINGS[:6], "N": ["0", "1", "-1", "2.5", "1e3", "1000"], "B": BINARIES}
NAMES = ["a", "b", "n", "t", "u", "m", "l", "ss", "ns", "bs", "flag", "nil"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.chance = lambda probability: self.random.random() < probability
        self.pick = self.random.choice

    def script(self, count):
        weights = {
            self.put_item: 14, self.update_item: 20, self.delete_item: 5, self.get_item: 7,
            self.query: 16, self.scan: 7, self.batch_write: 5, self.batch_get: 4,
            self.transact_write: 6, self.transact_get: 3, self.legacy: 8,
        }  # fmt: skip
        for _ in range(count):
            [make] = self.random.choices(list(weights), list(weights.values()))
            step = make(self.pick(TABLES))
            if self.chance(0.08):
                step = self.spoil(step)
            yield step

    # Values.

    def value(self, depth=0):
        kinds = ["S", "S", "N", "N", "B", "BOOL", "NULL", "SS", "NS", "BS"] + ["L", "M"] * (depth < 3)
        return self.value_of(self.pick(kinds), depth)

    def value_of(self, kind, depth=0):
        if kind == "S":
            return {"S": self.pick(STRINGS + [""])}
        if kind == "N":
            return {"N": self.pick(NUMBERS) if self.chance(0.4) else str(self.random.randint(-20, 20))}
        if kind == "B":
            return {"B": self.pick(BINARIES + [""])}
        if kind == "BOOL":
            return {"BOOL": self.chance(0.5)}
        if kind == "NULL":
            return {"NULL": True}
        if kind in ("SS", "NS", "BS"):
            pool = {"SS": STRINGS, "NS": [str(number) for number in range(-5, 9)], "BS": BINARIES}[kind]
            return {kind: self.random.sample(pool, self.random.randint(1, 4))}
        if kind == "L":
            return {"L": [self.value(depth + 1) for _ in range(self.random.randint(0, 3))]}
        return {
            "M": {
                name: self.value(depth + 1) for name in self.random.sample(NAMES, self.random.randint(0, 3))
            }
        }

    def attribute(self, name):
        """A value of the type that the name suggests, mostly."""
        kind = {
            "n": "N",
            "t": "S",
            "u": "B",
            "m": "M",
            "l": "L",
            "ss": "SS",
            "ns": "NS",
            "bs": "BS",
            "flag": "BOOL",
            "nil": "NULL",
        }.get(name)
        if kind is None or self.chance(0.06):
            return self.value()
        if name in ("t", "u", "n") and self.chance(0.95):
            return {kind: self.pick(KEY_POOL[kind])}
        return self.value_of(kind)

    def key(self, table):
        return {name: {kind: self.pick(KEY_POOL[kind])} for name, kind in table.keys}

    def item(self, table):
        item = {name: self.attribute(name) for name in self.random.sample(NAMES, self.random.randint(0, 7))}
        if self.chance(0.03):
            item["big"] = {"S": "x" * self.pick([1000, 5000, 20000])}
        return {**item, **self.key(table)}

    # Expressions. A context collects the names and values that the expressions of a request refer to.

    def name(self, context, name):
        if self.chance(0.35):
            return name
        context["names"]["#" + name] = name
        return "#" + name

    def operand(self, context, value):
        placeholder = f":v{len(context['values'])}"
        context["values"][placeholder] = value
        return placeholder

    def path(self, context, first=None):
        path = self.name(context, first or self.pick(NAMES))
        while self.chance(0.25):
            path += (
                f"[{self.random.randint(0, 3)}]"
                if self.chance(0.5)
                else "." + self.name(context, self.pick(NAMES))
            )
        return path

    def condition(self, context, depth=0):
        if depth < 3 and self.chance(0.35):
            left, right = self.condition(context, depth + 1), self.condition(context, depth + 1)
            return self.pick(
                [
                    f"{left} AND {right}",
                    f"{left} OR {right}",
                    f"({left}) AND NOT {right}",
                    f"NOT ({left} OR {right})",
                ]
            )
        name = self.pick(NAMES + ["p", "s"])
        path = self.path(context, name)
        comparator = self.pick(["=", "<>", "<", "<=", ">", ">="])
        form = self.random.randrange(10)
        if form < 3:
            return f"{path} {comparator} {self.operand(context, self.attribute(name))}"
        if form == 3:
            return f"{path} {comparator} {self.path(context)}"
        if form == 4:
            kind = self.pick("SNB")
            low, high = (self.value_of(kind) for _ in range(2))
            return f"{path} BETWEEN {self.operand(context, low)} AND {self.operand(context, high)}"
        if form == 5:
            options = ", ".join(
                self.operand(context, self.attribute(name)) for _ in range(self.random.randint(1, 4))
            )
            return f"{path} IN ({options})"
        if form == 6:
            return f"size({path}) {comparator} {self.operand(context, {'N': str(self.random.randint(0, 4))})}"
        if form == 7:
            kind = self.pick(["S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"])
            return f"attribute_type({path}, {self.operand(context, {'S': kind})})"
        if form == 8:
            function = self.pick(["begins_with", "contains"])
            value = self.value_of(self.pick("SB")) if function == "begins_with" else self.value()
            return f"{function}({path}, {self.operand(context, value)})"
        return f"{self.pick(['attribute_exists', 'attribute_not_exists'])}({path})"

    def update(self, context):
        free = self.random.sample(NAMES, len(NAMES))
        sections = []
        for section in self.random.sample(["SET", "REMOVE", "ADD", "DELETE"], self.pick([1, 1, 1, 2, 2, 3])):
            actions = [
                self.update_action(context, section, free.pop()) for _ in range(self.pick([1, 1, 2])) if free
            ]
            sections.append(f"{section} {', '.join(actions)}")
        return " ".join(sections)

    def update_action(self, context, section, name):
        if section == "REMOVE":
            return self.path(context, name)
        if section in ("ADD", "DELETE"):
            kind = self.pick(["N", "NS", "SS", "BS"] if section == "ADD" else ["NS", "SS", "BS"])
            name = (
                {"N": "n", "NS": "ns", "SS": "ss", "BS": "bs"}[kind]
                if self.chance(0.7) and name in ("n", "ns", "ss", "bs")
                else name
            )
            value = self.attribute(name) if name in ("n", "ns", "ss", "bs") else self.value_of(kind)
            path = self.path(context, name) if self.chance(0.3) else self.name(context, name)
            return f"{path} {self.operand(context, value)}"
        path, value = self.path(context, name), self.attribute(name)
        form = self.random.randrange(7)
        if form == 0:
            return f"{path} = if_not_exists({self.path(context)}, {self.operand(context, value)})"
        if form == 1:
            more = self.value_of("L")
            return f"{path} = list_append({self.path(context, 'l')}, {self.operand(context, more)})"
        if form == 2:
            sign, more = self.pick("+-"), self.value_of("N")
            return f"{path} = {self.path(context, 'n')} {sign} {self.operand(context, more)}"
        if form == 3:
            return f"{path} = {self.path(context)}"
        return f"{path} = {self.operand(context, value)}"

    def projection(self, context):
        return ", ".join(
            self.path(context, name) for name in self.random.sample(NAMES + ["p"], self.random.randint(1, 4))
        )

    @staticmethod
    def context():
        return {"names": {}, "values": {}}

    def finish(self, request, context):
        if context["names"]:
            request["ExpressionAttributeNames"] = context["names"]
        if context["values"]:
            request["ExpressionAttributeValues"] = context["values"]
        return request

    def with_capacity(self, request):
        if self.chance(0.7):
            request["ReturnConsumedCapacity"] = self.pick(["INDEXES", "INDEXES", "TOTAL", "NONE"])
        return request

    # Operations.

    def put_item(self, table):
        return Step(
            "PutItem", self.write({"TableName": table.name, "Item": self.item(table)}, ["NONE", "ALL_OLD"])
        )

    def delete_item(self, table):
        return Step(
            "DeleteItem", self.write({"TableName": table.name, "Key": self.key(table)}, ["NONE", "ALL_OLD"])
        )

    def update_item(self, table):
        context = self.context()
        request = {"TableName": table.name, "Key": self.key(table)}
        if self.chance(0.97):
            request["UpdateExpression"] = self.update(context)
        returned = ["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]
        return Step("UpdateItem", self.write(request, returned, context))

    def write(self, request, returned, context=None):
        context = context or self.context()
        if self.chance(0.35):
            request["ConditionExpression"] = self.condition(context)
            if self.chance(0.5):
                request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if self.chance(0.7):
            request["ReturnValues"] = self.pick(returned)
        return self.with_capacity(self.finish(request, context))

    def get_item(self, table):
        return Step(
            "GetItem", self.with_capacity(self.read({"TableName": table.name, "Key": self.key(table)}))
        )

    def read(self, request):
        context = self.context()
        if self.chance(0.4):
            request["ProjectionExpression"] = self.projection(context)
        if self.chance(0.3):
            request["ConsistentRead"] = True
        return self.finish(request, context)

    def key_condition(self, context, keys):
        (partition, kind), *sort = keys
        parts = [
            f"{self.name(context, partition)} = {self.operand(context, {kind: self.pick(KEY_POOL[kind])})}"
        ]
        if sort and self.chance(0.5):
            [(name, kind)] = sort
            low, high = (self.operand(context, {kind: self.pick(KEY_POOL[kind])}) for _ in range(2))
            name = self.name(context, name)
            form = self.random.randrange(4)
            if form == 0:
                parts.append(f"{name} BETWEEN {low} AND {high}")
            else:
                del context["values"][high]
                if form == 1 and (kind != "N" or self.chance(0.1)):
                    parts.append(f"begins_with({name}, {low})")
                else:
                    parts.append(f"{name} {self.pick(['=', '<', '<=', '>', '>='])} {low}")
        self.random.shuffle(parts)
        return " AND ".join(parts)

    def query(self, table):
        context = self.context()
        index = self.pick([None, *table.indexes])
        keys = table.indexes[index][0] if index else table.keys
        request = {"TableName": table.name, "KeyConditionExpression": self.key_condition(context, keys)}
        if self.chance(0.4):
            request["ScanIndexForward"] = self.chance(0.5)
        return self.paged("Query", table, index, request, context, tuple(name for name, _ in keys))

    def scan(self, table):
        request = {"TableName": table.name}
        if self.chance(0.2):
            segments = self.pick([1, 2, 4])
            return Step("Scan", {**request, "TotalSegments": segments, "Segment": 0}, (), True, segments)
        return self.paged("Scan", table, self.pick([None, *table.indexes]), request, self.context(), ())

    def paged(self, operation, table, index, request, context, order):
        is_global = index and not table.is_local(index)
        if index:
            request["IndexName"] = index
        if self.chance(0.35):
            request["FilterExpression"] = self.condition(context)
        if self.chance(0.25):
            request["ProjectionExpression"] = self.projection(context)
        elif self.chance(0.25):
            request["Select"] = self.pick(["COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"])
        if self.chance(0.25) and (not is_global or self.chance(0.1)):
            request["ConsistentRead"] = True
        all_pages = self.chance(0.4)
        if all_pages:
            request["Limit"] = self.random.randint(1, 5)
        elif operation == "Query" and not is_global and self.chance(0.3):
            request["Limit"] = self.random.randint(1, 5)
            if self.chance(0.5):
                request["ExclusiveStartKey"] = self.start_key(table, index)
        return Step(operation, self.with_capacity(self.finish(request, context)), order, all_pages)

    def start_key(self, table, index):
        key = self.key(table)
        for name, kind in table.indexes[index][0] if index else ():
            key.setdefault(name, {kind: self.pick(KEY_POOL[kind])})
        return key

    def keys_of(self, table, count):
        """Different keys; sometimes one twice."""
        keys = []
        while len(keys) < count:
            key = self.key(table)
            if key not in keys or self.chance(0.02):
                keys.append(key)
        return keys

    def one_or_two(self, table):
        other = self.pick(TABLES)
        return [table] if other == table else [table, other]

    def batch_write(self, table):
        requests = {}
        for each in self.one_or_two(table):
            actions = [
                {"DeleteRequest": {"Key": key}}
                if self.chance(0.4)
                else {"PutRequest": {"Item": {**self.item(each), **key}}}
                for key in self.keys_of(each, self.random.randint(1, 4))
            ]
            requests[each.name] = actions
        return Step("BatchWriteItem", self.with_capacity({"RequestItems": requests}))

    def batch_get(self, table):
        requests = {}
        for each in self.one_or_two(table):
            requests[each.name] = self.read({"Keys": self.keys_of(each, self.random.randint(1, 5))})
        return Step("BatchGetItem", self.with_capacity({"RequestItems": requests}), order=())

    def transact_write(self, table):
        actions = []
        for key in self.keys_of(table, self.random.randint(1, 4)):
            context = self.context()
            kind = self.pick(["Put", "Update", "Delete", "ConditionCheck"])
            action = {"TableName": table.name}
            if kind == "Put":
                action["Item"] = {**self.item(table), **key}
            else:
                action["Key"] = key
            if kind == "Update":
                action["UpdateExpression"] = self.update(context)
            if kind == "ConditionCheck" or self.chance(0.3):
                action["ConditionExpression"] = self.condition(context)
                if self.chance(0.4):
                    action["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            actions.append({kind: self.finish(action, context)})
        return Step("TransactWriteItems", self.with_capacity({"TransactItems": actions}))

    def transact_get(self, table):
        gets = []
        for key in self.keys_of(table, self.random.randint(1, 4)):
            request = self.read({"TableName": table.name, "Key": key})
            request.pop("ConsistentRead", None)
            gets.append({"Get": request})
        return Step("TransactGetItems", self.with_capacity({"TransactItems": gets}))

    # Parameters from before expressions.

    def legacy(self, table):
        form = self.random.randrange(5)
        request = {"TableName": table.name}
        if form == 0:
            request.update(Key=self.key(table), AttributesToGet=self.random.sample(NAMES + ["p"], 3))
            return Step("GetItem", self.with_capacity(request))
        if form == 1:
            request.update(
                Key=self.key(table),
                AttributeUpdates={n: self.attribute_update(n) for n in self.random.sample(NAMES, 2)},
            )
            if self.chance(0.4):
                request.update(self.expected())
            if self.chance(0.7):
                request["ReturnValues"] = self.pick(["ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
            return Step("UpdateItem", self.with_capacity(request))
        if form == 2:
            request.update(Item=self.item(table), **self.expected())
            return Step("PutItem", self.with_capacity(request))
        if form == 3:
            (name, kind), *sort = table.keys
            request["KeyConditions"] = {
                name: {"ComparisonOperator": "EQ", "AttributeValueList": [{kind: self.pick(KEY_POOL[kind])}]}
            }
            for name, kind in sort * self.chance(0.5):
                operator = self.pick(["EQ", "LE", "LT", "GE", "GT"])
                request["KeyConditions"][name] = {
                    "ComparisonOperator": operator,
                    "AttributeValueList": [{kind: self.pick(KEY_POOL[kind])}],
                }
            if self.chance(0.5):
                request["QueryFilter"] = self.legacy_conditions()
            return Step("Query", self.with_capacity(request))
        request["ScanFilter"] = self.legacy_conditions()
        if self.chance(0.4):
            request["ConditionalOperator"] = self.pick(["AND", "OR"])
        return Step("Scan", self.with_capacity(request), order=())

    def attribute_update(self, name):
        action = self.pick(["PUT", "DELETE", "ADD", None])
        update = {"Action": action} if action else {}
        if action != "DELETE" or self.chance(0.4):
            update["Value"] = self.attribute(name)
        return update

    def expected(self):
        if self.chance(0.4):
            name = self.pick(NAMES)
            return {
                "Expected": {
                    name: self.pick(
                        [
                            {"Exists": False},
                            {"Value": self.attribute(name)},
                            {"Exists": True, "Value": self.attribute(name)},
                        ]
                    )
                }
            }
        request = {"Expected": self.legacy_conditions()}
        if self.chance(0.3):
            request["ConditionalOperator"] = self.pick(["AND", "OR"])
        return request

    def legacy_conditions(self):
        return {name: self.legacy_condition(name) for name in self.random.sample(NAMES, self.pick([1, 1, 2]))}

    def legacy_condition(self, name):
        operator = self.pick(
            [
                "EQ",
                "NE",
                "LE",
                "LT",
                "GE",
                "GT",
                "NOT_NULL",
                "NULL",
                "CONTAINS",
                "NOT_CONTAINS",
                "BEGINS_WITH",
                "IN",
                "BETWEEN",
            ]
        )
        count = {"NOT_NULL": 0, "NULL": 0, "BETWEEN": 2, "IN": self.random.randint(1, 3)}.get(operator, 1)
        if self.chance(0.03):
            count = self.random.randint(0, 2)
        kind = self.pick("SNB")
        values = [self.value_of(kind) if self.chance(0.7) else self.attribute(name) for _ in range(count)]
        return {"ComparisonOperator": operator, **({"AttributeValueList": values} if values else {})}

    # One thing wrong.

    def spoil(self, step):
        request = copy.deepcopy(step.request)
        places = list(self.places(request))
        holder, name = self.pick(places)
        form = self.random.randrange(4)
        if form == 0:
            del holder[name]
        elif form == 1:
            holder[name] = self.pick([None, "", 0, 1, -1, True, [], {}, "x", 1.5, {"S": "x"}, ["x"]])
        elif form == 2 and isinstance(holder[name], str):
            holder[name] = self.pick(
                [
                    holder[name] + "x",
                    holder[name][:-1],
                    holder[name] + " ",
                    holder[name].upper(),
                    holder[name] * 300,
                ]
            )
        elif isinstance(holder, dict):
            holder[str(name) + self.pick(["x", " "])] = holder.pop(name)
        return replace(step, request=request)

    def places(self, node):
        for name in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, name
            if isinstance(node[name], (dict, list)):
                yield from self.places(node[name])
