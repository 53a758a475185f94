// One browser for all scripts: prints where to connect, and ends with its standard input.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.WEB}/package.json`);
const { chromium } = require("playwright-core");
const SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

const server = await chromium.launchServer({ executablePath: process.env.CHROMIUM, args: SWITCHES, host: "127.0.0.1", timeout: 240_000 });
console.log(server.wsEndpoint());
process.stdin.resume();
process.stdin.on("end", async () => {
  await server.close();
  process.exit(0);
});
