import { Agent as HttpsAgent } from 'node:https';
import { FetchProblem } from '../../../lib/http/fetch-problem.ts';
import { createGuardedFetch } from '../../../lib/http/guarded-fetch.ts';
import { Agent as HttpAgent } from '../../../lib/http/node-http.ts';
import type { DestinationPorts, DestinationSender, SendOutcome } from '../destination-kind.ts';
import { contentTypeOf, formatBody, type WebhookFormat } from './formats/format-body.ts';
import { signatureOf } from './sign.ts';

export interface WebhookConfig {
  readonly url: string;
  readonly secret: string;
  readonly previous_secret: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The destination's format. */
  readonly format?: WebhookFormat;
}

/** Shorter than the usual keep-alive of servers, so that we nearly always close first. */
const IDLE_CONNECTION_MS = 4_000;
/** Only the status matters; the body is read so that the connection can be reused. */
const MAX_ANSWER_BYTES = 65_536;
const GONE = 410;
const WAIT_STATUSES: readonly number[] = [408, 429];

export function createWebhookSender(ports: DestinationPorts): DestinationSender<WebhookConfig> {
  const agents = {
    http: new HttpAgent({ keepAlive: true, timeout: IDLE_CONNECTION_MS }),
    https: new HttpsAgent({ keepAlive: true, timeout: IDLE_CONNECTION_MS }),
  };
  const fetch = createGuardedFetch({
    isAddressAllowed: (ip, port) => ports.isAddressAllowed(ip, port),
    isPlainHttpAllowed: () => true,
    timeoutMs: ports.timeoutMs,
    maxBytes: MAX_ANSWER_BYTES,
    excess: 'cut',
    agents,
    lookup: ports.lookup,
    ca: ports.ca,
  });
  return {
    send: async ({ url, secret, previous_secret, headers, format = 'json' }, { id, body: envelope }, signal) => {
      const body = formatBody(format, envelope);
      const timestamp = Math.floor(ports.clock.nowMs() / 1000);
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: {
            'user-agent': 'Postern-Webhooks/1',
            ...headers,
            'content-type': contentTypeOf(format),
            'content-length': String(Buffer.byteLength(body)),
            'webhook-id': id,
            'webhook-timestamp': String(timestamp),
            'webhook-signature': signatureOf({ id, timestamp, body }, [secret, previous_secret]),
          },
          body,
          signal,
        });
        return outcomeOf(response.status, response.headers.get('retry-after'), ports.clock.nowMs());
      } catch (error) {
        if (!(error instanceof FetchProblem)) throw error;
        return { verdict: 'wait', status: null, error: error.explanation };
      }
    },
    close: async () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function outcomeOf(status: number, retryAfter: string | null, nowMs: number): SendOutcome {
  if (status >= 200 && status < 300) return { verdict: 'delivered', status, error: null };
  const error = `the receiver returned ${status}`;
  if (status === GONE) return { verdict: 'gone', status, error };
  if (status < 500 && !WAIT_STATUSES.includes(status)) return { verdict: 'refused', status, error };
  const retryAfterMs = retryAfter === null ? null : retryAfterOf(retryAfter, nowMs);
  return { verdict: 'wait', status, error, ...(retryAfterMs !== null && { retryAfterMs }) };
}

/** RFC 9110, section 10.2.3: seconds, or a date. */
function retryAfterOf(text: string, nowMs: number): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
