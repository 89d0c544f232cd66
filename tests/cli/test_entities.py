"""Single entities and patterns: what is written is what is read, and every refusal has its exit code (SURF-03)."""
import json


def test_an_entity_lives_and_dies(library):
    made = library.add("tide", "pages=212", 'tags:=["sea","clocks"]', 'words:=["b","a"]')
    assert (made["pages"], made["tags"], sorted(made["words"]), made["version"]) == (212, ["sea", "clocks"], ["a", "b"], 1)
    assert library.json("get", "library", "Book", "id=tide") == made
    assert library.json("get", "library", "LIB-E-01", "id=tide") == made, "by the entity's ID too"
    changed = library.json("patch", "library", "Book", "id=tide", "status=lent", "pages:=null")
    assert changed["status"] == "lent" and changed["version"] == 2 and "pages" not in changed
    assert library.json("delete", "library", "Book", "id=tide") == {"deleted": True}
    library.refused(3, "NotFound", "get", "library", "Book", "id=tide")
    library.refused(3, "NotFound", "delete", "library", "Book", "id=tide")


def test_people_see_names_and_values(library):
    library.add("tide", "pages=212")
    assert "pages: 212\n" in library.run("get", "library", "Book", "id=tide")
    lines = library.run("query", "LIB-A-02", "--status", "shelved").splitlines()
    assert lines[0].split()[0] == "id" and lines[1].split()[0] == "tide" and lines[-1] == "1 found"


def test_whole_objects_come_from_files_and_from_standard_input(library, tmp_path):
    book = {"id": "owls", "title": "Owls", "pages": 7, "words": ["x"]}
    (tmp_path / "book.json").write_text(json.dumps(book))
    assert library.json("put", "library", "Book", f"@{tmp_path / 'book.json'}", "pages=8")["pages"] == 8
    made = library.json("put", "library", "Book", "-", "id=kites", given=json.dumps(book))
    assert made["id"] == "kites" and made["words"] == ["x"]
    library.refused(2, "Usage", "put", "library", "Book", f"@{tmp_path / 'absent.json'}")
    library.refused(2, "Usage", "put", "library", "Book", "pages:=[")
    library.refused(2, "Usage", "put", "library", "Book", "novalue")


def test_what_is_there_is_replaced_only_when_told(library):
    library.add("tide", "pages=212")
    library.refused(4, "AlreadyExists", "put", "library", "Book", "id=tide", "title=Other")
    replaced = library.json("put", "library", "Book", "id=tide", "title=Other", "--replace")
    assert replaced["title"] == "Other" and "pages" not in replaced


def test_a_change_may_expect_a_version(library):
    library.add("tide")
    library.json("patch", "library", "Book", "id=tide", "title=First", "--expect", "1")
    library.refused(4, "VersionConflict", "patch", "library", "Book", "id=tide", "title=Second", "--expect", "1")
    library.refused(4, "VersionConflict", "delete", "library", "Book", "id=tide", "--expect", "1")
    library.refused(2, "Usage", "put", "library", "Book", "id=tide", "title=T", "--expect", "1")


def test_refusals_say_what_is_wrong(library):
    library.add("tide")
    details = library.refused(5, "ValidationError", "put", "library", "Book", "id=x", "title=T", "pages=none")
    assert [one["path"] for one in details["violations"]] == ["pages"]
    details = library.refused(4, "IllegalTransition", "patch", "library", "Book", "id=tide", "status=shelved")
    assert details["allowed"] == ["lent", "lost"]
    library.refused(3, "NotFound", "get", "library", "Paper", "id=tide")
    library.refused(3, "NotFound", "get", "archive", "Book", "id=tide")


def test_append_only_entities_are_kept(library):
    library.add("tide")
    library.json("put", "library", "Loan", "bookId=tide", "reader=Odalys", "lentAt=2026-02-04T10:30:00Z")
    library.refused(5, "Forbidden", "delete", "library", "Loan", "bookId=tide", "lentAt=2026-02-04T10:30:00Z")
    assert [loan["reader"] for loan in library.json("list", "library", "Loan", "bookId=tide")["items"]] == ["Odalys"]


# --- patterns ---


def test_parameters_have_the_types_of_the_model(anywhere):
    for name, pages in (("a", 5), ("b", 50), ("c", 500)):
        anywhere.add(name, f"pages={pages}")
    assert anywhere.found("LIB-A-02", "--status", "shelved") == ["a", "b", "c"]
    assert anywhere.found("LIB-A-02", "--status=shelved", "--least", "50") == ["b", "c"]
    assert anywhere.found("LIB-A-02", "--params", '{"status":"shelved","least":500}') == ["c"]
    assert anywhere.found("LIB-A-02", "--status", "lost") == []
    assert anywhere.found("LIB-A-01", "--id", "b") == ["b"]


# A cursor is printed by one process and used by the next.
def test_pages_go_on_in_another_process(anywhere):
    for name in "abc":
        anywhere.add(name, "pages=1")
    asked = ("query", "LIB-A-02", "--status", "shelved", "--limit", "2")
    first = anywhere.json(*asked)
    assert [item["id"] for item in first["items"]] == ["a", "b"]
    second = anywhere.json(*asked, "--cursor", first["cursor"])
    assert [item["id"] for item in second["items"]] == ["c"] and "cursor" not in second
    assert anywhere.found(*asked[1:], "--all") == ["a", "b", "c"]
    other = ("query", "LIB-A-02", "--status", "lent", "--cursor", first["cursor"])
    anywhere.refused(5, "InvalidCursor", *other)


def test_a_plan_is_shown_and_not_carried_out(library):
    plan = library.json("query", "LIB-A-02", "--status", "shelved", "--explain")["plan"]
    assert len(plan) == 1 and plan[0].startswith(f"Query {library.table}.byStatus")


def test_questions_that_cannot_be_asked(library):
    library.refused(3, "NotFound", "query", "LIB-A-99")
    library.refused(5, "ValidationError", "query", "LIB-A-02")
    library.refused(5, "ValidationError", "query", "LIB-A-02", "--status", "shelved", "--colour", "red")
    library.refused(2, "Usage", "query", "LIB-A-02", "--status")
    library.refused(2, "Usage", "query", "LIB-A-02", "--params", "{")
    library.refused(2, "Usage", "query")


# --- stores ---


def test_a_directory_that_a_server_has_open(server, holdfast):
    said = holdfast.run("get", "pm", "Project", "id=x", "--data", server.directory, code=6)
    assert "is in use by" in said and "--endpoint" in said


def test_stores_that_are_not_there(holdfast, tmp_path):
    holdfast.refused(3, "ResourceNotFoundException", "query", "PM-A-13", "--data", tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
    holdfast.run("query", "PM-A-13", "--endpoint", "http://127.0.0.1:1", code=6)
    holdfast.refused(2, "Usage", "query", "PM-A-13", "--data", tmp_path, "--endpoint", "http://127.0.0.1:1")
    holdfast.run("model", "apply", "trip", "--data", tmp_path / "trip")
    assert "model apply" in holdfast.run("query", "PM-A-13", "--data", tmp_path / "trip", code=6)


# A tenant sees its own, and nothing says that there is more.
def test_a_tenant_sees_its_own(holdfast, tmp_path):
    holdfast.flags = ["--data", str(tmp_path / "data")]
    holdfast.run("demo", "pos")
    mine = holdfast.json("query", "POS-A-04", "--as", "u-tamsin")["items"]
    assert {goal["userId"] for goal in mine} == {"u-tamsin"}
    holdfast.refused(3, "NotFound", "get", "pos", "GOAL", "userId=u-tamsin", "id=goal-canoe", "--as", "u-corvin")
