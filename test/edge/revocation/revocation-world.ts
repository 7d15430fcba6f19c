import assert from 'node:assert/strict';
import { connect } from 'node:tls';
import type { Cleanup } from '../../support/cleanup.ts';
import { EdgeWorld, type Site } from '../../support/edge-world.ts';
import type { WorldOptions } from '../../support/test-world.ts';
import type { Issued } from '../tls/test-authority.ts';

/** Where the tests publish lists. */
export const LOOPBACK = '127.0.0.0/8';

export const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;

/** `admitted`, `misdirected`, or the reason in the metrics. */
export type Outcome =
  | 'admitted'
  | 'client_certificate_revoked'
  | 'client_certificate_revocation_unknown'
  | (string & {});

export interface Presented {
  readonly cert: string;
  readonly key: string;
}

/** What a client presents: its certificate and further ones. */
export function presents(leaf: Issued, ...others: readonly Issued[]): Presented {
  return { cert: [leaf, ...others].map(({ certificatePem }) => certificatePem).join(''), key: leaf.keyPem };
}

/** A server with one host, and ways to see how it treats a client certificate. */
export class RevocationWorld {
  readonly edge: EdgeWorld;
  readonly site: Site;
  readonly backendId: string;

  private constructor(edge: EdgeWorld, site: Site, backendId: string) {
    this.edge = edge;
    this.site = site;
    this.backendId = backendId;
  }

  static async open(
    test: Cleanup,
    env: Readonly<Record<string, string>> = {},
    options: Omit<WorldOptions, 'env'> = {},
  ): Promise<RevocationWorld> {
    const edge = await EdgeWorld.open(test, { POSTERN_CRL_ALLOW_CIDRS: LOOPBACK, ...env }, options);
    const backendId = await edge.httpResponse('hello');
    return new RevocationWorld(edge, await edge.site(backendId), backendId);
  }

  /** The same site, served by another process. */
  servedBy(edge: EdgeWorld): RevocationWorld {
    return new RevocationWorld(edge, this.site, this.backendId);
  }

  /** A new authority with these fields. */
  async authority(issued: Issued, fields: object = {}): Promise<string> {
    const { id } = await this.edge.api('POST', '/certificate_authorities', {
      ca_pem: issued.certificatePem,
      ...fields,
    });
    return id;
  }

  async require(...ids: readonly string[]): Promise<void> {
    await this.edge.api('PUT', `${this.site.edgePath}/mutual_tls`, { certificate_authority_ids: ids });
  }

  patch(id: string, fields: object): Promise<Record<string, unknown>> {
    return this.edge.api('PATCH', `/certificate_authorities/${id}`, fields);
  }

  read(id: string): Promise<Record<string, unknown>> {
    return this.edge.api('GET', `/certificate_authorities/${id}`);
  }

  /** Sends a request on a new connection. */
  async outcome(presented: Presented, options: object = {}): Promise<Outcome> {
    const before = await this.failures();
    const answer = await this.#exchange({ ...presented, ...options });
    if (answer.startsWith('HTTP/1.1 200')) return 'admitted';
    // The list arrived between handshake and request.
    if (answer.startsWith('HTTP/1.1 421')) return 'misdirected';
    assert.equal(answer, '', 'not one byte of HTTP');
    const after = await this.failures();
    return [...after].find(([reason, count]) => count > (before.get(reason) ?? 0))?.[0] ?? 'no reason';
  }

  /** Failed handshakes so far, by reason. */
  async failures(): Promise<ReadonlyMap<string, number>> {
    const lines = (await this.edge.metrics()).matchAll(
      /^postern_edge_handshake_failures_total\{reason="(\w+)"\} (\d+)/gm,
    );
    return new Map(Array.from(lines, ([, reason, count]) => [reason as string, Number(count)]));
  }

  async counter(pattern: RegExp): Promise<number> {
    return Number(pattern.exec(await this.edge.metrics())?.[1] ?? 0);
  }

  #exchange(options: object): Promise<string> {
    const { host } = this.site;
    return new Promise((resolve) => {
      let answer = '';
      const client = connect({ ...this.edge.tlsOptions(host), ...options });
      client.on('error', () => {});
      client.on('data', (chunk: Buffer) => {
        answer += chunk.toString('latin1');
      });
      client.once('close', () => resolve(answer));
      client.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
  }
}
