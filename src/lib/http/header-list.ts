/**
 * Flat: `[name, value, name, value, …]`, names in lower case, because headers arrive from the wire and leave to it in this form.
 * Framing (`content-length`, `transfer-encoding`, `connection`) is never included: the part that writes them computes it.
 */
export type HeaderList = readonly string[];

export function pairsOf(list: HeaderList): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < list.length; at += 2) pairs.push([list[at] as string, list[at + 1] as string]);
  return pairs;
}

export function firstValue(list: HeaderList, name: string): string | undefined {
  for (let at = 0; at < list.length; at += 2) if (list[at] === name) return list[at + 1];
  return undefined;
}

const NONE: readonly string[] = [];

/** All values of a header, line by line. */
export function valuesOf(list: HeaderList, name: string): readonly string[] {
  let values: string[] | null = null;
  for (let at = 0; at < list.length; at += 2) {
    if (list[at] !== name) continue;
    if (values === null) values = [list[at + 1] as string];
    else values.push(list[at + 1] as string);
  }
  return values ?? NONE;
}

/** All values of a list header, combined as if sent in one line (RFC 9110 §5.3). */
export function combinedValue(list: HeaderList, name: string): string | undefined {
  let combined: string | undefined;
  for (let at = 0; at < list.length; at += 2) {
    if (list[at] === name) combined = combined === undefined ? list[at + 1] : `${combined}, ${list[at + 1]}`;
  }
  return combined;
}

/** Values may be names of other headers: a search in the whole list would find them. */
export function withoutHeader(list: HeaderList, name: string): string[] {
  return list.filter((_, at) => list[at - (at % 2)] !== name);
}
