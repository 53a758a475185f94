/** Where the person is: the path, kept in the address bar. */
import { signal } from "@preact/signals";

export const path = signal(location.pathname);

export function go(to: string): void {
  if (to === path.value) return;
  history.pushState(null, "", to);
  path.value = to;
  scrollTo(0, 0);
  document.getElementById("content")?.focus();
}

addEventListener("popstate", () => {
  path.value = location.pathname;
});

/** Follow links inside the application without a page load. */
document.addEventListener("click", (event) => {
  const link = (event.target as Element | null)?.closest?.("a[href^='/']");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey) return;
  const href = link.getAttribute("href") ?? "";
  if (href.startsWith("/api")) return;
  event.preventDefault();
  go(href);
});
