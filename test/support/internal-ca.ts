import type { Clock } from '../../src/kit/clock.ts';
import { type InternalCa, openInternalCa as open } from '../../src/proxy/pki/internal-ca.ts';
import type { AuthorityPair, AuthorityRecords } from '../../src/proxy/pki/internal-ca-places.ts';

export type { InternalCa } from '../../src/proxy/pki/internal-ca.ts';

/** Replaces a store. */
export function memoryRecords(): AuthorityRecords & { readonly pairs: Map<string, AuthorityPair> } {
  const pairs = new Map<string, AuthorityPair>();
  return {
    pairs,
    get: (id) => pairs.get(id) ?? null,
    add: async (id, pair) => {
      if (!pairs.has(id)) pairs.set(id, pair);
    },
  };
}

/** A test's CAs, with their certificates in the data directory and no store. */
export function openInternalCa(options: {
  readonly dataDir: string;
  readonly domain: string;
  readonly clock: Clock;
  readonly records?: AuthorityRecords;
}): Promise<InternalCa> {
  return open({ records: memoryRecords(), log: { info() {} }, ...options });
}
