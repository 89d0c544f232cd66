"""Cases thought of rather than generated: limits, edges, and what once went wrong.

Each is a name and the steps that make it; the tables are the generator's, empty at the start of a case.
"""
from generator import ALL, TABLES, Step, Table, b64

PLAIN, INDEXED, NUMBERED, BINARY = TABLES


def s(text):
    return {"S": text}


def n(number):
    return {"N": str(number)}


def put(item, table=PLAIN, **more):
    return Step("PutItem", {"TableName": table.name, "Item": item, **more})


def get(key, table=PLAIN, **more):
    return Step("GetItem", {"TableName": table.name, "Key": key, **more})


def update(key, expression, values=None, table=PLAIN, **more):
    request = {"TableName": table.name, "Key": key, "UpdateExpression": expression, **more}
    return Step("UpdateItem", {**request, "ExpressionAttributeValues": values} if values else request)


def query(condition, values, table=INDEXED, **more):
    return Step(
        "Query",
        {
            "TableName": table.name,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            **more,
        },
    )


def scan(table=PLAIN, **more):
    return Step("Scan", {"TableName": table.name, **more}, order=())


def transact(*actions, **more):
    return Step("TransactWriteItems", {"TransactItems": list(actions), **more})


def nested(depth):
    return {"L": [nested(depth - 1)]} if depth else s("deep")


KEY = {"p": s("k")}
PAIR = {"p": s("k"), "s": s("1")}
DIGITS_38 = "1" * 38


def row(sort, **more):
    return put({"p": s("k"), "s": s(sort), **more}, INDEXED)


CASES = {
    # Numbers.
    "numbers at their limits": [
        put({**KEY, "n": n(text)})
        for text in (
            DIGITS_38,
            DIGITS_38 + "1",
            DIGITS_38 + "0",
            "9.9999999999999999999999999999999999999E+125",
            "1e126",
            "-1e126",
            "1e-130",
            "1e-131",
            "0e200",
            "-0",
            "+1",
            "1.",
            ".5",
            "",
            " 1",
            "0x1",
            "NaN",
            "Infinity",
            "1e",
            "1_000",
        )
    ],
    "numbers in keys are values": [
        put({"p": n("1e3"), "s": {"B": b64(b"x")}, "a": s("1")}, NUMBERED),
        get({"p": n("1000.0"), "s": {"B": b64(b"x")}}, NUMBERED),
        put({"p": n("1000"), "s": {"B": b64(b"x")}, "a": s("2")}, NUMBERED, ReturnValues="ALL_OLD"),
    ],
    "arithmetic": [
        put({**KEY, "n": n("0.1")}),
        update(KEY, "SET n = n + :v", {":v": n("0.2")}, ReturnValues="UPDATED_NEW"),
        update(KEY, "SET n = n - :v", {":v": n("1e40")}, ReturnValues="UPDATED_NEW"),
        update(KEY, "SET n = :v + :v", {":v": n("9e125")}),
        update(KEY, "ADD n :v", {":v": n("-0.3")}, ReturnValues="UPDATED_NEW"),
        update(KEY, "ADD fresh :v", {":v": n("5")}, ReturnValues="ALL_NEW"),
        update(KEY, "SET n = n + :v", {":v": s("1")}),
        update(KEY, "SET m = missing + :v", {":v": n("1")}),
    ],
    # Values.
    "sets": [
        put({**KEY, "x": value})
        for value in (
            {"SS": []},
            {"SS": ["a", "a"]},
            {"NS": ["1", "1.0"]},
            {"BS": ["YQ==", "YQ=="]},
            {"SS": [""]},
            {"NS": ["a"]},
            {"BS": ["*"]},
        )
    ],
    "strange values": [
        put({**KEY, "x": value})
        for value in (
            {"NULL": False},
            {},
            {"S": "a", "N": "1"},
            {"X": "1"},
            {"BOOL": "true"},
            {"L": {}},
            {"M": []},
            {"B": "YQ"},
            {"S": None},
            s("\u0000"),
        )
    ],
    "empty values": [
        put({**KEY, "s": s(""), "b": {"B": ""}, "l": {"L": []}, "m": {"M": {}}}),
        get(KEY),
        put({"p": s("")}),
        put({"p": {"B": ""}, "s": n(1)}, BINARY),
        put({**PAIR, "t": s("")}, INDEXED),
        put({**PAIR, "t": n(1)}, INDEXED),
        Step("DeleteItem", {"TableName": "nowhere", "Key": KEY, "ConditionExpression": "a ="}),
        put({**PAIR, "u": {"B": ""}}, INDEXED),
        put(
            {**PAIR, "u": {"B": ""}},
            INDEXED,
            ConditionExpression="a < :v",
            ExpressionAttributeValues={":v": {"M": {}}},
        ),
        get({"p": s("")}),
        put({**KEY, "": s("x")}),
    ],
    "nesting": [put({**KEY, "x": nested(depth)}) for depth in (30, 31, 32, 33)],
    "item size": [
        put({**KEY, "x": s("x" * (409600 - 3))}),
        put({**KEY, "x": s("x" * (409600 - 2))}),
        get(KEY, ReturnConsumedCapacity="TOTAL"),
        update(KEY, "SET y = :v", {":v": s("x" * 100)}),
    ],
    "key size": [
        put({"p": s("x" * 2048)}),
        put({"p": s("x" * 2049)}),
        put({"p": s("k"), "s": s("x" * 1024)}, INDEXED),
        put({"p": s("k"), "s": s("x" * 1025)}, INDEXED),
        get({"p": s("x" * 2049)}),
    ],
    # Conditions.
    "comparisons": [
        put(
            {
                **KEY,
                "num": n(5),
                "str": s("b"),
                "bin": {"B": b64(b"b")},
                "flag": {"BOOL": True},
                "ss": {"SS": ["a", "b"]},
                "l": {"L": [n(1), s("a")]},
                "nil": {"NULL": True},
            }
        ),
        *[
            scan(FilterExpression=text, ExpressionAttributeValues=values)
            for text, values in (
                ("num = :v", {":v": n("5.0")}),
                ("num <> :v", {":v": s("5")}),
                ("str < :v", {":v": s("c")}),
                ("str > :v", {":v": n(1)}),
                ("missing <> :v", {":v": n(1)}),
                ("NOT missing = :v", {":v": n(1)}),
                (":v = num", {":v": n(5)}),
                ("num IN (:v)", {":v": n(5)}),
                ("contains(ss, :v)", {":v": s("a")}),
                ("contains(str, :v)", {":v": s("")}),
                ("contains(l, :v)", {":v": n("1.0")}),
                ("size(str) = :v", {":v": n(1)}),
                ("size(num) = :v", {":v": n(1)}),
                ("size(:v) = num", {":v": s("12345")}),
                ("begins_with(str, :v)", {":v": s("b")}),
                ("begins_with(str, :v)", {":v": n(1)}),
                ("attribute_type(nil, :v)", {":v": s("NULL")}),
                ("attribute_type(nil, :v)", {":v": n(1)}),
                ("attribute_type(nil, :v)", {":v": s("Q")}),
                ("ss = :v", {":v": {"SS": ["b", "a"]}}),
                ("num BETWEEN :v AND :v", {":v": n(5)}),
                ("contains(str, str) OR num = :v", {":v": n(5)}),
                ("flag = :v", {":v": {"BOOL": True}}),
            )
        ],
    ],
    "syntax of conditions": [
        Step("DeleteItem", {"TableName": "plain", "Key": KEY, "ConditionExpression": text})
        for text in (
            "",
            " ",
            "a",
            "a =",
            "a = = b",
            "(a = b",
            "a = b)",
            "((a = b))",
            "(a = b)",
            "NOT NOT a = b",
            "a = b AND",
            "a IN ()",
            "a BETWEEN b",
            "attribute_exists()",
            "attribute_exists(a, b)",
            "Attribute_Exists(a)",
            "unknown(a)",
            "size(a)",
            "a = size(b)",
            "a.b.c[0] = d",
            "a[-1] = b",
            "a[x] = b",
            "a[99999999999] = b",
            "1a = b",
            "a-b = c",
            "a = 1",
            "a = 'x'",
            "name = b",
            "#a = b",
            "a = :a",
            "a <> b",
            "a != b",
            "a OR b = c",
            "contains(a, a)",
            "a = a",
            "attribute_exists(a) = b",
            "begins_with(a, b) and not contains(c, d)",
        )
    ],
    "syntax of updates": [
        update(KEY, text)
        for text in (
            "",
            "SET",
            "SET a",
            "SET a =",
            "SET a = b,",
            "set a = if_not_exists(b)",
            "SET a = b SET c = d",
            "REMOVE a, a",
            "REMOVE a.b, a",
            "REMOVE a[0], a.b",
            "ADD a b",
            "DELETE a b",
            "SET a = b + c + d",
            "SET a = list_append(b)",
            "SET a = unknown(b)",
            "SET p = a",
            "REMOVE p",
            "SET size = a",
            "SET a = size(b)",
            "REMOVE a[0], a[1]",
            "UPDATE a",
            "SET a.b[0] = c",
            "SET a = (b)",
            "SET a = -b",
        )
    ],
    "unused and undefined": [
        update(KEY, "SET a = :a", {":a": n(1), ":b": n(2)}),
        update(KEY, "SET a = :b", {":a": n(1)}),
        update(KEY, "SET #a = :a", {":a": n(1)}),
        update(KEY, "REMOVE a", ExpressionAttributeNames={"#a": "a"}),
        update(KEY, "REMOVE a", ExpressionAttributeNames={}),
        Step("GetItem", {"TableName": "plain", "Key": KEY, "ExpressionAttributeNames": {"#a": "a"}}),
        query("#a = :p", {":p": s("k")}, FilterExpression="#b = :p"),
        scan(ExpressionAttributeValues={":a": n(1)}),
        put({**KEY}, ExpressionAttributeValues={":a": n(1)}),
        update(KEY, "SET a = :a", {":a ": n(1)}),
        update(KEY, "SET a = :a", {"a": n(1)}),
    ],
    "limits of expressions": [
        Step(
            "DeleteItem",
            {
                "TableName": "plain",
                "Key": KEY,
                "ConditionExpression": text,
                "ExpressionAttributeValues": {":a": n(1)},
            },
        )
        for text in (
            "a = :a" + " " * 5000,
            " OR ".join(["a = :a"] * 301),
            "a IN (" + ", ".join([":a"] * 101) + ")",
            "a" + ".b" * 32 + " = :a",
            "a" + ".b" * 31 + " = :a",
        )
    ],
    # Updates.
    "updates of documents": [
        put(
            {
                **KEY,
                "m": {"M": {"x": n(1), "l": {"L": [n(0), n(1), n(2)]}}},
                "l": {"L": [s("a"), s("b"), s("c")]},
                "ss": {"SS": ["a", "b"]},
            }
        ),
        update(KEY, "SET m.x = :v, l[1] = :v", {":v": n(9)}, ReturnValues="UPDATED_OLD"),
        update(KEY, "SET m.l[1] = :v", {":v": n(8)}, ReturnValues="UPDATED_NEW"),
        update(
            KEY,
            "SET l = list_append(l, :v), m.l = list_append(:v, m.l)",
            {":v": {"L": [s("z")]}},
            ReturnValues="ALL_NEW",
        ),
        update(
            KEY,
            "SET a = if_not_exists(a, :v), b = if_not_exists(m.x, :v)",
            {":v": n(7)},
            ReturnValues="UPDATED_NEW",
        ),
        update(KEY, "DELETE ss :v", {":v": {"SS": ["a", "b"]}}, ReturnValues="ALL_NEW"),
        update(KEY, "SET m.new.deep = :v", {":v": n(1)}),
        update(KEY, "SET l.x = :v", {":v": n(1)}),
        update(KEY, "SET b = a, a = b", ReturnValues="ALL_NEW"),
        update(KEY, "ADD ss :v", {":v": {"NS": ["1"]}}),
        update(KEY, "ADD l :v", {":v": n(1)}),
        update(KEY, "SET m = :v REMOVE m.x", {":v": n(1)}),
    ],
    "updates beyond the end of a list": [
        put({**KEY, "l": {"L": [s("a")]}}),
        update(KEY, "SET l[9] = :v, l[7] = :w", {":v": s("nine"), ":w": s("seven")}, ReturnValues="ALL_NEW"),
    ],
    "several elements of a list at once": [
        put({**KEY, "l": {"L": [s("a"), s("b"), s("c"), s("d")]}}),
        update(KEY, "REMOVE l[0], l[2]", ReturnValues="ALL_NEW"),
    ],
    "updates of what is not there": [
        update({"p": s("1")}, "REMOVE a", ReturnValues="ALL_NEW"),
        update({"p": s("2")}, "DELETE a :v", {":v": {"SS": ["a"]}}, ReturnValues="ALL_OLD"),
        update({"p": s("3")}, "REMOVE a.b"),
        update({"p": s("4")}, "SET a = :v", {":v": n(1)}, ReturnValues="ALL_OLD"),
        update({"p": s("4")}, "REMOVE b.c"),
        Step("UpdateItem", {"TableName": "plain", "Key": {"p": s("bare")}}),
        Step(
            "UpdateItem",
            {
                "TableName": "plain",
                "Key": {"p": s("old")},
                "AttributeUpdates": {"a": {"Value": n(1)}, "b": {"Action": "PUT", "Value": n(2)}},
            },
        ),
    ],
    "index keys in updates": [
        row("1", a=n(1)),
        update(PAIR, "SET t = a", table=INDEXED),
        update(PAIR, "SET t = :v", {":v": n(1)}, INDEXED),
        update(PAIR, "SET t = :v", {":v": n(1)}, INDEXED, ConditionExpression="attribute_not_exists(p)"),
        update(PAIR, "SET t = :v", {":v": s("")}, INDEXED),
        update(PAIR, "REMOVE t.x", table=INDEXED, ConditionExpression="attribute_not_exists(p)"),
        update(PAIR, "SET t.x = :v", {":v": s("")}, INDEXED),
        update(PAIR, "SET t = :v", {":v": s("x" * 1025)}, INDEXED),
        Step(
            "UpdateItem",
            {
                "TableName": "indexed",
                "Key": PAIR,
                "AttributeUpdates": {"t": {"Value": n(1), "Action": "PUT"}},
            },
        ),
    ],
    # Reading.
    "pages": [
        *(row(str(number), x=s("x" * 300_000)) for number in range(6)),
        query("p = :p", {":p": s("k")}, ProjectionExpression="s", ReturnConsumedCapacity="TOTAL"),
        query("p = :p", {":p": s("k")}, ScanIndexForward=False, Limit=2, ProjectionExpression="s"),
        query(
            "p = :p",
            {":p": s("k")},
            Limit=2,
            ProjectionExpression="s",
            ExclusiveStartKey={"p": s("k"), "s": s("3")},
        ),
        query("p = :p", {":p": s("k")}, Limit=6, ProjectionExpression="s"),
        query("p = :p", {":p": s("k")}, Limit=7, Select="COUNT"),
    ],
    "pages of an index": [
        *(row(str(number), n=n(9 - number)) for number in range(6)),
        query("p = :p AND n > :n", {":p": s("k"), ":n": n(5)}, IndexName="local_n", Limit=2),
        query(
            "p = :p",
            {":p": s("k")},
            IndexName="local_n",
            ScanIndexForward=False,
            Limit=4,
            ReturnConsumedCapacity="INDEXES",
        ),
    ],
    "items with local indexes": [row("1", n=n(1), x=s("x" * 300_000))],
    "start keys": [
        row("1", n=n(1), t=s("t")),
        *(
            query("p = :p", {":p": s("k")}, ExclusiveStartKey=key)
            for key in (
                {},
                {"p": s("k")},
                {"p": s("x"), "s": s("1")},
                {"p": n(1), "s": s("1")},
                {**PAIR, "x": s("1")},
            )
        ),
        query("p = :p", {":p": s("k")}, IndexName="local_n", ExclusiveStartKey=PAIR),
        query(
            "t = :t", {":t": s("t")}, IndexName="global_t", ExclusiveStartKey={**PAIR, "t": s("t"), "n": n(1)}
        ),
        query("p = :p", {":p": s("k")}, PLAIN, ExclusiveStartKey=KEY),
        scan(INDEXED, ExclusiveStartKey=KEY),
        scan(INDEXED, ReturnConsumedCapacity="TOTAL"),
        scan(INDEXED, IndexName="global_t", ConsistentRead=True),
        scan(INDEXED, IndexName="global_t", ConsistentRead=True, FilterExpression="a ="),
        query("p = :p AND s BETWEEN :h AND :l", {":p": {"B": b64(b"k")}, ":h": n("1e3"), ":l": n(1)}, BINARY),
    ],
    "a page of one where there can be but one": [
        put(KEY),
        query("p = :p", {":p": s("k")}, PLAIN, Limit=1),
        Step(
            "Query",
            {
                "TableName": "plain",
                "KeyConditionExpression": "p = :p",
                "ExpressionAttributeValues": {":p": s("k")},
                "Limit": 1,
            },
            all_pages=True,
        ),
    ],
    "key conditions": [
        query(text, {":p": s("k"), **values}, **more)
        for text, values, more in (
            ("p > :p", {}, {}),
            ("s = :p", {}, {}),
            ("p = :p OR s = :p", {}, {}),
            ("p = :p AND s <> :p", {}, {}),
            ("p = :p AND p = :p", {}, {}),
            ("p = :p AND t = :p", {}, {}),
            ("p = :p AND s = :p AND t = :p", {}, {}),
            ("p = :p AND contains(s, :p)", {}, {}),
            ("p = :p AND s IN (:p)", {}, {}),
            ("NOT p = :p", {}, {}),
            ("p = :p AND size(s) = :p", {}, {}),
            ("p = :p AND attribute_exists(s)", {}, {}),
            ("(p = :p) AND (begins_with(s, :p))", {}, {}),
            (":p = p", {}, {}),
            ("s = :p AND p = :p", {}, {}),
            ("p = :p AND s = :p", {}, {}),
            ("p = :p", {}, {"IndexName": "none"}),
            ("p = :p", {}, {"IndexName": "x"}),
            ("t = :p", {}, {"IndexName": "global_t", "ConsistentRead": True}),
        )
    ],
    "types of key conditions": [
        query("p = :v", {":v": n(1)}),
        query("p = :v", {":v": s("x")}, NUMBERED),
        query("p = :v AND s = :w", {":v": s("k"), ":w": n(1)}),
    ],
    "filters and projections of indexes": [
        row("1", n=n(1), t=s("t"), u={"B": b64(b"u")}, a=s("a"), b=s("b")),
        *(
            query(condition, {":v": value, **values}, IndexName=index, **more)
            for index, condition, value in (
                ("local_t", "p = :v", s("k")),
                ("global_a", "t = :v", s("t")),
                ("global_u", "u = :v", {"B": b64(b"u")}),
            )
            for values, more in (
                ({}, {}),
                ({":b": s("b")}, {"FilterExpression": "b = :b"}),
                ({}, {"ProjectionExpression": "b"}),
                ({}, {"Select": "ALL_ATTRIBUTES"}),
                ({}, {"FilterExpression": "attribute_exists(a)", "ReturnConsumedCapacity": "INDEXES"}),
                ({}, {"Select": "COUNT"}),
            )
        ),
        *(
            scan(
                INDEXED, IndexName=index, FilterExpression="b = :b", ExpressionAttributeValues={":b": s("b")}
            )
            for index in ("local_t", "global_u")
        ),
        query("p = :p", {":p": s("k")}, FilterExpression="s = :p AND p = :p"),
        query("p = :p", {":p": s("k")}, ProjectionExpression="a, a"),
        query("p = :p", {":p": s("k")}, ProjectionExpression="a.b, a.b.c"),
    ],
    "choices of attributes": [
        *(
            scan(Select=select, **more)
            for select, more in (
                ("ALL_PROJECTED_ATTRIBUTES", {}),
                ("SPECIFIC_ATTRIBUTES", {}),
                ("COUNT", {"ProjectionExpression": "a"}),
                ("COUNT", {"AttributesToGet": ["a"]}),
                ("NONE", {}),
            )
        ),
        *(
            query("p = :p", {":p": s("k")}, Select=select, **more)
            for select, more in (
                ("ALL_PROJECTED_ATTRIBUTES", {}),
                ("SPECIFIC_ATTRIBUTES", {}),
                ("COUNT", {"ProjectionExpression": "a"}),
            )
        ),
        put({**KEY, "a": n(1)}),
        get(KEY, ProjectionExpression="zz"),
        get(KEY, ProjectionExpression="m[2], a"),
        Step(
            "TransactGetItems",
            {
                "TransactItems": [
                    {"Get": {"TableName": "plain", "Key": KEY, "ProjectionExpression": "m[2], a"}}
                ]
            },
        ),
        Step(
            "TransactGetItems",
            {
                "TransactItems": [
                    {"Get": {"TableName": "plain", "Key": KEY, "ProjectionExpression": "zz"}},
                    {"Get": {"TableName": "plain", "Key": {"p": s("none")}}},
                ]
            },
        ),
    ],
    "segments": [
        scan(**more)
        for more in (
            {"Segment": 0},
            {"TotalSegments": 2},
            {"Segment": 2, "TotalSegments": 2},
            {"Segment": -1, "TotalSegments": 2},
            {"Segment": 0, "TotalSegments": 1000001},
            {"Limit": 0},
        )
    ],
    # Old parameters.
    "old parameters": [
        put({**KEY, "a": n(1)}),
        scan(ConditionalOperator="OR"),
        scan(ScanFilter={"a": {"ComparisonOperator": "NULL"}}, ConditionalOperator="OR"),
        scan(ScanFilter={"a": {"ComparisonOperator": "EQ"}}),
        scan(ScanFilter={"a": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [n(2), n(1)]}}),
        scan(ScanFilter={"a": {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [n(2)]}}),
        scan(ScanFilter={"b": {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [n(2)]}}),
        scan(ScanFilter={"a": {"ComparisonOperator": "NE", "AttributeValueList": [s("2")]}}),
        scan(ScanFilter={}, FilterExpression="attribute_exists(a)"),
        scan(AttributesToGet=["a", "a"]),
        put(KEY, Expected={"a": {"Exists": True}}),
        put(KEY, Expected={"a": {"Exists": False, "Value": n(1)}}),
        put(KEY, Expected={"a": {"Value": n(1), "ComparisonOperator": "EQ"}}),
        put(KEY, Expected={"a": {"Value": n(2)}}),
        put(KEY, Expected={"b": {"Exists": True, "Value": {"SS": []}}}),
        Step(
            "UpdateItem",
            {"TableName": "plain", "Key": KEY, "AttributeUpdates": {"a": {"Action": "ADD", "Value": s("x")}}},
        ),
        Step(
            "UpdateItem",
            {
                "TableName": "plain",
                "Key": KEY,
                "AttributeUpdates": {"a": {"Action": "DELETE", "Value": n(1)}},
            },
        ),
        Step(
            "UpdateItem",
            {
                "TableName": "plain",
                "Key": KEY,
                "AttributeUpdates": {"z": {"Action": "ADD", "Value": s("x")}},
                "Expected": {"a": {"Exists": False}},
            },
        ),
        Step(
            "UpdateItem",
            {
                "TableName": "plain",
                "Key": KEY,
                "AttributeUpdates": {"l": {"Action": "ADD", "Value": {"L": [n(1)]}}},
                "ReturnValues": "ALL_NEW",
            },
        ),
        Step(
            "Query",
            {
                "TableName": "plain",
                "KeyConditions": {"p": {"ComparisonOperator": "LE", "AttributeValueList": [s("k")]}},
            },
        ),
        Step("Query", {"TableName": "plain", "KeyConditions": {}}),
        Step("Query", {"TableName": "plain"}),
    ],
    # Batches and transactions.
    "batches": [
        Step("BatchWriteItem", {"RequestItems": {}}),
        Step("BatchWriteItem", {"RequestItems": {"plain": []}}),
        Step("BatchWriteItem", {"RequestItems": {"plain": [{}]}}),
        Step(
            "BatchWriteItem",
            {"RequestItems": {"plain": [{"PutRequest": {"Item": {"p": s(str(i))}}} for i in range(26)]}},
        ),
        Step(
            "BatchWriteItem",
            {"RequestItems": {"plain": [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}]}},
        ),
        Step(
            "BatchWriteItem",
            {"RequestItems": {"plain": [{"PutRequest": {"Item": KEY}, "DeleteRequest": {"Key": KEY}}]}},
        ),
        Step("BatchWriteItem", {"RequestItems": {"nowhere": [{"PutRequest": {"Item": KEY}}]}}),
        Step("BatchGetItem", {"RequestItems": {}}),
        Step("BatchGetItem", {"RequestItems": {"plain": {"Keys": []}}}),
        Step("BatchGetItem", {"RequestItems": {"plain": {"Keys": [{"p": s(str(i))} for i in range(101)]}}}),
        Step("BatchGetItem", {"RequestItems": {"plain": {"Keys": [KEY, KEY]}}}),
        Step("BatchGetItem", {"RequestItems": {"numbered": {"Keys": [{"p": n("1e3"), "s": {"B": ""}}]}}}),
    ],
    "transactions": [
        transact(),
        transact({}),
        transact({"Put": {"TableName": "plain", "Item": KEY}, "Delete": {"TableName": "plain", "Key": KEY}}),
        transact(
            {"Put": {"TableName": "plain", "Item": KEY}}, {"Delete": {"TableName": "plain", "Key": KEY}}
        ),
        transact(*({"Put": {"TableName": "plain", "Item": {"p": s(str(i))}}} for i in range(101))),
        transact(
            {"Put": {"TableName": "plain", "Item": KEY}},
            ClientRequestToken="token",
            ReturnConsumedCapacity="TOTAL",
        ),
        transact(
            {"Put": {"TableName": "plain", "Item": KEY}},
            ClientRequestToken="token",
            ReturnConsumedCapacity="TOTAL",
        ),
        transact({"Put": {"TableName": "plain", "Item": {"p": s("other")}}}, ClientRequestToken="token"),
        transact(
            {
                "ConditionCheck": {
                    "TableName": "plain",
                    "Key": KEY,
                    "ConditionExpression": "attribute_not_exists(p)",
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            }
        ),
        transact({"Put": {"TableName": "plain", "Item": {"p": n(1)}}}),
        transact({"Update": {"TableName": "plain", "Key": KEY, "UpdateExpression": "SET a = missing"}}),
        transact({"Put": {"TableName": "nowhere", "Item": KEY}}),
        transact({"ConditionCheck": {"TableName": "plain", "Key": KEY, "ConditionExpression": "p.x = p"}}),
        transact(
            {
                "ConditionCheck": {
                    "TableName": "plain",
                    "Key": KEY,
                    "ConditionExpression": "attribute_not_exists(p)",
                }
            },
            {"Put": {"TableName": "plain", "Item": {"p": n(1)}}},
        ),
        transact({"Update": {"TableName": "plain", "Key": KEY}}),
        Step(
            "TransactGetItems",
            {
                "TransactItems": [
                    {"Get": {"TableName": "plain", "Key": KEY}},
                    {"Get": {"TableName": "plain", "Key": KEY}},
                ]
            },
        ),
        Step("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "plain", "Key": {"x": s("k")}}}]}),
    ],
    "failed conditions": [
        put({**KEY, "a": n(1)}),
        put(
            KEY, ConditionExpression="attribute_not_exists(p)", ReturnValuesOnConditionCheckFailure="ALL_OLD"
        ),
        put(KEY, ConditionExpression="attribute_not_exists(p)", ReturnValuesOnConditionCheckFailure="SOME"),
        put(
            {"p": s("none")},
            ConditionExpression="attribute_exists(p)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ),
        put(KEY, ReturnValues="ALL_NEW"),
        put(KEY, ReturnValues="WHAT"),
    ],
    # Costs.
    "costs": [
        row("1", n=n(1), t=s("t"), x=s("x" * 3000)),
        update(
            PAIR,
            "SET t = :t",
            {":t": s("u")},
            INDEXED,
            ReturnConsumedCapacity="INDEXES",
            ReturnItemCollectionMetrics="SIZE",
        ),
        update(PAIR, "REMOVE t", table=INDEXED, ReturnConsumedCapacity="INDEXES"),
        update(PAIR, "SET zz = :t", {":t": s("u")}, INDEXED, ReturnConsumedCapacity="INDEXES"),
        get(PAIR, INDEXED, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"),
        get(PAIR, INDEXED, ReturnConsumedCapacity="INDEXES"),
        query("p = :p", {":p": s("k")}, IndexName="local_n", ReturnConsumedCapacity="INDEXES"),
        Step(
            "DeleteItem",
            {
                "TableName": "indexed",
                "Key": PAIR,
                "ReturnConsumedCapacity": "INDEXES",
                "ReturnValues": "ALL_OLD",
            },
        ),
    ],
    # Envelopes.
    "bodies": [
        Step("GetItem", text)
        for text in (
            "",
            "{",
            "[]",
            '"x"',
            "1",
            "null",
            "{}",
            '{"TableName": 1}',
            '{"TableName": "plain", "Key": {"p": {"S": "k"}}, "Unknown": 1}',
        )
    ],
    "unknown operations": [Step("MakeCoffee", {})],
    "names of tables": [
        get(KEY, Table(name, (), {})) for name in ("", "a", "ab", "abc", "a b", "x" * 256, "plain ")
    ],
    "members that are missing": [
        Step(operation, {})
        for operation in (
            "PutItem",
            "GetItem",
            "UpdateItem",
            "DeleteItem",
            "Query",
            "Scan",
            "BatchGetItem",
            "BatchWriteItem",
            "TransactWriteItems",
            "TransactGetItems",
            "CreateTable",
            "DescribeTable",
        )
    ],
    # Tables.
    "life of a table": [
        Step(
            "CreateTable", Table("brief", (("p", "S"), ("s", "N")), {"g": ((("g", "S"),), ALL)}).definition()
        ),
        Step("CreateTable", Table("brief", (("p", "S"),), {}).definition()),
        Step("DescribeTable", {"TableName": "brief"}),
        Step("ListTables", {"Limit": 2}),
        Step("ListTables", {"ExclusiveStartTableName": "binary"}),
        Step(
            "UpdateTable",
            {
                "TableName": "brief",
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            },
        ),
        Step(
            "UpdateTimeToLive",
            {"TableName": "brief", "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True}},
        ),
        Step("DescribeTimeToLive", {"TableName": "brief"}),
        Step("DeleteTable", {"TableName": "brief"}),
        Step("DescribeTable", {"TableName": "brief"}),
    ],
    "tables that cannot be": [
        Step("CreateTable", {**PLAIN.definition(), "TableName": "refused", **change})
        for change in (
            {"TableName": "x"},
            {"KeySchema": []},
            {"AttributeDefinitions": []},
            {"AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "X"}]},
            {
                "AttributeDefinitions": [
                    {"AttributeName": "p", "AttributeType": "S"},
                    {"AttributeName": "q", "AttributeType": "S"},
                ]
            },
            {"KeySchema": [{"AttributeName": "p", "KeyType": "RANGE"}]},
            {"KeySchema": [{"AttributeName": "q", "KeyType": "HASH"}]},
            {
                "KeySchema": [
                    {"AttributeName": "p", "KeyType": "HASH"},
                    {"AttributeName": "p", "KeyType": "RANGE"},
                ]
            },
            {"BillingMode": "PROVISIONED"},
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            {"BillingMode": "FREE"},
            {"GlobalSecondaryIndexes": []},
            {"LocalSecondaryIndexes": []},
            {
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "g",
                        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                        "Projection": ALL,
                    }
                ]
            },
            {
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "ggg",
                        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                        "Projection": {},
                    }
                ]
            },
            {
                "LocalSecondaryIndexes": [
                    {
                        "IndexName": "lll",
                        "KeySchema": [
                            {"AttributeName": "p", "KeyType": "HASH"},
                            {"AttributeName": "p", "KeyType": "RANGE"},
                        ],
                        "Projection": ALL,
                    }
                ]
            },
        )
    ],
}
