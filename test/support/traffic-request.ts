import type { TrafficRequest } from '../../src/modules/contract/decides.ts';

/** A request as modules see it, with only the parts that matter to the test. */
export function trafficRequest(
  method: string | undefined,
  path: string | undefined,
  header: (name: string) => string | undefined,
): TrafficRequest {
  return {
    id: 'req_1',
    method: method ?? 'GET',
    path: path ?? '/',
    host: 'app.example',
    scheme: 'https',
    authority: 'app.example',
    target: '/',
    switchTo: null,
    permit: null,
    isExemptFromLogin: false,
    headerLines: () => [],
    clientAddress: '192.0.2.1',
    clientCertificate: null,
    nowMs: 0,
    header,
    combinedHeader: header,
  };
}
