/** An area chart in plain SVG: themed by CSS, read by pointer, finger or arrow keys, and by a screen reader through its label. */
import { useState } from "preact/hooks";
import { t } from "../text/text";
import { day, hour, when } from "./format";
import { Empty } from "./parts";

export type Point = [time: number, value: number];
export interface Series {
  name: string;
  points: Point[];
  tone: "first" | "second";
}

const WIDTH = 1000;
const HEIGHT = 240;
const TICKS = 4;
// Below two days the hour tells more than the day.
const SHORT_MS = 2 * 86_400_000;

/** A round number at or above a value, so that ticks are numbers people say. */
export function ceiling(value: number): number {
  if (value <= 0) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].find((one) => one * magnitude >= value) ?? 10) * magnitude;
}

/** The range of values a chart spans: from nothing for amounts, around them for prices. */
export function span(values: number[], fromZero: boolean): [number, number] {
  const high = Math.max(...values);
  if (fromZero) return [0, ceiling(high)];
  const low = Math.min(...values);
  const room = (high - low || high || 1) * 0.12;
  return [Math.max(0, low - room), high + room];
}

export function AreaChart({ series, label, format, tick: ticked = format, fromZero = true, kind = "" }: { series: Series[]; label: string; format: (value: number) => string; tick?: (value: number) => string; fromZero?: boolean; kind?: "short" | "" }) {
  const [at, setAt] = useState<number | null>(null);
  const longest = series.reduce<Point[]>((most, one) => (one.points.length > most.length ? one.points : most), []);
  if (longest.length < 2) return <Empty icon="stats" title={t("Not enough history yet.")} />;
  const [from, to] = [longest[0]?.[0] ?? 0, longest.at(-1)?.[0] ?? 0];
  const [low, high] = span(series.flatMap((one) => one.points.map(([, value]) => value)), fromZero);
  const x = (time: number) => (time - from) / (to - from || 1);
  const y = (value: number) => 1 - (value - low) / (high - low || 1);
  const line = (points: Point[]) => points.map(([time, value], index) => `${index ? "L" : "M"}${(x(time) * WIDTH).toFixed(1)} ${(y(value) * HEIGHT).toFixed(1)}`).join("");
  const ticks = Array.from({ length: TICKS + 1 }, (_, index) => low + ((high - low) * index) / TICKS);
  const chosen = at === null ? null : longest[Math.min(at, longest.length - 1)];
  const point = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const time = from + ((event.clientX - box.left) / box.width) * (to - from);
    setAt(nearest(longest, time));
  };
  const step = (event: KeyboardEvent) => {
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const stride = Math.max(1, Math.round(longest.length / 60));
    setAt(Math.min(longest.length - 1, Math.max(0, (at ?? longest.length - 1) + by * stride)));
  };
  const latest = series.map((one) => `${one.name} ${format(one.points.at(-1)?.[1] ?? 0)}`).join(", ");
  return (
    <figure class="chart">
      <div class={`plot ${kind}`} role="img" tabIndex={0} aria-label={`${label}. ${t("Latest: {values}", { values: latest })}`} onPointerMove={point} onPointerDown={point} onPointerLeave={() => setAt(null)} onBlur={() => setAt(null)} onKeyDown={step}>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {ticks.map((tick) => (
            <line key={tick} x1={0} x2={WIDTH} y1={y(tick) * HEIGHT} y2={y(tick) * HEIGHT} class="rule" />
          ))}
          {series.map((one) => (
            <g key={one.name} class={one.tone}>
              <path d={`${line(one.points)}L${(x(one.points.at(-1)?.[0] ?? to) * WIDTH).toFixed(1)} ${HEIGHT}L${(x(one.points[0]?.[0] ?? from) * WIDTH).toFixed(1)} ${HEIGHT}Z`} fill="currentColor" fill-opacity="0.1" stroke="none" />
              <path d={line(one.points)} class={`line ${one.tone}`} />
            </g>
          ))}
          {chosen && <line x1={x(chosen[0]) * WIDTH} x2={x(chosen[0]) * WIDTH} y1={0} y2={HEIGHT} class="cursor" />}
        </svg>
        {ticks.map((tick) => (
          <span key={tick} class="tick" style={{ top: `${y(tick) * 100}%` }} aria-hidden="true">{ticked(tick)}</span>
        ))}
        {chosen && <Tip series={series} time={chosen[0]} x={x(chosen[0])} y={y} format={format} />}
      </div>
      <figcaption class="days" aria-hidden="true">
        {[0, 1 / 3, 2 / 3, 1].map((share) => (
          <span key={share}>{(to - from < SHORT_MS ? hour : day)(from + (to - from) * share)}</span>
        ))}
      </figcaption>
    </figure>
  );
}

function Tip({ series, time, x, y, format }: { series: Series[]; time: number; x: number; y: (value: number) => number; format: (value: number) => string }) {
  const shown = series.map((one) => ({ ...one, value: one.points[nearest(one.points, time)]?.[1] ?? 0 }));
  return (
    <>
      {shown.map((one) => (
        <i key={one.name} class="mark" style={{ left: `${x * 100}%`, top: `${y(one.value) * 100}%`, background: `var(--${one.tone})` }} />
      ))}
      <div class="tip" role="status" style={x < 0.55 ? { left: `calc(${x * 100}% + .8rem)` } : { right: `calc(${(1 - x) * 100}% + .8rem)` }}>
        <small>{when(time)}</small>
        {shown.map((one) => (
          <div key={one.name}>
            <span>{one.name}</span>
            <b>{format(one.value)}</b>
          </div>
        ))}
      </div>
    </>
  );
}

/** The index of the point nearest to a time, of points in order of time. */
export function nearest(points: Point[], time: number): number {
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.[0] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  const before = points[low - 1];
  return before && time - before[0] < (points[low]?.[0] ?? Infinity) - time ? low - 1 : low;
}

/** Names of the series with a figure each. */
export function Keys({ series, format }: { series: Series[]; format: (value: number) => string }) {
  return (
    <div class="keys">
      {series.map((one) => (
        <span key={one.name} style={{ "--tone": `var(--${one.tone})` }}>
          <small>{one.name}</small>
          <b>{format(one.points.at(-1)?.[1] ?? 0)}</b>
        </span>
      ))}
    </div>
  );
}

/** At most so many points, evenly chosen, the last one kept: a screen has no more columns. */
export function thinned(points: Point[], most = 360): Point[] {
  if (points.length <= most) return points;
  const stride = (points.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => points[Math.round(index * stride)] as Point);
}
