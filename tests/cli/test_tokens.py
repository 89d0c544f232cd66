"""Development tokens, checked by code that is not ours, and the settings of issuers that a server refuses."""
import base64
import hashlib
import json
import stat
import subprocess
import time

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from program import ENVIRONMENT
from server import PROGRAM, Server


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def verified(token, pem):
    """The header and the claims; raises when the signature is wrong."""
    header, claims, signature = token.split(".")
    key = serialization.load_pem_private_key(pem.read_bytes(), None).public_key()
    raw = decoded(signature)
    assert len(raw) == 64
    der = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.verify(der, f"{header}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    point = key.public_numbers()
    members = {"crv": "P-256", "kty": "EC", **{n: encoded(getattr(point, n).to_bytes(32, "big")) for n in "xy"}}
    thumbprint = hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest()
    header = json.loads(decoded(header))
    assert header == {"alg": "ES256", "typ": "JWT", "kid": encoded(thumbprint)}
    return json.loads(decoded(claims))


# Scripts do TOKEN=$(holdfast token …): nothing but the token may be printed.
def test_a_token_says_who_and_until_when(holdfast, tmp_path):
    pem = tmp_path / "data" / "issuer.pem"
    words = "token", "--data", pem.parent, "--subject", "ann", "--role", "user"
    printed = holdfast.run(*words)
    assert printed == printed.strip() + "\n"
    assert stat.S_IMODE(pem.stat().st_mode) == 0o600
    claims = verified(printed.strip(), pem)
    assert abs(claims["iat"] - time.time()) < 60 and claims["nbf"] == claims["iat"]
    assert claims["exp"] - claims["iat"] == 12 * 3600
    assert {k: v for k, v in claims.items() if k not in ("iat", "nbf", "exp")} == {
        "iss": "holdfast-dev",
        "aud": "holdfast",
        "sub": "ann",
        "role": "user",
    }

    shown = holdfast.json(*words, "--tenant", 'a "b" ü', "--ttl", "90s")
    again = verified(shown["token"], pem)
    assert again["tenant"] == 'a "b" ü' and again["exp"] - again["iat"] == 90
    expires = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(again["exp"]))
    assert shown == {"token": shown["token"], "subject": "ann", "role": "user", "tenant": 'a "b" ü', "expiresAt": expires}
    assert holdfast.json(*words)["tenant"] == "ann"


def test_wrong_words_make_no_token(holdfast, tmp_path):
    pem = tmp_path / "issuer.pem"
    words = "token", "--issuer-key", pem, "--subject", "ann", "--role", "user"
    for wrong in (["--ttl", "0s"], ["--ttl", "1000d"], ["--ttl", "soon"], ["--data", tmp_path]):
        holdfast.refused(2, "Usage", *words, *wrong)
    holdfast.refused(2, "Usage", "token", "--issuer-key", pem, "--role", "user")
    holdfast.refused(2, "Usage", "token", "--issuer-key", pem, "--subject", "", "--role", "user")
    assert not pem.exists()
    holdfast.run(*words)
    pem.chmod(0o644)
    assert "chmod 600" in holdfast.run(*words, code=5)
    pem.write_text("no key")
    pem.chmod(0o600)
    holdfast.run(*words, code=6)
    assert pem.read_text() == "no key", "a key file is never overwritten"


# Someone may ask for a token before there is a store, and a store must then still be made there.
def test_a_store_is_made_beside_the_key(holdfast, tmp_path):
    holdfast.run("token", "--data", tmp_path / "data", "--subject", "ann", "--role", "user")
    server = Server(tmp_path / "data", "--log-level", "error")
    assert server.stop() == 0


def test_demo_makes_the_key(tmp_path):
    server = Server(tmp_path / "data", "--demo", "--log-level", "error")
    try:
        assert stat.S_IMODE((tmp_path / "data" / "issuer.pem").stat().st_mode) == 0o600
    finally:
        assert server.stop() == 0


def key_set(tmp_path):
    numbers = ec.generate_private_key(ec.SECP256R1()).public_key().public_numbers()
    entry = {"kty": "EC", "crv": "P-256", **{n: encoded(getattr(numbers, n).to_bytes(32, "big")) for n in "xy"}}
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [entry]}))
    return str(path)


REFUSED = {
    "jwks alone": (["--jwks", "JWKS"], "--jwks, --issuer and --audience go together"),
    "no jwks": (["--issuer", "i", "--audience", "a"], "--jwks, --issuer and --audience go together"),
    "claim alone": (["--claim-role", "groups"], "--claim-role is used with --jwks only"),
    "absent file": (["--jwks", "absent.json", "--issuer", "i", "--audience", "a"], "cannot read the key set absent.json"),
    "no such member": (["--issuers", "{issuer: i, jwks: JWKS, audience: a, keys: k}"], 'there is no setting "keys"'),
    "no such claim": (["--issuers", "{issuer: i, jwks: JWKS, audience: a, claims: {name: n}}"], 'not "name"'),
    "no audience": (["--issuers", "{issuer: i, jwks: JWKS}"], "i lacks one"),
    "no map": (["--issuers", "i"], "expected {issuer: "),
    "twice": (
        ["--jwks", "JWKS", "--issuer", "i", "--audience", "a", "--issuers", "{issuer: i, jwks: JWKS, audience: a}"],
        "the issuer i is named twice",
    ),
}


# A server that trusted nobody, or the wrong one, because of a slip would be noticed too late.
@pytest.mark.parametrize("case", REFUSED)
def test_a_server_does_not_start_on_half_an_issuer(tmp_path, case):
    flags, why = REFUSED[case]
    flags = [flag.replace("JWKS", key_set(tmp_path)) for flag in flags]
    command = [PROGRAM, "serve", "--in-memory", "--port", "0", "--models", "none", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=ENVIRONMENT, cwd=tmp_path)
    assert done.returncode in (1, 2) and why in done.stderr, done.stderr


def test_issuers_stand_in_the_config_file(tmp_path):
    config = tmp_path / "config.yaml"
    entry = f"- {{issuer: i, jwks: {key_set(tmp_path)}, audience: [a, b], roles: [user]}}"
    block = "- issuer: j\n    jwks: http://127.0.0.1:9/keys\n    audience: c\n    claims:\n      role: realm.roles\n"
    config.write_text(f"models: none\nissuers:\n  {entry}\n  {block}")
    server = Server(tmp_path / "data", "--log-level", "error", "--config", config)
    assert server.stop() == 0, "a URL that does not answer is no reason not to start"
    config.write_text("issuers:\n  - [i]\n")
    done = subprocess.run([PROGRAM, "serve", "--config", config], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and ":2: " in done.stderr and "is a list of values" in done.stderr
