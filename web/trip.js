// Trips: a booking on its way through ten steps, the circuits of the portals, and the policies.
import {
  h,
  tag,
  words,
  when,
  clock,
  countdown,
  statusTag,
  panel,
  empty,
  header,
  facts,
  raw,
  meter,
  errorBox,
  ask,
  toast,
  soon,
  worker,
  href,
  count,
  logList,
} from "./ui.js";
import {session, pattern, run, fit, commandOf, live, watch, asAttributes} from "./api.js";
import {form} from "./forms.js";

const M = "trip";
const kEmployees = ["emp-juniper-07", "emp-moss-11", "emp-fern-03", "emp-heath-02"];
const kCircuits = ["travel-portal-search", "travel-portal-booking", "travel-portal-rail"];
const bookingHref = (b) => href([M, "bookings", b.employeeId, b.bookingId]);
const mayAsk = (id) => session.model(M).patterns.some((p) => p.id === id);
const isOwn = () => session.role === "employee";
const money = new Intl.NumberFormat("en-US", {style: "currency", currency: "USD", maximumFractionDigits: 0});
const day = (ahead) => new Date(Date.now() + ahead * 86400e3).toISOString().slice(0, 10);

export function start(root, {query, signal}) {
  const remembered = sessionStorage.getItem("holdfast.employee") ?? "";
  const employeeId = isOwn() ? session.tenant : (query.employeeId ?? remembered);
  if (employeeId) sessionStorage.setItem("holdfast.employee", employeeId);
  root.append(
    header("Trips", {
      about: isOwn()
        ? `Bookings of ${employeeId}`
        : "Bookings of an employee, the circuits of the portals, and what the policies say.",
    }),
  );
  const bookings = panel("Bookings", {
    load: async () => {
      const choose = !isOwn() && chooser(employeeId);
      if (!employeeId)
        return [
          choose,
          empty(
            "Whose bookings?",
            "Name an employee. The demo world has these:",
            h(
              "div.row",
              kEmployees.map((e) => h("a", {href: href([M], {employeeId: e})}, e)),
            ),
          ),
        ];
      const {items} = await pattern(M, "TRIP-A-15", {employeeId}, signal);
      return [
        choose,
        items.length
          ? h(
              "ul.list",
              items.map((b) =>
                h(
                  "li",
                  h("div.row", h("a", {href: bookingHref(b)}, b.userRequest), statusTag(b.status)),
                  h(
                    "p.small.soft",
                    when(b.createdAt),
                    b.confirmationNumber && ` · confirmed as ${b.confirmationNumber}`,
                    b.selectedOption && ` · ${b.selectedOption.carrier} ${b.selectedOption.flightNumber}`,
                  ),
                ),
              ),
            )
          : empty("No bookings yet", "Ask for a trip in a sentence below."),
      ];
    },
  });
  const wish = commandOf(M, "booking.request") && panel("New trip");
  wish?.show(
    form(
      [
        ...(isOwn() ? [] : [{name: "employeeId", label: "For", kind: "S", required: true}]),
        {name: "userRequest", label: "Where to, and when?", kind: "S", required: true},
      ],
      {
        values: {employeeId},
        submit: "Ask for it",
        onSubmit: async (input) => {
          const {data} = await run(
            M,
            "booking.request",
            fit(commandOf(M, "booking.request"), {
              employeeId,
              ...input,
              connectionId: live(M).connectionId ?? undefined,
            }),
          );
          location.hash = bookingHref({employeeId, ...input, ...data.result});
        },
      },
    ).element,
  );
  root.append(
    h(
      "div.columns",
      h("div.stack", bookings.element, wish?.element),
      h("div.stack", policySearch(signal), policies(signal), mayAsk("TRIP-A-19") && circuits(signal)),
    ),
  );
  if (employeeId) watch(M, [{entity: "Booking", partition: {employeeId}}], soon(bookings.reload), signal);
}

function chooser(employeeId) {
  return form([{name: "employeeId", label: "Employee", kind: "S", required: true}], {
    values: {employeeId},
    submit: "Show",
    inline: true,
    onSubmit: (input) => void (location.hash = href([M], input)),
  }).element;
}

function circuits(signal) {
  const change = (box, name, circuitId) =>
    commandOf(M, name) &&
    worker("button", words(name.split(".")[1]), async () => {
      box.tell();
      await run(M, name, fit(commandOf(M, name), {circuitId})).catch((error) => box.tell(errorBox(error)));
      await box.reload();
    });
  const one = async (circuitId) => {
    const {items} = await pattern(M, "TRIP-A-19", {circuitId}, signal).catch((error) => {
      if (error.name === "NotFound") return {items: []};
      throw error;
    });
    const c = items[0] ?? {state: "closed", failureCount: 0};
    const until = new Date(
      (Number(c.lastFailureTime ?? 0) + Number(c.recoveryTimeout ?? 60)) * 1000,
    ).toISOString();
    return h(
      "li",
      h(
        "div.row",
        h("span.mono", circuitId),
        statusTag(c.state),
        c.state === "open" && h("b", countdown(until, "tries again in", "may be tried")),
      ),
      h(
        "p.small.soft",
        items.length
          ? c.failureCount
            ? `${count(c.failureCount, "failure", "failures")} in a row, the last at ${clock(c.lastFailureTime * 1000)}`
            : "No failures in a row"
          : "Has never failed",
      ),
      h(
        "div.row",
        ["circuit.allow", "circuit.success", "circuit.failure", "circuit.reset"].map((name) =>
          change(box, name, circuitId),
        ),
      ),
    );
  };
  const box = panel("Circuits", {load: async () => h("ul.list", await Promise.all(kCircuits.map(one)))});
  watch(M, [{entity: "Circuit"}], soon(box.reload), signal);
  return box.element;
}

function policySearch(signal) {
  const box = panel("What do the policies say?");
  box.show(
    form(
      [
        {name: "text", label: "Question", kind: "S", line: true, required: true},
        {name: "contentType", label: "Only", kind: "S", choices: ["text", "table", "figure"]},
        {name: "threshold", label: "Least similarity", kind: "N", min: 0, max: 1},
      ],
      {
        values: {threshold: 0.2},
        submit: "Search",
        onSubmit: async (input) => {
          const answer = await pattern(M, "TRIP-A-01", input, signal);
          if (!answer.items.length)
            return empty("Nothing is near enough", "Ask in other words, or accept less similarity.");
          return h(
            "ul.list",
            answer.items.map((chunk, i) => {
              const near = answer.similarities?.[i]?.similarity ?? answer.similarities?.[i];
              return h(
                "li",
                h(
                  "div.row",
                  h("h3", chunk.section_title ?? "Passage"),
                  chunk.content_type !== "text" && tag(chunk.content_type),
                  near !== undefined && meter(near, near.toFixed(2)),
                ),
                h("p", chunk.content_text),
                h("p.small.soft", chunk.source_page && `Page ${chunk.source_page}`),
              );
            }),
          );
        },
      },
    ).element,
  );
  return box.element;
}

function policies(signal) {
  const box = panel("Policies", {
    load: async () => {
      const {items} = await pattern(M, "TRIP-A-05", {}, signal);
      if (!items.length) return empty("No policies yet", "Upload one with the command policy.upload.");
      return h(
        "ul.list",
        items.map((p) =>
          h(
            "li",
            h(
              "div.row",
              h("a", {href: href([M, "entities", "Policy", "item"], {id: p.id})}, p.file_name),
              statusTag(p.status),
            ),
            h(
              "p.small.soft",
              p.error_message ?? `${p.total_pages ?? 0} pages, ${p.total_chunks ?? 0} passages`,
              " · ",
              when(p.created_at),
            ),
          ),
        ),
      );
    },
  });
  watch(M, [{entity: "Policy"}], soon(box.reload), signal);
  return box.element;
}

const kSteps = [
  "Connect",
  "Request",
  "Retrieve policies",
  "Plan",
  "Validate the plan",
  "Search flights",
  "Present options",
  "Choose",
  "Book",
  "Confirm",
];
const kReached = {
  policy_retrieval: 3,
  reasoning: 4,
  plan_validation: 5,
  flight_search: 7,
  user_selection: 8,
  booking_completion: 10,
};

// How many steps are done, and which command takes the next.
function progress(booking, trail) {
  const told = (event) => trail.some((a) => a.event === event);
  switch (booking.status) {
    case "initiated":
      return {done: 2, next: "booking.retrieved"};
    case "searching":
      if (!booking.bookingPlan) return {done: 3, next: "booking.planned"};
      return told("plan_validation")
        ? {done: 5, next: "booking.searched"}
        : {done: 4, next: "booking.validatePlan"};
    case "options_presented":
      return {done: 7};
    case "user_selected":
      return {done: 8, next: "booking.begin"};
    case "booking":
      return {done: 9, next: "booking.confirm"};
    case "confirmed":
      return {done: 10};
    default:
      return {done: Math.max(2, ...trail.map((a) => kReached[a.event] ?? 0)), stopped: true};
  }
}
const kNext = {
  "booking.retrieved": [
    "Retrieve the policies",
    "Search the policies for the request and note what was found.",
  ],
  "booking.planned": ["Attach the plan", "What the request was understood to ask for."],
  "booking.validatePlan": ["Validate the plan", "Check the plan against its form and the policies."],
  "booking.searched": [
    "Hand in the flights",
    "What the portal found. The best three that comply are presented.",
  ],
  "booking.begin": ["Begin booking", "Go to the portal with the chosen flight."],
  "booking.confirm": ["Confirm", "The portal gave a number."],
};

// What an orchestrator would send, made up where no model or portal is at hand.
async function example(command, booking, signal) {
  const option = (n, carrier, flightNumber, hour, priceUsd, compliant) => ({
    optionId: `opt-${n}`,
    carrier,
    flightNumber,
    departure: `${day(14)}T${hour}:10:00.000Z`,
    arrival: `${day(14)}T${hour}:55:00.000Z`,
    priceUsd,
    cabin: "economy",
    compliant,
  });
  const options = [
    option(1, "Skylark Air", "SK 204", "08", 310, true),
    option(2, "Borealis Jet", "BJ 12", "07", 268, true),
    option(3, "Skylark Air", "SK 208", "12", 285, true),
    option(4, "Gannet Lines", "GL 5", "10", 120, true),
    option(5, "Borealis Jet", "BJ 40", "18", 790, false),
  ];
  const values = {
    modelId: command === "booking.planned" ? "demo-reasoner" : "demo-embedder",
    latencyMs: 450,
    thinkingBudget: "low",
    bookingPlan: {
      intent: "flight_booking",
      confidence: 0.95,
      parameters: {
        origin: "QZA",
        destination: "QZB",
        departure_date: day(14),
        return_date: day(16),
        cabin_class: "economy",
      },
      policy_constraints: {max_budget_usd: 500, preferred_vendors: ["Skylark Air", "Borealis Jet"]},
    },
    options,
    flightOptions: options,
    confirmationNumber: `SKL-${String(Math.floor(Math.random() * 10000)).padStart(4, "0")}`,
    errorCode: "PORTAL_DOWN",
    errorMessage: "The portal did not answer",
    fallbackUrl: "https://portal.example/search?to=QZB",
  };
  if (command === "booking.retrieved") {
    const found = await pattern(M, "TRIP-A-01", {text: booking.userRequest, threshold: 0.1}, signal).catch(
      () => ({items: []}),
    );
    values.chunks = (input) =>
      /^L/.test(input.kind) ? found.items.map((c) => (/S/.test(input.kind) ? c.id : c)) : found.items.length;
    values.maxSimilarity = found.similarities?.[0]?.similarity ?? found.similarities?.[0] ?? 0;
  }
  return fit(commandOf(M, command), values);
}

const kKey = ["employeeId", "bookingId"];
async function stepForm(name, booking, label, signal, done) {
  const command = commandOf(M, name);
  const key = fit(command, {employeeId: booking.employeeId, bookingId: booking.bookingId});
  return form(
    asAttributes(command.inputs).filter((a) => !kKey.includes(a.name)),
    {
      values: await example(name, booking, signal),
      submit: label,
      folded: "What is sent",
      onSubmit: async (input) => {
        const {data} = await run(M, name, {...key, ...input});
        toast(data.result?.status ? `Now: ${words(data.result.status).toLowerCase()}` : "Done");
        done();
      },
    },
  );
}

function choice(booking, box, done) {
  const select = commandOf(M, "booking.select");
  const place = h("div.stack");
  const act = async (name, values, text) => {
    box.tell();
    try {
      await run(
        M,
        name,
        fit(commandOf(M, name), {employeeId: booking.employeeId, bookingId: booking.bookingId, ...values}),
      );
      toast(text);
      done();
    } catch (error) {
      box.tell(errorBox(error));
    }
  };
  const time = (t) => new Date(t).toLocaleTimeString("en-GB", {hour: "2-digit", minute: "2-digit"});
  place.append(
    h(
      "ul.cards",
      (booking.flightOptions ?? []).map((o, i) =>
        h(
          "li.card",
          h(
            "div.row",
            h("h3", o.carrier),
            h("span.small.soft", o.flightNumber),
          ),
          h(
            "div.row",
            h("span.price", money.format(o.priceUsd)),
            o.compliant ? tag("within policy", "good") : tag("outside policy", "bad"),
          ),
          h(
            "p",
            h(
              "time",
              {datetime: o.departure},
              `${new Date(o.departure).toLocaleDateString("en-GB", {weekday: "short", day: "numeric", month: "short"})}, ${time(o.departure)}`,
            ),
            " to ",
            h("time", {datetime: o.arrival}, time(o.arrival)),
          ),
          h("p.small.soft", words(o.cabin)),
          select &&
            worker("button.main", `Choose ${o.flightNumber}`, () =>
              act("booking.select", {optionIndex: i + 1}, `${o.flightNumber} chosen`),
            ),
        ),
      ),
    ),
    h(
      "div.row",
      commandOf(M, "booking.present") &&
        worker("button", "Send the options again", () => act("booking.present", {}, "Sent")),
      commandOf(M, "booking.cancel") &&
        worker("button.danger", "Cancel the trip", async () => {
          if (
            await ask(
              "Cancel this trip?",
              h("p", "None of the flights is booked, and a new trip can be asked for."),
              {submit: "Cancel the trip", danger: true},
            )
          )
            await act("booking.cancel", {}, "Cancelled");
        }),
    ),
  );
  return place;
}

function outcome(booking) {
  if (booking.status === "confirmed")
    return h(
      "div.note.good",
      h("b", `Booked: ${booking.confirmationNumber}`),
      booking.selectedOption &&
        h(
          "p",
          `${booking.selectedOption.carrier} ${booking.selectedOption.flightNumber}, ${money.format(booking.selectedOption.priceUsd)}`,
        ),
    );
  if (booking.status === "cancelled")
    return h("div.note.warn", h("b", "Cancelled"), h("p", "Nothing was booked."));
  return h(
    "div.note.bad",
    h("b", "The booking failed"),
    booking.fallbackUrl
      ? h(
          "p",
          "It can be made by hand: ",
          h("a", {href: booking.fallbackUrl, rel: "noreferrer"}, booking.fallbackUrl),
        )
      : h("p", "The audit trail below says why."),
  );
}

export async function bookings(root, {rest: [employeeId, bookingId], signal}) {
  const read = async () => {
    const [booking, trail] = await Promise.all([
      pattern(M, "TRIP-A-14", {employeeId, bookingId}, signal),
      pattern(M, "TRIP-A-17", {bookingId}, signal),
    ]);
    return {booking: booking.items[0], trail: trail.items};
  };
  let now = await read();
  if (!now.booking) {
    root.append(
      header("No such booking", {crumbs: [["Trips", href([M], {employeeId})]]}),
      empty("It is not there, or not yours to see", h("a", {href: href([M])}, "To the trips")),
    );
    return;
  }
  const status = h("div.row", {role: "status"});
  root.append(
    header(now.booking.userRequest, {
      about: `${employeeId} · ${bookingId}`,
      crumbs: [["Trips", href([M], {employeeId})]],
      actions: [status],
    }),
  );
  const fresh = soon(async () => {
    audit.reload();
    await steps.reload();
    plan.reload();
  });
  const steps = panel("Progress", {
    load: async () => {
      const {booking, trail} = (now = await read());
      status.replaceChildren(statusTag(booking.status));
      const {done, next, stopped} = progress(booking, trail);
      const bar = h(
        "ol.steps",
        {"aria-label": "Ten steps"},
        kSteps.map((name, i) => {
          const state = i < done ? "done" : i > done ? "" : stopped ? "stop" : "now";
          return h("li" + (state && "." + state), {"aria-current": state === "now" ? "step" : null}, name);
        }),
      );
      const content = [bar];
      if (stopped || booking.status === "confirmed") content.push(outcome(booking));
      else if (booking.status === "options_presented")
        content.push(h("h3", "Which flight?"), choice(booking, steps, fresh));
      else if (commandOf(M, next))
        content.push(
          h("h3", kNext[next][0]),
          h("p.soft", kNext[next][1]),
          (await stepForm(next, booking, kNext[next][0], signal, fresh)).element,
        );
      else content.push(h("p.soft", "The orchestrator takes the next step; this page follows by itself."));
      if (
        !stopped &&
        ["initiated", "searching", "user_selected", "booking"].includes(booking.status) &&
        commandOf(M, "booking.fail")
      ) {
        content.push(
          h(
            "details",
            h("summary", "Let it fail instead"),
            (await stepForm("booking.fail", booking, "Fail", signal, fresh)).element,
          ),
        );
      }
      return content;
    },
  });
  const plan = panel("Plan and choice", {
    load: async () => {
      const {booking} = now;
      if (!booking.bookingPlan && !booking.selectedOption)
        return [empty("No plan yet", "It is attached in step 4."), raw(booking, "The booking as JSON")];
      return [
        booking.bookingPlan && facts(booking.bookingPlan),
        booking.selectedOption && [h("h3", "Chosen flight"), facts(booking.selectedOption)],
        raw(booking, "The booking as JSON"),
      ];
    },
  });
  const audit = panel("Audit trail", {
    load: async () => {
      const {items} = await pattern(M, "TRIP-A-17", {bookingId}, signal);
      return items.length
        ? h(
            "ul.list",
            items.map((a) =>
              h(
                "li",
                h(
                  "div.row",
                  h("h3", words(a.step)),
                  tag(a.event, a.event === "error" ? "bad" : "info"),
                  h(
                    "span.small.soft",
                    when(a.timestamp),
                    a.latencyMs !== undefined && ` · ${a.latencyMs} ms`,
                    a.modelId && ` · ${a.modelId}`,
                  ),
                ),
                a.errorCode && h("p", `${a.errorCode}: ${a.errorMessage ?? ""}`),
                (a.input || a.output) &&
                  h(
                    "details",
                    h("summary", "Input and output"),
                    facts({...(a.input && {input: a.input}), ...(a.output && {output: a.output})}),
                  ),
              ),
            ),
          )
        : empty(
            "Nothing is audited yet",
            "Each step of the workflow leaves an entry here, kept for two years.",
          );
    },
  });
  const messages = logList(
    "Messages",
    empty("None yet", "What the workflow says to this connection appears here."),
  );
  const told = panel("Messages to this page");
  told.show(messages.element);
  root.append(steps.element, h("div.columns", audit.element, h("div.stack", plan.element, told.element)));
  watch(
    M,
    [
      {entity: "Booking", partition: {employeeId, bookingId}},
      {entity: "AuditEntry", partition: {bookingId}},
    ],
    fresh,
    signal,
  );
  live(M).subscribe(
    {event: "*"},
    (m) => {
      messages.add(h("div.row", tag(m.name, "info"), when(new Date().toISOString())), facts(m.body ?? {}));
    },
    signal,
  );
}
