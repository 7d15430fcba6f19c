import { resourceErrors } from '../errors.ts';
import type { IdentityFacts, ResourceSettings } from '../resource.ts';

/** Throws while identity is off: a link could lead nowhere. */
export function identityOf({ identity }: Pick<ResourceSettings, 'identity'>): IdentityFacts {
  if (identity !== null) return identity;
  throw resourceErrors.create(
    'ERR_POSTERN_IDENTITY_OFF',
    'this server has no identity host, so nobody can be invited: set identity_host (POSTERN_IDENTITY_HOST) and start the server again',
  );
}
