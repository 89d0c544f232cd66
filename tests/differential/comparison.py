"""Compares answers: what of them must be equal, and which members of two answers differ."""
import json
from dataclasses import dataclass

SETS = {"SS", "NS", "BS"}
# Differs from run to run, or names the account: only its presence is compared.
VOLATILE = {"TableArn", "TableId", "IndexArn", "CreationDateTime", "LastUpdateToPayPerRequestDateTime",
            "LastIncreaseDateTime", "LastDecreaseDateTime"}  # fmt: skip
# Lists whose order means nothing.
UNORDERED = {
    "AttributeDefinitions",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "NonKeyAttributes",
    "Tags",
    "ConsumedCapacity",
}


def text_of(value):
    return json.dumps(value, sort_keys=True)


def normalised(value, name=None):
    if name in VOLATILE:
        return "…"
    if isinstance(value, dict):
        return {key: normalised(member, key) for key, member in value.items()}
    if isinstance(value, list):
        members = [normalised(member) for member in value]
        return sorted(members, key=text_of) if name in SETS or name in UNORDERED else members
    return value


def sorted_within(items, names):
    """Items in the order given; those alike in the attributes `names` are sorted among themselves."""
    groups = []
    for item in items:
        rank = [item.get(name) for name in names]
        if not groups or groups[-1][0] != rank:
            groups.append((rank, []))
        groups[-1][1].append(item)
    return [item for _, group in groups for item in sorted(group, key=text_of)]


def comparable(step, answer):
    """The answer as a flat dictionary of what must be equal."""
    if not isinstance(answer.body, dict):
        return {"status": answer.status, "text": answer.body}
    if not answer.ok:
        rest = {name: normalised(member, name) for name, member in answer.body.items()}
        for name in ("__type", "message", "Message"):
            rest.pop(name, None)
        return {"status": answer.status, "type": answer.type, "message": answer.message, **rest}
    body = normalised(answer.body)
    for member in [name for name in ("Items", "Responses") if name in body]:
        lists = body[member] if isinstance(body[member], dict) else {"": body[member]}
        if step.order is not None:
            lists = {name: sorted_within(items, step.order) for name, items in lists.items()}
        body[member] = lists
    for member in ("TableDescription", "Table"):
        body.update(body.pop(member, {}))
    return {"status": 200, **body}


@dataclass(frozen=True)
class Difference:
    """One member of an answer that differs; `ours` and `theirs` are its values, None when absent."""

    step: object
    peer: str
    member: str
    ours: object
    theirs: object
    answers: dict


def differences(step, answers):
    """Every difference of holdfast's answer from the two others."""
    ours = comparable(step, answers["holdfast"])
    found = []
    for peer in ("local", "dynoxide"):
        theirs = comparable(step, answers[peer])
        if ours["status"] != theirs["status"] or ours.get("type") != theirs.get("type"):
            # What follows from another outcome is not listed again.
            found.append(Difference(step, peer, "outcome", outcome(ours), outcome(theirs), answers))
            continue
        for member in sorted(ours.keys() | theirs.keys()):
            if ours.get(member) != theirs.get(member):
                found.append(Difference(step, peer, member, ours.get(member), theirs.get(member), answers))
    return found


def outcome(flat):
    if flat["status"] == 200:
        return "200"
    kind = str(flat.get("type")).rpartition("#")[2]
    return f"{flat['status']} {kind}: {flat.get('message', flat.get('text'))}"
