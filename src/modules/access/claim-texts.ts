import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { Identity } from '../contract/recognizes-requesters.ts';

/** `unknown`: the claim exists and was too large to keep. */
export type ClaimTexts = ReadonlySet<string> | 'unknown';

/** The claims of one identity as rules compare them, each read once: a list may have thousands of elements. */
export class ReadClaims {
  readonly #identity: Identity;
  readonly #texts = new Map<string, ClaimTexts>();

  constructor(identity: Identity) {
    this.#identity = identity;
  }

  texts(name: string): ClaimTexts {
    const known = this.#texts.get(name);
    if (known !== undefined) return known;
    const read = this.#read(name);
    this.#texts.set(name, read);
    return read;
  }

  #read(name: string): ClaimTexts {
    const { claims, droppedClaims } = this.#identity;
    if (Object.hasOwn(claims, name)) return textsOf(claims[name]);
    const steps = name.split('.');
    if ([name, steps[0] as string, '*'].some((each) => droppedClaims.includes(each))) return 'unknown';
    return textsOf(valueAt(claims, steps));
  }
}

/** The text by which a rule compares a value; null for null, lists, objects and numbers that are too large. */
export function claimText(value: JsonValue | undefined): string | null {
  if (typeof value === 'string') return value;
  // JSON.parse('1e400') is infinite, and its JSON text is "null".
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  return typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : null;
}

function textsOf(value: JsonValue | undefined): ReadonlySet<string> {
  const texts = (Array.isArray(value) ? value : [value]).map(claimText);
  return new Set(texts.filter((text) => text !== null));
}

/** Own properties only: `constructor` and `__proto__` are names like others. */
function valueAt(claims: JsonObject, steps: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = claims;
  for (const step of steps) {
    if (!isJsonObject(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at;
}
