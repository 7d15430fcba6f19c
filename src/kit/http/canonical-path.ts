import { isVisibleAscii, matchKey, readForm } from './urls.ts';

/**
 * One parse of a request's path, shared by the matcher and the forwarder: the matcher has seen everything that is
 * forwarded. Six advisories of similar programs come from two components that parse one path differently.
 */
export interface CanonicalPath {
  /** As received and forwarded, including the query. */
  readonly target: string;
  /** As received, without the query. */
  readonly path: string;
  /** Percent-decoded except for `%2F`: routes are matched against this. */
  readonly key: string;
  /** Other interpretations by upstreams: `%2F` as a slash, `;` parameters dropped. Each must lead to the same route. */
  readonly otherKeys: readonly string[];
  /**
   * In which way programs differ about it, such as 'the path has an empty segment': see `RouteTable.match`. Null: in
   * none.
   */
  readonly odd: string | null;
}

type PathReading =
  | { readonly ok: true; readonly path: CanonicalPath }
  | { readonly ok: false; readonly message: string };

const PLAIN = /^\/[A-Za-z0-9\-_~/]*$/;

export function readPath(target: string): PathReading {
  const end = target.indexOf('?');
  const path = end === -1 ? target : target.slice(0, end);
  // The common case: no dots, no escapes, only "//" to check.
  if (PLAIN.test(path) && !path.includes('//') && isVisibleAscii(target)) {
    return { ok: true, path: { target, path, key: path, otherKeys: [], odd: null } };
  }
  const { refusal, odd } = readForm(target, path);
  if (refusal !== null) return { ok: false, message: refusal };
  const key = matchKey(path);
  return { ok: true, path: { target, path, key, otherKeys: otherReadings(key), odd } };
}

function otherReadings(key: string): readonly string[] {
  const others = new Set<string>();
  const slashes = key.replaceAll('%2F', '/');
  others.add(slashes);
  others.add(withoutParameters(key));
  others.add(withoutParameters(slashes));
  others.delete(key);
  return [...others];
}

function withoutParameters(key: string): string {
  return key.includes(';') ? key.replaceAll(/;[^/]*/g, '') : key;
}

const ASCII = /^[\0-\x7f]*$/;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}|\ufffd/gu;
const MARKS = /\p{M}/gu;

/**
 * The texts by which a key (one byte per character) is compared: equal for all spellings that case- or
 * accent-insensitive programs treat as the same. There are two where an upstream may read the bytes as UTF-8, ignoring
 * invalid ones, or as ISO 8859-1.
 */
export function foldingsOf(key: string): readonly string[] {
  if (ASCII.test(key)) return [key.toLowerCase()];
  return [foldText(Buffer.from(key, 'latin1').toString()), foldText(key)];
}

/**
 * Close to NFKC_Casefold (Unicode §3.13), with upper case first because Java compares that way ("ı" equals "i"), and
 * without marks, as MySQL collations compare. Marks are removed first: normalize() sorts a run of them in quadratic
 * time.
 */
function foldText(text: string): string {
  const letters = withoutMarks(text.replaceAll(IGNORABLE, '')).normalize('NFKD');
  // "ẞ" becomes "SS" only by way of "ß".
  const small = withoutMarks(letters).toLowerCase().toUpperCase().toLowerCase();
  // "Σ" becomes "ς" at the end of a word: a prefix would fold differently from a path that starts with it.
  return withoutMarks(small).replaceAll('ς', 'σ');
}

/** The iota subscript of Greek letters becomes a letter in upper case. */
function withoutMarks(text: string): string {
  return text.replaceAll('\u0345', 'ι').replaceAll(MARKS, '');
}
