import preact from "@preact/preset-vite";
import { defineConfig } from "vite";

const backend = process.env.LEASEHOLD_APP_API ?? "http://127.0.0.1:8080";

// Built into the Python package: the application API serves it.
export default defineConfig({
  plugins: [preact()],
  build: {
    outDir: "../src/leasehold/app_api/static",
    emptyOutDir: true,
    target: "es2022",
    reportCompressedSize: true,
    // The signing chunk is loaded when somebody connects a wallet, never before.
    chunkSizeWarningLimit: 2000,
  },
  server: { proxy: { "/api": backend, "/ws": { target: backend.replace("http", "ws"), ws: true } } },
});
