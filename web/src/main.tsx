import { render } from "preact";
import { start_live } from "./api/live";
import "./style/index.css";
import { start_keys } from "./ui/keys";
import { Shell } from "./ui/shell";

const root = document.getElementById("app");
if (root) {
    root.textContent = "";
    render(<Shell />, root);
    start_keys();
    start_live();
}
