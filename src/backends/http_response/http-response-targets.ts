import type { BackendSnapshot } from '../../snapshot/edge-snapshot.ts';
import { type BackendBehaviour, configOf, type Target } from '../target.ts';

/** The response is the same for every request of a version: built once. */
const answers = new WeakMap<BackendSnapshot, readonly Target[]>();

export const httpResponseBehaviour: BackendBehaviour = {
  kind: 'http_response_backend',
  targets: (backend) => {
    const known = answers.get(backend);
    if (known !== undefined) return known;
    const {
      body,
      headers,
      status_code: status,
    } = configOf<{ body: string; headers: Record<string, string>; status_code: number }>(backend);
    const list = Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
    if (body !== '' && !list.includes('content-type')) list.push('content-type', 'text/plain; charset=utf-8');
    const made: readonly Target[] = [{ kind: 'response', status, headers: list, body: Buffer.from(body) }];
    answers.set(backend, made);
    return made;
  },
};
