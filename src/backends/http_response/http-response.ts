import Type from 'typebox';
import { HOP_BY_HOP } from '../../kit/http/header-values.ts';
import { mapOf } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import { type BackendSnapshot, defineBackend, type Target } from '../backend.ts';

interface HttpResponseConfig {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status_code: number;
}

/** The response is the same for every request of a version: built once. */
const answers = new WeakMap<BackendSnapshot<HttpResponseConfig>, readonly Target<never>[]>();

export function httpResponseTargets(backend: BackendSnapshot<HttpResponseConfig>): readonly Target<never>[] {
  const known = answers.get(backend);
  if (known !== undefined) return known;
  const { body, headers, status_code: status } = backend.config;
  const list = Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
  if (body !== '' && !list.includes('content-type')) list.push('content-type', 'text/plain; charset=utf-8');
  const made: readonly Target<never>[] = [
    { kind: 'response', name: 'http_response', status, headers: list, body: Buffer.from(body) },
  ];
  answers.set(backend, made);
  return made;
}

/** The edge computes framing, and nobody may forge its own headers. */
const NOT_ALLOWED = new RegExp(`^(content-length|proxy-.*|postern-.*|${HOP_BY_HOP.join('|')})$`, 'i');

/** The problem with the headers of a fixed response, or null. RFC 9110 §5.1 and §5.5. */
export function responseHeadersProblem(headers: Readonly<Record<string, string>>): string | null {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/.test(name)) return 'has an invalid header name';
    if (NOT_ALLOWED.test(name)) return `must not set "${name}": the edge sets it`;
    if (seen.has(name.toLowerCase())) return `has "${name}" twice: header names are case-insensitive`;
    if (value.length > 8192 || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value) || value !== value.trim()) {
      return `has a value for "${name}" with control characters, characters outside Latin-1, leading or trailing spaces, or more than 8192 characters`;
    }
    seen.add(name.toLowerCase());
  }
  return null;
}

/** Returns a fixed response. */
export const httpResponse = defineBackend({
  name: 'http_response',
  idPrefix: 'bkdhr',
  title: 'an HTTP response backend',
  readsPath: false,
  description: 'Returns the same response to every request.',
  config: () =>
    Type.Object({
      body: Type.String({ default: '', maxLength: 524_288, description: 'Body of the response, at most 512 KiB.' }),
      headers: mapOf(Type.String(), {
        default: {},
        maxProperties: 100,
        description: 'Headers of the response, such as {"content-type": "text/html"}.',
      }),
      status_code: Type.Integer({
        default: 200,
        minimum: 200,
        maximum: 599,
        description: 'Status of the response, 200 to 599.',
      }),
    }),
  example: { body: 'We are back at noon.', headers: { 'content-type': 'text/plain; charset=utf-8' }, status_code: 503 },
  check: (config) => {
    const problem = responseHeadersProblem(config.headers);
    return problem === null ? [] : [bodyProblem('headers', problem)];
  },
  // Nothing leaves the edge.
  sendsTo: () => [],
  targets: httpResponseTargets,
});
