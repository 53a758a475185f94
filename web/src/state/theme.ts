/** Light or dark: the system's choice until the person makes one, which is kept (public/theme.js applies it early). */
import { signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const STORED = "theme";

const read = (): Theme => THEMES.find((one) => one === localStorage.getItem(STORED)) ?? "system";
export const theme = signal<Theme>(read());

export function chooseTheme(wanted: Theme): void {
  theme.value = wanted;
  if (wanted === "system") {
    localStorage.removeItem(STORED);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(STORED, wanted);
    document.documentElement.dataset.theme = wanted;
  }
}
