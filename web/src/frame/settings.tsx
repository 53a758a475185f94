/** Language, theme, and how the connection is. */
import { live, type Status } from "../live/client";
import { nodeStatus, prices } from "../state/shared";
import { useResource } from "../state/resource";
import { chooseTheme, theme, THEMES, type Theme } from "../state/theme";
import { chooseLanguage, language, languages, mark, t } from "../text/text";
import { count } from "../ui/format";

const STATES: Record<Status, string> = {
  connected: mark("Live"),
  connecting: mark("Connecting…"),
  reconnecting: mark("Reconnecting…"),
  disconnected: mark("Offline"),
};
const NAMES: Record<Theme, string> = { system: mark("Auto"), light: mark("Light"), dark: mark("Dark") };

/** Whether prices are pushed, and the newest block; it keeps the connection open on every page. */
export function LiveState() {
  useResource(prices);
  const { value, error } = useResource(nodeStatus);
  const state = live.status.value;
  const block = value && t("block {height}", { height: count(value.latest_block_height) });
  return (
    <p class="live" data-live={state}>
      <span role="status">{t(STATES[state])}</span>
      <span class="number">{error ? t("The node can't be reached") : block ? `· ${block}` : ""}</span>
    </p>
  );
}

export function Settings({ name }: { name: string }) {
  return (
    <div class="settings">
      <select id={`language-${name}`} aria-label={t("Language")} value={language.value} onChange={(event) => void chooseLanguage(event.currentTarget.value)}>
        {Object.entries(languages.value).map(([code, own]) => (
          <option key={code} value={code}>{own}</option>
        ))}
      </select>
      <select id={`theme-${name}`} aria-label={t("Theme")} value={theme.value} onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}>
        {THEMES.map((one) => (
          <option key={one} value={one}>{t(NAMES[one])}</option>
        ))}
      </select>
    </div>
  );
}
