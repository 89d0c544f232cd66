"""DB-T-20: access keys of principals that policies hold, with real signatures: what each may, and what a refusal tells."""
import json
import subprocess
import urllib.request

import boto3
import pytest
from botocore.config import Config
from conftest import create_table, index, n, refused, s
from server import PROGRAM, Server

TABLES = "arn:aws:dynamodb:us-east-1:123456789012:table/"


def allow(*actions, on, **more):
    return {"Effect": "Allow", "Action": [f"dynamodb:{name}" for name in actions], "Resource": [TABLES + one for one in on], **more}


def policy(*statements):
    return {"Version": "2012-10-17", "Statement": list(statements)}


POLICIES = {
    "root": policy({"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}),
    "worker": policy(allow("PutItem", on=["Log"], Condition={"StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"}})),
    "reader": policy(allow("GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable", on=["Games"])),
    "scores": policy(allow("Query", on=["Games/index/byGame"])),
    "keeper": policy(
        {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"},
        {"Effect": "Deny", "Action": "dynamodb:Delete*", "Resource": "*"},
    ),
    # "Gone" is a table that is not there.
    "ann": policy(
        allow("*", on=["Games", "Gone"], Condition={
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]},
            "Null": {"dynamodb:LeadingKeys": "false"},
        })
    ),
    "clerk": policy(
        allow("GetItem", "UpdateItem", "Query", on=["Games", "Games/*"], Condition={
            "ForAllValues:StringEquals": {"dynamodb:Attributes": ["user", "game", "score"]},
            "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES", "dynamodb:ReturnValues": ["NONE", "UPDATED_NEW"]},
        })
    ),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    names = [*POLICIES, "idle"]
    listed = {name: {"policies": [name]} for name in POLICIES}
    # The worker has its policy by a role; idle is listed and has none.
    listed.update(worker={"roles": ["log-writer"]}, idle={})
    keys = {
        "accessKeys": {f"AKID{name.upper()}": {"secret": f"secret-{name}", "principal": name} for name in names},
        "policies": POLICIES,
        "roles": {"log-writer": ["worker"]},
        "principals": listed,
    }
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    file.write_text(json.dumps(keys))
    return file


@pytest.fixture(scope="module")
def server(tmp_path_factory, file):
    server = Server(tmp_path_factory.mktemp("access") / "data", "--models", "none", "--auth", "sigv4", "--credentials", file)
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def signed_by(server):
    def client(name):
        made = boto3.client(
            "dynamodb", endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=f"AKID{name.upper()}",
            aws_secret_access_key=f"secret-{name}", config=Config(retries={"max_attempts": 0}),
        )
        made.bodies = []
        made.meta.events.register("after-call", lambda http_response, **_: made.bodies.append(http_response.content))
        return made

    return client


@pytest.fixture(scope="module")
def root(signed_by):
    root = signed_by("root")
    indexes = [index("byGame", "game", "user"), index("bySalary", "game", "salary")]
    create_table(root, ("user", "game"), name="Games", types={"salary": "N"}, GlobalSecondaryIndexes=indexes)
    create_table(root, ("id",), name="Log")
    for user in ("ann", "bob"):
        root.put_item(TableName="Games", Item={"user": s(user), "game": s("chess"), "score": n(1), "salary": n(9)})
    return root


def denied(call, **parameters):
    return refused("AccessDeniedException", call, **parameters)["Error"]["Message"]


def scan_all(root):
    return {name: sorted(map(str, root.scan(TableName=name)["Items"])) for name in ("Games", "Log")}


def test_who_is_given_everything_may_everything_and_who_has_nothing_nothing(root, signed_by):
    assert root.list_tables()["TableNames"] == ["Games", "Log"]
    idle = signed_by("idle")
    assert "dynamodb:ListTables" in denied(idle.list_tables)
    denied(idle.describe_limits)
    denied(idle.get_item, TableName="Log", Key={"id": s("1")})


def test_trip_r_17_the_worker_writes_its_log_and_nothing_else(root, signed_by):
    worker = signed_by("worker")
    worker.put_item(TableName="Log", Item={"id": s("1")})
    worker.put_item(TableName=TABLES + "Log", Item={"id": s("2")})
    worker.transact_write_items(TransactItems=[{"Put": {"TableName": "Log", "Item": {"id": s("3")}}}])
    before = scan_all(root)
    # Nor does it read what it overwrites, whether that succeeds or not.
    denied(worker.put_item, TableName="Log", Item={"id": s("1"), "a": n(1)}, ReturnValues="ALL_OLD")
    guarded = dict(TableName="Log", Item={"id": s("1")}, ConditionExpression="attribute_not_exists(id)")
    returning = dict(guarded, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    denied(worker.transact_write_items, TransactItems=[{"Put": returning}])
    refused("ConditionalCheckFailedException", worker.put_item, **guarded)
    key = {"user": s("ann"), "game": s("chess")}
    assert denied(worker.put_item, TableName="Games", Item=key) == (
        "User: arn:aws:iam::123456789012:user/worker is not authorized to perform: dynamodb:PutItem on resource: "
        f"{TABLES}Games because no identity-based policy allows the dynamodb:PutItem action"
    )
    denied(worker.get_item, TableName="Log", Key={"id": s("1")})
    denied(worker.query, TableName="Log", KeyConditionExpression="id = :i", ExpressionAttributeValues={":i": s("1")})
    denied(worker.scan, TableName="Log")
    denied(worker.update_item, TableName="Log", Key={"id": s("1")}, UpdateExpression="SET a = :a", ExpressionAttributeValues={":a": n(1)})
    denied(worker.delete_item, TableName="Log", Key={"id": s("1")})
    denied(worker.batch_write_item, RequestItems={"Log": [{"PutRequest": {"Item": {"id": s("9")}}}]})
    put = {"Put": {"TableName": "Log", "Item": {"id": s("9")}}}
    for other in (
        {"Put": {"TableName": "Games", "Item": {**key, "score": n(5)}}},
        {"Delete": {"TableName": "Log", "Key": {"id": s("1")}}},
        {"ConditionCheck": {"TableName": "Games", "Key": key, "ConditionExpression": "attribute_exists(game)"}},
    ):
        denied(worker.transact_write_items, TransactItems=[put, other])
    denied(worker.delete_table, TableName="Log")
    denied(worker.describe_table, TableName="Log")
    denied(worker.create_table, TableName="Mine", KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
           AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST")
    assert scan_all(root) == before, "what was denied changed nothing"
    assert root.list_tables()["TableNames"] == ["Games", "Log"]


def test_batches_indexes_and_transactions(root, signed_by):
    reader, scores = signed_by("reader"), signed_by("scores")
    keys = {"Keys": [{"user": s("ann"), "game": s("chess")}]}
    assert len(reader.batch_get_item(RequestItems={"Games": keys})["Responses"]["Games"]) == 1
    denied(reader.batch_get_item, RequestItems={"Games": keys, "Log": {"Keys": [{"id": s("1")}]}})
    assert reader.transact_get_items(TransactItems=[{"Get": {"TableName": "Games", "Key": keys["Keys"][0]}}])["Responses"]
    denied(reader.transact_get_items, TransactItems=[{"Get": {"TableName": "Log", "Key": {"id": s("1")}}}])
    by_game = {"IndexName": "byGame", "KeyConditionExpression": "game = :g", "ExpressionAttributeValues": {":g": s("chess")}}
    assert f"{TABLES}Games/index/byGame" in denied(reader.query, TableName="Games", **by_game)
    assert scores.query(TableName="Games", **by_game)["Count"] == 2
    denied(scores.scan, TableName="Games", IndexName="byGame")
    denied(scores.scan, TableName="Games")


def test_what_denies_wins(root, signed_by):
    keeper = signed_by("keeper")
    keeper.put_item(TableName="Log", Item={"id": s("kept")})
    message = denied(keeper.delete_item, TableName="Log", Key={"id": s("kept")})
    assert message.endswith("with an explicit deny in an identity-based policy")
    denied(keeper.delete_table, TableName="Log")
    assert keeper.get_item(TableName="Log", Key={"id": s("kept")})["Item"]


def test_leading_keys(root, signed_by):
    ann = signed_by("ann")
    own, others = {"user": s("ann"), "game": s("go")}, {"user": s("bob"), "game": s("go")}
    ann.put_item(TableName="Games", Item=own)
    assert ann.get_item(TableName="Games", Key=own)["Item"] == own
    query = dict(TableName="Games", KeyConditionExpression="#u = :u", ExpressionAttributeNames={"#u": "user"})
    assert ann.query(**query, ExpressionAttributeValues={":u": s("ann")})["Count"] == 2
    before = scan_all(root)
    denied(ann.query, **query, ExpressionAttributeValues={":u": s("bob")})
    denied(ann.put_item, TableName="Games", Item=others)
    denied(ann.batch_write_item, RequestItems={"Games": [{"PutRequest": {"Item": {**own, "score": n(7)}}}, {"DeleteRequest": {"Key": others}}]})
    denied(ann.batch_get_item, RequestItems={"Games": {"Keys": [own, others]}})
    denied(ann.transact_write_items, TransactItems=[{"Delete": {"TableName": "Games", "Key": own}}, {"Put": {"TableName": "Games", "Item": others}}])
    denied(ann.scan, TableName="Games")
    assert scan_all(root) == before
    ann.delete_item(TableName="Games", Key=own)


def test_attributes(root, signed_by):
    clerk = signed_by("clerk")
    key = {"user": s("ann"), "game": s("chess")}
    assert clerk.get_item(TableName="Games", Key=key, ProjectionExpression="score")["Item"] == {"score": n(1)}
    denied(clerk.get_item, TableName="Games", Key=key)
    denied(clerk.get_item, TableName="Games", Key=key, ProjectionExpression="salary")
    update = dict(TableName="Games", Key=key, UpdateExpression="SET score = :s", ExpressionAttributeValues={":s": n(1)})
    clerk.update_item(**update, ReturnValues="UPDATED_NEW")
    denied(clerk.update_item, **update, ReturnValues="ALL_NEW")
    denied(clerk.update_item, **update, ConditionExpression="attribute_exists(salary)")
    denied(clerk.update_item, TableName="Games", Key=key, UpdateExpression="SET score = salary")
    # A page's LastEvaluatedKey has the keys of the table and the index: clerk may see those of the one alone.
    query = dict(TableName="Games", KeyConditionExpression="game = :g", ExpressionAttributeValues={":g": s("chess")},
                 ProjectionExpression="score", Limit=1)
    assert clerk.query(**query, IndexName="byGame")["LastEvaluatedKey"].keys() == {"user", "game"}
    denied(clerk.query, **query, IndexName="bySalary")


def test_show_6_a_refusal_does_not_tell_what_exists(root, signed_by):
    """The same bytes, whether the table or the item is there or not."""
    there, gone = {"user": s("bob"), "game": s("chess")}, {"user": s("bob"), "game": s("shogi")}
    values = {":g": s("chess")}

    def calls(table, key):
        yield "get_item", dict(TableName=table, Key=key)
        yield "put_item", dict(TableName=table, Item=key, ConditionExpression="attribute_not_exists(game)")
        yield "update_item", dict(TableName=table, Key=key, UpdateExpression="SET score = :g", ExpressionAttributeValues=values)
        yield "delete_item", dict(TableName=table, Key=key, ConditionExpression="attribute_exists(game)", ReturnValues="ALL_OLD")
        yield "scan", dict(TableName=table)
        yield "query", dict(TableName=table, IndexName="byGame", KeyConditionExpression="game = :g", ExpressionAttributeValues=values)
        yield "batch_get_item", dict(RequestItems={table: {"Keys": [key]}})
        yield "batch_write_item", dict(RequestItems={table: [{"DeleteRequest": {"Key": key}}]})
        yield "transact_get_items", dict(TransactItems=[{"Get": {"TableName": table, "Key": key}}])
        yield "transact_write_items", dict(
            TransactItems=[{"ConditionCheck": {"TableName": table, "Key": key, "ConditionExpression": "attribute_exists(game)"}}])
        yield "describe_table", dict(TableName=table)
        yield "describe_time_to_live", dict(TableName=table)
        yield "update_time_to_live", dict(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"})
        yield "update_table", dict(TableName=table, BillingMode="PAY_PER_REQUEST")
        yield "delete_table", dict(TableName=table)
        yield "tag_resource", dict(ResourceArn=TABLES + table, Tags=[{"Key": "a", "Value": "b"}])
        yield "untag_resource", dict(ResourceArn=TABLES + table, TagKeys=["a"])
        yield "list_tags_of_resource", dict(ResourceArn=TABLES + table)

    def answers(client, table, key):
        for name, parameters in calls(table, key):
            denied(getattr(client, name), **parameters)
            yield name, client.bodies[-1].replace(table.encode(), b"TABLE")

    for name in ("idle", "worker", "ann"):
        client = signed_by(name)
        first = list(answers(client, "Games", there))
        assert first == list(answers(client, "Games", gone)), name
        assert first == list(answers(client, "Gone", there)), name


def test_denials_are_counted(root, server, signed_by):
    metrics = lambda: urllib.request.urlopen(server.url + "/metrics").read().decode()
    count = lambda: int(next((line.split()[1] for line in metrics().splitlines()
                              if line.startswith('holdfast_access_denied_total{operation="DescribeTable"}')), 0))
    before = count()
    denied(signed_by("worker").describe_table, TableName="Games")
    assert count() == before + 1


def test_bad_input_is_told_before_permissions(root, signed_by):
    refused("ValidationException", signed_by("idle").scan, TableName="Games", Select="EVERYTHING")


def test_policy_check_says_which_statement_decides(file):
    def check(principal, action, resource, *more):
        command = [PROGRAM, "policy", "check", "--file", file, "--principal", principal, "--action", action, "--resource", resource, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout.strip() or done.stderr.strip()

    assert check("worker", "dynamodb:PutItem", "Log") == (0, f"allowed: {file}: policies.worker.Statement[0]")
    assert check("worker", "PutItem", TABLES + "Games") == (1, "denied: no statement allows it")
    assert check("keeper", "dynamodb:DeleteItem", "Log") == (1, f"denied: {file}: policies.keeper.Statement[1]")
    assert check("ann", "GetItem", "Games", "--key", "ann")[0] == 0
    assert check("ann", "GetItem", "Games", "--key", "bob")[0] == 1
    assert check("ann", "GetItem", "Games") == (1, "denied: no statement allows it"), "of any key, unless told"
    assert check("ann", "SearchVectors", "Games/index/near", "--key", "ann")[0] == 1, "a search tells of no key"
    assert check("clerk", "GetItem", "Games")[0] == 1, "of all attributes, unless told"
    assert check("clerk", "dynamodb:getitem", "Games", "--attribute", "score")[0] == 0
    assert check("clerk", "Query", "Games", "--attribute", "score", "--select", "COUNT")[0] == 1
    assert check("clerk", "UpdateItem", "Games", "--attribute", "score", "--return-values", "UPDATED_NEW")[0] == 0
    assert check("clerk", "UpdateItem", "Games", "--attribute", "score", "--return-values", "ALL_NEW")[0] == 1
    assert check("root", "GetItem", "Games")[0] == 0
    assert check("zoe", "PutItem", "Log", "--role", "log-writer")[0] == 0
    code, output = check("zoe", "PutItem", "Log")
    assert code == 2 and "does not list the principal zoe" in output, output
    code, output = check("worker", "PutItems", "Log", "--json")
    assert code == 2 and "dynamodb:PutItems" in output


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda keys: keys["policies"]["ann"]["Statement"][0].update(Condition={"IpAddress": {"aws:SourceIp": "::1"}}),
         "policies.ann.Statement[0].Condition.IpAddress: is no operator that is known here"),
        (lambda keys: keys["policies"]["ann"]["Statement"][0].update(Principal="*"), "policies.ann.Statement[0].Principal: is no element"),
        (lambda keys: keys["principals"].update(zoe={"policies": ["nothing"]}), "principals.zoe.policies[0]: there is no policy \"nothing\""),
        (lambda keys: keys.update(groups={}), "groups: is not known here"),
        (lambda keys: keys["principals"].pop("root"), 'principals: does not list "root", to whom the access key AKIDROOT belongs.'),
        (lambda keys: keys["policies"]["worker"]["Statement"][0].update(Resource=TABLES.replace("table", "tabel") + "Log"),
         "policies.worker.Statement[0].Resource: "),
    ],
)
def test_a_bad_file_is_refused_at_the_start(tmp_path, file, change, said):
    keys = json.loads(file.read_text())
    change(keys)
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(keys))
    command = [PROGRAM, "serve", "--port", "0", "--in-memory", "--models", "none", "--auth", "sigv4", "--credentials", bad]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and f"{bad}: {said}" in done.stderr, done.stderr


def test_the_log_warns_where_principals_are_listed_and_the_door_stands_open(tmp_path, file):
    keys = json.loads(file.read_text())
    apart = tmp_path / "policies.json"
    apart.write_text(json.dumps({name: keys[name] for name in ("policies", "roles", "principals")}))
    command = [PROGRAM, "serve", "--port", "0", "--in-memory", "--models", "none", "--policies", apart]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline()
        process.terminate()
        assert "everybody may everything on POST /" in process.stderr.read()
