import { readFileSync } from 'node:fs';

/** A table of attacks; every row names its source. */
export function corpus<Rows>(name: string): Rows {
  return JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as Rows;
}

/** Fills in what a data file cannot contain. Every character is one byte. */
export function filledIn(text: string, host: string): string {
  return text
    .replaceAll('{host}', host)
    .replaceAll(/\{(\d+) times (.)\}/g, (_match, count: string, what: string) => what.repeat(Number(count)));
}
