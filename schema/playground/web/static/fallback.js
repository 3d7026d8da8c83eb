// The small playground: fills the form with prepared operations and shows what comes back.
import { operations } from "./operations.js";

const form = document.getElementById("run");
const { example, query, variables, token } = form.elements;
const status = document.getElementById("status");
const result = document.getElementById("result");
const examples = operations(form.dataset);

for (const { title } of examples) example.add(new Option(title));
for (const part of [example, ...example.labels]) part.hidden = false;
example.addEventListener("change", fill);
form.addEventListener("submit", run);
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
fill();

function fill() {
  const chosen = examples[example.selectedIndex];
  query.value = chosen.query;
  variables.value = chosen.variables;
  token.value = chosen.token;
}

async function run(event) {
  event.preventDefault();
  const request = { query: query.value };
  try {
    if (variables.value.trim()) request.variables = JSON.parse(variables.value);
  } catch (error) {
    show("bad", "The variables are not JSON.", error.message);
    return;
  }
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  if (token.value.trim()) headers.Authorization = `Bearer ${token.value.trim()}`;
  show("", "Waiting for the answer …", "");
  const began = performance.now();
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", headers, body: JSON.stringify(request) });
    const text = await answer.text();
    const took = `status ${answer.status} · ${Math.round(performance.now() - began)} ms`;
    let shown = text;
    let failed = !answer.ok;
    try {
      const json = JSON.parse(text);
      failed ||= json.errors?.length > 0;
      shown = JSON.stringify(json, null, 2);
    } catch {
      failed = true; // not JSON: shown as it is
    }
    show(failed ? "bad" : "good", failed ? `Refused · ${took}` : `Answered · ${took}`, shown);
  } catch (error) {
    show("bad", "The service could not be reached.", error.message);
  }
}

function show(mood, line, text) {
  status.className = mood;
  status.textContent = line;
  result.textContent = text;
}
