import { render } from "preact";
import { registerTools } from "./agent/webmcp";
import { App } from "./app";
import { lastLanguage, loadLanguage } from "./text/text";
import { restore } from "./wallet/wallet";
import "./styles/tokens.css";
import "./styles/frame.css";
import "./styles/parts.css";
import "./styles/forms.css";
import "./styles/pages.css";

// A first visit in another language waits a moment for its texts, so that the page does not change under the reader.
const LONGEST_WAIT_MS = 600;

async function start(): Promise<void> {
  const ready = lastLanguage();
  const loading = loadLanguage();
  if (!ready) await Promise.race([loading, new Promise((resolve) => setTimeout(resolve, LONGEST_WAIT_MS))]);
  restore();
  const root = document.getElementById("app");
  if (root) render(<App />, root);
  registerTools();
}

void start();
