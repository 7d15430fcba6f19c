import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a directory with those above it that are missing. One by one: with `recursive`, Node loops forever below a
 * directory that refuses, such as /proc.
 */
export function makeDirectories(path: string, mode: number): void {
  const whole = resolve(path);
  const missing: string[] = [];
  for (let each = whole; !existsSync(each) && dirname(each) !== each; each = dirname(each)) missing.push(each);
  for (const each of missing.length === 0 ? [whole] : missing.reverse()) makeOne(each, mode);
}

/** Another process may make it meanwhile. */
function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const isThere = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isThere) throw error;
  }
}
