import type { HeaderList } from '../lib/http/header-values.ts';
import { assertSafeName, assertSafeValue } from './request-headers.ts';

/** Keyed by the list itself: its creator promises not to change it. */
const LINES = new WeakMap<HeaderList, string>();

/**
 * Headers that accompany many requests, such as the logged-in user, as HTTP/1.1 lines. They are checked and serialized
 * once per list, since they can be longer than the rest of the request. Throws `UnsafeRequestError` on every call for
 * an unsafe list.
 */
export function standingLines(list: HeaderList): string {
  let lines = LINES.get(list);
  if (lines === undefined) {
    lines = '';
    for (let i = 0; i < list.length; i += 2) {
      const name = list[i] as string;
      const value = list[i + 1] as string;
      assertSafeName(name);
      assertSafeValue(name, value);
      lines += `${name}: ${value}\r\n`;
    }
    LINES.set(list, lines);
  }
  return lines;
}
