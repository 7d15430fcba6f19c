import type { HeaderList } from './header-list.ts';

/**
 * For runtime functions that take an object: each name with the list of its values. No prototype, because a client may
 * send `constructor` or `__proto__` as a name.
 */
export function headerObject(list: HeaderList): Record<string, string[]> {
  const result: Record<string, string[]> = Object.create(null);
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] as string;
    const values = result[name];
    if (values === undefined) result[name] = [list[at + 1] as string];
    else values.push(list[at + 1] as string);
  }
  return result;
}
