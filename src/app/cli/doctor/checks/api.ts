import { networkReason, PosternApiError } from '../../../../client/call-errors.ts';
import type { Transport } from '../../../../client/transport.ts';
import { type Finding, findingsOf } from '../../../../control/checks/check.ts';
import { store, storeAdvice } from '../../../../control/checks/nodes.ts';
import { messageOf } from '../../../../kit/error-text.ts';
import { isJsonObject } from '../../../../kit/json.ts';
import type { ApiKey } from '../../api/api-key.ts';

const TIMEOUT_MS = 5000;
/** The header has a precision of one second. */
const MAX_SKEW_MS = 5000;

export interface Reached {
  readonly findings: readonly Finding[];
  readonly isAnswering: boolean;
}

/** Whether a Postern responds there, its state, and whether its clock and ours agree. */
export async function checkReach(url: string, nowMs: () => number): Promise<Reached> {
  const found = findingsOf('api');
  const ofStore = findingsOf(store.name);
  const startedMs = nowMs();
  const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' }).catch(
    (error: unknown) => networkReason(error),
  );
  if (typeof answer === 'string') {
    const isUntrusted = /certificate|self[- ]signed|issuer/i.test(answer);
    found.problem(
      `no server responds at ${url} (${answer})`,
      isUntrusted
        ? 'its certificate is not trusted: pass its CA with --root-ca FILE; "postern ca print" on the server prints it'
        : 'start it with "postern server", or set its address with --api-url or POSTERN_CLI_API_URL',
    );
    return { findings: found.list, isAnswering: false };
  }
  const body: unknown = await answer.json().catch(() => null);
  const state = isJsonObject(body as never) ? (body as { status?: unknown }).status : undefined;
  if (typeof state !== 'string' || answer.headers.get('postern-operation-id') === null) {
    found.problem(`${url} is not a Postern API`, 'set its address with --api-url or POSTERN_CLI_API_URL');
    return { findings: found.list, isAnswering: false };
  }
  if (state === 'degraded' || state === 'failed') {
    const { error_code: code } = body as { error_code?: unknown };
    ofStore.problem(`the store of ${url} is ${state} (${String(code)})`, storeAdvice(String(code)));
  } else if (answer.ok) found.ok(`${url} is ${state}`);
  else found.warning(`${url} is ${state}, not ready`, 'wait a moment and rerun this command');
  const skewMs = skewOf(answer.headers.get('date'), startedMs, nowMs());
  if (skewMs !== null && Math.abs(skewMs) > MAX_SKEW_MS) {
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    found.warning(
      `the server's clock is ${seconds} seconds ${skewMs > 0 ? 'ahead of' : 'behind'} this one: logins and certificates depend on it`,
      'synchronize both clocks with NTP',
    );
  }
  return { findings: [...found.list, ...ofStore.list], isAnswering: true };
}

/** Whether the key is accepted, and may read what the other checks need. */
export async function checkKey(transport: Transport, key: ApiKey): Promise<readonly Finding[]> {
  const found = findingsOf('api_key');
  try {
    await transport.send({ method: 'GET', path: '/edges/https?limit=1' });
    found.ok(`the key from ${key.source} is valid`);
  } catch (error) {
    const message = messageOf(error);
    found.problem(
      `the key from ${key.source} is rejected: ${message}`,
      error instanceof PosternApiError && error.status === 403
        ? 'use a key with the scopes edges:read, backends:read, tls_certificates:read and certificate_authorities:read'
        : 'set another with POSTERN_CLI_API_KEY or --api-key-file; if all keys are lost, "postern store create-key" creates one',
    );
  }
  return found.list;
}

function skewOf(date: string | null, startedMs: number, endedMs: number): number | null {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs)) return null;
  // The header was written some time between the two.
  if (serverMs < startedMs) return serverMs - startedMs;
  return Math.max(0, serverMs - endedMs);
}
