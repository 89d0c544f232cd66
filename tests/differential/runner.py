"""Runs steps on all implementations, looks at what writes left behind, and keeps the tables alike."""
from comparison import differences
from generator import TABLES, Step
from implementations import Answer
import classes

KEYS = {table.name: [name for name, _ in table.keys] for table in TABLES}


class Runner:
    # Members that differ when contents do, or that make contents differ.
    TRACES = {"outcome", "Stored", "Item", "Items", "Attributes", "Responses", "Count", "ScannedCount"}

    def __init__(self, implementations):
        self.implementations = implementations
        for implementation in implementations:
            for table in TABLES:
                answer = implementation.call("CreateTable", table.definition())
                assert answer.ok, (implementation.name, answer)

    def run(self, step):
        """The differences of the answers, each with the name of its class: None when it has none."""
        answers = {each.name: answer_of(each, step) for each in self.implementations}
        if all(answer.ok for answer in answers.values()):
            for table, key in written_keys(step):
                for each in self.implementations:
                    item = each.call(
                        "GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}
                    ).body.get("Item")
                    answers[each.name].body.setdefault("Stored", []).append(item)
        return classes.classified(differences(step, answers))

    def settle(self, found):
        """Starts over when contents may differ now: from here on that would show in every answer."""
        if any(difference.member in self.TRACES for difference, _ in found):
            self.empty_tables()

    def empty_tables(self):
        for implementation in self.implementations:
            for table in TABLES:
                for item in answer_of(
                    implementation, Step("Scan", {"TableName": table.name}, all_pages=True)
                ).body["Items"]:
                    key = {name: item[name] for name in KEYS[table.name]}
                    answer = implementation.call("DeleteItem", {"TableName": table.name, "Key": key})
                    assert answer.ok, (implementation.name, answer)


def written_keys(step):
    """The table and key of each item that the step writes."""
    request = step.request
    if step.operation in ("PutItem", "UpdateItem"):
        yield request["TableName"], key_in(request["TableName"], request.get("Item") or request["Key"])
    elif step.operation == "BatchWriteItem":
        for table, writes in request["RequestItems"].items():
            yield from (
                (table, key_in(table, write["PutRequest"]["Item"]))
                for write in writes
                if "PutRequest" in write
            )
    elif step.operation == "TransactWriteItems":
        for action in request["TransactItems"]:
            for kind in action.keys() & {"Put", "Update"}:
                yield action[kind]["TableName"], key_in(
                    action[kind]["TableName"], action[kind].get("Item") or action[kind]["Key"]
                )


def key_in(table, item):
    return {name: item[name] for name in KEYS[table]}


def answer_of(implementation, step):
    if not step.all_pages:
        return implementation.call(step.operation, step.request)
    pages = []
    for segment in range(step.segments):
        request = {**step.request, "Segment": segment} if step.segments > 1 else step.request
        while True:
            answer = implementation.call(step.operation, request)
            if not answer.ok:
                return answer
            if len(pages) == 100:
                return Answer(0, "paging does not end")
            pages.append(answer.body)
            if "LastEvaluatedKey" not in answer.body:
                break
            request = {**request, "ExclusiveStartKey": answer.body["LastEvaluatedKey"]}
    total = {name: sum(page[name] for page in pages) for name in ("Count", "ScannedCount")}
    if "Items" in pages[0]:
        total["Items"] = [item for page in pages for item in page["Items"]]
    return Answer(200, total)
