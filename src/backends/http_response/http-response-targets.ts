import type { BackendSnapshot } from '../backend-snapshot.ts';
import type { Target } from '../target.ts';

interface HttpResponseConfig {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status_code: number;
}

/** The response is the same for every request of a version: built once. */
const answers = new WeakMap<BackendSnapshot<HttpResponseConfig>, readonly Target[]>();

export function httpResponseTargets(backend: BackendSnapshot<HttpResponseConfig>): readonly Target[] {
  const known = answers.get(backend);
  if (known !== undefined) return known;
  const { body, headers, status_code: status } = backend.config;
  const list = Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
  if (body !== '' && !list.includes('content-type')) list.push('content-type', 'text/plain; charset=utf-8');
  const made: readonly Target[] = [
    { kind: 'response', name: 'http_response', status, headers: list, body: Buffer.from(body) },
  ];
  answers.set(backend, made);
  return made;
}
