import { isHostOrBelow } from '../lib/net/host-below.ts';
import type { ResourceSettings } from './resource.ts';

/** Why nothing else may have this host, as the end of a sentence; null: it may. A site below the identity host could set its cookies. */
export function identityHostConflict(host: string, { identity }: Pick<ResourceSettings, 'identity'>): string | null {
  if (identity === null || !isHostOrBelow(host, identity.hostname)) return null;
  return `${host}, which is the identity host ${identity.hostname} or below it (identity_host): use another name`;
}
