import { HOP_BY_HOP } from '../../lib/hop-by-hop.ts';
import type { BackendSnapshot } from '../backend-snapshot.ts';
import type { Target } from '../target.ts';

interface HttpResponseConfig {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status_code: number;
}

/** The response is the same for every request of a version: built once. */
const answers = new WeakMap<BackendSnapshot<HttpResponseConfig>, readonly Target[]>();

/** Records from before `http2-settings` was rejected may have it, and HTTP/2 cannot send it: it is dropped. */
export function httpResponseTargets(backend: BackendSnapshot<HttpResponseConfig>): readonly Target[] {
  const known = answers.get(backend);
  if (known !== undefined) return known;
  const { body, headers, status_code: status } = backend.config;
  const list = Object.entries(headers).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    return HOP_BY_HOP.includes(lower) ? [] : [lower, value];
  });
  if (body !== '' && !list.includes('content-type')) list.push('content-type', 'text/plain; charset=utf-8');
  const made: readonly Target[] = [
    { kind: 'response', name: 'http_response', status, headers: list, body: Buffer.from(body) },
  ];
  answers.set(backend, made);
  return made;
}
