/** The ways to the pages: a column beside them, or a row of tabs and a sheet on a phone. */
import { useState } from "preact/hooks";
import { path } from "../state/router";
import { t } from "../text/text";
import { Icon } from "../ui/icons";
import { Modal } from "../ui/modal";
import { FIRST, GROUPS, PAGES, type Page } from "./pages";
import { LiveState, Settings } from "./settings";

function Way({ page, size, leave }: { page: Page; size?: number; leave?: () => void }) {
  const ahead = () => void page.fetch();
  return (
    <a href={page.path} aria-current={page.path === path.value ? "page" : undefined} onPointerEnter={ahead} onFocus={ahead} onClick={leave}>
      <Icon name={page.icon} size={size ?? 20} /> {t(page.title)}
    </a>
  );
}

export function Brand() {
  return (
    <a class="brand" href="/">
      <img src="/icon.svg" alt="" width="28" height="28" /> Leasehold
    </a>
  );
}

export function Side() {
  return (
    <aside class="side">
      <Brand />
      <nav aria-label={t("Pages")}>
        {GROUPS.map((group) => (
          <div key={group.title}>
            {group.title && <h3>{t(group.title)}</h3>}
            {group.pages.map((page) => (
              <Way key={page.path} page={page} />
            ))}
          </div>
        ))}
      </nav>
      <div class="side-foot">
        <LiveState />
        <Settings name="side" />
      </div>
    </aside>
  );
}

export function Tabs() {
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  const behind = !FIRST.includes(path.value);
  return (
    <>
      <nav class="tabs" aria-label={t("Main pages")}>
        {PAGES.filter((page) => FIRST.includes(page.path)).map((page) => (
          <Way key={page.path} page={page} size={22} />
        ))}
        <button aria-haspopup="dialog" aria-current={behind ? "true" : undefined} onClick={() => setOpen(true)}>
          <Icon name="more" size={22} /> {t("More")}
        </button>
      </nav>
      {open && (
        <Modal title={t("All pages")} close={close} kind="sheet">
          <div class="stack">
            <nav aria-label={t("All pages")}>
              {PAGES.map((page) => (
                <Way key={page.path} page={page} leave={close} />
              ))}
            </nav>
            <Settings name="sheet" />
            <LiveState />
          </div>
        </Modal>
      )}
    </>
  );
}
