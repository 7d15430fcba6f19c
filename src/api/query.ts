import type { TObject } from 'typebox';
import { Compile } from 'typebox/compile';
import { didYouMean } from '../lib/near-match.ts';
import { resourceErrors } from '../resources/errors.ts';

export type QueryDecoder = (query: Readonly<Record<string, unknown>>) => Readonly<Record<string, string>>;

/** Unknown and repeated parameters are refused: a misspelt filter must not answer with everything. */
export function queryDecoder(schema: TObject | undefined): QueryDecoder {
  const known = Object.keys(schema?.properties ?? {});
  const compiled = schema === undefined ? null : Compile(schema);
  return (query) => {
    const names = Object.keys(query);
    if (names.length === 0) return {};
    for (const name of names) {
      if (!known.includes(name))
        throw queryError(name, `is not a query parameter here.${didYouMean(name, known)}${listed(known)}`);
      if (typeof query[name] !== 'string') throw queryError(name, 'is given more than once: send it once');
      if (/\p{Cc}/u.test(query[name])) throw queryError(name, 'contains control characters');
    }
    if (compiled !== null && !compiled.Check(query)) {
      const [problem] = compiled.Errors(query);
      throw queryError(problem?.instancePath.slice(1) ?? '', `${problem?.message ?? 'is invalid'}`);
    }
    return query as Record<string, string>;
  };
}

function listed(known: readonly string[]): string {
  return known.length === 0 ? ' None is taken here.' : ` Known: ${known.join(', ')}.`;
}

function queryError(name: string, message: string): Error {
  const shown = name.slice(0, 64);
  return resourceErrors.create('ERR_POSTERN_INVALID_QUERY', `"${shown}" ${message}`, { details: { parameter: shown } });
}
