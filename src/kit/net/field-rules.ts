import { cidrProblem } from './cidr.ts';

/**
 * Returns the problem with a text, phrased to follow its name, or null. `unreadable` words the case that nothing of it
 * fits.
 */
export type FieldRule = (text: string, unreadable?: string) => string | null;

/**
 * Rules that a schema cannot express, by the name that a form gives them. The server and the agent apply the same ones.
 */
export const FIELD_RULES: Readonly<Record<'cidr' | 'credentials', FieldRule>> = {
  cidr: cidrProblem,
  credentials: credentialsProblem,
};

/** In characters, of a user of the module `basic_auth`. */
export const MIN_PASSWORD = 8;
export const MAX_PASSWORD = 128;

/** The first colon ends the name. Messages do not repeat the text. */
function credentialsProblem(text: string, unreadable = 'must be written as name:password'): string | null {
  const colon = text.indexOf(':');
  const { length } = Array.from(text.slice(colon + 1).normalize('NFC'));
  if (colon < 1 || length === 0) return unreadable;
  const isFine = length >= MIN_PASSWORD && length <= MAX_PASSWORD;
  return isFine ? null : `needs a password of ${MIN_PASSWORD} to ${MAX_PASSWORD} characters`;
}
