import type { RE2JS } from 're2js';

/** Takes linear time on every text, unlike `RegExp`. The engine takes 25 ms and some MB, so it is loaded on demand. */
export interface LinearPattern {
  /** Instructions of its program: memory, and time per character, grow with it. */
  readonly size: number;
  /** The same for a match, which also copies groups: measured, 30 of them take as long again. */
  readonly matchSize: number;
  /** How many groups it has. */
  readonly groupCount: number;
  test(text: string): boolean;
  /** The whole match and its groups, where the pattern matches first; null: nowhere. */
  match(text: string): readonly (string | undefined)[] | null;
}

const MAX_SIZE = 1_000;

let engine: typeof RE2JS | null = null;
let loading: Promise<void> | null = null;

/** Null: it is loaded. */
export function loadPatternEngine(): Promise<void> | null {
  if (engine !== null) return null;
  loading ??= import('re2js').then((module) => {
    engine = module.RE2JS;
  });
  return loading;
}

/** In the syntax of RE2. Throws unless the engine is loaded. */
export function compilePattern(source: string): LinearPattern | { readonly problem: string } {
  if (engine === null) throw new Error('the engine for patterns is not loaded');
  const costly = costProblem(source);
  if (costly !== null) return { problem: costly };
  let pattern: RE2JS;
  try {
    pattern = engine.compile(source);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'it cannot be parsed';
    return { problem: `is not a regular expression in the syntax of RE2: ${why}` };
  }
  const size = pattern.programSize();
  if (size > MAX_SIZE) return { problem: `is too large: its repetitions expand to ${size} steps, at most ${MAX_SIZE}` };
  const groupCount = pattern.groupCount();
  return {
    size,
    matchSize: Math.ceil(size * (1 + groupCount / 30)),
    groupCount,
    test: (text) => pattern.test(text),
    match: (text) => matchOf(pattern, text),
  };
}

function matchOf(pattern: RE2JS, text: string): readonly (string | undefined)[] | null {
  // Most patterns do not match, and a test is up to a thousand times as fast.
  if (!pattern.test(text)) return null;
  const matcher = pattern.matcher(text);
  if (!matcher.find()) return null;
  return Array.from({ length: pattern.groupCount() + 1 }, (_, group) => matcher.group(group) ?? undefined);
}

/** Steps of all patterns of a module, in whose order a text may be tried against each. */
const MAX_TOTAL_SIZE = 4_000;
/** Before the engine makes them fewer. */
const MAX_TOTAL_EXPECTED = 2 * MAX_TOTAL_SIZE;
/** Steps times characters that one text may take: the worst patterns found take 100 ns for each. */
const MAX_WORK = 1_000_000;
/** The same for the one match with its groups, whose steps take longer. */
const MAX_MATCH_WORK = 500_000;
/** No path or program of a person is longer. */
const MAX_LENGTH = 2_048;

/**
 * Whether patterns are too large together to be compiled at all. Those that are too large alone are refused without
 * that.
 */
export function areTooLargeTogether(sources: readonly string[]): boolean {
  const steps = sources.map(expectedSteps).filter((each) => each <= MAX_EXPECTED_STEPS);
  return steps.reduce((total, each) => total + each, 0) > MAX_TOTAL_EXPECTED;
}

/** The sizes of compiled patterns. */
export function isTooLarge(totalSize: number): boolean {
  return totalSize > MAX_TOTAL_SIZE;
}

/** The longest text that patterns of this size may read: the time of a test, and of a match, grows with both. */
export function maxTextLength(totalSize: number, largestMatchSize = 1): number {
  const forMatch = Math.floor(MAX_MATCH_WORK / Math.max(1, largestMatchSize));
  return Math.min(MAX_LENGTH, Math.floor(MAX_WORK / Math.max(1, totalSize)), forMatch);
}

const MAX_CLASSES = 5;
/** The steps of one pattern, before the engine makes them fewer. */
const MAX_EXPECTED_STEPS = 2_000;
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
function costProblem(source: string): string | null {
  if (OUTSIDE_LATIN_1.test(source)) return 'has characters outside Latin-1: paths and headers have none';
  if ((source.match(/\\p/gi) ?? []).length > MAX_CLASSES)
    return `has too many classes such as "\\pL": at most ${MAX_CLASSES}`;
  const steps = expectedSteps(source);
  return steps > MAX_EXPECTED_STEPS ? `is too large: its repetitions expand to about ${steps} steps` : null;
}

/** As many steps as the repetitions of a pattern expand to, before the engine shortens them. */
function expectedSteps(source: string): number {
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
