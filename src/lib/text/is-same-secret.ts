import { timingSafeEqual } from 'node:crypto';

/** Takes the same time wherever two texts of one length differ. The length of a secret is none. */
export function isSameSecret(given: string, known: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(known)];
  return a.length === b.length && timingSafeEqual(a, b);
}
