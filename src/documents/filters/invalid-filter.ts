import { resourceErrors } from '../../resources/errors.ts';

const PAGE = 'docs/reference/filters.md';

/** `at`: a node of the expression, or a range in it. */
export function invalidFilter(
  problem: string,
  at: { readonly start?: number; readonly pos?: number } | undefined,
): Error {
  const position = String((at?.start ?? at?.pos ?? 0) + 1);
  return resourceErrors.create(
    'ERR_POSTERN_INVALID_QUERY',
    `filter: character ${position}: ${problem}${/[.]$/.test(problem) ? '' : '.'} ${PAGE} describes filters`,
    { details: { parameter: 'filter', position } },
  );
}
