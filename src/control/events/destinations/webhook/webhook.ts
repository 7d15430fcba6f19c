import { createHmac } from 'node:crypto';
import { Agent as HttpsAgent } from 'node:https';
import Type from 'typebox';
import { FetchProblem } from '../../../../kit/http/fetch-problem.ts';
import { createGuardedFetch } from '../../../../kit/http/guarded-fetch.ts';
import { HOP_BY_HOP } from '../../../../kit/http/header-values.ts';
import { Agent as HttpAgent } from '../../../../kit/http/node-http.ts';
import { sentHeaderProblems, sentUrlProblems } from '../../../../kit/http/sent-request-fields.ts';
import { mapOf, secret } from '../../../../kit/schema/annotations.ts';
import { bodyProblem } from '../../../../kit/schema/decode-body.ts';
import {
  type DestinationPorts,
  type DestinationSender,
  defineDestinationKind,
  type SendOutcome,
} from '../destination-kind.ts';
import { contentTypeOf, formatBody, WEBHOOK_FORMATS, type WebhookFormat } from './formats.ts';

interface WebhookConfig {
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

function createWebhookSender(ports: DestinationPorts): DestinationSender<WebhookConfig> {
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
        const advice =
          error.reason === 'address_refused' ? ': allow its range with the setting events_allow_cidrs' : '';
        return { verdict: 'wait', status: null, error: `${error.explanation}${advice}` };
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

/** Standard Webhooks secrets: `whsec_` and 24 to 64 bytes in base64. */
const SECRET_PATTERN = '^(whsec_)?[A-Za-z0-9+/]{32,88}={0,2}$';
/** Set by the delivery itself, or usable for request smuggling. */
const RESERVED_HEADER = new RegExp(`^(host|content-.*|webhook-.*|proxy-.*|expect|${HOP_BY_HOP.join('|')})$`, 'i');

const webhookConfig = Type.Object({
  url: Type.String({
    minLength: 1,
    maxLength: 2048,
    description: 'URL to which events are sent: an absolute https or http URL without user name, password or fragment.',
  }),
  secret: secret(
    'masked',
    Type.String({
      default: '',
      maxLength: 100,
      pattern: SECRET_PATTERN,
      description:
        'Secret that signs deliveries (Standard Webhooks): "whsec_" and 24 to 64 bytes in base64. Generated if omitted. Only the response to the create shows it.',
      examples: ['whsec_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleE='],
    }),
    'nowhere',
  ),
  previous_secret: secret(
    'masked',
    Type.String({
      default: '',
      maxLength: 100,
      pattern: SECRET_PATTERN,
      description: 'Previous secret, for rotation: deliveries are signed with both secrets. "" in a PATCH removes it.',
    }),
    'nowhere',
  ),
  headers: secret(
    'masked',
    mapOf(Type.String(), {
      default: {},
      maxProperties: 20,
      description:
        'Headers to add, such as {"x-api-key": "…"}. Their values are secret. Host, Content-* and webhook-* are not allowed.',
    }),
    { field: 'url' },
  ),
});

/** Signed HTTP requests to the user's receiver. */
export const webhook = defineDestinationKind({
  name: 'webhook',
  description: 'Sends each event as a signed HTTP request (Standard Webhooks).',
  config: webhookConfig,
  place: 'url',
  formats: WEBHOOK_FORMATS,
  example: { url: 'https://hooks.example.com/postern' },
  check: (config) => [
    ...sentUrlProblems(config.url, 'https://hooks.example.com/postern'),
    ...sentHeaderProblems(config.headers, RESERVED_HEADER, 'the delivery'),
  ],
  checkChange: (config, previous) =>
    config.secret === '' && previous.secret !== ''
      ? [
          bodyProblem(
            'secret',
            'cannot be removed: send a new secret, and this one as previous_secret during the rotation',
          ),
        ]
      : [],
  complete: (config, newSecret) => (config.secret === '' ? { ...config, secret: newSecret() } : config),
  createSender: createWebhookSender,
});

/**
 * Standard Webhooks: HMAC-SHA256 of `id.timestamp.body` for each valid secret, so that receivers can rotate secrets.
 */
function signatureOf(
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
  secrets: readonly string[],
): string {
  return secrets
    .filter((secret) => secret !== '')
    .map((secret) => {
      const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
