import { KSUID_PATTERN } from '../../kit/text/ksuid.ts';
import type { KindOfId } from './reference-fields.ts';

const ID = new RegExp(`^([a-z]+)_${KSUID_PATTERN}$`);

/** The kind of an id, by its prefix; null unless it is well-formed and its prefix is known. */
export function kindOfIdIn(kindsByPrefix: ReadonlyMap<string, string>): KindOfId {
  return (id) => kindsByPrefix.get(ID.exec(id)?.[1] ?? '') ?? null;
}
