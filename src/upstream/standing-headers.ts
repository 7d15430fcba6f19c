import { assertSafeName, assertSafeValue } from './request-headers.ts';
import type { HeaderList } from './upstream.ts';

/** By the list itself: whoever made it promises not to change it. */
const LINES = new WeakMap<HeaderList, string>();

/**
 * Headers that go with many requests, such as who is logged in, as lines of HTTP/1.1: checked and written once for each list, since
 * they can be longer than all the rest of a request. Throws `UnsafeRequestError`, each time anew.
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
