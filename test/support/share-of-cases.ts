export const isLong = process.env['POSTERN_TEST_LONG'] !== undefined;

/**
 * Many alike subjects, such as the API's operations, are tested with the same cases. In `npm test` each subject gets
 * every n-th case, and its neighbor the next ones. `npm run test:long` gives every subject all cases.
 */
export function shareOfCases<Case>(cases: readonly Case[], subject: number, parts: number): readonly Case[] {
  return isLong ? cases : cases.filter((_, index) => (index + subject) % parts === 0);
}

/** The first in `npm test`, all in `npm run test:long`: for subjects that are alike, such as the two stores. */
export function firstOf<Case>(cases: readonly Case[], count = 1): readonly Case[] {
  return isLong ? cases : cases.slice(0, count);
}
