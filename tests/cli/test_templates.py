"""`holdfast apply` and `export-template`: tables from CloudFormation and SAM, and back (DB-I-01, DB-I-02, DB-I-03, INC-57)."""
import json
import os
import pathlib
import subprocess

import pytest
import yaml
from program import ENVIRONMENT, FERRY, Holdfast
from server import PROGRAM, ROOT, Server

WORKBENCH = pathlib.Path(__file__).with_name("workbench.yaml")
ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/"
PLAIN = """
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
"""


class Template(yaml.SafeLoader):
    """CloudFormation's own tags, as text."""


Template.add_multi_constructor("!", lambda loader, tag, node: f"!{tag} {node.value}")


@pytest.fixture
def template(tmp_path):
    def write(text, name="template.yaml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.fixture
def sealed(tmp_path):
    """A server that can encrypt."""
    key = tmp_path / "master.key"
    Holdfast(home=tmp_path).run("init-key", key)
    server = Server(tmp_path / "sealed", "--log-level", "error", "--key-file", str(key))
    yield server
    server.stop()


@pytest.fixture(params=["data", "server"])
def store(request, tmp_path):
    if request.param == "data":
        return Holdfast("--data", tmp_path / "data", home=tmp_path)
    return Holdfast("--endpoint-url", request.getfixturevalue("server").url, home=tmp_path)


def client_of(server):
    import boto3

    return boto3.client("dynamodb", endpoint_url=server.url, region_name="us-east-1",
                        aws_access_key_id="test", aws_secret_access_key="test")  # fmt: skip


def state(client, table):
    """All that is known of a table, but for what differs from one table to the next."""
    described = client.describe_table(TableName=table)["Table"]
    arn = described["TableArn"]
    for name in ("CreationDateTime", "TableId", "LatestStreamLabel", "LatestStreamArn", "ItemCount", "TableSizeBytes"):
        described.pop(name, None)
    described.get("BillingModeSummary", {}).pop("LastUpdateToPayPerRequestDateTime", None)
    described.get("ProvisionedThroughput", {}).pop("LastIncreaseDateTime", None)
    for index in described.get("GlobalSecondaryIndexes", []) + described.get("LocalSecondaryIndexes", []):
        index.pop("ItemCount", None), index.pop("IndexSizeBytes", None)
    tags = client.list_tags_of_resource(ResourceArn=arn)["Tags"]
    recovery = client.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    recovery["PointInTimeRecoveryDescription"].pop("EarliestRestorableDateTime", None)
    recovery["PointInTimeRecoveryDescription"].pop("LatestRestorableDateTime", None)
    return {
        "table": described,
        "ttl": client.describe_time_to_live(TableName=table)["TimeToLiveDescription"],
        "tags": sorted(tags, key=lambda tag: tag["Key"]),
        "recovery": recovery,
    }


def test_db_i_01_the_table_is_what_the_template_says(sealed, tmp_path):
    holdfast = Holdfast("--endpoint", sealed.url, home=tmp_path)
    client = client_of(sealed)
    foretold = holdfast.json("apply", WORKBENCH, "--dry-run")
    assert [table["status"] for table in foretold["tables"]] == ["to be created"]
    assert client.list_tables()["TableNames"] == []

    applied = holdfast.json("table", "create", "--template", WORKBENCH)
    assert [table["status"] for table in applied["tables"]] == ["created"]
    assert applied["outputs"] == {"TableName": "AgenticPM", "TableArn": ARN + "AgenticPM"}

    wanted = yaml.load(WORKBENCH.read_text(), Template)["Resources"]["Workbench"]["Properties"]
    client.get_waiter("table_exists").wait(TableName="AgenticPM")
    is_state = state(client, "AgenticPM")
    table = is_state["table"]
    for name in ("TableName", "KeySchema", "AttributeDefinitions"):
        assert table[name] == wanted[name]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST" and table["TableStatus"] == "ACTIVE"
    [index] = table["GlobalSecondaryIndexes"]
    assert {name: index[name] for name in ("IndexName", "KeySchema", "Projection")} == wanted["GlobalSecondaryIndexes"][0]
    assert is_state["ttl"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "TTL"}
    assert is_state["recovery"]["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert table["SSEDescription"]["Status"] in ("ENABLED", "UPDATING")
    assert is_state["tags"] == sorted(wanted["Tags"], key=lambda tag: tag["Key"])

    again = holdfast.json("apply", WORKBENCH)
    assert again["tables"] == [{"table": "AgenticPM", "status": "as it should be", "details": []}]


def test_waiters_of_sdk_and_command_behave(server, client, template, tmp_path):
    """A table that takes its time to become active, and to go."""
    slow = Server(tmp_path / "slow", "--log-level", "error", "--transient-status-ms", "300")
    try:
        holdfast = Holdfast("--endpoint", slow.url, home=tmp_path)
        assert holdfast.json("apply", template(PLAIN))["tables"][0]["status"] == "created"
        client = client_of(slow)
        assert client.describe_table(TableName="Orders")["Table"]["TableStatus"] == "ACTIVE", "apply waits"
        client.get_waiter("table_exists").wait(TableName="Orders")
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1",
                       "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}  # fmt: skip
        aws = ["/usr/bin/aws", "dynamodb", "--endpoint-url", slow.url]
        subprocess.run([*aws, "wait", "table-exists", "--table-name", "Orders"], env=environment, check=True, timeout=60)
        client.delete_table(TableName="Orders")
        client.get_waiter("table_not_exists").wait(TableName="Orders", WaiterConfig={"Delay": 1})
        subprocess.run([*aws, "wait", "table-not-exists", "--table-name", "Orders"], env=environment, check=True, timeout=60)
    finally:
        slow.stop()


def test_db_i_03_sam(server, client, template, tmp_path):
    holdfast = Holdfast("--endpoint", server.url, home=tmp_path)
    sam = template("""
Transform: AWS::Serverless-2016-10-31
Resources:
  Sessions:
    Type: AWS::Serverless::SimpleTable
  Counters:
    Type: AWS::Serverless::SimpleTable
    Properties:
      TableName: !Sub counters-${AWS::StackName}
      PrimaryKey: {Name: day, Type: Number}
      ProvisionedThroughput: {ReadCapacityUnits: 3, WriteCapacityUnits: 4}
      Tags: {team: one}
  Api:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: .}
Outputs:
  Table: {Value: !Ref Sessions}
  Function: {Value: !GetAtt Api.Arn}
""")
    assert "Resources.Api.Type: AWS::Serverless::Function" in holdfast.run("apply", sam, code=5)
    assert client.list_tables()["TableNames"] == [], "all or nothing"
    applied = holdfast.json("apply", sam, "--tables-only", "--stack-name", "shop")
    assert [table["table"] for table in applied["tables"]] == ["shop-Sessions", "counters-shop"]
    assert [skipped["path"] for skipped in applied["skipped"]] == ["Resources.Api", "Outputs.Function"]
    assert applied["outputs"] == {"Table": "shop-Sessions"}
    sessions = client.describe_table(TableName="shop-Sessions")["Table"]
    assert sessions["AttributeDefinitions"] == [{"AttributeName": "id", "AttributeType": "S"}]
    assert sessions["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    counters = client.describe_table(TableName="counters-shop")["Table"]
    assert counters["AttributeDefinitions"] == [{"AttributeName": "day", "AttributeType": "N"}]
    assert counters["ProvisionedThroughput"]["WriteCapacityUnits"] == 4


def test_global_tables_of_one_replica(store, template):
    text = PLAIN.replace("::Table", "::GlobalTable") + "      Replicas: [{Region: us-east-1}]\n"
    assert store.json("apply", template(text))["tables"][0]["status"] == "created"
    two = template(text.replace("us-east-1}", "us-east-1}, {Region: eu-west-1}"), "two.yaml")
    assert f"{two}:9: Resources.Orders.Properties.Replicas[1]: a second replica (eu-west-1)" in store.run("apply", two, code=5)


def test_json_parameters_and_standard_input(store):
    text = json.dumps({
        "Parameters": {"Stage": {"Type": "String"}},
        "Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {
            "TableName": {"Fn::Join": ["-", ["orders", {"Ref": "Stage"}]]},
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": "2"}}}},
        "Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["T", "Arn"]}}},
    }, indent=1)  # fmt: skip
    assert "--parameter Stage=" in store.run("apply", "-", code=5, given=text)
    applied = store.json("apply", "-", "--parameter", "Stage=prod", given=text)
    assert applied["outputs"] == {"Arn": ARN + "orders-prod"}
    assert "There is no" not in store.run("apply", "-", "--parameter", "Stage=prod", given=text)
    store.refused(2, "Usage", "apply", "-", "--parameter", "Stage", given=text)


@pytest.mark.parametrize("more, problem", [
    ("      ContributorInsightsSpecification: {Enabled: true}", "Properties.ContributorInsightsSpecification.Enabled: not supported"),
    ("      KinesisStreamSpecification: {StreamArn: a}", "Properties.KinesisStreamSpecification: not supported"),
    ("      ImportSourceSpecification: {}", "Properties.ImportSourceSpecification: not supported"),
    ("      ResourcePolicy: {}", "Properties.ResourcePolicy: not supported"),
    ("      Colour: red", "Properties.Colour: no property of AWS::DynamoDB::Table"),
    ("      TableName: !Select [0, [a]]", "Properties.TableName: the function Fn::Select is not supported"),
    ("      TableClass: CHEAP", "Properties.TableClass: should be one of STANDARD"),
    ("      Tags: [{Key: a}]", "Properties.Tags[0]: has no Value"),
    ("    UpdatePolicy: {}", "Resources.Orders: unknown key UpdatePolicy"),
])  # fmt: skip
def test_db_i_02_a_refusal_names_its_place(store, template, more, problem):
    path = template(PLAIN + more + "\n")
    said = store.run("apply", path, code=5)
    assert f"{path}:9: " in said and problem in said


def test_a_changed_template_changes_what_can_be(server, client, template, tmp_path):
    holdfast = Holdfast("--endpoint", server.url, home=tmp_path)
    holdfast.run("apply", template(PLAIN))
    client.put_item(TableName="Orders", Item={"id": {"S": "1"}, "kind": {"S": "x"}})
    richer = PLAIN.replace("[{AttributeName: id, AttributeType: S}]",
                           "[{AttributeName: id, AttributeType: S}, {AttributeName: kind, AttributeType: S}]")  # fmt: skip
    richer += """
      GlobalSecondaryIndexes:
        - {IndexName: byKind, KeySchema: [{AttributeName: kind, KeyType: HASH}], Projection: {ProjectionType: KEYS_ONLY}}
      TimeToLiveSpecification: {AttributeName: gone, Enabled: true}
      DeletionProtectionEnabled: true
      Tags: [{Key: a, Value: b}]
"""
    path = template(richer)
    foretold = holdfast.json("apply", path, "--dry-run")["tables"][0]
    done = holdfast.json("apply", path)["tables"][0]
    assert done["status"] == "updated" and done["details"] == foretold["details"] and len(done["details"]) == 4
    found = client.query(TableName="Orders", IndexName="byKind", KeyConditionExpression="kind = :k",
                         ExpressionAttributeValues={":k": {"S": "x"}})  # fmt: skip
    assert found["Count"] == 1
    assert holdfast.json("apply", path)["tables"][0]["status"] == "as it should be"

    other = template(PLAIN.replace("id,", "nr,"))
    before = client.describe_table(TableName="Orders")["Table"]
    assert "the key is id:S and would become nr:S" in holdfast.run("apply", other, code=4)
    assert client.describe_table(TableName="Orders")["Table"] == before
    holdfast.run("apply", template(PLAIN))
    assert "GlobalSecondaryIndexes" not in client.describe_table(TableName="Orders")["Table"]


@pytest.mark.parametrize("model", ["auto", "pm", "pos", "trip", FERRY], ids=str)
def test_db_i_02_every_models_tables_round_trip(server, client, model, tmp_path):
    """What is exported makes the same tables again; so does what the model itself gives (INC-57: all of Trip's)."""
    holdfast = Holdfast("--endpoint", server.url, home=tmp_path)
    holdfast.run("model", "apply", model, "--no-defaults")
    names = client.list_tables()["TableNames"]
    exported = tmp_path / "exported.yaml"
    exported.write_text(holdfast.run("export-template", "--all"))
    before = {name: state(client, name) for name in names}
    assert len(before) >= (4 if model == "trip" else 1)
    again = holdfast.json("apply", exported)
    assert {table["status"] for table in again["tables"]} == {"as it should be"}, "export(t) says t"
    for name in names:
        client.delete_table(TableName=name)
    holdfast.run("apply", exported)
    assert {name: state(client, name) for name in names} == before
    assert holdfast.run("export-template", "--all") == exported.read_text()
    by_model = yaml.load(holdfast.run("export-template", "--model", model), Template)["Resources"]
    assert {one["Properties"]["TableName"] for one in by_model.values()} <= set(names)


def test_the_example_applies(store, tmp_path):
    example = ROOT / "examples" / "template.yaml"
    assert store.json("apply", example, "--dry-run")["tables"][0]["status"] == "to be created"
    applied = store.json("apply", example)
    assert applied["tables"][0]["status"] == "created" and applied["outputs"]["TableName"] == "Orders-dev"
    assert applied["outputs"]["StreamArn"].startswith(ARN + "Orders-dev/stream/2")
    assert store.json("apply", example)["tables"][0]["status"] == "as it should be"
    exported = tmp_path / "exported.yaml"
    exported.write_text(store.run("export-template", "Orders-dev"))
    assert store.json("apply", exported)["tables"][0]["status"] == "as it should be"


def test_a_dry_run_makes_no_store(template, tmp_path):
    encrypted = PLAIN + "      SSESpecification: {SSEEnabled: true}\n"
    holdfast = Holdfast("--data", tmp_path / "new", home=tmp_path)
    assert holdfast.json("apply", template(PLAIN), "--dry-run")["tables"][0]["status"] == "to be created"
    assert "no master key" in holdfast.run("apply", template(encrypted), "--dry-run", code=5)
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_encrypted_is_known_before_anything_is_made(store, template):
    """The first table is not made, and the index stays, though the store refuses only the encryption."""
    indexed = PLAIN + """
      GlobalSecondaryIndexes: [{IndexName: byId, KeySchema: [{AttributeName: id, KeyType: HASH}], Projection: {ProjectionType: ALL}}]
"""
    store.run("apply", template(indexed))
    both = PLAIN.replace("Orders", "First") + PLAIN.replace("\nResources:\n", "") + "      SSESpecification: {SSEEnabled: true}\n"
    for flags in (["--dry-run"], []):
        said = store.run("apply", template(both), *flags, code=5)
        assert "Resources.Orders" in said and "no master key" in said
    assert "First" not in store.run("export-template", "--all")
    assert "IndexName: byId" in store.run("export-template", "Orders")


def test_the_account_can_be_said(store, template):
    text = PLAIN + "      TableName: !Sub 'orders-${AWS::AccountId}'\n"
    assert store.json("apply", template(text), "--account", "210987654321")["tables"][0]["table"] == "orders-210987654321"


def test_several_at_once(server, client, template, tmp_path):
    """One makes the table; the others find it as it should be, or say that somebody else is at it."""
    command = [PROGRAM, "apply", template(PLAIN), "--endpoint", server.url, "--json"]
    environment = {**ENVIRONMENT, "HOME": str(tmp_path)}
    for _ in range(3):
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) for _ in range(4)]
        for one in running:
            said = "".join(one.communicate(timeout=60))
            assert one.returncode in (0, 4), said
            assert one.returncode == 0 or '"Conflict"' in said
        client.delete_table(TableName="Orders")


def test_what_to_export(store, template):
    store.run("apply", template(PLAIN))
    assert "TableName: Orders" in store.run("export-template", "Orders")
    store.refused(2, "Usage", "export-template")
    store.refused(2, "Usage", "export-template", "Orders", "--all")
    store.refused(3, "ResourceNotFoundException", "export-template", "Nobody")
