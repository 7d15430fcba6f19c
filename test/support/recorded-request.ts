import { createDenseIds } from '../../src/kit/text/ksuid.ts';
import type { RecordedRequest } from '../../src/proxy/telemetry/requests/recorded-request.ts';

const newId = createDenseIds('rq');

/** A finished request, with what a test cares about. */
export function recorded(facts: Partial<RecordedRequest> = {}): RecordedRequest {
  const startedAtMs = facts.startedAtMs ?? Date.now();
  return {
    id: newId(startedAtMs),
    startedAtMs,
    durationMs: 12.345,
    method: 'GET',
    host: 'shop.example.com',
    path: '/cart',
    query: null,
    status: 200,
    errorCode: null,
    edgeId: null,
    routeId: null,
    clientAddress: '192.0.2.7',
    userId: null,
    userKind: null,
    headers: ['user-agent', 'test/1'],
    bytesIn: 0,
    bytesOut: 5,
    passes: [],
    waits: [],
    refusedBy: null,
    answeredBy: null,
    decidingRule: null,
    target: '127.0.0.1:8080',
    tunnelNode: null,
    admittedMs: 0.1,
    answeredMs: 10,
    ...facts,
  };
}
