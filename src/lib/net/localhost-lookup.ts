import { lookup as systemLookup } from 'node:dns';
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
