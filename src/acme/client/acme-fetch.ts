import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { getCACertificates } from 'node:tls';
import { createGuardedFetch, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import { AcmeFailure } from './acme-failure.ts';

const TIMEOUT_MS = 30_000;
/** A chain with RSA certificates has about 8 KB, the longest list of orders some hundred. */
const MAX_BYTES = 512 * 1024;

export interface AcmeFetch {
  readonly fetch: GuardedFetch;
  close(): void;
}

/**
 * HTTPS to ACME servers, bounded in size and time, without redirects. The CA file is read for each request that finds
 * it changed: a file that is missing at startup is no reason not to start.
 */
export function openAcmeFetch(caFile: string | null, timeoutMs = TIMEOUT_MS): AcmeFetch {
  const agents = {
    http: new HttpAgent(),
    https: new HttpsAgent({ keepAlive: true, maxFreeSockets: 4, timeout: TIMEOUT_MS }),
  };
  const create = (ca?: readonly string[]): GuardedFetch =>
    createGuardedFetch({
      // The operator names the server, which may be anywhere.
      isAddressAllowed: () => true,
      isPlainHttpAllowed: () => false,
      timeoutMs,
      maxBytes: MAX_BYTES,
      agents,
      ca,
    });
  if (caFile === null) return { fetch: create(), close: () => agents.https.destroy() };
  let trusting: { readonly pem: string; readonly fetch: GuardedFetch } | null = null;
  return {
    fetch: async (url, init) => {
      const pem = await readCaFile(caFile);
      if (trusting?.pem !== pem) trusting = { pem, fetch: create([...getCACertificates('default'), pem]) };
      return trusting.fetch(url, init);
    },
    close: () => agents.https.destroy(),
  };
}

async function readCaFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    const message = `cannot read acme_ca_file ${path} (${reason}): set it to a PEM file with CA certificates`;
    throw new AcmeFailure('ERR_POSTERN_ACME_UNREACHABLE', message, { isOrderAlive: true });
  }
}
