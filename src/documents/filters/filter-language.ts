import type { Environment, ParseResult } from '@marcbachmann/cel-js';
import type { JsonObject } from '../../lib/json.ts';
import { loadPart } from '../../lib/load-part.ts';
import { durationMs } from './duration-ms.ts';

/** Limits of one expression. With the allowed operations, its cost is linear in the size of the item. */
const LIMITS = { maxAstNodes: 200, maxDepth: 24, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 4 };
const TIME = 'google.protobuf.Timestamp';

const ORDER = {
  '<': (left: number, right: number) => left < right,
  '<=': (left: number, right: number) => left <= right,
  '>': (left: number, right: number) => left > right,
  '>=': (left: number, right: number) => left >= right,
} as const;

export type ParsedFilter = ParseResult;

/** CEL as filters use it. The library is loaded with the first filter: most servers never see one. */
export class FilterLanguage {
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
