import type { Environment, ParseResult } from '@marcbachmann/cel-js';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { loadPart } from '../../../kit/load-part.ts';
import { KSUID_PATTERN } from '../../../kit/text/ksuid.ts';
import { checkFilter, durationMs, invalidFilter, type Known } from './check-filter.ts';

export type ItemFilter = (item: JsonObject) => boolean;

type CelError = Error & {
  readonly code?: string;
  readonly summary?: string;
  readonly range?: { readonly start: number };
};

let language: FilterLanguage | null = null;

/** A filter over items of a list with this schema. Rejects what is not a filter, naming the place. */
export async function compileFilter(text: string, item: Known, nowMs: number): Promise<ItemFilter> {
  language ??= await FilterLanguage.load();
  const loaded = language;
  const parsed = parse(loaded, text);
  checkFilter(parsed.ast, item);
  const now = new Date(nowMs);
  return (each) => loaded.matches(parsed, each, now);
}

function parse(loaded: FilterLanguage, text: string): ParsedFilter {
  try {
    return loaded.parse(text);
  } catch (error) {
    const { code, summary, message, range } = error as CelError;
    throw invalidFilter(
      code === 'limit_exceeded' ? `the expression is too large: ${summary}` : inWords(summary ?? message),
      range,
    );
  }
}

/** The parser names the end of the text by its token. */
function inWords(problem: string): string {
  return problem.endsWith(' EOF') ? 'the expression ends too early' : problem;
}

/** Limits of one expression. With the allowed operations, its cost is linear in the size of the item. */
const LIMITS = { maxAstNodes: 200, maxDepth: 24, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 4 };
const TIME = 'google.protobuf.Timestamp';

const ORDER = {
  '<': (left: number, right: number) => left < right,
  '<=': (left: number, right: number) => left <= right,
  '>': (left: number, right: number) => left > right,
  '>=': (left: number, right: number) => left >= right,
} as const;

type ParsedFilter = ParseResult;

/** CEL as filters use it. The library is loaded with the first filter: most servers never see one. */
class FilterLanguage {
  readonly #environment: Environment;

  private constructor(environment: Environment) {
    this.#environment = environment;
  }

  static async load(): Promise<FilterLanguage> {
    const { Environment } = await loadPart(() => import('@marcbachmann/cel-js'));
    const environment = new Environment({ limits: LIMITS, homogeneousAggregateLiterals: false })
      .registerVariable('obj', 'map')
      .registerVariable('time', 'map')
      .registerFunction(`timestamp(${TIME}): ${TIME}`, (time: Date) => time)
      .registerFunction(`${TIME}.add(string): ${TIME}`, (time: Date, text: string) => moved(time, durationMs(text)))
      .registerFunction(`${TIME}.subtract(string): ${TIME}`, (time: Date, text: string) =>
        moved(time, -(durationMs(text) ?? Number.NaN)),
      );
    // Documents contain times as text.
    for (const [operator, compare] of Object.entries(ORDER)) {
      environment.registerOperator(`string ${operator} ${TIME}`, (text: string, time: Date) =>
        compare(Date.parse(text), time.getTime()),
      );
      environment.registerOperator(`${TIME} ${operator} string`, (time: Date, text: string) =>
        compare(time.getTime(), Date.parse(text)),
      );
    }
    return new FilterLanguage(environment);
  }

  parse(text: string): ParsedFilter {
    return this.#environment.parse(text);
  }

  /** Whether the item has what the filter asks for. What cannot be compared, such as null with a time, does not. */
  matches(filter: ParsedFilter, item: JsonObject, now: Date): boolean {
    try {
      return filter({ obj: item, time: { now } }) === true;
    } catch {
      return false;
    }
  }
}

function moved(time: Date, ms: number | null): Date {
  return new Date(time.getTime() + (ms ?? Number.NaN));
}

/**
 * Texts that people know the resource with this id by, such as the hosts of an edge; none if the caller may not read
 * it.
 */
export type TextsOfId = (id: string) => Iterable<string>;

const MAX_WORDS = 8;
const ID = new RegExp(`^[a-z]+_${KSUID_PATTERN}$`);
const KSUID_LENGTH = 27;
/** Shorter parts of an id occur in many. */
const MIN_ID_LENGTH = 8;
/** The same in every item, or nothing that people type. */
const SKIPPED = /^(uri|etag|.+_at|.+_pem|timings|next_page_uri)$/;
/** Numbers that people look for; others occur everywhere. */
const NUMBERS: ReadonlySet<string> = new Set(['status', 'status_code', 'revision']);

/** Items in whose texts every word occurs, in any case, or in those of a resource that they refer to. */
export function textFilter(text: string, textsOfId: TextsOfId): ItemFilter {
  const words = [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== '').slice(0, MAX_WORDS);
  // One text for each id: a word never spans two lines.
  const known = new Map<string, string>();
  const ofId = (id: string): string => {
    let texts = known.get(id);
    if (texts === undefined) {
      texts = '';
      for (const each of textsOfId(id)) if (!isId(each)) texts += `\n${each}`;
      texts = texts.toLowerCase();
      known.set(id, texts);
    }
    return texts;
  };
  return (item) => {
    const missing = new Set(words);
    take(missing, item, '', ofId);
    return missing.size === 0;
  };
}

/** Most texts are too short. */
function isId(text: string): boolean {
  return text.length > KSUID_LENGTH && ID.test(text);
}

/** By the name of a field: there are few, and a long list has each of them thousands of times. */
const skipped = new Map<string, boolean>();
const MAX_NAMES = 1_000;

function isSkipped(name: string): boolean {
  const known = skipped.get(name);
  if (known !== undefined) return known;
  const found = SKIPPED.test(name);
  // Names of headers and claims are anybody's.
  if (skipped.size < MAX_NAMES) skipped.set(name, found);
  return found;
}

/** Removes the words that occur in the value. */
function take(missing: Set<string>, value: JsonValue, key: string, ofId: (id: string) => string): void {
  if (missing.size === 0 || value === null) return;
  if (typeof value === 'string') {
    if (value === '') return;
    const text = value.toLowerCase();
    const refers = isId(value);
    for (const word of missing) {
      if ((!refers || word.length >= MIN_ID_LENGTH) && text.includes(word)) missing.delete(word);
      else if (refers && ofId(value).includes(word)) missing.delete(word);
    }
  } else if (typeof value === 'number') {
    if (NUMBERS.has(key)) missing.delete(String(value));
  } else if (Array.isArray(value)) {
    for (const each of value) take(missing, each as JsonValue, key, ofId);
  } else if (typeof value === 'object') {
    for (const name of Object.keys(value)) {
      const each = (value as JsonObject)[name] ?? null;
      if (each !== null && !isSkipped(name)) take(missing, each, name, ofId);
    }
  }
}
