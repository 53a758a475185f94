/** Reading the application's own source for its texts; for tests, which hold that every text can be translated. */
import ts from "typescript";

export interface Found {
  /** English texts given to `t` or `mark`. */
  texts: string[];
  /** What a person would see that cannot be translated, with its line. */
  raw: string[];
}

// Names, units and signs are the same in every language.
const SAME = /^(Leasehold|Keplr|% LTV|[^\p{Letter}]*|[×n]|·|Inter)$/u;
const SEEN = new Set(["label", "title", "text", "about", "action", "empty", "placeholder", "alt", "aria-label", "aria-valuetext", "note"]);

export function read(name: string, source: string): Found {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.ES2022, true, ts.ScriptKind.TSX);
  const found: Found = { texts: [], raw: [] };
  const note = (node: ts.Node, text: string) => {
    if (!SAME.test(text.trim())) found.raw.push(`${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${text.trim()}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && (node.expression.text === "t" || node.expression.text === "mark")) {
      const [first] = node.arguments;
      if (first && ts.isStringLiteralLike(first)) found.texts.push(first.text);
    }
    if (ts.isJsxText(node)) note(node, node.text);
    if (ts.isJsxExpression(node) && node.expression && ts.isStringLiteralLike(node.expression) && ts.isJsxElement(node.parent)) note(node, node.expression.text);
    if (ts.isJsxAttribute(node) && SEEN.has(node.name.getText(file)) && node.initializer) {
      const value = ts.isJsxExpression(node.initializer) ? node.initializer.expression : node.initializer;
      if (value && ts.isStringLiteralLike(value)) note(node, value.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}
