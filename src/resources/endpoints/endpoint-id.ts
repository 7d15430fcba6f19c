import { hash } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KSUID_LENGTH = 27;
const PAYLOAD_BITS = 128n;

/** Seconds in the KSUID of an id, on the KSUID's own scale; null when the text is not an id. */
export function secondsOf(id: string): bigint | null {
  const [, text] = /^[a-z]+_([0-9A-Za-z]{27})$/.exec(id) ?? [];
  if (text === undefined) return null;
  let number = 0n;
  for (const digit of text) number = number * 62n + BigInt(ALPHABET.indexOf(digit));
  return number >> PAYLOAD_BITS;
}

/** The lowest id of a second. */
export function firstIdOf(prefix: string, seconds: bigint): string {
  return `${prefix}_${base62(seconds << PAYLOAD_BITS)}`;
}

/**
 * An edge's hostport has no record but needs a stable id: the edge's second, so that order by id is order by age, and a
 * hash of edge and hostport.
 */
export function endpointId(edgeId: string, hostport: string): string {
  const payload = BigInt(`0x${hash('sha256', `${edgeId} ${hostport}`, 'hex').slice(0, 32)}`);
  return `ep_${base62(((secondsOf(edgeId) ?? 0n) << PAYLOAD_BITS) | payload)}`;
}

function base62(number: bigint): string {
  let text = '';
  for (let rest = number; text.length < KSUID_LENGTH; rest /= 62n) text = ALPHABET.charAt(Number(rest % 62n)) + text;
  return text;
}
