// Starts the calculator. README.md says how it is taken into a site of one's own.
import { render } from "preact";
import { Calculator } from "./calculator.js";
import { newService } from "./service.js";
import "./calculator.css";

const root = document.getElementById("calculator")!;
root.replaceChildren();
render(<Calculator service={newService(root.dataset.service ?? "")} />, root);
