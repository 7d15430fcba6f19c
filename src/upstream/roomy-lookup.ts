import type { LookupFunction } from 'node:net';

/** The rest of this process's file descriptors is reserved. */
export class NoDescriptorError extends Error {
  readonly code = 'EMFILE';

  constructor() {
    super('this process has too few file descriptors left for another connection. Raise LimitNOFILE= or ulimit -n');
    this.name = 'NoDescriptorError';
  }
}

/** Asks for room once the name is resolved: the socket is opened next, and not before. */
export function roomyLookup(lookup: LookupFunction, hasRoom: () => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, found, family) => {
      if (error === null && !hasRoom()) callback(new NoDescriptorError(), '', 0);
      else callback(error, found, family);
    });
  };
}
