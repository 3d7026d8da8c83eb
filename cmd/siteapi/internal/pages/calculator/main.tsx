// Starts the calculator. README.md explains how to use it on another site.
import { render } from "preact";
import { Calculator } from "./calculator.js";
import { newService } from "./service.js";
import { separateTexts } from "../translation.js";
import "./calculator.css";

const root = document.getElementById("calculator")!;
const preview = new URLSearchParams(location.search).has("preview") ? root.dataset.preview : "";
root.replaceChildren();
separateTexts();
render(<Calculator service={newService(root.dataset.service ?? "", root.dataset.mails === "on", preview)} />, root);
