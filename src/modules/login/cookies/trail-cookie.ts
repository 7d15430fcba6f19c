import { clearCookie, cookieValues, setCookie } from '../../../lib/http/cookie-header.ts';
import { OWN_COOKIE_MARK } from '../../contract/serves-paths.ts';

const NAME = '__Host-postern-trail';
const VALUE = /^pstn1\.t\.(\d{1,13}(?:\.\d{1,13}){0,9})$/;
const WINDOW_MS = 60_000;
const MAX_LOGINS = 4;

/**
 * When this browser last returned from a login. A browser that returns repeatedly within a minute is in a loop that
 * another login will not end. Forging it harms only the browser itself, so it has no MAC.
 */
export function recentLogins(lines: readonly string[], nowMs: number): readonly number[] {
  const parts = VALUE.exec(cookieValues(lines, NAME)[0] ?? '');
  const times = parts === null ? [] : (parts[1] as string).split('.').map(Number);
  return times.filter((time) => time <= nowMs && nowMs - time < WINDOW_MS);
}

export function isLoop(logins: readonly number[]): boolean {
  return logins.length >= MAX_LOGINS;
}

export function trailCookie(logins: readonly number[]): string {
  return setCookie(NAME, `${OWN_COOKIE_MARK}t.${logins.slice(-MAX_LOGINS).join('.')}`, WINDOW_MS / 1000);
}

export function clearTrail(): string {
  return clearCookie(NAME);
}
