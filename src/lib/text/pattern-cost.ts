const MAX_CLASSES = 5;
/** The steps of one pattern, before the engine makes them fewer. */
export const MAX_EXPECTED_STEPS = 2_000;
const QUOTED = String.raw`\\Q[^]*?(?:\\E|$)`;
const ESCAPE = String.raw`\\[^]`;
const CLASS = String.raw`\[\^?\]?(?:\[:\^?\w*:\]|\\[^]|[^\]\\])*\]`;
const FLAGS = String.raw`\(\?[A-Za-z-]*\)`;
const BEGIN = String.raw`\((?:\?[A-Za-z-]*(?::|<\w*>))?`;
const REPETITION = String.raw`\{(\d+)(?:(,)(\d*))?\}`;
const TOKEN = new RegExp(`${QUOTED}|${ESCAPE}|${CLASS}|${FLAGS}|${BEGIN}|${REPETITION}|[^]`, 'g');

/** Where case is ignored, the engine looks at every character of a range, and wide ones have 125,000. */
const OUTSIDE_LATIN_1 = /[\u{100}-\u{10ffff}]|\\x\{0*[1-9a-fA-F][0-9a-fA-F]{2}/u;

/** Why a pattern could hold up the engine, which compiles before it counts; null: it cannot. */
export function costProblem(source: string): string | null {
  if (OUTSIDE_LATIN_1.test(source)) return 'has characters outside Latin-1: paths and headers have none';
  if ((source.match(/\\p/gi) ?? []).length > MAX_CLASSES)
    return `has too many classes such as "\\pL": at most ${MAX_CLASSES}`;
  const steps = expectedSteps(source);
  return steps > MAX_EXPECTED_STEPS ? `is too large: its repetitions expand to about ${steps} steps` : null;
}

/** As many steps as the repetitions of a pattern expand to, before the engine shortens them. */
export function expectedSteps(source: string): number {
  const outer: number[] = [];
  let [sum, last] = [0, 0];
  for (const [token, least, comma, most] of source.matchAll(TOKEN)) {
    if (token === ')') {
      last = sum;
      sum += outer.pop() ?? 0;
    } else if (least !== undefined) {
      const times = Math.max(Number(least) + (comma === undefined ? 0 : 1), Number(most ?? 1), 1);
      sum += last * (times - 1);
      last *= times;
    } else if (token.startsWith('(') && !token.endsWith(')')) {
      outer.push(sum);
      [sum, last] = [2, 0];
    } else {
      last = token.startsWith('\\Q') ? token.length : 1;
      sum += token.length;
    }
  }
  return outer.reduce((all, each) => all + each, sum);
}
