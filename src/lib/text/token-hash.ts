import { hash } from 'node:crypto';

/** Tokens carry 256 random bits (or a preset of at least 32 characters), so a plain, fast hash is enough. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
