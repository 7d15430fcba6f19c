import { networkReason, PosternApiError } from '../../../../client/call-errors.ts';
import { SITE_EDGE } from '../../../../client/sites.ts';
import type { Transport } from '../../../../client/transport.ts';
import { storeAdvice } from '../../../../control/findings/subjects/store.ts';
import { messageOf } from '../../../../kit/error-text.ts';
import { type Finding, findingTable } from '../../../../kit/findings.ts';
import { isJsonObject } from '../../../../kit/json.ts';
import type { ApiKey } from '../../api/api-key.ts';

const TIMEOUT_MS = 5000;
/** The header has a precision of one second. */
const MAX_SKEW_MS = 5000;

export interface Reached {
  readonly findings: readonly Finding[];
  readonly isAnswering: boolean;
}

const ADDRESS_ADVICE = 'set its address with --api-url or POSTERN_CLI_API_URL';

interface Asked {
  readonly url: string;
  readonly state: string;
}

const ofApi = findingTable('api', {
  api_silent: {
    level: 'problem',
    text: ({ url, why }: { readonly url: string; readonly why: string }) => `no server responds at ${url} (${why})`,
    advice: ({ why }: { readonly why: string }) =>
      /certificate|self[- ]signed|issuer/i.test(why)
        ? 'its certificate is not trusted: pass its CA with --root-ca FILE; "postern ca print" on the server prints it'
        : 'start it with "postern server", or set its address with --api-url or POSTERN_CLI_API_URL',
  },
  api_foreign: {
    level: 'problem',
    text: ({ url }: Pick<Asked, 'url'>) => `${url} is not a Postern API`,
    advice: ADDRESS_ADVICE,
  },
  api_not_ready: {
    level: 'warning',
    text: ({ url, state }: Asked) => `${url} is ${state}, not ready`,
    advice: 'wait a moment and rerun this command',
  },
  api_clock_differs: {
    level: 'warning',
    text: ({ skewMs }: { readonly skewMs: number }) =>
      `the server's clock is ${Math.round(Math.abs(skewMs) / 1000)} seconds ${skewMs > 0 ? 'ahead of' : 'behind'} this one: logins and certificates depend on it`,
    advice: 'synchronize both clocks with NTP',
  },
  api_port_unknown: {
    level: 'problem',
    text: `api_listen has port 0: the "ready" line in the server's log names the actual port`,
    advice: ADDRESS_ADVICE,
  },
});

const ofStore = findingTable('store', {
  store_degraded: {
    level: 'problem',
    text: ({ url, state, code }: Asked & { readonly code: string }) => `the store of ${url} is ${state} (${code})`,
    advice: ({ code }: { readonly code: string }) => storeAdvice(code),
  },
});

/** The API of a server with port 0 cannot be reached, and neither can anything behind it. */
export function unknownUrl(): Reached {
  return { findings: [ofApi.found('api_port_unknown', null)], isAnswering: false };
}

/** Whether a Postern responds there, its state, and whether its clock and ours agree. */
export async function checkReach(url: string, nowMs: () => number): Promise<Reached> {
  const startedMs = nowMs();
  const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' }).catch(
    (error: unknown) => networkReason(error),
  );
  if (typeof answer === 'string')
    return { findings: [ofApi.found('api_silent', { url, why: answer })], isAnswering: false };
  const body: unknown = await answer.json().catch(() => null);
  const state = isJsonObject(body as never) ? (body as { status?: unknown }).status : undefined;
  if (typeof state !== 'string' || answer.headers.get('postern-operation-id') === null)
    return { findings: [ofApi.found('api_foreign', { url })], isAnswering: false };
  const skewMs = skewOf(answer.headers.get('date'), startedMs, nowMs());
  const isSkewed = skewMs !== null && Math.abs(skewMs) > MAX_SKEW_MS;
  const skewed = isSkewed ? [ofApi.found('api_clock_differs', { skewMs })] : [];
  if (state === 'degraded' || state === 'failed') {
    const code = String((body as { error_code?: unknown }).error_code);
    return { findings: [...skewed, ofStore.found('store_degraded', { url, state, code })], isAnswering: true };
  }
  const reached = answer.ok ? ofApi.ok(`${url} is ${state}`) : ofApi.found('api_not_ready', { url, state });
  return { findings: [reached, ...skewed], isAnswering: true };
}

interface RejectedKey {
  readonly source: string;
  readonly error: unknown;
}

const ofKey = findingTable('api_key', {
  api_key_missing: {
    level: 'problem',
    text: 'no API key: nothing behind the API was checked',
    advice: 'set POSTERN_CLI_API_KEY or --api-key-file FILE',
  },
  api_key_rejected: {
    level: 'problem',
    text: ({ source, error }: RejectedKey) => `the key from ${source} is rejected: ${messageOf(error)}`,
    advice: ({ error }: RejectedKey) =>
      error instanceof PosternApiError && error.status === 403
        ? 'use a key with the scopes edges:read, backends:read, tls_certificates:read and certificate_authorities:read'
        : 'set another with POSTERN_CLI_API_KEY or --api-key-file; if all keys are lost, "postern store create-key" creates one',
  },
});

export function withoutKey(): readonly Finding[] {
  return [ofKey.found('api_key_missing', null)];
}

/** Whether the key is accepted, and may read what the other checks need. */
export async function checkKey(transport: Transport, { source }: ApiKey): Promise<Finding> {
  try {
    await transport.send({ method: 'GET', path: `${SITE_EDGE.path}?limit=1` });
    return ofKey.ok(`the key from ${source} is valid`);
  } catch (error) {
    return ofKey.found('api_key_rejected', { source, error });
  }
}

function skewOf(date: string | null, startedMs: number, endedMs: number): number | null {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs)) return null;
  // The header was written some time between the two.
  if (serverMs < startedMs) return serverMs - startedMs;
  return Math.max(0, serverMs - endedMs);
}
