import type { JsonObject } from '../../../lib/json.ts';

const MAX_TEXT = 320;
/** As JSON: sent upstream in a header, together with all others. */
const MAX_CLAIMS_BYTES = 3072;

/** More than fit, and few enough to measure each: a response of 1 MB can have 90,000, which took 0.7 s. */
const MAX_CLAIMS = 1000;

/** A text claim of a sensible length; a truncated e-mail address would be somebody else's. */
export function textClaim(claims: JsonObject, name: string): string {
  const value = claims[name];
  return typeof value === 'string' && value.length <= MAX_TEXT ? value : '';
}

/** As many whole claims as fit, small ones first: a list of a thousand groups drops itself, not the rest. */
export function boundedClaims(claims: JsonObject): JsonObject {
  const sized = Object.entries(claims)
    .slice(0, MAX_CLAIMS)
    .map(([name, value]) => ({ name, value, bytes: Buffer.byteLength(JSON.stringify({ [name]: value })) }))
    .sort((a, b) => a.bytes - b.bytes);
  // Entries: a claim called `__proto__` stays a claim.
  const kept: [string, JsonObject[string]][] = [];
  let bytes = 2;
  for (const claim of sized) {
    bytes += claim.bytes;
    if (bytes > MAX_CLAIMS_BYTES) break;
    kept.push([claim.name, claim.value]);
  }
  return Object.fromEntries(kept);
}
