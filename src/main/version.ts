import { readFileSync } from 'node:fs';

/** The source and the built program have the same depth. */
const PACKAGE_URL = new URL('../../package.json', import.meta.url);

export function programVersion(): string {
  const { version } = JSON.parse(readFileSync(PACKAGE_URL, 'utf8')) as { version: string };
  return version;
}
