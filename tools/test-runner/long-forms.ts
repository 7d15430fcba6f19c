import { readFileSync } from 'node:fs';

/** A line of a test file that only `npm run test:long` runs. It gives a reason, and a file that `npm test` does run. */
const LONG_FORM = /^\/\/ Long form: \S.* Short form: (\S+\.test\.ts)$/m;
const LONG_FOLDER = /(^|\/)test\/long\//;

export function isLongForm(file: string): boolean {
  return LONG_FOLDER.test(file) || LONG_FORM.test(readFileSync(file, 'utf8'));
}

export function shortFormOf(text: string): string | undefined {
  return LONG_FORM.exec(text)?.[1];
}
