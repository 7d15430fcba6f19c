import type { TObject, TSchema } from 'typebox';
import { didYouMean } from '../../kit/text/near-match.ts';
import { resourceErrors } from '../resources/errors.ts';

export type QueryDecoder = (query: Readonly<Record<string, unknown>>) => Readonly<Record<string, string>>;

/** Spellings used by existing clients. Not declared: generators would create two fields of the same name. */
const OTHER_SPELLINGS: ReadonlyMap<string, string> = new Map([['beforeId', 'before_id']]);

/**
 * Empty, these count as absent: existing clients send pages' parameters unset, and a search for nothing finds nothing. An
 * empty filter would return everything.
 */
export const MAY_BE_EMPTY: ReadonlySet<string> = new Set(['limit', 'before_id', 'q']);

/** Unknown, repeated, empty and invalid parameters are rejected: a misspelled filter must not return everything. */
export function queryDecoder(schema: TObject | undefined): QueryDecoder {
  const fields = new Map(
    Object.entries(schema?.properties ?? {}).map(([name, field]: [string, TSchema]) => [name, parameterCheck(field)]),
  );
  return (query) => {
    const decoded: Record<string, string> = {};
    for (const [spelling, value] of Object.entries(query)) {
      const name = fields.has(spelling) ? spelling : (OTHER_SPELLINGS.get(spelling) ?? spelling);
      const check = fields.get(name);
      if (check === undefined) throw unknownParameter(spelling, [...fields.keys()]);
      if (typeof value !== 'string' || (decoded[name] !== undefined && decoded[name] !== value))
        throw queryError(name, `"${name}" is given more than once: send it once`);
      if (value === '' && !MAY_BE_EMPTY.has(name))
        throw queryError(name, `${name} is empty: give it a value, or leave it out`);
      const problem = value === '' ? null : check(value);
      if (problem !== null) throw queryError(name, `${name} ${problem}`);
      decoded[name] = value;
    }
    return Object.fromEntries(Object.entries(decoded).filter(([, value]) => value !== ''));
  };
}

interface Keywords {
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
}

type ParameterCheck = (value: string) => string | null;

function parameterCheck(field: TSchema): ParameterCheck {
  const {
    type,
    minimum = 0,
    maximum = Number.MAX_SAFE_INTEGER,
    maxLength = Number.MAX_SAFE_INTEGER,
    pattern,
    enum: choices,
    description = '',
  } = field as Keywords;
  if (choices !== undefined)
    return (value) => (choices.includes(value) ? null : `must be one of ${choices.join(', ')}`);
  if (type === 'integer') {
    const isInRange = (value: string): boolean =>
      /^(0|[1-9]\d{0,15})$/.test(value) && Number(value) >= minimum && Number(value) <= maximum;
    return (value) => (isInRange(value) ? null : `must be a whole number from ${minimum} to ${maximum}`);
  }
  const form = new RegExp(pattern ?? '');
  return (value) => {
    if (/\p{Cc}/u.test(value)) return 'contains control characters';
    if (value.length > maxLength) return `has more than ${maxLength} characters`;
    return form.test(value) ? null : `is malformed. ${description}`;
  };
}

function unknownParameter(name: string, known: readonly string[]): Error {
  const listed = known.length === 0 ? ' This path has none.' : ` Known: ${known.join(', ')}.`;
  const shown = name.slice(0, 64);
  return queryError(shown, `"${shown}" is not a query parameter here.${didYouMean(name, known)}${listed}`);
}

function queryError(parameter: string, message: string): Error {
  return resourceErrors.create('ERR_POSTERN_INVALID_QUERY', message, { details: { parameter } });
}
