import { describe, expect, it } from "vitest";
import { ceiling, nearest, span, thinned, type Point } from "./chart";

describe("a chart", () => {
  it("ends its axis on a number people say, at or above the highest value", () => {
    for (const value of [0.0031, 0.9, 7, 95, 1234, 5_000_001]) {
      expect(ceiling(value)).toBeGreaterThanOrEqual(value);
      expect(ceiling(value)).toBeLessThanOrEqual(value * 2);
    }
    expect(ceiling(0)).toBe(1);
  });

  it("begins amounts at nothing and prices near their lowest", () => {
    expect(span([40, 50], true)).toEqual([0, 60]);
    const [low, high] = span([40, 50], false);
    expect(low).toBeGreaterThan(30);
    expect(high).toBeLessThan(60);
  });

  it("finds the point nearest to a time", () => {
    const points: Point[] = [[0, 1], [10, 2], [20, 3]];
    expect([-5, 4, 6, 14, 16, 99].map((time) => nearest(points, time))).toEqual([0, 0, 1, 1, 2, 2]);
  });

  it("draws no more points than a screen has columns, the first and the last among them", () => {
    const many = Array.from({ length: 2000 }, (_, index): Point => [index, index]);
    const kept = thinned(many, 100);
    expect(kept.length).toBe(100);
    expect([kept[0], kept.at(-1)]).toEqual([many[0], many.at(-1)]);
  });
});
