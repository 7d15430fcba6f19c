import { optional, required } from '../lib/settings/setting.ts';
import { fraction, httpUrl, text } from '../lib/settings/setting-kinds.ts';

/** The exporter sets these itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  'connection content-encoding content-length content-type expect host transfer-encoding upgrade user-agent'.split(' '),
);

const headers = text('NAME=VALUE, separated by commas, such as authorization=Bearer TOKEN', (value) =>
  value.split(',').every((pair) => {
    const [, name = ''] = /^\s*([A-Za-z0-9-]{1,64})\s*=[\x20-\x7e]*[\x21-\x7e]\s*$/.exec(pair) ?? [];
    return name !== '' && !OWN_HEADERS.has(name.toLowerCase());
  }),
);

/** Settings of OpenTelemetry traces. */
export const tracingSettings = {
  otel_endpoint: optional(httpUrl, {
    description:
      'URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318. Spans are sent to /v1/traces below it. The edge then continues the trace of each client, or begins one, and sends its own traceparent header to upstreams. Unset: no traces, and traceparent and tracestate of clients pass unchanged.',
  }),
  otel_sample_ratio: required(fraction, {
    description:
      'Share of traces that are recorded, from 0 to 1, decided by trace id. The sampled flag of clients has no effect. Upstreams get the decision in the flag of traceparent.',
  }),
  otel_headers: optional(headers, {
    description:
      'Headers for the OpenTelemetry collector, usually a token. Use an https:// otel_endpoint, since they are sent as they are.',
    secrecy: 'secret',
  }),
};
