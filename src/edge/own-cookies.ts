import { OWN_COOKIE_MARK } from '../modules/prepared-module.ts';
import type { HeaderList } from '../upstream/upstream.ts';

/** A copy without the cookies that are ours: they open the edge, and are nobody else's business. */
export function withoutOwnCookies(headers: HeaderList): string[] {
  const kept = headers.slice();
  for (let at = kept.length - 2; at >= 0; at -= 2) {
    if (kept[at] !== 'cookie' || kept[at + 1]?.includes(OWN_COOKIE_MARK) !== true) continue;
    const others = (kept[at + 1] as string).split(';').filter((pair) => !isOurs(pair));
    if (others.length === 0) kept.splice(at, 2);
    else kept[at + 1] = others.join(';').trim();
  }
  return kept;
}

function isOurs(pair: string): boolean {
  return pair
    .slice(pair.indexOf('=') + 1)
    .trim()
    .startsWith(OWN_COOKIE_MARK);
}
