/** Small parts every page uses. Texts come translated. */
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import { explain } from "../api/explain";
import type { Loaded } from "../state/resource";
import { t } from "../text/text";
import { percent } from "./format";
import { Icon, type IconName } from "./icons";

export function Title({ text, about, children }: { text: string; about?: string; children?: ComponentChildren }) {
  return (
    <header class="title">
      <h1>{text}</h1>
      {children}
      {about && <p>{about}</p>}
    </header>
  );
}

export function Card({ title, children, aside, kind = "" }: { title?: ComponentChildren; children: ComponentChildren; aside?: ComponentChildren; kind?: string }) {
  return (
    <section class={`card ${kind}`}>
      {(title || aside) && (
        <header>
          {title && <h2>{title}</h2>}
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}

export function Figure({ label, value, note }: { label: string; value: ComponentChildren; note?: ComponentChildren }) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>{value}</dd>
      {note && <dd class="note">{note}</dd>}
    </div>
  );
}

/** Figures that keep their place while they load: a dash until there is a value. */
export function Figures({ children, kind = "" }: { children: ComponentChildren; kind?: "tiles" | "small" | "" }) {
  return <dl class={`figures ${kind}`}>{children}</dl>;
}

export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} style={{ width: `${96 - ((index * 17) % 38)}%` }} />
      ))}
    </div>
  );
}

export function Problem({ error, retry }: { error: ApiError; retry?: (() => void) | undefined }) {
  return (
    <p class="problem" role="alert">
      {explain(error)} {retry && error.passing && <button class="second small" onClick={retry}>{t("Try again")}</button>}
    </p>
  );
}

/** The loaded value, a skeleton before there is one, the problem when there never was. */
export function Show<T>({ of, lines, retry, children }: { of: Loaded<T>; lines?: number; retry?: () => void; children: (value: T) => ComponentChildren }) {
  if (of.value !== undefined) return <>{children(of.value)}</>;
  if (of.error) return <Problem error={of.error} retry={retry} />;
  return <Skeleton lines={lines ?? 3} />;
}

export function Empty({ icon = "nothing", title, text, children }: { icon?: IconName; title: string; text?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} size={34} />
      <b>{title}</b>
      {text && <p>{text}</p>}
      {children}
    </div>
  );
}

/** A change in percent; its direction is in the sign and the arrow as well as in the colour. */
export function Delta({ value }: { value: string | number | null | undefined }) {
  const number = Number(value ?? NaN);
  if (!Number.isFinite(number)) return <span class="delta quiet">–</span>;
  const tone = number > 0 ? "good" : number < 0 ? "bad" : "quiet";
  return <span class={`delta ${tone}`}>{percent(Math.round(number * 100) / 100, true)}</span>;
}

export function Share({ value }: { value: number }) {
  return (
    <span class="bar">
      <span class="track" aria-hidden="true">
        <i style={{ width: `${Math.min(100, Math.max(0, value))}%` }} />
      </span>
      <span class="number">{percent(value)}</span>
    </span>
  );
}

/** One of a few, as buttons side by side. */
export function Segments<T extends string>({ label, options, value, choose }: { label: string; options: readonly (readonly [T, string])[]; value: T; choose: (value: T) => void }) {
  return (
    <fieldset class="segments">
      <legend class="hidden">{label}</legend>
      {options.map(([key, name]) => (
        <label key={key}>
          <input type="radio" name={label} value={key} checked={key === value} onChange={() => choose(key)} />
          <span>{name}</span>
        </label>
      ))}
    </fieldset>
  );
}
