import { readFileSync } from 'node:fs';

/** `dist` and `src` have the same depth. */
const PACKAGE_URL = new URL('../../package.json', import.meta.url);

export function ownVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE_URL, 'utf8')) as { version: string }).version;
}
