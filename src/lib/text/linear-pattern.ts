import type { RE2JS } from 're2js';
import { costProblem } from './pattern-cost.ts';

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
