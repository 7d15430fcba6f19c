import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const FROZEN_NAMES_FILE = fileURLToPath(new URL('./frozen-names.txt', import.meta.url));

export function readFrozenNames(): readonly string[] {
  return readFileSync(FROZEN_NAMES_FILE, 'utf8').trimEnd().split('\n');
}
