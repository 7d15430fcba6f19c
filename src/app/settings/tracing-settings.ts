import { parseHttpUrl } from '../../kit/http/urls.ts';
import {
  choice,
  fraction,
  hinted,
  httpUrl,
  optional,
  required,
  type SettingKind,
  text,
} from '../../kit/settings/setting.ts';

export const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
/** Pairs of a name and a value. */
export type NamedValues = readonly (readonly [name: string, value: string])[];

/** The exporter sets these itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  'connection content-encoding content-length content-type expect host transfer-encoding upgrade user-agent'.split(' '),
);
const HEADER_NAME = /^[A-Za-z0-9._-]{1,64}$/;
const HEADER_VALUE = /^[\x20-\x7e]*[\x21-\x7e]$/;
const ATTRIBUTE_NAME = /^[\x21-\x7e]{1,255}$/;
const ATTRIBUTE_VALUE = /^\P{Cc}{1,1024}$/u;
const MAX_ATTRIBUTES = 128;

/**
 * Null if one is not valid. The values of our own setting are sent as they are, those of OpenTelemetry's are
 * percent-encoded.
 */
export function headersOf(list: string, decode: (value: string) => string = (value) => value): NamedValues | null {
  const pairs = pairsOf(list, decode);
  const isValid = pairs?.every(
    ([name, value]) => HEADER_NAME.test(name) && !OWN_HEADERS.has(name.toLowerCase()) && HEADER_VALUE.test(value),
  );
  return isValid === true ? pairs : null;
}

/** In the form of OTEL_RESOURCE_ATTRIBUTES. */
export function attributesOf(list: string): NamedValues | null {
  const pairs = pairsOf(list, decodeURIComponent);
  const isValid = pairs?.every(([name, value]) => ATTRIBUTE_NAME.test(name) && ATTRIBUTE_VALUE.test(value));
  return isValid === true && pairs !== null && pairs.length <= MAX_ATTRIBUTES ? pairs : null;
}

function pairsOf(list: string, decode: (value: string) => string): NamedValues | null {
  const pairs: (readonly [string, string])[] = [];
  for (const item of list.split(',')) {
    const at = item.indexOf('=');
    if (at === -1) return null;
    try {
      pairs.push([decode(item.slice(0, at).trim()), decode(item.slice(at + 1).trim())]);
    } catch {
      return null;
    }
  }
  return pairs;
}

/** As the operator writes it: a slash at the end stays. */
const wholeUrl = hinted(
  'URL',
  text('an absolute http:// or https:// URL without user, query or fragment', (value) => parseHttpUrl(value) !== null),
);

const headers: SettingKind<NamedValues> = {
  ...text('NAME=VALUE, separated by commas, such as authorization=Bearer TOKEN'),
  hint: 'NAME=VALUE,…',
  decode: (wire) => headersOf(wire as string) ?? undefined,
  encode: (pairs) => pairs.map(([name, value]) => `${name}=${value}`).join(','),
};

const attributes: SettingKind<NamedValues> = {
  ...text(
    'KEY=VALUE, separated by commas, with values percent-encoded, such as deployment.environment.name=production',
  ),
  hint: 'KEY=VALUE,…',
  decode: (wire) => attributesOf(wire as string) ?? undefined,
  encode: (pairs) => pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join(','),
};

const protocol: SettingKind<(typeof PROTOCOLS)[number]> = {
  ...choice(PROTOCOLS),
  problem: (wire) =>
    wire === 'grpc'
      ? 'grpc is not supported. Use http/protobuf, and the port of the collector for OTLP over HTTP, usually 4318 instead of 4317'
      : null,
};

/** Settings of OpenTelemetry traces. `environment.ts` reads those of the specification. */
export const tracingSettings = {
  otel_endpoint: optional(httpUrl, {
    description:
      'URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318. Spans are sent to /v1/traces below it. The edge then continues the trace of each client, or begins one, and sends its own traceparent header to upstreams. Unset: OTEL_EXPORTER_OTLP_ENDPOINT; without that, no traces, and traceparent and tracestate of clients pass unchanged.',
  }),
  otel_traces_endpoint: optional(wholeUrl, {
    description:
      'Whole URL to which spans are sent, for a collector whose path is not /v1/traces. Unset: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, then a path below otel_endpoint.',
  }),
  otel_protocol: required(protocol, {
    description: 'Encoding of the spans. OTEL_EXPORTER_OTLP_PROTOCOL sets it, too.',
  }),
  otel_sample_ratio: required(fraction, {
    description:
      'Share of traces that are recorded, from 0 to 1, decided by trace id. The sampled flag of clients has no effect. Upstreams get the decision in the flag of traceparent. OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG set it, too.',
  }),
  otel_headers: optional(headers, {
    description:
      'Headers for the OpenTelemetry collector, usually a token. Use an https:// endpoint, since they are sent as they are. Unset: OTEL_EXPORTER_OTLP_HEADERS.',
    secrecy: 'secret',
  }),
  otel_service_name: optional(
    hinted(
      'NAME',
      text('1 to 255 characters', (value) => ATTRIBUTE_VALUE.test(value) && value.length <= 255),
    ),
    {
      description:
        'Name of this service in traces (service.name). Unset: OTEL_SERVICE_NAME, then service.name of otel_resource_attributes, then postern.',
    },
  ),
  otel_resource_attributes: optional(attributes, {
    description:
      'Attributes of the resource of every span, beside service.name, service.version and service.instance.id (the name of the node), which it may replace. Unset: OTEL_RESOURCE_ATTRIBUTES.',
  }),
};
