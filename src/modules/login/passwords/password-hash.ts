import { hash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** 32 MiB and about 60 ms per guess: docs/internals/decisions/0085-passwords-of-sites.md says why not more. */
const COST = 'ln=15,r=8,p=1';
/** For hashes that are never stored, such as those of agents' tunnels: all agents of a server may connect at once. */
const COST_IN_MEMORY = 'ln=12,r=8,p=1';
const KEY_BYTES = 32;
const SALT_BYTES = 16;

const FORM = /^\$scrypt\$(ln=\d{1,2},r=\d{1,2},p=\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/** Runs in the thread pool. */
const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** A hash in PHC form. With a seed, every thread computes the same one: for hashes that are not stored. */
export async function hashPassword(password: string, seed: string | null): Promise<string> {
  const cost = seed === null ? COST : COST_IN_MEMORY;
  const salt = seed === null ? randomBytes(SALT_BYTES) : hash('sha256', seed, 'buffer').subarray(0, SALT_BYTES);
  return written(cost, salt, await derive(password, salt, KEY_BYTES, optionsOf(cost)));
}

/** Takes as long for every password. A text that is no hash of ours is nobody's. */
export async function isPasswordOf(password: string, hashed: string): Promise<boolean> {
  const [, cost, salt = '', key = ''] = FORM.exec(hashed) ?? [];
  if (cost === undefined) return false;
  const found = await derive(password, Buffer.from(salt, 'base64'), KEY_BYTES, optionsOf(cost));
  return timingSafeEqual(found, Buffer.from(key, 'base64'));
}

export function isHash(text: string): boolean {
  return FORM.test(text);
}

/** A hash of no password, as costly to compare with as `like`: an unknown user must not be answered faster. */
export function hashOfNobody(like = ''): string {
  const [, cost = COST] = FORM.exec(like) ?? [];
  return written(cost, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));
}

function optionsOf(cost: string): ScryptOptions {
  const [ln = 0, r = 0, p = 0] = (cost.match(/\d+/g) ?? []).map(Number);
  // 128 · N · r bytes, and some more that OpenSSL counts.
  return { N: 2 ** ln, r, p, maxmem: 2 ** ln * r * 128 + 2 ** 20 };
}

function written(cost: string, salt: Buffer, key: Buffer): string {
  return `$scrypt$${cost}$${base64(salt)}$${base64(key)}`;
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
