// Forms made from what a model says of its attributes, inputs and parameters.
import {h, words, errorBox, once} from "./ui.js";
import {asAttributes} from "./api.js";

let ids = 0;
const isJson = (kind) => /^(M|L|SS|NS|Any|vector)\b/.test(kind);
const isNumber = (kind) => kind === "N" || kind === "epoch";
const kHints = {
  ts: "An instant, such as 2026-02-04T10:30:00Z",
  epoch: "Unix seconds",
  uuid: "A UUID",
  ulid: "A ULID",
  M: "A JSON object",
  L: "A JSON list",
  SS: "A JSON list of texts",
  NS: "A JSON list of numbers",
  Any: "JSON, or plain text",
  encrypted: "Kept encrypted and never shown",
};
const kLong = /(description|summary|message|request|notes|rationale|text|reason)$/i;

const openChoices = (a) => a.openChoices || a.choices?.includes("…");
const shown = (v) =>
  v && typeof v === "object" ? JSON.stringify(v) : v === true ? "yes" : v === false ? "no" : String(v);

function control(a, value, props) {
  const choices = a.choices?.filter((c) => c !== "…");
  if (a.kind === "BOOL") {
    if (a.required && a.default === undefined)
      return h("input", {...props, type: "checkbox", checked: value === true, required: false});
    return h(
      "select",
      {...props, value: ""},
      ["", "true", "false"].map((v) =>
        h(
          "option",
          {value: v, selected: String(value ?? "") === v},
          {"": "not set", true: "yes", false: "no"}[v],
        ),
      ),
    );
  }
  if (choices?.length && !openChoices(a)) {
    return h(
      "select",
      props,
      h("option", {value: ""}, props.required ? "choose" : "not set"),
      choices.map((c) => h("option", {value: c, selected: c === value}, words(c))),
    );
  }
  if (isJson(a.kind)) {
    const text =
      value === undefined
        ? ""
        : a.kind === "Any" && typeof value === "string"
          ? value
          : JSON.stringify(value, null, 2);
    return h("textarea.code", {
      ...props,
      rows: Math.min(18, Math.max(4, text.split("\n").length)),
      spellcheck: "false",
      value: text,
    });
  }
  const text = value === undefined || value === null ? "" : String(value);
  if (a.kind === "S" && !a.line && (kLong.test(a.name) || text.length > 80))
    return h("textarea", {...props, rows: 3, value: text});
  const type = a.kind === "date" ? "date" : a.kind === "encrypted" ? "password" : "text";
  return h("input", {
    ...props,
    type,
    inputmode: isNumber(a.kind) ? "decimal" : null,
    value: text,
    autocomplete: "off",
  });
}

function parse(a, element) {
  if (element.type === "checkbox") return element.checked;
  const text = element.value;
  if (text.trim() === "") return undefined;
  if (a.kind === "BOOL") return text === "true";
  if (isNumber(a.kind)) {
    if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim())) {
      if (a.kind === "epoch" && !Number.isNaN(Date.parse(text))) return text.trim();
      throw new Error("This must be a number.");
    }
    // All 38 digits arrive where the browser can say them.
    return Number.isSafeInteger(Number(text)) || !JSON.rawJSON ? Number(text) : JSON.rawJSON(text.trim());
  }
  if (isJson(a.kind)) {
    try {
      const value = JSON.parse(text);
      if (a.kind === "M" && (typeof value !== "object" || Array.isArray(value)))
        throw new Error('This must be a JSON object, as in {"a": 1}.');
      if (/^(L|SS|NS)/.test(a.kind) && !Array.isArray(value))
        throw new Error("This must be a JSON list, as in [1, 2].");
      return value;
    } catch (error) {
      if (a.kind === "Any" || a.kind.startsWith("vector")) return text;
      throw error instanceof SyntaxError ? new Error("This is not JSON: " + error.message) : error;
    }
  }
  return a.kind === "S" ? text : text.trim();
}

export function field(attribute, value) {
  const a = attribute;
  const id = `f${ids++}`;
  const needed = a.required && a.default === undefined && !a.made;
  const hint = [
    a.description,
    a.fields
      ? `A JSON object with ${a.fields.map((f) => f.name).join(", ")}`
      : kHints[a.kind.replace(/[[(].*/, "")],
    a.dimensions && `${a.dimensions} numbers as a JSON list, or Base64`,
    a.made && "Made by the server unless given",
    a.default !== undefined && `Unless given: ${shown(a.default)}`,
    a.min !== undefined && `At least ${a.min}`,
    a.max !== undefined && `At most ${a.max}`,
  ]
    .filter(Boolean)
    .join(". ");
  const input = control(a, value, {id, name: a.name, required: needed, "aria-describedby": `${id}h ${id}e`});
  const list =
    openChoices(a) &&
    h(
      "datalist",
      {id: `${id}l`},
      a.choices.filter((c) => c !== "…").map((c) => h("option", {value: c})),
    );
  if (list) input.setAttribute("list", `${id}l`);
  const wrong = h("div.wrong", {id: `${id}e`});
  const label = h("label", {for: id}, words(a.label ?? a.name), " ", h("span", needed ? "required" : ""));
  const check = input.type === "checkbox";
  const element = h(
    "div.field" + (check ? ".check" : input.tagName === "TEXTAREA" ? ".full" : ""),
    check ? [input, label] : [label, input],
    list,
    hint && h("div.hint", {id: `${id}h`}, hint),
    wrong,
  );
  const complain = (text) => {
    wrong.textContent = text ?? "";
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  const read = () => {
    try {
      const result = parse(a, input);
      if (result === undefined && needed) throw new Error("This is required.");
      complain();
      return result;
    } catch (error) {
      complain(error.message);
      return error;
    }
  };
  // A complaint goes while typing, not when the field is left: the button that is being pressed must not move away.
  input.addEventListener("input", () => complain());
  input.addEventListener("change", read);
  return {name: a.name, element, input, read, complain};
}

const weight = ({input}) => (input.required ? 0 : 2) + (input.matches(".code") ? 1 : 0);

// onSubmit gets the values; what it throws is shown in words, at the fields that it is about where it says so.
export function form(attributes, {values = {}, submit, onSubmit, extra, note, folded, inline}) {
  // What is needed comes first, and what is large comes after what is small.
  const fields = asAttributes(attributes)
    .map((a) => field(a, values[a.name]))
    .sort((a, b) => weight(a) - weight(b));
  const answer = h("div.stack", {"aria-live": "polite"});
  const button = h("button.main", {type: "submit"}, submit);
  const rows = fields.map((f) => f.element);
  const grid = rows.length ? h("div.fields", rows) : null;
  const read = () => {
    const out = {};
    let first;
    for (const f of fields) {
      const value = f.read();
      if (value instanceof Error) first ??= f;
      else if (value !== undefined) out[f.name] = value;
    }
    first?.input.closest("details")?.setAttribute("open", "");
    first?.input.focus();
    return first ? null : out;
  };
  const send = async (input) => {
    try {
      const shown = await onSubmit(input);
      answer.replaceChildren(...[shown].flat(Infinity).filter(Boolean));
    } catch (error) {
      if (error.name === "AbortError") return;
      const violations = error.details?.violations ?? [];
      if (violations.length) grid?.closest("details")?.setAttribute("open", "");
      for (const v of violations) {
        fields.find((f) => f.name === String(v.path).split(/[.[]/)[0])?.complain(v.message ?? v.rule);
      }
      answer.replaceChildren(errorBox(error, error.action));
    }
  };
  const element = h(
    inline ? "form.inline" : "form",
    {
      novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        const input = read();
        if (input) once(button, () => send(input));
      },
    },
    note,
    grid && (folded ? h("details", h("summary", folded), grid) : grid),
    extra,
    h("div.row", button),
    answer,
  );
  return {element, fields, answer, button, read};
}
