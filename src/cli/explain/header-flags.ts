import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';

export const HEADER: Flag = {
  name: 'header',
  kind: 'repeated',
  hint: '"NAME: VALUE"',
  description: 'Header of the request.',
};

/** Values by name: a name that is given several times has several. */
export function headersOf({ values }: ParsedFlags): Readonly<Record<string, readonly string[]>> {
  const headers = new Map<string, string[]>();
  for (const written of values.get(HEADER.name) ?? []) {
    const colon = written.indexOf(':');
    if (colon < 1) throw usage('--header requires a name and a value: --header "accept: text/html"');
    const name = written.slice(0, colon).trim();
    headers.set(name, [...(headers.get(name) ?? []), written.slice(colon + 1).trim()]);
  }
  return Object.fromEntries(headers);
}
