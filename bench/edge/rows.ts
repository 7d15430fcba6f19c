import { h2load } from '../support/h2load.ts';
import { httpRequest, type LoadResult, load } from '../support/load.ts';
import { type BenchCertificates, HOST, MUTUAL_HOST } from './certificates.ts';
import type { Contender } from './contender.ts';

const CONNECTIONS = 32;
const STREAMS = 16;
const HTTP2_CONNECTIONS = 4;

/** A kind of request that all contenders serve. */
export interface Row {
  readonly name: string;
  readonly title: string;
  /** Target as a multiple of Caddy's CPU per request, where there is one. */
  readonly goal?: number;
  /** Share of the usual count: some requests cost more. */
  readonly share: number;
  readonly hasClientCertificates?: boolean;
  run(contender: Contender, requests: number): Promise<LoadResult & { readonly bodyBytes?: number }>;
}

export function allRows(directory: string, certificates: BenchCertificates): readonly Row[] {
  const over =
    (protocol: 'h1' | 'h2', path: string, headers: Record<string, string>) =>
    (contender: Contender, requests: number) =>
      h2load({
        protocol,
        host: HOST,
        port: contender.port,
        path,
        requests,
        connections: protocol === 'h1' ? CONNECTIONS : HTTP2_CONNECTIONS,
        streams: STREAMS,
        headers,
        directory,
      });
  const gzip = { 'accept-encoding': 'gzip' };
  const zstd = { 'accept-encoding': 'zstd' };
  return [
    { name: 'h1', title: `HTTP/1.1, 1 KB, ${CONNECTIONS} connections`, goal: 1, share: 1, run: over('h1', '/', {}) },
    {
      name: 'h2',
      title: `HTTP/2, 1 KB, ${HTTP2_CONNECTIONS} connections of ${STREAMS} streams`,
      goal: 0.6,
      share: 1,
      run: over('h2', '/', {}),
    },
    { name: 'h1-gzip-1k', title: 'HTTP/1.1, 1 KB of JSON, gzip', share: 0.5, run: over('h1', '/json-1k', gzip) },
    { name: 'h2-gzip-1k', title: 'HTTP/2, 1 KB of JSON, gzip', share: 0.5, run: over('h2', '/json-1k', gzip) },
    { name: 'h1-gzip', title: 'HTTP/1.1, 10 KB of JSON, gzip', share: 0.5, run: over('h1', '/json', gzip) },
    { name: 'h2-gzip', title: 'HTTP/2, 10 KB of JSON, gzip', share: 0.5, run: over('h2', '/json', gzip) },
    { name: 'h1-zstd', title: 'HTTP/1.1, 10 KB of JSON, zstd', share: 0.5, run: over('h1', '/json', zstd) },
    { name: 'h2-zstd', title: 'HTTP/2, 10 KB of JSON, zstd', share: 0.5, run: over('h2', '/json', zstd) },
    {
      name: 'mutual',
      // h2load has no client certificates.
      title: 'HTTP/1.1, 1 KB, client certificate demanded (load by Node)',
      share: 1,
      run: (contender, requests) => {
        const request = httpRequest('GET', '/', { host: MUTUAL_HOST });
        return load({
          port: contender.mutualPort,
          connections: CONNECTIONS,
          status: 200,
          until: { count: requests },
          request: () => request,
          // The bench's own loopback servers; their names are not what is measured.
          tls: { ...certificates.client, servername: MUTUAL_HOST, rejectUnauthorized: false },
        });
      },
    },
  ];
}
