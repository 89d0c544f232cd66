// The server's alarms, for administrators: how each stands, why, and how it came to that.
import {h, when, clock, panel, empty, header, toast, count} from "./ui.js";
import {session, openSocket, pauseAfter} from "./api.js";

const stateTag = (state) => h(`span.tag.${state === "ALARM" ? "bad" : "good"}`, state);

function bound({threshold, unit, windowSeconds}) {
  const minutes = windowSeconds / 60;
  const span = Number.isInteger(minutes)
    ? count(minutes, "minute", "minutes")
    : count(windowSeconds, "second", "seconds");
  return `Alarm above ${threshold} ${unit}${windowSeconds ? ` in ${span}` : ""}`;
}

function line(alarm) {
  return h(
    "li",
    {"aria-label": alarm.name},
    h(
      "div.row",
      stateTag(alarm.state),
      h("b", alarm.name),
      h("span.small.soft", "since ", when(alarm.since)),
    ),
    h("p", alarm.reason),
    h("p.soft.small", `${alarm.about}. ${bound(alarm)}.`),
    alarm.history.length > 0 &&
      h(
        "details",
        h("summary", `History: ${count(alarm.history.length, "change", "changes")}`),
        h(
          "ul",
          alarm.history.map((change) =>
            h(
              "li",
              stateTag(change.state),
              " ",
              h("time", {datetime: change.at, title: change.at}, clock(change.at)),
              ` ${change.reason}`,
            ),
          ),
        ),
      ),
  );
}

// Hears of alarms until `signal`, and comes back by itself.
function follow({onAll, onOne, onLost, signal}) {
  let tries = 0;
  const open = () => {
    if (signal.aborted) return;
    const socket = openSocket("v1/alarms/ws");
    const end = () => socket.close();
    signal.addEventListener("abort", end);
    socket.onmessage = ({data}) => {
      const message = JSON.parse(data);
      tries = 0;
      if (message.type === "alarms") onAll(message.alarms);
      else if (message.type === "alarm") onOne(message.alarm);
    };
    socket.onclose = () => {
      signal.removeEventListener("abort", end);
      if (signal.aborted) return;
      onLost();
      setTimeout(open, pauseAfter(tries++));
    };
  };
  open();
}

export function start(root, {signal}) {
  root.append(header("Alarms", {about: "What the server watches about itself, as it changes."}));
  if (session.role !== "admin") {
    root.append(
      empty(
        "Alarms are for administrators",
        `You are signed in with the role ${session.role || "none"}. Sign in with a token of the role admin to see them.`,
      ),
    );
    return;
  }
  const box = panel("State");
  const alarms = new Map();
  const draw = () => {
    box.tell();
    const on = [...alarms.values()].filter((alarm) => alarm.state === "ALARM").length;
    box.show(
      h("p.soft", on ? `${count(on, "alarm is", "alarms are")} on.` : "All is well."),
      h("ul.list", [...alarms.values()].map(line)),
    );
  };
  box.show(h("p.soft", "Connecting"));
  root.append(box.element);
  follow({
    signal,
    onAll: (all) => {
      alarms.clear();
      for (const alarm of all) alarms.set(alarm.name, alarm);
      draw();
    },
    onOne: (alarm) => {
      alarms.set(alarm.name, alarm);
      toast(`${alarm.name}: ${alarm.state}`);
      draw();
    },
    onLost: () => box.tell(h("div.note.warn", "The connection is lost; this is how things stood. Reconnecting.")),
  });
}
