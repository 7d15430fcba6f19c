import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** None of the host's addresses may be dialled. */
export class ForbiddenAddressError extends Error {
  readonly code = 'ERR_FORBIDDEN_ADDRESS';

  constructor(address: string) {
    super(`connections to the address ${address} are not allowed`);
    this.name = 'ForbiddenAddressError';
  }
}

/** Resolves a name and returns only allowed addresses: the connection goes to exactly the address that was checked. */
export function guardedLookup(lookup: LookupFunction, isAddressAllowed: (ip: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error !== null) {
        callback(error, '', 0);
        return;
      }
      const addresses: LookupAddress[] = typeof found === 'string' ? [{ address: found, family: family ?? 4 }] : found;
      const allowed = addresses.filter(({ address }) => isAddressAllowed(address));
      const [first] = allowed;
      if (first === undefined) {
        callback(new ForbiddenAddressError(addresses.map(({ address }) => address).join(', ')), '', 0);
      } else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
