import { test } from 'node:test';
import { isLong } from '../../support/share-of-cases.ts';

/**
 * The same tests run for every pair of protocols. In `npm test` each pair runs every n-th test, and its neighbor the
 * next ones; `npm run test:long` runs all.
 */
export function shareOfTests(pair: number, parts: number): (name: string, run: () => Promise<void>) => void {
  let index = -1;
  return (name, run) => {
    index += 1;
    if (isLong || (index + pair) % parts === 0) void test(name, run);
  };
}
