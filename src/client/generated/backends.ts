// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface BackendTestTestAnswer {
  /** Whether the connection succeeded. */
  readonly reachable: boolean;
  /** Why it did not; null if it succeeded. */
  readonly reason:
    | 'refused'
    | 'timeout'
    | 'dns'
    | 'unreachable'
    | 'tls'
    | 'forbidden_address'
    | 'closed'
    | 'failed'
    | null;
  /** What to do; null if it succeeded. */
  readonly advice: string | null;
}

export interface BackendTestTest {
  /** Address: "host:port", such as "10.0.0.5:3000" or "[2001:db8::1]:443". */
  readonly address: string;
  /** Connect over TLS, and verify the certificate. Default: false. */
  readonly tls?: boolean | undefined;
}

/** Tests of addresses, before a backend has them. */
export class BackendsClient extends ResourceClient {
  /**
   * Test whether an address can be reached. Connects to an address as an edge of the server that answers would,
   * before a backend names it, and closes the connection. Nothing is sent, and nothing that the service says is
   * shown. The addresses that upstreams may not have are rejected in the same way. A server does at most 30 tests
   * per minute.
   */
  test(body: BackendTestTest, options?: RequestOptions): Promise<Answer<BackendTestTestAnswer>> {
    return this.call({ method: 'POST', path: '/backends/test', body }, options);
  }
}
