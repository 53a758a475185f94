/** Rows and columns; on a phone every row becomes a small list with the columns' names. */
import type { ComponentChildren } from "preact";
import { Empty } from "./parts";

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  end?: boolean;
}

export function Table<T>({ label, columns, rows, keyOf, empty }: { label: string; columns: Column<T>[]; rows: T[]; keyOf: (row: T) => string; empty: string }) {
  if (rows.length === 0) return <Empty title={empty} />;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.end ? "end" : ""}>
                {column.title || <span class="hidden">·</span>}
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
