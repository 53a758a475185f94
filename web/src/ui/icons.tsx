/** Line icons on a grid of 20, drawn with the text's colour. */
const PATHS = {
  overview: "M3 10.5 10 4l7 6.5M5 9v7h10V9M8.5 16v-4h3v4",
  assets: "M10 3.5c3.6 0 6 .9 6 2.2S13.6 8 10 8 4 7 4 5.7s2.4-2.2 6-2.2ZM4 5.7v4.1C4 11 6.4 12 10 12s6-1 6-2.2V5.7M4 10v4.2c0 1.3 2.4 2.3 6 2.3s6-1 6-2.3V10",
  earn: "M10 17V9m0 0C10 6 8 4.500 4.500 4.500 4.500 7.500 6.500 9 10 9Zm0 2.500c0-2.500 1.800-4 5.500-4 0 2.800-2 4-5.500 4Z",
  leases: "M3.500 14 8 9.500l3 3 5.500-6M12.500 6.500h4v4",
  swap: "M4 7.500h11m-3-3 3 3-3 3M16 12.500H5m3-3-3 3 3 3",
  stake: "M10 3.500 16 6v4c0 3.400-2.400 5.600-6 6.500C6.400 15.600 4 13.400 4 10V6l6-2.500Zm-2.500 6.300 1.800 1.800 3.200-3.400",
  governance: "M4 16.500h12M5.500 16V9.500m3 6.500V9.500m3 6.500V9.500m3 6.500V9.500M3.500 8.500h13L10 4 3.500 8.500Z",
  account: "M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 6.500c.6-3 2.900-4.500 6-4.500s5.400 1.500 6 4.500",
  stats: "M4 16.500v-5m4 5V7m4 9.500v-7m4 7V4",
  chain: "m10 3.500 5.600 3.200v6.600L10 16.500l-5.600-3.200V6.700L10 3.500Zm0 6.500 5.600-3.300M10 10v6.500M10 10 4.400 6.700",
  more: "M4.500 10h.01M10 10h.01M15.500 10h.01",
  close: "m5.500 5.500 9 9m0-9-9 9",
  flip: "M7 4v12m0 0-3-3m3 3 3-3M13 16V4m0 0-3 3m3-3 3 3",
  nothing: "M4 7.500 10 4l6 3.500v5L10 16l-6-3.500v-5Zm0 0 6 3.500m0 0 6-3.500M10 11v5",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
