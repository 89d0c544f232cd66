"""The known differences, by class. A difference that no class covers fails the test.

docs/compatibility.md explains each class under its name. The first class that covers a difference names it.
"""
import json
import re
from dataclasses import dataclass
from decimal import Decimal

from comparison import comparable, text_of

PREFIX = "1 validation error detected: "


@dataclass(frozen=True)
class Class:
    """`ours` and `theirs` are patterns searched in the two values as text; `where` is a further condition."""

    name: str  # "local: …", "dynoxide: …"; "both: …" is for what either or both peers do
    member: str = "outcome|message"
    ours: str = ""
    theirs: str = ""
    operation: str = ""
    where: object = None

    @property
    def of_both(self):
        return self.name.startswith("both:")

    def covers(self, difference):
        return (
            (self.of_both or self.name.startswith(difference.peer + ":"))
            and re.fullmatch(self.member, difference.member)
            and re.search(self.operation, difference.step.operation)
            and re.search(self.ours, as_text(difference.ours), re.S)
            and re.search(self.theirs, as_text(difference.theirs), re.S)
            and (self.where is None or self.where(difference))
        )


def as_text(value):
    return bare(value) if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def bare(text):
    """A message without the prefix that DynamoDB has been giving to some of them since 2026."""
    return text.replace(PREFIX, "", 1)


def classified(found):
    """Pairs of difference and class name. Where the peers agree against us, only a class of both will do."""
    values = {(each.peer, each.member): as_text(each.theirs) for each in found}
    result = []
    for each in found:
        other = values.get(("dynoxide" if each.peer == "local" else "local", each.member))
        fit = [one for one in CLASSES if one.of_both] if other == as_text(each.theirs) else CLASSES
        result.append((each, next((one.name for one in fit if one.covers(each)), None)))
    return result


def says_the_same(difference):
    return isinstance(difference.ours, str) and as_text(difference.ours) == as_text(difference.theirs or "")


def plain_numbers(value):
    """The value with its numbers written the way we write them."""
    if isinstance(value, dict):
        return {name: canonical(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [plain_numbers(member) for member in value]
    return value


def canonical(member, name):
    if name == "N" and isinstance(member, str):
        return format(Decimal(member).normalize(), "f")
    if name == "NS":
        return sorted(format(Decimal(number).normalize(), "f") for number in member)
    return plain_numbers(member)


def same_but_for_numbers(difference):
    return text_of(plain_numbers(difference.ours)) == text_of(plain_numbers(difference.theirs))


# Messages of DynamoDB. A request with several mistakes may be refused for any of them.
MISTAKES = (
    "Two document paths",
    "Incorrect (operand type|number of operands)",
    "BETWEEN (operator|condition)",
    "first operand must be distinct",
    "is not defined",
    "unused in expressions",
    "contains invalid key",
    "Supplied AttributeValue|null AttributeValue",
    "document path provided in the update expression is invalid",
    "refers to an attribute that does not exist",
    "An operand in the update expression has an incorrect data type",
    "Type mismatch for|update the secondary index key|Updates on index keys|Invalid attribute value type",
    "Key attributes must be scalars",
    "Consistent reads are not supported",
    "can only contain non-primary key attributes",
    "can be used only when Querying",
    "Select type ALL_ATTRIBUTES",
    r"does not project \[",
    "does not project one or more filter",
    "starting key|cannot be restarted|[Ee]xclusive start key|Exclusive Start Key",
    "ConditionalOperator",
    r"is not valid for \w+ AttributeValue type",
    "must be of same type",
    "(ADD|DELETE) action",
    "failed to satisfy constraint",
    "Syntax error|Expected|Unexpected",
    "Query (key )?condition|KeyConditionExpression|partition key must use|Conditions",
    "reserved keyword|the specified index",
    "Invalid attribute type name",
    "Empty attribute name",
    "required keys|does not match the schema|Missing the key|empty keys",
    "cannot contain an empty (string|binary) value",
    "number of argument",
    "38 (significant )?digits|Number overflow",
    "exactly one action|can only contain one of|TransactWriteRequest should",
    "Member must have length|Too many items|must have some requests|cannot (have|be) (a )?null|is required",
    "ClientRequestToken|^$|IdempotentParameterMismatch",
    "[Ss]ize (limit|of)|Aggregated size|allowed size limits",
    "Value null|missing field|resource not found|not in key list|Comparison type",
    "can only be specified when|number of conditions|Invalid table/index name",
    "converted (in)?to a number|converted to a numeric",
)


def kind_of(text):
    return next((number for number, pattern in enumerate(MISTAKES) if re.search(pattern, text or "")), None)


def are_mistakes(difference):
    return None not in (kind_of(difference.ours), kind_of(difference.theirs))


def agrees(difference, peer):
    """Whether the other peer says what we say."""
    ours, theirs = (comparable(difference.step, difference.answers[name]) for name in ("holdfast", peer))
    return as_text(ours.get(difference.member)) == as_text(theirs.get(difference.member))


def only_removes(difference):
    """An update that only takes something away leaves nothing where nothing was."""
    request = difference.step.request
    updates = (
        [request]
        if difference.step.operation == "UpdateItem"
        else [action.get("Update", {}) for action in request["TransactItems"]]
    )
    return any(
        not re.search(r"\b(SET|ADD)\b", update.get("UpdateExpression", ""))
        and all(action.get("Action") == "DELETE" for action in update.get("AttributeUpdates", {}).values())
        for update in updates
    )


def has_default_action(difference):
    return any(
        "Action" not in update for update in difference.step.request.get("AttributeUpdates", {}).values()
    )


def we_say(text):
    return lambda difference: text in text_of(difference.answers["holdfast"].body)


def request_has(text):
    return lambda difference: text in text_of(difference.step.request)


CONTENTS = "Item|Items|Attributes|Responses|Stored|LastEvaluatedKey"
DESCRIPTION = (
    "AttributeDefinitions|BillingModeSummary|CreationDateTime|DeletionProtectionEnabled"
    "|GlobalSecondaryIndexes|KeySchema|ProvisionedThroughput"
    "|TableId|TableStatus|TableThroughputModeSummary|TableNames|LastEvaluatedTableName"
)
LEGACY = r"[cC]omparisonOperator|BETWEEN condition|number of argument|same type|(ADD|DELETE) action"
CLASSES = (
    # Against both.
    Class(
        "both: update that only removes from a missing item",
        "Stored|Attributes",
        "null",
        operation="Update|Transact",
        where=only_removes,
    ),
    Class("both: UPDATED_OLD and UPDATED_NEW of documents", "Attributes", where=request_has("UPDATED_")),
    Class("both: cost of a Scan", "ConsumedCapacity", operation="Scan"),
    Class(
        "both: index key types are checked before anything is read",
        "outcome|message|CancellationReasons",
        operation="Update|Transact",
        where=we_say("Type mismatch for Index Key"),
    ),
    Class(
        "both: document path into an index key of an update",
        ours="must be scalars.*IndexKey",
        theirs="ConditionalCheckFailed",
        operation="Update",
    ),
    Class(
        "both: document path into a key in a transaction",
        "outcome|message|CancellationReasons",
        operation="TransactWrite",
        where=we_say("Key attributes must be scalars"),
    ),
    Class(
        "both: reasons beside a ValidationError",
        "message|CancellationReasons",
        "ValidationError",
        "ConditionalCheckFailed|ValidationError",
        "TransactWrite",
    ),
    Class("both: numbers in messages", "message", r"AttributeValue: \{N:", r"AttributeValue: \{N:"),
    Class(
        "both: consistent reads of a global index",
        "message",
        "Invalid FilterExpression",
        "Consistent reads are not supported",
        "Scan",
    ),
    Class("both: enumerations are not checked", ours="Member must satisfy enum value set"),
    Class(
        "both: table names in batches and transactions",
        ours="resource not found|at '.*[tT]ableName'",
        theirs="table/index name|tableName|resource not found|non-existent|ValidationError",
        operation="Batch|Transact",
    ),
    Class("both: names of indexes", "message", "at 'indexName'"),
    Class(
        "both: order of a query's checks",
        "message",
        theirs="^Invalid FilterExpression|must be scalars|specified index",
        operation="Query",
        where=are_mistakes,
    ),
    Class(
        "both: order of an update's sections",
        "message",
        "is not defined|Two document paths",
        "is not defined|Two document paths",
        "Update|TransactWrite",
    ),
    Class("both: order of legacy conditions", "message", LEGACY, LEGACY),
    Class(
        "both: order of expressions and keys",
        "message",
        "Expression",
        "(for a secondary index key|for a key attribute).*cannot contain an empty",
    ),
    Class("both: numerically equal keys", ours="contains duplicates|multiple operations on one item"),
    Class("both: legacy actions on unsupported types", ours="(ADD|DELETE) action", operation="UpdateItem"),
    Class("both: null among attributes", where=request_has("null")),
    Class(
        "both: which failure of an update is reported",
        "message|CancellationReasons",
        "refers to an attribute that does not exist|incorrect data type",
        "document path provided",
    ),
    Class("both: malformed placeholder", ours="contains invalid key: Syntax error"),
    Class("both: zero with a large exponent", ours="Number overflow", theirs="200"),
    Class("both: start key of a table without sort key", ours="exclusive start key is invalid"),
    Class(
        "both: description of a deleted table",
        "AttributeDefinitions|CreationDateTime|KeySchema",
        "null",
        operation="DeleteTable",
    ),
    Class("both: WarmThroughput in descriptions of tables", "WarmThroughput", theirs="null", operation="Table"),
    Class("both: size of index keys", ours="allowed size limits|exceeded the size limit", theirs="200"),
    Class(
        "both: attributes of an index scan",
        "Items|Count",
        operation="Scan",
        where=lambda d: {"IndexName", "FilterExpression"} <= d.step.request.keys(),
    ),
    Class("both: prefix of request validation", "message|outcome", where=says_the_same),
    # DynamoDB Local: contents and costs.
    Class("local: numbers as they were given", CONTENTS, where=same_but_for_numbers),
    Class(
        "local: AttributeUpdates without an Action",
        "Stored|Attributes",
        operation="UpdateItem",
        where=has_default_action,
    ),
    Class(
        "local: empty projections in TransactGetItems",
        "Responses",
        theirs='"Item": {}',
        operation="TransactGet",
    ),
    Class("local: item collection metrics", "ItemCollectionMetrics"),
    Class("local: consumed capacity", "ConsumedCapacity"),
    Class("local: table descriptions", DESCRIPTION),
    # DynamoDB Local: what is refused, and how.
    Class("local: wrong JSON types", ours="SerializationException"),
    Class("local: wrong JSON types", theirs="500 InternalFailure"),
    Class("local: missing members", "outcome", "Member must not be null", "200"),
    Class(
        "local: combinations of parameters",
        "outcome",
        "Can not use both|Neither ReadCapacityUnits|is empty",
        "200|preexisting",
    ),
    Class("local: short table names", "outcome", "Requested resource not found", "Invalid table/index name"),
    Class("local: unknown operations", "outcome", "UnknownOperation"),
    Class(
        "local: removing below a missing attribute",
        "outcome",
        "200|TransactionCanceled",
        "document path provided",
        "Update|Transact",
    ),
    Class(
        "local: errors of items in transactions",
        "outcome",
        "TransactionCanceled.*ValidationError",
        "^400 ValidationException",
        "Transact",
    ),
    Class(
        "local: errors of items in transactions",
        "message|CancellationReasons",
        "Transaction cancelled|ValidationError",
        operation="TransactGet",
    ),
    Class("local: size of items with local indexes", "outcome", "200", "Item size has exceeded"),
    Class(
        "local: start key outside the query",
        ours="starting key|cannot be restarted|200",
        theirs="range key predicate|200",
    ),
    Class("local: order of table and expressions", "outcome", "ValidationException", "non-existent table"),
    Class("local: wording", "message|CancellationReasons", where=lambda d: agrees(d, "dynoxide")),
    Class(
        "local: wording",
        "CancellationReasons",
        where=lambda d: as_text(d.ours) == as_text(d.theirs).replace("failed.", "failed"),
    ),
    Class("local: which of several mistakes is reported", "message", where=are_mistakes),
    # dynoxide: contents.
    Class("dynoxide: ALL_OLD of a missing item", "Attributes", "null", operation="UpdateItem"),
    Class("dynoxide: setting beyond the end of a list", "Attributes|Stored", theirs='{"NULL": true}'),
    Class(
        "dynoxide: removing several elements of a list",
        "Attributes|Stored",
        where=lambda d: re.search(r"REMOVE.*\[\d.*\[\d", text_of(d.step.request)),
    ),
    Class("dynoxide: item collection metrics", "ItemCollectionMetrics"),
    Class("dynoxide: table descriptions", DESCRIPTION),
    Class(
        "dynoxide: where a page of 1 MB ends",
        "Count|Items|ScannedCount|ConsumedCapacity|LastEvaluatedKey",
        operation="Query",
        where=lambda d: agrees(d, "local")
        and d.answers["holdfast"].body["Count"] == d.answers["dynoxide"].body["Count"] + 1,
    ),
    Class(
        "dynoxide: paging of a table without sort key",
        "outcome|LastEvaluatedKey",
        where=lambda d: d.step.request["TableName"] == "plain",
        operation="Query",
    ),
    # dynoxide: what is refused, and how.
    Class(
        "dynoxide: wrong JSON types",
        "message|outcome",
        where=lambda d: "Serialization" in text_of([d.answers[n].body for n in ("holdfast", "dynoxide")]),
    ),
    Class(
        "dynoxide: constants are not checked",
        ours="Incorrect operand type|Invalid (attribute type|function) name|must be distinct|BETWEEN",
    ),
    Class("dynoxide: limits of expressions", ours="too many|not within the allowable range"),
    Class("dynoxide: size of a constant", ours="200", theirs="Expected attribute name"),
    Class(
        "dynoxide: names and values are not checked",
        ours="unused in expressions|not defined|can only be specified when|Empty attribute|contain an empty",
    ),
    Class(
        "dynoxide: values beside the item are not checked",
        "outcome",
        "Supplied AttributeValue|not be empty|cannot be converted",
    ),
    Class(
        "dynoxide: expressions of transactions",
        "outcome",
        "^400 ValidationException: Invalid (Update|Condition)Expression",
        operation="Transact",
    ),
    Class(
        "dynoxide: legacy conditions are not checked",
        ours=r"comparisonOperator|Operator \w+ is not valid|same type|ConditionalOperator|AttributesToGet",
    ),
    Class("dynoxide: legacy NOT_CONTAINS", "outcome|Count|Items", where=request_has("NOT_CONTAINS")),
    Class(
        "dynoxide: two actions at once", ours="more than one datatypes|can only contain one of", theirs="200"
    ),
    Class("dynoxide: start key outside the query", ours="starting key|cannot be restarted", theirs="200"),
    Class("dynoxide: attributes that an index does not project", ours="does not project", theirs="200"),
    Class(
        "dynoxide: attributes that an index does not project",
        "Items|Count|ConsumedCapacity",
        operation="Query|Scan",
        where=request_has("IndexName"),
    ),
    Class(
        "dynoxide: two equality conditions", ours="200", theirs="Query condition missed key schema element"
    ),
    Class("dynoxide: types of key conditions", "outcome", "Condition parameter type", "200"),
    Class(
        "dynoxide: projections in TransactGetItems",
        "Responses",
        operation="TransactGet",
        where=lambda d: agrees(d, "local"),
    ),
    Class("dynoxide: removing below a missing attribute", theirs="200", where=we_say("document path")),
    Class("dynoxide: document path into a key attribute", ours="Key attributes must be scalars"),
    Class("dynoxide: which index is named", "message", "IndexName: ", "IndexName: "),
    Class("dynoxide: wording", "message", where=lambda d: agrees(d, "local")),
    Class("dynoxide: which of several mistakes is reported", "message", where=are_mistakes),
)
