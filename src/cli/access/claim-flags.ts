import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';

export const CLAIM: Flag = {
  name: 'claim',
  kind: 'repeated',
  hint: 'NAME=VALUE',
  description: 'Claim of the person; several of one name are a list.',
};

/** Values by name: a name that is given several times has several. */
export function claimsOf({ values }: ParsedFlags): Readonly<Record<string, readonly string[]>> {
  const claims = new Map<string, string[]>();
  for (const written of values.get(CLAIM.name) ?? []) {
    // A name may be a URL with a query: the value is what follows the last sign.
    const sign = written.lastIndexOf('=');
    if (sign < 1) throw usage('--claim requires a name and a value: --claim groups=ops');
    const name = written.slice(0, sign);
    claims.set(name, [...(claims.get(name) ?? []), written.slice(sign + 1)]);
  }
  return Object.fromEntries(claims);
}
