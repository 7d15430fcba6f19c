import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { closeSync, openSync } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { devNull } from 'node:os';

/** RFC 6761 §6.3: names under `localhost` are this machine. Browsers implement it; many resolvers do not. */
export const localhostLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(/(^|\.)localhost\.?$/i.test(hostname) ? 'localhost' : hostname, options, (error, found, family) =>
    callback(error === null ? null : causeOf(error), found, family),
  );
};

/** Without file descriptors the resolver cannot read its files, and says that there is no such name. */
function causeOf(error: NodeJS.ErrnoException): NodeJS.ErrnoException {
  try {
    closeSync(openSync(devNull, 'r'));
    return error;
  } catch (cause) {
    return cause as NodeJS.ErrnoException;
  }
}

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
