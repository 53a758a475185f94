/** Small parts every page uses. */
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import type { Loaded } from "../state/resource";
import { t } from "../text/text";

export function Card({ title, children, aside }: { title?: string; children: ComponentChildren; aside?: ComponentChildren }) {
  return (
    <section class="card">
      {title && (
        <header>
          <h2>{t(title)}</h2>
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
      <dt>{t(label)}</dt>
      <dd>{value}</dd>
      {note && <small>{note}</small>}
    </div>
  );
}

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} style={{ width: `${90 - index * 12}%` }} />
      ))}
    </div>
  );
}

export function Problem({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <p class="problem" role="alert">
      {error.message} {retry && error.passing && <button onClick={retry}>{t("Try again")}</button>}
    </p>
  );
}

/** The loaded value, a skeleton before there is one, the problem when there never was. */
export function Show<T>({ of, lines, children }: { of: Loaded<T>; lines?: number; children: (value: T) => ComponentChildren }) {
  if (of.value !== undefined) return <>{children(of.value)}</>;
  if (of.error) return <Problem error={of.error} />;
  return <Skeleton lines={lines ?? 3} />;
}

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  end?: boolean;
}

export function Table<T>({ columns, rows, keyOf, empty }: { columns: Column<T>[]; rows: T[]; keyOf: (row: T) => string; empty: string }) {
  if (rows.length === 0) return <p class="quiet">{t(empty)}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("Table")}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.end ? "end" : ""}>
                {t(column.title)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} data-title={column.title} class={column.end ? "end" : ""}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
