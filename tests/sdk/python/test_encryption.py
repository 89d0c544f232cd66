"""SSESpecification and SSEDescription as boto3 and the aws command see them. What is on the disk is looked at by
tests/crash/test_encryption.py."""
import json
import os
import subprocess
import uuid

import pytest
from conftest import eventually, make_client, refused
from server import PROGRAM, Server

KEY = {"KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
       "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}]}
INVALID = "One or more parameter values were invalid: "


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    where = tmp_path_factory.mktemp("encrypted")
    subprocess.run([PROGRAM, "init-key", where / "key"], check=True, capture_output=True)
    running = Server(where / "data", "--key-file", str(where / "key"), "--models", "none")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def client(server):
    return make_client(server.url)


def description(client, name):
    return client.describe_table(TableName=name)["Table"].get("SSEDescription")


def message(error):
    return error["Error"]["Message"]


def test_a_table_is_made_encrypted_and_says_so(client):
    name = f"t_{uuid.uuid4().hex}"
    client.create_table(TableName=name, SSESpecification={"Enabled": True}, **KEY)
    eventually(lambda: description(client, name)["Status"] == "ENABLED")
    said = description(client, name)
    assert said["SSEType"] == "KMS"
    assert said["KMSMasterKeyArn"].startswith("arn:aws:kms:us-east-1:123456789012:key/")


def test_a_key_of_kms_is_known_by_its_name(client):
    for given, arn in [("0d1e", "arn:aws:kms:us-east-1:123456789012:key/0d1e"),
                       ("alias/mine", "arn:aws:kms:us-east-1:123456789012:alias/mine"),
                       ("arn:aws:kms:eu-west-1:1:key/2", "arn:aws:kms:eu-west-1:1:key/2")]:
        name = f"t_{uuid.uuid4().hex}"
        client.create_table(TableName=name, **KEY,
                            SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": given})
        assert description(client, name)["KMSMasterKeyArn"] == arn


def test_a_table_changes_its_mind(client):
    name = f"t_{uuid.uuid4().hex}"
    client.create_table(TableName=name, SSESpecification={"Enabled": False}, **KEY)
    assert description(client, name) is None
    off = refused("ValidationException", client.update_table, TableName=name, SSESpecification={"Enabled": False})
    assert message(off) == INVALID + "Table is already encrypted by default"

    changed = client.update_table(TableName=name, SSESpecification={"Enabled": True, "SSEType": "KMS"})["TableDescription"]
    assert (changed["TableStatus"], changed["SSEDescription"]) == ("ACTIVE", {"Status": "UPDATING"})
    eventually(lambda: description(client, name)["Status"] == "ENABLED")
    arn = description(client, name)["KMSMasterKeyArn"]
    again = refused("ValidationException", client.update_table, TableName=name,
                    SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": arn})
    assert message(again) == (INVALID + "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId "
                              "parameter if you want to change Master Key")
    client.update_table(TableName=name, SSESpecification={"Enabled": True})  # as AWS: done once more

    ended = client.update_table(TableName=name, SSESpecification={"Enabled": False})["TableDescription"]
    assert ended["SSEDescription"] == {"Status": "UPDATING", "SSEType": "KMS", "KMSMasterKeyArn": arn}
    assert description(client, name) is None


@pytest.mark.parametrize("wrong, why", [
    ({"Enabled": False, "SSEType": "KMS"}, "SSEType can not be specified if Enabled is false"),
    ({"Enabled": False, "KMSMasterKeyId": "k"}, "KMSMasterKeyId can not be specified if Enabled is false"),
    ({"Enabled": True, "KMSMasterKeyId": "k"}, "SSEType KMS is required if KMSMasterKeyId is specified"),
    ({"Enabled": True, "SSEType": "AES256"}, "SSEType AES256 is not supported"),
])
def test_what_is_wrong_changes_nothing(client, wrong, why):
    name = f"t_{uuid.uuid4().hex}"
    assert message(refused("ValidationException", client.create_table, TableName=name, SSESpecification=wrong, **KEY)) == \
        INVALID + why
    refused("ResourceNotFoundException", client.describe_table, TableName=name)
    client.create_table(TableName=name, **KEY)
    assert message(refused("ValidationException", client.update_table, TableName=name, SSESpecification=wrong)) == \
        INVALID + why
    assert description(client, name) is None
    unknown = refused("ValidationException", client.update_table, TableName=name,
                      SSESpecification={"Enabled": True, "SSEType": "ROT13"})
    assert "Member must satisfy enum value set: [AES256, KMS]" in message(unknown)


def test_without_a_master_key_the_request_says_what_to_do(tmp_path):
    server = Server(tmp_path / "data", "--models", "none")
    client = make_client(server.url)
    error = refused("ValidationException", client.create_table, TableName="none", SSESpecification={"Enabled": True}, **KEY)
    assert "holdfast init-key FILE" in message(error) and "--key-file" in message(error)
    assert client.list_tables()["TableNames"] == []
    assert not (tmp_path / "data" / "ENCRYPTION").exists()
    server.stop()


def test_the_aws_command(server):
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1",
                   "AWS_PAGER": "", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    name = f"t_{uuid.uuid4().hex}"

    def aws(operation, *words):
        done = subprocess.run(["/usr/bin/aws", "dynamodb", operation, "--endpoint-url", server.url, "--table-name", name, *words],
                              env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    aws("create-table", "--key-schema", "AttributeName=p,KeyType=HASH", "--attribute-definitions",
        "AttributeName=p,AttributeType=S", "--billing-mode", "PAY_PER_REQUEST", "--sse-specification",
        "Enabled=true,SSEType=KMS,KMSMasterKeyId=alias/mine")
    eventually(lambda: aws("describe-table")["Table"]["SSEDescription"]["Status"] == "ENABLED")
    aws("update-table", "--sse-specification", "Enabled=false")
    assert "SSEDescription" not in aws("describe-table")["Table"]
