import { firstValue } from '../../lib/http/header-list.ts';
import type { WholeRequest } from '../../lib/http/whole-request.ts';

const DEVICES: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/CrOS/, 'ChromeOS'],
  [/Windows/, 'Windows'],
  [/Macintosh|Mac OS X/, 'Mac'],
  [/Linux/, 'Linux'],
];

/** A first name for a passkey that was made with this browser, different from those of the person's others. */
export function deviceName({ headers }: WholeRequest, others: readonly { readonly name: string }[]): string {
  const agent = firstValue(headers, 'user-agent') ?? '';
  const device = DEVICES.find(([pattern]) => pattern.test(agent));
  const name = device === undefined ? 'Passkey' : `Passkey made on ${device[1]}`;
  const taken = new Set(others.map((other) => other.name));
  for (let number = 2; number <= others.length + 1; number += 1) {
    if (!taken.has(name)) return name;
    if (!taken.has(`${name} (${number})`)) return `${name} (${number})`;
  }
  return name;
}
