import Type from 'typebox';
import { HOP_BY_HOP } from '../../../lib/http/hop-by-hop.ts';
import { sentHeaderProblems, sentUrlProblems } from '../../../lib/http/sent-request-fields.ts';
import { secret } from '../../../lib/schema/annotations.ts';
import { bodyProblem } from '../../../lib/schema/decode-body.ts';
import { mapOf } from '../../../lib/schema/map-of.ts';
import { defineDestinationKind } from '../destination-kind.ts';
import { WEBHOOK_FORMATS } from './formats/format-body.ts';
import { createWebhookSender } from './webhook-sender.ts';

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
