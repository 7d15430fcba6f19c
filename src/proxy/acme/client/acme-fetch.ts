import { readFile } from 'node:fs/promises';
import { Agent as HttpsAgent } from 'node:https';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { failureCode } from '../../../kit/error-text.ts';
import { createGuardedFetch, type GuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import { Agent as HttpAgent } from '../../../kit/http/node-http.ts';
import { certificatesIn } from '../../../kit/pki/describe-certificate.ts';
import { AcmeFailure } from './acme-failure.ts';

const TIMEOUT_MS = 30_000;
/** A chain with RSA certificates has about 8 KB, the longest list of orders some hundred. */
const MAX_BYTES = 512 * 1024;

export interface AcmeFetch {
  readonly fetch: GuardedFetch;
  close(): void;
}

/**
 * HTTPS to ACME servers, bounded in size and time, without redirects. The CA file is read for each request: it may
 * change, and a file that is missing at startup is no reason not to start.
 */
export function openAcmeFetch(caFile: string | null, timeoutMs = TIMEOUT_MS): AcmeFetch {
  if (caFile === null) return clientOf(timeoutMs);
  let trusting: { readonly pem: string; readonly client: AcmeFetch } | null = null;
  return {
    fetch: async (url, init) => {
      const pem = await readCaFile(caFile);
      if (trusting?.pem !== pem) {
        trusting?.client.close();
        trusting = { pem, client: clientOf(timeoutMs, trustOf(caFile, pem)) };
      }
      return trusting.client.fetch(url, init);
    },
    close: () => trusting?.client.close(),
  };
}

function clientOf(timeoutMs: number, secureContext?: SecureContext): AcmeFetch {
  // The context belongs to the agent: made from 150 public CAs for each connection, it would cost 20 ms each time.
  const trust = secureContext === undefined ? {} : { secureContext };
  const https = new HttpsAgent({ keepAlive: true, maxFreeSockets: 4, timeout: timeoutMs, ...trust });
  const fetch = createGuardedFetch({
    // The operator names the server, which may be anywhere.
    isAddressAllowed: () => true,
    isPlainHttpAllowed: () => false,
    timeoutMs,
    maxBytes: MAX_BYTES,
    agents: { http: new HttpAgent(), https },
  });
  return { fetch, close: () => https.destroy() };
}

function trustOf(path: string, pem: string): SecureContext {
  try {
    // OpenSSL would ignore a text without certificates.
    certificatesIn(pem);
    return createSecureContext({ ca: [...getCACertificates('default'), pem] });
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : 'unreadable');
  }
}

async function readCaFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const reason = failureCode(error);
    throw unusable(path, reason);
  }
}

function unusable(path: string, reason: string): AcmeFailure {
  const message = `cannot read acme_ca_file ${path} (${reason}): set it to a PEM file with CA certificates`;
  return new AcmeFailure('ERR_POSTERN_ACME_UNREACHABLE', message, { isOrderAlive: true });
}
