/** Tools for agents in the browser: they read and navigate, they never sign or send. */
import { get } from "../api/client";
import { go } from "../state/router";
import { choosing } from "../wallet/dialog";
import { account } from "../wallet/wallet";

interface Tool {
  name: string;
  description: string;
  inputSchema: object;
  execute(input: Record<string, unknown>): Promise<{ content: { type: "text"; text: string }[] }>;
}
interface ModelContext {
  registerTool?(tool: Tool): void;
  provideContext?(context: { tools: Tool[] }): void;
}

const PATHS = ["/", "/assets", "/earn", "/leases", "/stake", "/governance", "/account", "/stats", "/chain"];
const NOTHING = { type: "object", properties: {} };

function text(value: unknown) {
  return { content: [{ type: "text" as const, text: typeof value === "string" ? value : JSON.stringify(value) }] };
}

export const TOOLS: Tool[] = [
  {
    name: "get_connected_account",
    description: "The address and name of the connected wallet, or null when none is connected.",
    inputSchema: NOTHING,
    execute: async () => text(account.value),
  },
  {
    name: "get_portfolio",
    description: "Balances, leases, earn positions and stakes of the connected wallet.",
    inputSchema: NOTHING,
    execute: async () => {
      const address = account.value?.address;
      if (!address) return text("No wallet is connected. Use open_wallet_connect and let the person choose one.");
      const [balances, leases, earn, staking] = await Promise.all([
        get("/api/balances", { address }),
        get("/api/leases", { address }),
        get("/api/earn/positions", { address }),
        get("/api/staking/positions", { address }),
      ]);
      return text({ address, balances, leases, earn, staking });
    },
  },
  {
    name: "open_wallet_connect",
    description: "Opens the dialog in which the person chooses a wallet. It connects nothing by itself.",
    inputSchema: NOTHING,
    execute: async () => {
      choosing.value = true;
      return text("The wallet dialog is open; the person has to choose.");
    },
  },
  {
    name: "navigate",
    description: `Shows a page of the application: one of ${PATHS.join(", ")}.`,
    inputSchema: { type: "object", properties: { path: { type: "string", enum: PATHS } }, required: ["path"] },
    execute: async ({ path }) => {
      if (typeof path !== "string" || !PATHS.includes(path)) return text(`There is no page ${String(path)}.`);
      go(path);
      return text(`Showing ${path}.`);
    },
  },
];

export function registerTools(): void {
  const context = (navigator as { modelContext?: ModelContext }).modelContext;
  if (!context) return;
  if (context.registerTool) for (const tool of TOOLS) context.registerTool(tool);
  else context.provideContext?.({ tools: TOOLS });
}
