import { hostOf } from '../lib/net/split-address.ts';
import type { StoredRecord } from '../store/store.ts';

/** The names of an edge, without their ports. What is not a name is left out: somebody may have edited the database. */
export function hostsOf({ doc }: Pick<StoredRecord, 'doc'>): readonly string[] {
  const { hostports } = doc;
  return (Array.isArray(hostports) ? hostports : []).filter((hostport) => typeof hostport === 'string').map(hostOf);
}
