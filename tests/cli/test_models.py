"""`holdfast model`: files are checked, tables are made and compared, costs are those of the bill (MOD-03, MOD-04, DB-C)."""
import pytest
import yaml
from program import FERRY, LIBRARY


def changed(tmp_path, old, new):
    """library.yaml with one thing changed."""
    text = LIBRARY.read_text()
    assert old in text
    (tmp_path / "changed.yaml").write_text(text.replace(old, new))
    return tmp_path / "changed.yaml"


def test_the_shipped_models_are_sound(holdfast):
    answer = holdfast.json("model", "check")
    assert [one["model"] for one in answer["sound"]] == ["auto", "pm", "pos", "trip"] and answer["problems"] == []


def test_problems_have_their_place(holdfast, tmp_path):
    bad = changed(tmp_path, "BOOK#{id}", "BOOK#{idd}")
    line = 1 + LIBRARY.read_text().splitlines().index('    key: {pk: "BOOK#{id}", sk: BOOK}')
    assert holdfast.run("model", "check", LIBRARY, bad, code=5).splitlines()[1].startswith(f"{bad}:{line}: entities.Book")
    assert len(holdfast.json("model", "check", bad, code=5)["problems"]) == 2, "all that is wrong, not the first of it"
    holdfast.refused(2, "Usage", "model", "check", tmp_path / "absent.yaml")


def test_tables_are_made_once(anywhere):
    [made] = anywhere.applied["tables"]
    assert made == {"table": anywhere.table, "status": "created", "details": []}
    [again] = anywhere.store.json("model", "apply", LIBRARY)["tables"]
    assert again["status"] == "as it should be"


# What another hand made otherwise is told and left alone.
def test_drift_is_told(client, server, holdfast):
    client.create_table(
        TableName="Library-dev", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )  # fmt: skip
    holdfast.flags = ["--endpoint", server.url]
    for command in ("check", "apply"):
        [table] = holdfast.json("model", command, LIBRARY, code=4)["tables"]
        assert table["status"] == "drifted" and "the key should be pk:S / sk:S" in table["details"][0]
    assert len(client.describe_table(TableName="Library-dev")["Table"]["KeySchema"]) == 1


# The table of idempotency keys, which no model names, was looked up in the model: the program died.
def test_a_model_with_commands_is_checked_where_it_was_applied(ferry):
    answer = ferry.store.json("model", "check", FERRY)
    assert [table["status"] for table in answer["tables"]] == ["as it should be"] * 2 and answer["unknown"] == []


def test_missing_tables_are_told(library, holdfast):
    holdfast.flags = library.flags[:2]
    assert holdfast.json("model", "check", LIBRARY, code=4)["tables"][0]["status"] == "missing"


def test_items_of_no_known_entity_are_reported(served, client):
    served.add("tide")
    assert served.store.json("model", "check", LIBRARY)["unknown"] == []
    client.put_item(TableName=served.table, Item={"pk": {"S": "STRAY#1"}, "sk": {"S": "X"}})
    for flags in ([], ["--items"]):
        [found] = served.store.json("model", "check", LIBRARY, *flags, code=4)["unknown"]
        assert found == {"table": served.table, "lookedAt": 2, "count": 1, "keys": [{"pk": "STRAY#1", "sk": "X"}]}


def test_the_defaults_of_a_model_are_written_where_absent(holdfast, tmp_path):
    holdfast.flags = ["--data", str(tmp_path / "data")]
    assert holdfast.json("model", "apply", "pm", "--no-defaults")["defaults"] == 0
    assert holdfast.json("model", "apply", "pm")["defaults"] > 0
    assert holdfast.json("model", "apply", "pm")["defaults"] == 0


def test_changes_are_classified(holdfast, tmp_path):
    after = changed(tmp_path, "      tags: L[S]\n", "")
    assert holdfast.json("model", "diff", LIBRARY, LIBRARY) == []
    assert "tags" in holdfast.run("model", "diff", LIBRARY, after)
    found = {change["path"]: change["effort"] for change in holdfast.json("model", "diff", LIBRARY, after)}
    assert found == {"version": "refused", "entities.Book.attributes.tags": "free"}
    holdfast.refused(2, "Usage", "model", "diff", LIBRARY)


def test_parts_of_a_model_are_shown(holdfast):
    assert set(holdfast.json("model", "show", LIBRARY)["entities"]) == {"Book", "Loan"}
    assert holdfast.json("model", "show", LIBRARY, "LIB-E-01")["attributes"]["title"] == "S!"
    assert holdfast.json("model", "show", LIBRARY, "LIB-A-02")["entities"] == ["Book"]
    assert holdfast.json("model", "show", LIBRARY, "lending")["moves"]["lost"] == ["shelved"]
    assert yaml.safe_load(holdfast.run("model", "show", "pm", "Project"))["entity"] == "Project"
    holdfast.refused(3, "NotFound", "model", "show", LIBRARY, "Paper")


def test_texts_are_generated(holdfast):
    assert holdfast.run("model", "docs", LIBRARY).startswith("# A village library\n")
    assert holdfast.json("model", "docs", LIBRARY)["text"].startswith("# A village library\n")
    assert "Book" in holdfast.json("model", "schema", LIBRARY)["$defs"]
    assert "AWS::DynamoDB::Table" in holdfast.run("model", "template", LIBRARY)
    assert "interface Book" in holdfast.run("model", "types", LIBRARY, "--language", "ts")
    holdfast.refused(2, "Usage", "model", "types", LIBRARY, "--language", "cobol")
    holdfast.refused(2, "Usage", "model", "types", LIBRARY, "--language", "cpp", "--repositories")


# DB-C-02: the bills that people have worked out by hand.
SMALL = ["--storage-gb", 0.12, "--writes", 50000, "--reads", 200000]
LARGE = ["--storage-gb", 0.5, "--writes", 50000, "--reads", 200000]
INDEX = ["--index-writes", 50000, "--index-reads", 50000]


@pytest.mark.parametrize("flags, usd, shown", [
    ([*SMALL, "--index-storage-gb", 0.03, *INDEX, "--pitr-gb", 0.12], 0.249, "0.25"),
    (LARGE, 0.2375, "0.24"),
    ([*LARGE, "--index-storage-gb", 0.3, *INDEX, "--pitr-gb", 0.5], 0.4875, "0.49"),
])  # fmt: skip
def test_costs(holdfast, flags, usd, shown):
    assert holdfast.json("model", "cost", *flags)["usd"] == usd
    table = holdfast.run("model", "cost", *flags).splitlines()
    assert table[-1].split() == ["total", shown]
    assert [line.split()[1] for line in table if line.startswith(("writes", "reads"))] == ["50000", "200000"]


# DB-C-01: sizes are measured where they are not given.
def test_measured_costs(library):
    library.add("tide", "pages=212")
    names = [item["name"] for item in library.json("model", "cost", "--writes", "1")["items"]]
    assert names == ["storage", "writes", "index storage"]
    given = library.json("model", "cost", "--storage-gb", "1", "--index-storage-gb", "0")
    assert given["usd"] == 0.25


def test_costs_of_nothing(holdfast):
    holdfast.refused(2, "Usage", "model", "cost")


def test_a_model_file_may_be_found_by_the_environment(holdfast, tmp_path):
    (tmp_path / "own.yaml").write_text(LIBRARY.read_text())
    holdfast.environment["HOLDFAST_MODELS"] = str(tmp_path)
    assert [one["model"] for one in holdfast.json("model", "check")["sound"]] == ["library"]
    assert holdfast.json("model", "show", "own")["model"] == "library"
    holdfast.refused(2, "Usage", "model", "show", "pm")
