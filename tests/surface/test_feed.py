"""X-15: subscribers hear of every change of their topics, in order; who cannot follow is cut off alone."""
import concurrent.futures

import pytest

PROJECT = {"name": "Lantern", "source": "jira", "sourceProjectKey": "L", "autonomyLevel": "tactical"}


@pytest.fixture(scope="module")
def user(surface):
    return surface.caller("maren", "user")


def record(user, project, i):
    return user.done("pm", "event.record", {
        "projectId": project, "eventType": "signal_detected", "severity": "info", "summary": str(i)})


def test_resume_by_cursor_and_resync(user):
    project = user.done("pm", "project.create", PROJECT)["id"]
    feed = user.connect("pm")
    feed.subscribe("e", entity="Event", partition={"projectId": project})
    record(user, project, 1)
    cursor = feed.wait(type="change", id="e")["cursor"]
    feed.close()
    record(user, project, 2)
    record(user, project, 3)
    again = user.connect("pm")
    again.send(type="subscribe", id="e", entity="Event", partition={"projectId": project}, cursor=cursor)
    assert [again.wait(type="change", id="e")["item"]["summary"] for _ in range(2)] == ["2", "3"]
    again.send(type="subscribe", id="old", entity="Event", cursor="long-ago")
    again.wait(type="resync", id="old")
    again.send(type="unsubscribe", id="e")
    again.wait(type="unsubscribed", id="e")
    again.send(type="subscribe", id="x", entity="Nothing")
    assert again.wait(type="error", id="x")["error"] == "NotFound"
    again.send(type="ping")
    again.wait(type="pong")
    again.close()


# 200 subscribers of ten projects; 300 commands. Each hears of its own project's events, all, in order.
def test_two_hundred_subscribers(user):
    projects = [user.done("pm", "project.create", PROJECT)["id"] for _ in range(10)]
    feeds = [user.connect("pm") for _ in range(200)]
    for i, feed in enumerate(feeds):
        feed.subscribe("e", entity="Event", partition={"projectId": projects[i % 10]})
    # One subscribes and never reads.
    deaf = user.connect("pm")
    deaf.subscribe("e", entity="Event")
    each = 30

    def write(project):
        for i in range(each):
            record(user, project, i)

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(write, projects))
    for feed in feeds:
        heard = [feed.wait(type="change", id="e")["item"]["summary"] for _ in range(each)]
        assert heard == [str(i) for i in range(each)]
        feed.close()
    deaf.close()


# A 30-second poll of the same data works as well.
def test_polling_gives_the_same(user):
    project = user.done("pm", "project.create", PROJECT)["id"]
    for i in range(3):
        record(user, project, i)
    newest = user.ask("pm", "PM-A-04", projectId=project)
    assert [item["summary"] for item in newest][:3] == ["2", "1", "0"]
