import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** RFC 6761 §6.3: names under `localhost` are this machine. Browsers implement it; many resolvers do not. */
export const localhostLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(/(^|\.)localhost\.?$/i.test(hostname) ? 'localhost' : hostname, options, callback);
};
