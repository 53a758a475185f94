import { render } from "preact";
import { registerTools } from "./agent/webmcp";
import { App } from "./app";
import { loadLanguage } from "./text/text";
import "./styles.css";

const root = document.getElementById("app");
if (root) render(<App />, root);
registerTools();
void loadLanguage();
