/** A line chart in plain SVG: light, themed by CSS, readable by a screen reader through its label. */

export interface Series {
  name: string;
  points: [number, number][];
  tone: "first" | "second";
}

const WIDTH = 640;
const HEIGHT = 220;
const PAD = { left: 4, right: 4, top: 10, bottom: 22 };

export function LineChart({ series, label, format }: { series: Series[]; label: string; format: (value: number) => string }) {
  const points = series.flatMap((one) => one.points);
  if (points.length < 2) return <p class="quiet">Not enough history yet.</p>;
  const times = points.map(([time]) => time);
  const values = points.map(([, value]) => value);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const [low, high] = [Math.min(0, ...values), Math.max(...values) || 1];
  const x = (time: number) => PAD.left + ((time - from) / (to - from || 1)) * (WIDTH - PAD.left - PAD.right);
  const y = (value: number) => HEIGHT - PAD.bottom - ((value - low) / (high - low || 1)) * (HEIGHT - PAD.top - PAD.bottom);
  const path = (one: Series) => one.points.map(([time, value], index) => `${index ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const last = series.map((one) => `${one.name} ${format(one.points.at(-1)?.[1] ?? 0)}`).join(", ");
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${label}. Latest: ${last}`} preserveAspectRatio="none">
        {[0.25, 0.5, 0.75, 1].map((share) => (
          <line key={share} x1={PAD.left} x2={WIDTH - PAD.right} y1={y(low + (high - low) * share)} y2={y(low + (high - low) * share)} class="grid" />
        ))}
        {series.map((one) => (
          <path key={one.name} d={path(one)} class={`line ${one.tone}`} vector-effect="non-scaling-stroke" />
        ))}
      </svg>
      <figcaption>
        <span>{new Date(from).toLocaleDateString()}</span>
        {series.map((one) => (
          <span key={one.name} class={`key ${one.tone}`}>
            {one.name} {format(one.points.at(-1)?.[1] ?? 0)}
          </span>
        ))}
        <span>{new Date(to).toLocaleDateString()}</span>
      </figcaption>
    </figure>
  );
}
