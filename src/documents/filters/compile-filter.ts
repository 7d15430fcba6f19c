import type { JsonObject } from '../../lib/json.ts';
import { checkFilter } from './check-filter.ts';
import type { Known } from './field-schema.ts';
import { FilterLanguage, type ParsedFilter } from './filter-language.ts';
import { invalidFilter } from './invalid-filter.ts';

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
