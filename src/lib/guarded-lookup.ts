import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** Every address that a host has is one that may not be dialled. */
export class ForbiddenAddressError extends Error {
  readonly code = 'ERR_FORBIDDEN_ADDRESS';

  constructor(address: string) {
    super(`the address ${address} may not be dialled`);
    this.name = 'ForbiddenAddressError';
  }
}

/** Resolves, and lets through only the addresses that may be dialled: what is connected to is exactly what was judged. */
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
