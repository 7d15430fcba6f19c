import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../../../lib/clock.ts';
import type { SigningKeyRecords } from './signing-keys.ts';

const DAY_MS = 86_400_000;
const LIFETIME_MS = 30 * DAY_MS;
/**
 * A retired key is published until no assertion signed by it can be valid, and longer for upstreams whose clocks are
 * off.
 */
const SHOWN_AFTER_MS = DAY_MS;

/** Ensures that there is a key, a new one every 30 days, and none that is no longer needed. */
export async function rotateSigningKeys(records: SigningKeyRecords, clock: Clock): Promise<void> {
  const now = clock.nowMs();
  const keys = records.list();
  const newest = keys[0];
  if (newest === undefined || now - newest.createdAtMs >= LIFETIME_MS) {
    const { privateKey } = await promisify(generateKeyPair)('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    // Named by the period: two processes that do this at once create the same key, and the second finds it.
    const period = newest === undefined ? 0 : Math.floor(now / LIFETIME_MS);
    await records.add({ id: `asg-${period}`, createdAtMs: now, privateKey });
  }
  for (const [at, key] of keys.entries()) {
    const successor = keys[at - 1];
    if (successor !== undefined && now - successor.createdAtMs > DAY_MS + SHOWN_AFTER_MS) await records.remove(key.id);
  }
}
